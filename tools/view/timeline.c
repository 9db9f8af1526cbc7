/* SPDX-License-Identifier: MIT */
/* timeline.c -- a trace over time: which task ran on which CPU, interrupts, calls, events; one page for a browser. */
#include "view/timeline.h"
#include "decode/names/wordlist.h"
#include "view/eventline.h"
#include "view/embed.h"
#include "base/idmap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * Events become lanes of numbers, and the script on the page (timeline.js) draws them:
 *
 *	cpu N    tasks   start, length, name, waited  from sched_switch; without any, from whose events came
 *	         irqs    start, length, name          from irq_handler_entry/exit, softirq_entry/exit
 *	         marks   time, event, task, text      all other events
 *	task     calls   start, length, name, depth   from funcgraph_exit: calls go on across a task switch; those that
 *	                                              do not return, from funcgraph_entry to the end
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
	struct numbers open; /* by depth, of calls that have not returned: when, function */
	int32_t running;     /* pid */
	uint64_t since;
	uint64_t waited; /* of the running task, before it ran */
	uint64_t irq_since;
	uint32_t irq_name;
	bool known, in_irq;
	uint64_t last; /* time of its last event */
	int64_t id;
};

struct lanes {
	struct idmap by_id; /* CPU or pid */
	struct lane **v;
	size_t n, cap;
};

enum role {
	ROLE_UNKNOWN,
	ROLE_MARK,
	ROLE_SWITCH,
	ROLE_WAKEUP,
	ROLE_IRQ_ENTRY,
	ROLE_IRQ_EXIT,
	ROLE_CALL_ENTRY,
	ROLE_CALL,
};

struct timeline {
	struct source *s;
	struct eventline *line;
	struct lanes cpus, tasks;
	uint8_t *roles;
	uint64_t start, end, shown;
	bool any, switches;
	/* when a task was woken and has not run since; by pid, the newest wins */
	struct woken {
		int32_t pid;
		uint64_t at;
	} woken[4096];
	struct wordlist names;
	bool failed;
};

static void put(struct timeline *t, struct numbers *v, uint64_t x)
{
	if (v->n == v->cap) {
		size_t cap = v->cap ? v->cap * 2 : 64;
		uint64_t *p = realloc(v->v, cap * sizeof(*p));

		if (!p) {
			t->failed = true;
			return;
		}
		v->v = p;
		v->cap = cap;
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
	if (l->n == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 16;
		struct lane **p = realloc(l->v, cap * sizeof(struct lane *));

		if (p) {
			l->v = p;
			l->cap = cap;
		}
	}
	k = at && l->n < l->cap ? calloc(1, sizeof(*k)) : NULL;
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
	uint32_t i = wordlist_add(&t->names, s, (uint32_t)n);

	t->failed |= i == WORD_NONE;
	return i == WORD_NONE ? 0 : i;
}

static uint32_t task_name(struct timeline *t, int32_t pid)
{
	char text[64];
	int n = pid ? snprintf(text, sizeof(text), "%s-%d", source_comm(t->s, pid), pid)
		    : snprintf(text, sizeof(text), "idle");

	return name_of(t, text, (size_t)n);
}

static uint32_t function_name(struct timeline *t, uint64_t addr)
{
	struct symbol sym;
	char text[32];

	if (source_symbol(t->s, addr, &sym))
		return name_of(t, sym.name, strlen(sym.name));
	snprintf(text, sizeof(text), "0x%" PRIx64, addr);
	return name_of(t, text, strlen(text));
}

/* ---- events ---- */

static enum role role_of(struct timeline *t, uint32_t type)
{
	static const struct {
		const char *name;
		enum role role;
	} known[] = {
		{"sched_switch", ROLE_SWITCH},	      {"sched_wakeup", ROLE_WAKEUP},
		{"sched_wakeup_new", ROLE_WAKEUP},    {"irq_handler_entry", ROLE_IRQ_ENTRY},
		{"irq_handler_exit", ROLE_IRQ_EXIT},  {"softirq_entry", ROLE_IRQ_ENTRY},
		{"softirq_exit", ROLE_IRQ_EXIT},      {"funcgraph_exit", ROLE_CALL},
		{"funcgraph_entry", ROLE_CALL_ENTRY},
	};
	uint32_t slot = type < SOURCE_ID_FAST ? type : 0;
	const char *name = source_event_name(t->s, type);

	if (t->roles[slot])
		return t->roles[slot];
	t->roles[slot] = ROLE_MARK;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(name, known[i].name))
			t->roles[slot] = (uint8_t)known[i].role;
	return t->roles[slot];
}

