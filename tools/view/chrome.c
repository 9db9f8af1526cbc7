/* SPDX-License-Identifier: MIT */
/* chrome.c -- a trace as Chrome's trace JSON: tasks, CPUs and interrupts as tracks with slices. */
#include "view/chrome.h"
#include "model/model.h"
#include "base/idmap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * Spans of the model become slices (X), its edges flows, other events instants. Three groups of tracks:
 *
 *   tasks		a track per task: its calls and system calls, and events. The idle task is one per CPU, though its
 *			pid is the same on all.
 *   CPUs		which task ran, and where nothing is known: events were lost, or not recorded
 *   Interrupts		a track per CPU
 */
enum {
	GROUP_CPUS = 0x7ffffff0,
	GROUP_IRQS,
	GROUP_IDLE,
};

struct chrome {
	struct source *s;
	struct model *model;
	FILE *out;
	struct eventline *line;
	struct idmap tracks; /* that were introduced, by group and id */
	uint64_t flows;
	bool comma;
};

/* ---- JSON ---- */

static void micros(struct chrome *c, uint64_t t)
{
	fprintf(c->out, "%" PRIu64 ".%03" PRIu64, t / 1000, t % 1000);
}

/* {"ph":"X","pid":1,"tid":1 -- the caller closes it. */
static void begin(struct chrome *c, char ph, int32_t group, int32_t id)
{
	fputs(c->comma ? ",\n" : "\n", c->out);
	c->comma = true;
	fprintf(c->out, "{\"ph\":\"%c\",\"pid\":%d,\"tid\":%d", ph, group, id);
}

static void at(struct chrome *c, uint64_t t)
{
	fputs(",\"ts\":", c->out);
	micros(c, t);
}

static void name(struct chrome *c, const char *s, size_t n)
{
	fputs(",\"name\":\"", c->out);
	json_escape(c->out, s, n);
	fputc('"', c->out);
}

/* What a track or a group of them is called; groups stand in the order of their numbers. */
static void meta(struct chrome *c, const char *what, int32_t group, int32_t id, const char *text)
{
	begin(c, 'M', group, id);
	fprintf(c->out, ",\"name\":\"%s\",\"args\":{\"name\":\"", what);
	json_escape(c->out, text, strlen(text));
	fputs("\"}}", c->out);
}

/* ---- tracks ---- */

/* The first thing on a track introduces it. */
static void introduce(struct chrome *c, int32_t group, int32_t id)
{
	void **seen = idmap_at(&c->tracks, (uint64_t)(uint32_t)group << 32 | (uint32_t)id);
	char text[32];

	if (!seen || *seen)
		return;
	*seen = c;
	if (group == GROUP_CPUS || group == GROUP_IRQS || group == GROUP_IDLE) {
		snprintf(text, sizeof(text), "CPU %d", id);
		meta(c, "thread_name", group, id, text);
		return;
	}
	meta(c, "process_name", group, id, model_comm(c->model, group));
	meta(c, "thread_name", group, id, model_comm(c->model, id));
}

static void task_track(struct chrome *c, int32_t pid, uint32_t cpu, int32_t *group, int32_t *id)
{
	int32_t tgid = source_tgid(c->s, pid);

	*group = !pid ? GROUP_IDLE : tgid > 0 ? tgid : pid;
	*id = pid ? pid : (int32_t)cpu;
	introduce(c, *group, *id);
}

static void slice(struct chrome *c, int32_t group, int32_t id, const struct span *s,
		  const char *label)
{
	begin(c, 'X', group, id);
	at(c, s->from);
	fputs(",\"dur\":", c->out);
	micros(c, s->to - s->from);
	name(c, label, strlen(label));
	if (s->flags & (SPAN_NO_END | SPAN_CUT))
		fprintf(c->out, ",\"args\":{\"end\":\"%s\"}",
			s->flags & SPAN_CUT ? "not seen" : "after the trace");
	fputc('}', c->out);
}

/* ---- what the model tells ---- */

static void ran(struct chrome *c, const struct span *s)
{
	char label[64];

	if (!s->pid)
		return;
	snprintf(label, sizeof(label), "%s-%d", model_comm(c->model, s->pid), s->pid);
	introduce(c, GROUP_CPUS, (int32_t)s->cpu);
	slice(c, GROUP_CPUS, (int32_t)s->cpu, s, label);
}

