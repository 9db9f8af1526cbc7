/* SPDX-License-Identifier: MIT */
/* chrome.c -- a trace as Chrome's trace JSON: tasks, CPUs and interrupts as tracks with slices. */
#include "view/export.h"
#include "base/idmap.h"
#include "base/json.h"
#include "model/model.h"
#include "view/eventline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/*
 * Spans of the model become slices (X), its edges flows, other events instants. A group of tracks for each process; the idle
 * task is one per CPU, though its pid is the same on all. CPUs show which task ran, and where events were lost or not recorded.
 */
enum {
	GROUP_CPUS = 0x7ffffff0,
	GROUP_IRQS,
	GROUP_IDLE,
};

struct chrome {
	struct source *s;
	struct model *model;
	struct json j;
	struct eventline *line;
	struct idmap tracks; /* that were introduced, by group and id */
	uint64_t flows;
};

/* An object on a track; end() closes it. */
static void begin(struct chrome *c, const char *ph, int32_t group, int32_t id, const char *name)
{
	json_open(&c->j, NULL, '{');
	json_str(&c->j, "ph", ph);
	json_s64(&c->j, "pid", group);
	json_s64(&c->j, "tid", id);
	json_str(&c->j, "name", name);
}

static void end(struct chrome *c)
{
	json_close(&c->j, '}');
	fputc('\n', c->j.out);
}

static void meta(struct chrome *c, const char *what, int32_t group, int32_t id, const char *text)
{
	begin(c, "M", group, id, what);
	json_open(&c->j, "args", '{');
	json_str(&c->j, "name", text);
	json_close(&c->j, '}');
	end(c);
}

/* The first object on a track introduces it. */
static void introduce(struct chrome *c, int32_t group, int32_t id)
{
	void **seen = idmap_at(&c->tracks, (uint64_t)(uint32_t)group << 32 | (uint32_t)id);
	char text[32];

	if (!seen || *seen)
		return;
	*seen = c;
	snprintf(text, sizeof(text), "CPU %d", id);
	if (group < GROUP_CPUS)
		meta(c, "process_name", group, id, model_comm(c->model, group));
	meta(c, "thread_name", group, id, group < GROUP_CPUS ? model_comm(c->model, id) : text);
}

static void task_track(struct chrome *c, int32_t pid, uint32_t cpu, int32_t *group, int32_t *id)
{
	int32_t tgid = source_tgid(c->s, pid);

	*group = !pid ? GROUP_IDLE : tgid > 0 ? tgid : pid;
	*id = pid ? pid : (int32_t)cpu;
}

static void slice(struct chrome *c, int32_t group, int32_t id, const struct span *s,
		  const char *label)
{
	introduce(c, group, id);
	begin(c, "X", group, id, label);
	json_thousandths(&c->j, "ts", s->from);
	json_thousandths(&c->j, "dur", s->to - s->from);
	if (s->kind == SPAN_LOST) {
		json_str(&c->j, "cname", "terrible");
	} else if (s->flags & (SPAN_NO_END | SPAN_CUT)) {
		json_open(&c->j, "args", '{');
		json_str(&c->j, "end", s->flags & SPAN_CUT ? "not seen" : "after the trace");
		json_close(&c->j, '}');
	}
	end(c);
}

static void span(void *arg, const struct span *s)
{
	struct chrome *c = arg;
	int32_t group = GROUP_CPUS, id = (int32_t)s->cpu;
	char label[64];

	if (s->kind == SPAN_RUNNING && s->pid) {
		snprintf(label, sizeof(label), "%s-%d", model_comm(c->model, s->pid), s->pid);
		slice(c, group, id, s, label);
	} else if (s->kind == SPAN_LOST && s->pid < 0) {
		snprintf(label, sizeof(label), "%" PRIu64 " events lost", s->key);
		slice(c, group, id, s,
		      s->flags		       ? "not recorded"
		      : s->key == LOST_UNKNOWN ? "events lost"
					       : label);
	} else if (s->kind == SPAN_IRQ || s->kind == SPAN_SOFTIRQ) {
		slice(c, GROUP_IRQS, id, s, model_span_name(c->model, s));
	} else if (((s->kind == SPAN_CALL && s->key) || s->kind == SPAN_SYSCALL ||
		    s->kind == SPAN_FAULT) &&
		   !(s->flags & SPAN_NO_TIME)) {
		task_track(c, s->pid, s->cpu, &group, &id);
		slice(c, group, id, s, model_span_name(c->model, s));
	}
}

