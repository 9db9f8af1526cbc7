/* SPDX-License-Identifier: MIT */
/* chrome.c -- a trace as Chrome's trace JSON: tasks, CPUs and interrupts as tracks with slices. */
#include "view/export.h"
#include "base/json.h"
#include "model/walk.h"
#include "view/eventline.h"
#include "view/tracks.h"

#include <errno.h>

/* Spans of the model become slices (X), its edges flows, other events instants. */
struct chrome {
	struct tracks t;
	struct json j;
	const struct scan_choice *choice;
	struct eventline *line;
	uint64_t flows;
};

static void introduce(struct chrome *c, struct track at);

/* An object on a track, which the first one introduces; end() closes it. */
static void begin(struct chrome *c, const char *ph, struct track at, const char *name)
{
	if (*ph != 'M')
		introduce(c, at);
	json_open(&c->j, NULL, '{');
	json_str(&c->j, "ph", ph);
	json_s64(&c->j, "pid", at.group);
	json_s64(&c->j, "tid", at.id);
	json_str(&c->j, "name", name);
}

static void end(struct chrome *c)
{
	json_close(&c->j, '}');
	fputc('\n', c->j.out);
}

static void meta(struct chrome *c, const char *what, struct track at, const char *text)
{
	begin(c, "M", at, what);
	json_open(&c->j, "args", '{');
	json_str(&c->j, "name", text);
	json_close(&c->j, '}');
	end(c);
}

static void introduce(struct chrome *c, struct track at)
{
	const char *group, *name = tracks_first(&c->t, at, &group);

	if (!name)
		return;
	meta(c, "process_name", at, group);
	meta(c, "thread_name", at, name);
}

static void span(void *arg, const struct span *s)
{
	struct chrome *c = arg;
	struct track at;
	const char *name = tracks_span(&c->t, s, &at);

	if (!name || !scan_cpu(c->choice, s->cpu))
		return;
	begin(c, "X", at, name);
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

static void edge(void *arg, const struct edge *e)
{
	struct chrome *c = arg;
	const char *what = e->kind == EDGE_WAKEUP ? "wakeup" : "ipc";

	if (e->kind == EDGE_MIGRATE ||
	    !(scan_cpu(c->choice, e->from_cpu) && scan_cpu(c->choice, e->to_cpu)))
		return;
	c->flows++;
	for (int to = 0; to < 2; to++) {
		struct track at = tracks_cpu(to ? e->to_cpu : e->from_cpu);

		begin(c, to ? "f" : "s", at, what);
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
	size_t n;

	if (!scan_cpu(c->choice, e->cpu))
		return;
	begin(c, "i", tracks_task(&c->t, e->pid, e->cpu), source_event_name(c->t.s, e->type));
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

int export_chrome(struct source *s, const struct scan_choice *choice, FILE *out)
{
	struct chrome c = {.t.s = s, .choice = choice, .line = eventline_new(s)};
	struct model_sink sink = {.arg = &c, .span = span, .edge = edge, .mark = instant};
	struct model_walk w = {.choice = choice, .numbered = true, .out = out};
	struct account a;
	int err = -ENOMEM;

	source_want_names(s);
	json_init(&c.j, out, false);
	json_open(&c.j, NULL, '{');
	json_str(&c.j, "displayTimeUnit", "ns");
	json_open(&c.j, "traceEvents", '[');
	if (c.line)
		err = model_walk(s, &w, &sink, &c.t.model);
	json_close(&c.j, ']');
	if (!err && !(err = model_account(s, &w, c.t.model, &a))) {
		json_open(&c.j, "otherData", '{');
		account_json(&a, &c.j);
		account_free(&a);
		json_close(&c.j, '}');
	}
	json_close(&c.j, '}');
	json_end(&c.j);
	idmap_free(&c.t.seen);
	model_free(c.t.model);
	eventline_free(c.line);
	return err;
}
