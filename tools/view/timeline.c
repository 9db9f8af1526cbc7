/* SPDX-License-Identifier: MIT */
/* timeline.c -- a trace over time: which task ran on which CPU, interrupts, calls, events; one page for a browser. */
#include "view/timeline.h"
#include "base/vec.h"
#include "base/strmap.h"
#include "view/eventline.h"
#include "view/embed.h"
#include "base/idmap.h"
#include "model/model.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * Spans and events of the model become lanes of numbers, and the script on the page (timeline.js) draws them:
 *
 *	cpu N    tasks   start, length, name, waited  who ran; without switches, from whose events came
 *	         irqs    start, length, name          interrupts and soft interrupts
 *	         marks   time, event, task, text      all other events
 *	         lost    start, end, events, cause    0: lost, events may be 0: not known; 1: not recorded
 *	task     calls   start, length, name, depth   calls go on across a task switch; those that do not return, to the end
 *
 * Times are nanoseconds (or what the clock counts) from the first event on. Names are numbers into one table.
 */
#define IDLE_LANES ((int64_t)1 << 40)

EMBED(timeline_js, "tools/view/timeline.js");
EMBED(timeline_css, "tools/view/timeline.css");

struct numbers {
	uint64_t *v;
	size_t n, cap;
};

/* A CPU or a task. */
struct lane {
	struct numbers tasks, irqs, marks, calls, lost;
	/* the task that was woken last and runs now: since when, how long it had waited */
	int32_t woken_pid;
	uint64_t woken_to, waited;
	int64_t id;
};

struct lanes {
	struct idmap by_id; /* CPU or pid */
	struct lane **v;
	size_t n, cap;
};

struct timeline {
	struct source *s;
	struct model *model;
	struct eventline *line;
	struct lanes cpus, tasks;
	uint32_t switch_type; /* shown as what it does, not as a mark */
	uint64_t shown;
	struct strmap names;
	bool failed;
};

static void put(struct timeline *t, struct numbers *v, uint64_t x)
{
	if (!VEC_ROOM(v->v, v->n, v->cap)) {
		t->failed = true;
		return;
	}
	v->v[v->n++] = x;
}

/* Four numbers: a slice or a mark. */
static void put_item(struct timeline *t, struct numbers *v, uint64_t a, uint64_t b, uint64_t c,
		     uint64_t d)
{
	put(t, v, a);
	put(t, v, b);
	put(t, v, c);
	put(t, v, d);
	t->shown++;
}

static struct lane *lane_of(struct timeline *t, struct lanes *l, int64_t id)
{
	void **at = idmap_at(&l->by_id, (uint64_t)id);
	struct lane *k = at ? *at : NULL;

	if (k)
		return k;
	k = at && VEC_ROOM(l->v, l->n, l->cap) ? calloc(1, sizeof(*k)) : NULL;
	if (!k) {
		t->failed = true;
		return NULL;
	}
	k->id = id;
	l->v[l->n++] = *at = k;
	return k;
}

/* ---- names ---- */

static uint32_t name_of(struct timeline *t, const char *s, size_t n)
{
	uint32_t i = strmap_add(&t->names, s, (uint32_t)n);

	t->failed |= i == STRMAP_NONE;
	return i == STRMAP_NONE ? 0 : i;
}

static uint32_t task_name(struct timeline *t, int32_t pid)
{
	char text[64];
	int n = pid ? snprintf(text, sizeof(text), "%s-%d", model_comm(t->model, pid), pid)
		    : snprintf(text, sizeof(text), "idle");

	return name_of(t, text, (size_t)n);
}

/* ---- what the model tells ---- */

static uint64_t since_start(const struct timeline *t, uint64_t time)
{
	uint64_t start = model_start(t->model);

	return time > start ? time - start : 0;
}

static void ran(struct timeline *t, struct lane *c, const struct span *s)
{
	bool waited = c->woken_pid == s->pid && c->woken_to == s->from && s->pid;

	if (s->to > s->from)
		put_item(t, &c->tasks, since_start(t, s->from), s->to - s->from,
			 task_name(t, s->pid), waited ? c->waited : 0);
}

static void lost(struct timeline *t, struct lane *c, const struct span *s)
{
	put(t, &c->lost, since_start(t, s->from));
	put(t, &c->lost, since_start(t, s->to));
	put(t, &c->lost, s->key == LOST_UNKNOWN ? 0 : s->key);
	put(t, &c->lost, s->flags != 0);
}