static void edge(void *arg, const struct edge *e)
{
	struct chrome *c = arg;
	const char *what = e->kind == EDGE_WAKEUP ? "wakeup" : "ipc";

	if (e->kind == EDGE_MIGRATE)
		return;
	c->flows++;
	for (int to = 0; to < 2; to++) {
		int32_t cpu = (int32_t)(to ? e->to_cpu : e->from_cpu);

		introduce(c, GROUP_CPUS, cpu);
		begin(c, to ? "f" : "s", GROUP_CPUS, cpu, what);
		json_thousandths(&c->j, "ts", to ? e->to_time : e->from_time);
		json_str(&c->j, "cat", what);
		json_u64(&c->j, "id", c->flows);
		if (to)
			json_str(&c->j, "bp", "e");
		end(c);
	}
}

static void instant(void *arg, const struct event *e, uint64_t number)
{
	struct chrome *c = arg;
	const char *text;
	int32_t group, id;
	size_t n;

	task_track(c, e->pid, e->cpu, &group, &id);
	introduce(c, group, id);
	begin(c, "i", group, id, source_event_name(c->s, e->type));
	json_thousandths(&c->j, "ts", e->time);
	json_str(&c->j, "s", "t");
	text = eventline_info(c->line, e, &n);
	json_open(&c->j, "args", '{');
	json_u64(&c->j, "cpu", e->cpu);
	json_u64(&c->j, "number", number);
	json_bytes(&c->j, "text", text, n);
	json_close(&c->j, '}');
	end(c);
}

/* What was lost, and the end of the document. */
static int finish(struct chrome *c)
{
	struct account a;
	uint64_t calls;
	const struct losses *l = model_losses(c->model, &calls);
	int err = account_make(&a, c->s, losses_at(l, 0), losses_nr(l), true, NULL, NULL);

	json_close(&c->j, ']');
	json_open(&c->j, "otherData", '{');
	if (!err) {
		account_calls(&a, calls);
		account_json(&a, &c->j);
		account_free(&a);
	}
	json_close(&c->j, '}');
	json_close(&c->j, '}');
	json_end(&c->j);
	return err || model_failed(c->model) ? -ENOMEM : 0;
}

static void all_events(struct chrome *c, struct scan *sc)
{
	const struct event *e;
	bool wanted;

	source_want_names(c->s);
	json_open(&c->j, NULL, '{');
	json_str(&c->j, "displayTimeUnit", "ns");
	json_open(&c->j, "traceEvents", '[');
	meta(c, "process_name", GROUP_CPUS, 0, "CPUs");
	meta(c, "process_name", GROUP_IRQS, 0, "Interrupts");
	meta(c, "process_name", GROUP_IDLE, 0, "<idle>");
	while (!ferror(c->j.out) && (e = scan_next_any(sc, &wanted)))
		model_event(c->model, e, scan_number(sc), wanted);
	model_end(c->model);
}

int export_chrome(struct source *s, const struct scan_choice *choice, FILE *out)
{
	struct chrome c = {.s = s, .line = eventline_new(s)};
	struct model_counts *n = model_count(s);
	struct model_sink sink = {.arg = &c, .span = span, .edge = edge, .mark = instant};
	struct scan *sc = scan_open(s, choice, NULL);
	int err = -ENOMEM;

	c.model = n ? model_new(s, &(struct model_options){.counts = n, .to = UINT64_MAX}, &sink)
		    : NULL;
	json_init(&c.j, out, false);
	if (c.line && sc && c.model) {
		all_events(&c, sc);
		err = finish(&c);
	}
	free(n);
	idmap_free(&c.tracks);
	model_free(c.model);
	eventline_free(c.line);
	scan_close(sc);
	return err;
}