static struct woken *woken_of(struct timeline *t, int32_t pid)
{
	return &t->woken[(uint32_t)pid % (sizeof(t->woken) / sizeof(t->woken[0]))];
}

/* The task that ran until now is a slice; another one begins. */
static void run(struct timeline *t, struct lane *c, int32_t pid, uint64_t now)
{
	struct woken *w = woken_of(t, pid);

	if (c->known && now > c->since)
		put_item(t, &c->tasks, c->since - t->start, now - c->since,
			 task_name(t, c->running), c->waited);
	c->waited = w->pid == pid && w->at && pid ? now - w->at : 0;
	w->at = 0;
	c->running = pid;
	c->since = now;
	c->known = true;
}

static void switched(struct timeline *t, struct lane *c, const struct event *e)
{
	uint64_t next = 0;

	if (!c->known) { /* the task ran before the trace began */
		c->known = true;
		c->running = e->pid;
		c->since = t->start;
	}
	source_field(t->s, e, "next_pid", &next);
	run(t, c, (int32_t)next, e->time);
}

static void woke(struct timeline *t, const struct event *e)
{
	uint64_t pid;

	if (source_field(t->s, e, "pid", &pid))
		*woken_of(t, (int32_t)pid) = (struct woken){(int32_t)pid, e->time};
}

static void mark(struct timeline *t, struct lane *c, const struct event *e)
{
	const char *name = source_event_name(t->s, e->type), *text;
	size_t n;

	text = eventline_info(t->line, e, &n);
	put_item(t, &c->marks, e->time - t->start, name_of(t, name, strlen(name)),
		 task_name(t, e->pid), name_of(t, text, n));
}

/* What an interrupt is called: the name= of its text, or all of it. */
static void irq_entry(struct timeline *t, struct lane *c, const struct event *e)
{
	size_t n;
	const char *text = eventline_info(t->line, e, &n), *at = memmem(text, n, "name=", 5);

	if (at) {
		n -= (size_t)(at + 5 - text);
		text = at + 5;
	}
	c->irq_name = name_of(t, text, n);
	c->irq_since = e->time;
	c->in_irq = true;
}

static void irq_exit(struct timeline *t, struct lane *c, const struct event *e)
{
	if (c->in_irq && e->time >= c->irq_since)
		put_item(t, &c->irqs, c->irq_since - t->start, e->time - c->irq_since, c->irq_name,
			 0);
	c->in_irq = false;
}

#define CALL_LATE_NS 100000u /* behind its return, as a record may be */

#define CALL_DEPTH_MAX 1000u /* beyond, a call that does not return is not drawn */

/* The idle tasks all have pid 0: apart by CPU, behind all others. */
static struct lane *calls_of(struct timeline *t, const struct event *e)
{
	return lane_of(t, &t->tasks, e->pid ? e->pid : IDLE_LANES + (int64_t)e->cpu);
}

/* A call begins, and calls as deep or deeper are over, seen to return or not. */
static void calls(struct timeline *t, const struct event *e)
{
	struct lane *k = calls_of(t, e);
	uint64_t func = 0, depth = 0;

	if (!k || !source_field(t->s, e, "func", &func))
		return;
	source_field(t->s, e, "depth", &depth);
	if (depth >= CALL_DEPTH_MAX)
		return;
	while (k->open.n < 2 * depth && !t->failed)
		put(t, &k->open, 0);
	k->open.n = 2 * depth;
	put(t, &k->open, e->time);
	put(t, &k->open, func);
}

/* Calls that do not return last until `at`. */
static void calls_close(struct timeline *t, struct lane *k, uint64_t at)
{
	for (size_t d = 0; 2 * d + 1 < k->open.n; d++)
		if (k->open.v[2 * d])
			put_item(t, &k->calls, k->open.v[2 * d] - t->start, at - k->open.v[2 * d],
				 function_name(t, k->open.v[2 * d + 1]), d);
	k->open.n = 0;
}

static void called(struct timeline *t, const struct event *e)
{
	struct lane *k = calls_of(t, e);
	uint64_t func = 0, from = 0, to = 0, depth = 0;

	if (!k || !source_field(t->s, e, "func", &func))
		return;
	source_field(t->s, e, "calltime", &from);
	source_field(t->s, e, "rettime", &to);
	source_field(t->s, e, "depth", &depth);
	if (k->open.n > 2 * depth)
		k->open.n = 2 * depth;
	if (to < from)
		return;
	/* The fields may count by another clock than the records, or by a worse idea of its rate: a return is recorded at once. */
	if (e->time - to > CALL_LATE_NS) {
		from += e->time - to;
		to = e->time;
	}
	if (to < t->start)
		return;
	if (from < t->start) /* it began before the first event */
		from = t->start;
	put_item(t, &k->calls, from - t->start, to - from, function_name(t, func), depth);
}