static void lost(struct chrome *c, const struct span *s)
{
	char label[64];

	if (s->pid >= 0)
		return;
	if (s->flags)
		snprintf(label, sizeof(label), "not recorded");
	else if (s->key == LOST_UNKNOWN)
		snprintf(label, sizeof(label), "events lost");
	else
		snprintf(label, sizeof(label), "%" PRIu64 " events lost", s->key);
	introduce(c, GROUP_CPUS, (int32_t)s->cpu);
	begin(c, 'X', GROUP_CPUS, (int32_t)s->cpu);
	at(c, s->from);
	fputs(",\"dur\":", c->out);
	micros(c, s->to - s->from);
	name(c, label, strlen(label));
	fputs(",\"cname\":\"terrible\"}", c->out);
}

static void span(void *arg, const struct span *s)
{
	struct chrome *c = arg;
	int32_t group, id;

	switch (s->kind) {
	case SPAN_RUNNING: ran(c, s); break;
	case SPAN_LOST: lost(c, s); break;
	case SPAN_IRQ:
	case SPAN_SOFTIRQ:
		introduce(c, GROUP_IRQS, (int32_t)s->cpu);
		slice(c, GROUP_IRQS, (int32_t)s->cpu, s, model_span_name(c->model, s));
		break;
	case SPAN_CALL:
	case SPAN_SYSCALL:
	case SPAN_FAULT:
		if (s->flags & SPAN_NO_TIME || (s->kind == SPAN_CALL && !s->key))
			break;
		task_track(c, s->pid, s->cpu, &group, &id);
		slice(c, group, id, s, model_span_name(c->model, s));
		break;
	default: break;
	}
}

static void half(struct chrome *c, char ph, uint32_t cpu, uint64_t time, const char *what)
{
	introduce(c, GROUP_CPUS, (int32_t)cpu);
	begin(c, ph, GROUP_CPUS, (int32_t)cpu);
	at(c, time);
	name(c, what, strlen(what));
	fprintf(c->out, ",\"cat\":\"%s\",\"id\":%" PRIu64 "%s}", what, c->flows,
		ph == 'f' ? ",\"bp\":\"e\"" : "");
}

static void edge(void *arg, const struct edge *e)
{
	struct chrome *c = arg;
	const char *what = e->kind == EDGE_WAKEUP ? "wakeup" : "ipc";

	if (e->kind == EDGE_MIGRATE)
		return;
	c->flows++;
	half(c, 's', e->from_cpu, e->from_time, what);
	half(c, 'f', e->to_cpu, e->to_time, what);
}

static void instant(void *arg, const struct event *e, uint64_t number)
{
	struct chrome *c = arg;
	const char *event = source_event_name(c->s, e->type), *text;
	int32_t group, id;
	size_t n;

	task_track(c, e->pid, e->cpu, &group, &id);
	begin(c, 'i', group, id);
	at(c, e->time);
	name(c, event, strlen(event));
	text = eventline_info(c->line, e, &n);
	fprintf(c->out, ",\"s\":\"t\",\"args\":{\"cpu\":%u,\"number\":%" PRIu64 ",\"text\":\"",
		e->cpu, number);
	json_escape(c->out, text, n);
	fputs("\"}}", c->out);
}

void chrome_event(struct chrome *c, const struct event *e, uint64_t number, bool show)
{
	model_event(c->model, e, number, show);
}

struct chrome *chrome_new(struct source *s, struct eventline *line, FILE *out)
{
	struct chrome *c = calloc(1, sizeof(*c));
	struct model_counts *n = model_count(s);

	if (c) {
		*c = (struct chrome){.s = s, .out = out, .line = line};
		c->model = n ? model_new(s, &(struct model_options){.counts = n, .to = UINT64_MAX},
					 &(struct model_sink){.arg = c,
							      .span = span,
							      .edge = edge,
							      .mark = instant})
			     : NULL;
	}
	free(n);
	if (!c || !c->model) {
		free(c);
		return NULL;
	}
	source_want_names(s);
	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", out);
	meta(c, "process_name", GROUP_CPUS, 0, "CPUs");
	meta(c, "process_name", GROUP_IRQS, 0, "Interrupts");
	meta(c, "process_name", GROUP_IDLE, 0, "<idle>");
	return c;
}

int chrome_end(struct chrome *c)
{
	struct account a;
	struct json j;
	uint64_t calls;
	int err;

	model_end(c->model);
	const struct losses *l = model_losses(c->model, &calls);

	err = account_make(&a, c->s, losses_at(l, 0), losses_nr(l), true, NULL, NULL);
	fputs("\n],\n\"otherData\":", c->out);
	if (!err) {
		account_calls(&a, calls);
		json_init(&j, c->out, false);
		json_open(&j, NULL, '{');
		account_json(&a, &j);
		json_close(&j, '}');
		account_free(&a);
	} else {
		fputs("{}", c->out);
	}
	fputs("}\n", c->out);
	if (model_failed(c->model))
		err = -ENOMEM;
	idmap_free(&c->tracks);
	model_free(c->model);
	free(c);
	return err;
}