/* The idle tasks all have pid 0: apart by CPU, after all others. */
static void called(struct timeline *t, const struct span *s)
{
	struct lane *k = lane_of(t, &t->tasks, s->pid ? s->pid : IDLE_LANES + (int64_t)s->cpu);
	uint64_t from = since_start(t, s->from), to = since_start(t, s->to);
	const char *name = model_span_name(t->model, s);

	if (k && s->key && !(s->flags & SPAN_NO_TIME) && s->to >= model_start(t->model))
		put_item(t, &k->calls, from, to - from, name_of(t, name, strlen(name)), s->depth);
}

static void span(void *arg, const struct span *s)
{
	struct timeline *t = arg;
	struct lane *c = lane_of(t, &t->cpus, s->cpu);
	const char *name;

	if (!c)
		return;
	switch (s->kind) {
	case SPAN_RUNNING: ran(t, c, s); break;
	case SPAN_WAKEUP:
		c->woken_pid = s->pid;
		c->woken_to = s->to;
		c->waited = s->to - s->from;
		break;
	case SPAN_IRQ:
	case SPAN_SOFTIRQ:
		name = model_span_name(t->model, s);
		put_item(t, &c->irqs, since_start(t, s->from), s->to - s->from,
			 name_of(t, name, strlen(name)), 0);
		break;
	case SPAN_CALL: called(t, s); break;
	case SPAN_LOST:
		if (s->pid < 0)
			lost(t, c, s);
		break;
	default: break;
	}
}

static void mark(void *arg, const struct event *e, uint64_t number)
{
	struct timeline *t = arg;
	struct lane *c = e->type == t->switch_type ? NULL : lane_of(t, &t->cpus, e->cpu);
	const char *name = source_event_name(t->s, e->type), *text;
	size_t n;

	(void)number;
	if (!c)
		return;
	text = eventline_info(t->line, e, &n);
	put_item(t, &c->marks, since_start(t, e->time), name_of(t, name, strlen(name)),
		 task_name(t, e->pid), name_of(t, text, n));
}

/* ---- the page ---- */

static int by_id(const void *a, const void *b)
{
	const struct lane *x = *(struct lane *const *)a, *y = *(struct lane *const *)b;

	return (x->id > y->id) - (x->id < y->id);
}

static void put_numbers(FILE *out, const char *key, const struct numbers *v)
{
	fprintf(out, ",\"%s\":[", key);
	for (size_t i = 0; i < v->n; i++)
		fprintf(out, "%s%" PRIu64, i ? "," : "", v->v[i]);
	fputc(']', out);
}

/* The data is a script of its own type: `<` is escaped, so that no name can end it. */
static void put_text(FILE *out, const char *s)
{
	const char *lt;

	fputc('"', out);
	for (; (lt = strchr(s, '<')); s = lt + 1) {
		json_escape(out, s, (size_t)(lt - s));
		fputs("\\u003c", out);
	}
	json_escape(out, s, strlen(s));
	fputc('"', out);
}

static void put_lane(struct timeline *t, const struct lane *k, bool cpu, bool first, FILE *out)
{
	char label[64];

	if (cpu)
		snprintf(label, sizeof(label), "cpu %" PRId64, k->id);
	else if (k->id >= IDLE_LANES)
		snprintf(label, sizeof(label), "idle, cpu %" PRId64, k->id - IDLE_LANES);
	else
		snprintf(label, sizeof(label), "%s-%" PRId64, model_comm(t->model, (int32_t)k->id),
			 k->id);
	fprintf(out, "%s{\"cpu\":%s,\"label\":", first ? "\n" : ",\n", cpu ? "true" : "false");
	put_text(out, label);
	put_numbers(out, "tasks", &k->tasks);
	put_numbers(out, "irqs", &k->irqs);
	put_numbers(out, "marks", &k->marks);
	put_numbers(out, "calls", &k->calls);
	put_numbers(out, "lost", &k->lost);
	fputc('}', out);
}

static void put_names(const struct timeline *t, FILE *out)
{
	for (uint32_t i = 0; i < t->names.nr; i++) {
		if (i)
			fputc(',', out);
		put_text(out, t->names.word[i].p);
	}
}

static void put_html(FILE *out, const char *s)
{
	for (; *s; s++)
		if (*s == '<' || *s == '&')
			fprintf(out, "&#%d;", *s);
		else
			fputc(*s, out);
}