/* A switch away from a task that is dead (prev_state is X or Z): its calls are over. */
static void calls_of_dead(struct timeline *t, const struct event *e)
{
	struct lane *k = e->pid ? idmap_find(&t->tasks.by_id, (uint64_t)e->pid) : NULL;
	uint64_t state = 0;

	source_field(t->s, e, "prev_state", &state);
	if (state & 0x30 && k)
		calls_close(t, k, e->time);
}

static void take(struct timeline *t, const struct event *e)
{
	struct lane *c = lane_of(t, &t->cpus, e->cpu);
	enum role role = role_of(t, e->type);

	if (!c)
		return;
	if (e->lost) {
		put(t, &c->lost, (c->last ? c->last : t->start) - t->start);
		put(t, &c->lost, e->time - t->start);
		put(t, &c->lost, e->lost == LOST_UNKNOWN ? 0 : e->lost);
	}
	/* Without switches: who was seen here last runs on. */
	if (!t->switches && (!c->known || c->running != e->pid))
		run(t, c, e->pid, e->time);
	switch (role) {
	case ROLE_SWITCH:
		switched(t, c, e);
		calls_of_dead(t, e);
		break;
	case ROLE_WAKEUP:
		woke(t, e);
		mark(t, c, e);
		break;
	case ROLE_IRQ_ENTRY: irq_entry(t, c, e); break;
	case ROLE_IRQ_EXIT: irq_exit(t, c, e); break;
	case ROLE_CALL_ENTRY: calls(t, e); break;
	case ROLE_CALL: called(t, e); break;
	default: mark(t, c, e); break;
	}
	c->last = e->time;
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
		snprintf(label, sizeof(label), "%s-%" PRId64, source_comm(t->s, (int32_t)k->id),
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
		",\"events\":%" PRIu64 ",\n\"lanes\":[",
		t->start, t->end - t->start, t->s->unit == CLOCK_NS ? "true" : "false", r->left_out,
		r->events);
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
		free(l->v[i]->open.v);
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
	wordlist_free(&t->names);
	free(t->roles);
	eventline_free(t->line);
	free(t);
}

static struct timeline *timeline_new(struct source *s)
{
	struct timeline *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->s = s;
	t->names.copies = true;
	t->line = eventline_new(s);
	t->roles = calloc(SOURCE_ID_FAST, 1);
	t->switches = source_schema_named(s, "sched_switch") != NULL;
	if (!t->line || !t->roles) {
		timeline_free(t);
		return NULL;
	}
	return t;
}

/* The first switch may come late, or never: then the trace does not tell who runs, but its events do. */
static bool has_switches(struct timeline *t, struct scan *sc)
{
	const struct event *e;
	bool any = false;

	for (int i = 0; t->switches && !any && i < 100000 && (e = scan_next(sc)); i++)
		any = role_of(t, e->type) == ROLE_SWITCH;
	return any;
}

int timeline_html(struct source *s, const struct timeline_options *o, FILE *out,
		  struct timeline_result *r)
{
	struct scan *sc = scan_open(s, o->choice, NULL);
	struct timeline *t = sc ? timeline_new(s) : NULL;
	const struct event *e;
	int err = 0;

	*r = (struct timeline_result){0};
	if (!t) {
		scan_close(sc);
		return -ENOMEM;
	}
	t->switches = has_switches(t, sc);
	scan_rewind(sc);
	while (!t->failed && (e = scan_next(sc))) {
		r->events++;
		if (t->shown >= o->max) {
			r->left_out++;
			continue;
		}
		if (!t->any)
			t->start = e->time;
		t->any = true;
		take(t, e);
		t->end = r->until = e->time;
	}
	for (size_t i = 0; i < t->tasks.n; i++)
		calls_close(t, t->tasks.v[i], t->end);
	/* Who runs at the end runs to the end. */
	for (size_t i = 0; i < t->cpus.n; i++)
		run(t, t->cpus.v[i], -1, t->end);
	r->shown = t->shown;
	err = t->failed ? -ENOMEM : !t->any ? -ENODATA : 0;
	if (!err)
		put_page(t, o, r, out);
	scan_close(sc);
	timeline_free(t);
	return err;
}