static void put_page(struct timeline *t, const struct timeline_options *o,
		     const struct timeline_result *r, FILE *out)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>", out);
	put_html(out, o->title);
	fprintf(out, "</title>\n<style>\n%s</style></head>\n<body>\n<header><h1>", timeline_css);
	put_html(out, o->title);
	fputs("</h1><span id=\"about\"></span><input id=\"search\" placeholder=\"search: regex, "
	      "key "
	      "/\"><span id=\"found\"></span></header>\n<canvas id=\"overview\"></canvas>\n"
	      "<div id=\"main\"><canvas id=\"lanes\"></canvas></div>\n<footer id=\"details\">"
	      "</footer>\n<div id=\"tip\"></div>\n<script id=\"data\" type=\"application/json\">\n",
	      out);
	fprintf(out,
		"{\"start\":\"%" PRIu64 "\",\"span\":%" PRIu64 ",\"ns\":%s,\"left\":%" PRIu64
		",\"events\":%" PRIu64 ",\"lost\":",
		model_start(t->model), model_finish(t->model) - model_start(t->model),
		t->s->unit == CLOCK_NS ? "true" : "false", r->left_out, r->events);
	put_text(out, r->lost);
	fputs(",\n\"lanes\":[", out);
	if (t->cpus.n)
		qsort(t->cpus.v, t->cpus.n, sizeof(struct lane *), by_id);
	if (t->tasks.n)
		qsort(t->tasks.v, t->tasks.n, sizeof(struct lane *), by_id);
	for (size_t i = 0; i < t->cpus.n; i++)
		put_lane(t, t->cpus.v[i], true, !i, out);
	for (size_t i = 0; i < t->tasks.n; i++)
		put_lane(t, t->tasks.v[i], false, !t->cpus.n && !i, out);
	fputs("],\n\"names\":[", out);
	put_names(t, out);
	fprintf(out, "]}\n</script>\n<script>\n%s</script>\n</body></html>\n", timeline_js);
}

static void lanes_free(struct lanes *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i]->tasks.v);
		free(l->v[i]->irqs.v);
		free(l->v[i]->marks.v);
		free(l->v[i]->calls.v);
		free(l->v[i]->lost.v);
		free(l->v[i]);
	}
	free(l->v);
	idmap_free(&l->by_id);
}

static void timeline_free(struct timeline *t)
{
	lanes_free(&t->cpus);
	lanes_free(&t->tasks);
	strmap_free(&t->names);
	model_free(t->model);
	eventline_free(t->line);
	free(t);
}

static struct timeline *timeline_new(struct source *s)
{
	const struct schema *k = source_schema_named(s, "sched_switch");
	struct timeline *t = calloc(1, sizeof(*t));
	struct model_counts *n = model_count(s);

	if (t) {
		t->s = s;
		t->names.copies = true;
		t->line = eventline_new(s);
		t->switch_type = k ? k->id : UINT32_MAX;
		t->model = n ? model_new(s, &(struct model_options){.counts = n, .to = UINT64_MAX},
					 &(struct model_sink){.arg = t, .span = span, .mark = mark})
			     : NULL;
	}
	free(n);
	if (t && t->line && t->model)
		return t;
	if (t)
		timeline_free(t);
	return NULL;
}

/* What the page must say is missing. */
static int tell_lost(struct timeline *t, const struct timeline_options *o,
		     struct timeline_result *r)
{
	uint64_t calls;
	const struct losses *l = model_losses(t->model, &calls);
	struct account a;
	int err = account_make(&a, t->s, losses_at(l, 0), losses_nr(l),
			       scan_is_whole(o->choice) && !r->left_out, scan_keep,
			       (void *)o->choice);

	if (err)
		return err;
	account_calls(&a, calls);
	if (account_lost(&a))
		account_text(&a, r->lost, sizeof(r->lost));
	account_free(&a);
	return 0;
}

int timeline_html(struct source *s, const struct timeline_options *o, FILE *out,
		  struct timeline_result *r)
{
	struct scan *sc = scan_open(s, o->choice, NULL);
	struct timeline *t = sc ? timeline_new(s) : NULL;
	const struct event *e;
	bool wanted;
	int err = 0;

	*r = (struct timeline_result){0};
	if (!t) {
		scan_close(sc);
		return -ENOMEM;
	}
	while (!t->failed && (e = scan_next_any(sc, &wanted))) {
		r->events += wanted;
		if (t->shown >= o->max) {
			r->left_out += wanted;
			continue;
		}
		model_event(t->model, e, scan_number(sc), wanted);
		r->until = e->time;
	}
	model_end(t->model);
	r->shown = t->shown;
	err = t->failed || model_failed(t->model) ? -ENOMEM
	      : !r->events			  ? -ENODATA
						  : tell_lost(t, o, r);
	if (!err)
		put_page(t, o, r, out);
	scan_close(sc);
	timeline_free(t);
	return err;
}
