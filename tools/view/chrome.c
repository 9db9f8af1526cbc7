/* SPDX-License-Identifier: MIT */
/* chrome.c -- a trace as Chrome's trace JSON: tasks, CPUs and interrupts as tracks with slices. */
#include "view/chrome.h"
#include "query/expr.h"
#include "base/idmap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * Three groups of tracks:
 *
 *   tasks		a track per task: its calls (funcgraph_entry/exit) as slices, other events as instants. The idle task
 *			is one per CPU, though its pid is the same on all.
 *   CPUs		which task ran, from sched_switch
 *   Interrupts		a track per CPU: irq_handler, softirq, tasklet and irq_vectors entries and exits as slices
 *
 *   C1  On each track slices nest, and every B has its E: an exit whose entry was not seen is written as a whole slice (X)
 *       if the event tells when it began, else left out; slices that a lost exit left open are closed by the exit of one
 *       around them, or at the end.
 */
enum {
	GROUP_CPUS = 0x7ffffff0,
	GROUP_IRQS,
	GROUP_IDLE,
};

#define DEPTH_MAX 4096u /* slices open on a track; deeper ones are not drawn */

enum role {
	ROLE_UNKNOWN,
	ROLE_INSTANT,
	ROLE_CALL,
	ROLE_RETURN,
	ROLE_SWITCH,
	ROLE_IRQ_ENTRY,
	ROLE_IRQ_EXIT,
};

/* A track, and the slices open on it: what an exit must name to close each. */
struct track {
	int32_t group, id;
	uint64_t *open;
	uint32_t nr, cap;
};

struct kind {
	enum role role;
	uint32_t class; /* of interrupt: exits close entries of the same */
	const struct format_field *func, *call, *ret, *number, *comm, *pid;
};

struct chrome {
	struct source *s;
	FILE *out;
	struct eventline *line;
	struct kind *kinds;  /* by type */
	struct idmap tracks; /* of struct track, by group and id */
	struct running {
		uint64_t since;
		int32_t pid;
		char comm[24];
		bool seen, known;
	} * cpus; /* by CPU */
	uint32_t nr_cpus;
	uint64_t last;
	bool comma, swap;
};

/* ---- what a type of event becomes ---- */

/* "softirq_entry" is an entry of "softirq"; the length of that, 0 if it does not end so. */
static size_t stem(const char *name, const char *end)
{
	size_t n = strlen(name), k = strlen(end);

	return n > k && !strcmp(name + n - k, end) ? n - k : 0;
}

static enum role irq_role(const struct schema *schema, uint32_t *class)
{
	static const char *const events[] = {"irq_handler", "softirq", "tasklet", "tasklet_hi"};
	size_t entry = stem(schema->name, "_entry"), exit = stem(schema->name, "_exit");
	size_t n = entry ? entry : exit;
	bool known = !strcmp(schema->system, "irq_vectors");

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		known |= strlen(events[i]) == n && !memcmp(events[i], schema->name, n);
	if (!n || !known)
		return ROLE_INSTANT;
	*class = 2166136261u;
	for (size_t i = 0; i < n; i++)
		*class = (*class ^ (uint8_t)schema->name[i]) * 16777619u;
	return entry ? ROLE_IRQ_ENTRY : ROLE_IRQ_EXIT;
}

static const struct format_field *one_of(const struct format *f, const char *a, const char *b)
{
	const struct format_field *k = format_field(f, a);

	return k ? k : format_field(f, b);
}

static void choose(struct chrome *c, uint32_t type, struct kind *k)
{
	const struct schema *schema = source_schema(c->s, type);
	const struct format *f = schema ? source_format(c->s, type) : NULL;

	k->role = ROLE_INSTANT;
	if (!f)
		return;
	if (!strcmp(schema->name, "funcgraph_entry"))
		k->role = ROLE_CALL;
	else if (!strcmp(schema->name, "funcgraph_exit"))
		k->role = ROLE_RETURN;
	else if (!strcmp(schema->name, "sched_switch"))
		k->role = ROLE_SWITCH;
	else
		k->role = irq_role(schema, &k->class);
	k->func = format_field(f, "func");
	k->call = format_field(f, "calltime");
	k->ret = format_field(f, "rettime");
	k->number = one_of(f, "vec", "irq");
	k->comm = format_field(f, "next_comm");
	k->pid = format_field(f, "next_pid");
}

static const struct kind *kind_of(struct chrome *c, uint32_t type)
{
	struct kind *k = &c->kinds[type < SOURCE_ID_FAST ? type : 0];

	if (k->role == ROLE_UNKNOWN)
		choose(c, type, k);
	return k;
}

/* ---- JSON ---- */

static void micros(struct chrome *c, uint64_t t)
{
	fprintf(c->out, "%" PRIu64 ".%03" PRIu64, t / 1000, t % 1000);
}

/* {"ph":"B","pid":1,"tid":1 -- the caller closes it. */
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

static void introduce(struct chrome *c, const struct track *t)
{
	char text[32];

	if (t->group == GROUP_CPUS || t->group == GROUP_IRQS || t->group == GROUP_IDLE) {
		snprintf(text, sizeof(text), "CPU %d", t->id);
		meta(c, "thread_name", t->group, t->id, text);
		return;
	}
	meta(c, "process_name", t->group, t->id, source_comm(c->s, t->group));
	meta(c, "thread_name", t->group, t->id, source_comm(c->s, t->id));
}

/* The first event of a track introduces it. NULL: out of memory. */
static struct track *track_of(struct chrome *c, int32_t group, int32_t id)
{
	void **at = idmap_at(&c->tracks, (uint64_t)(uint32_t)group << 32 | (uint32_t)id);
	struct track *t = at ? *at : NULL;

	if (at && !t && (t = *at = calloc(1, sizeof(*t)))) {
		t->group = group;
		t->id = id;
		introduce(c, t);
	}
	return t;
}

static struct track *task_track(struct chrome *c, const struct event *e)
{
	int32_t tgid = source_tgid(c->s, e->pid);

	if (!e->pid)
		return track_of(c, GROUP_IDLE, (int32_t)e->cpu);
	return track_of(c, tgid > 0 ? tgid : e->pid, e->pid);
}

/* Begin a slice that an exit naming `key` ends; C1. */
static void open_slice(struct chrome *c, struct track *t, uint64_t time, uint64_t key,
		       const char *label, size_t n)
{
	if (t->nr == t->cap) {
		uint32_t cap = t->cap ? t->cap * 2 : 32;
		uint64_t *open = cap <= DEPTH_MAX ? realloc(t->open, cap * sizeof(*open)) : NULL;

		if (!open)
			return;
		t->open = open;
		t->cap = cap;
	}
	t->open[t->nr++] = key;
	begin(c, 'B', t->group, t->id);
	at(c, time);
	name(c, label, n);
	fputc('}', c->out);
}

static void close_top(struct chrome *c, struct track *t, uint64_t time)
{
	t->nr--;
	begin(c, 'E', t->group, t->id);
	at(c, time);
	fputc('}', c->out);
}

/* End the innermost slice of the key, and what is still open inside. False: there is none. */
static bool close_slice(struct chrome *c, struct track *t, uint64_t time, uint64_t key)
{
	uint32_t k = t->nr;

	while (k && t->open[k - 1] != key)
		k--;
	if (!k)
		return false;
	while (t->nr >= k)
		close_top(c, t, time);
	return true;
}

static void whole(struct chrome *c, const struct track *t, uint64_t from, uint64_t to,
		  const char *label)
{
	begin(c, 'X', t->group, t->id);
	at(c, from);
	fputs(",\"dur\":", c->out);
	micros(c, to - from);
	name(c, label, strlen(label));
	fputc('}', c->out);
}

/* ---- events ---- */

static uint64_t number(const struct chrome *c, const struct event *e, const struct format_field *f)
{
	return expr_field(e->data, e->size, f, c->swap);
}

static const char *function_name(struct chrome *c, uint64_t func, char hex[24])
{
	struct symbol sym;

	if (source_symbol(c->s, func, &sym))
		return sym.name;
	snprintf(hex, 24, "0x%" PRIx64, func);
	return hex;
}

static void call(struct chrome *c, const struct kind *k, const struct event *e)
{
	struct track *t = task_track(c, e);
	uint64_t func = number(c, e, k->func);
	char hex[24];
	const char *label = function_name(c, func, hex);

	if (t)
		open_slice(c, t, e->time, func, label, strlen(label));
}

static void returned(struct chrome *c, const struct kind *k, const struct event *e)
{
	struct track *t = task_track(c, e);
	uint64_t func = number(c, e, k->func);
	uint64_t from = number(c, e, k->call), to = number(c, e, k->ret);
	char hex[24];

	if (!t || close_slice(c, t, e->time, func))
		return;
	if (k->call && k->ret && from <= to && to <= e->time)
		whole(c, t, from, to, function_name(c, func, hex));
}

static void interrupt(struct chrome *c, const struct kind *k, const struct event *e)
{
	struct track *t = track_of(c, GROUP_IRQS, (int32_t)e->cpu);
	uint64_t key = (uint64_t)k->class << 32 | (uint32_t)number(c, e, k->number);
	const char *event = source_event_name(c->s, e->type), *text;
	char label[160];
	size_t n;

	if (!t)
		return;
	if (k->role == ROLE_IRQ_EXIT) {
		close_slice(c, t, e->time, key);
		return;
	}
	text = eventline_info(c->line, e, &n);
	snprintf(label, sizeof(label), "%.*s %.*s", (int)stem(event, "_entry"), event, (int)n,
		 text);
	open_slice(c, t, e->time, key, label, strlen(label));
}

/* The task that runs on a CPU gives way to another, or the trace ends. */
static void ran(struct chrome *c, uint32_t cpu, uint64_t until)
{
	struct running *r = &c->cpus[cpu];
	struct track *t = track_of(c, GROUP_CPUS, (int32_t)cpu);
	char label[48];

	if (!t || !r->known || !r->pid || until < r->since)
		return;
	snprintf(label, sizeof(label), "%s-%d", r->comm, r->pid);
	whole(c, t, r->since, until, label);
}

static void switched(struct chrome *c, const struct kind *k, const struct event *e)
{
	struct running *r = e->cpu < c->nr_cpus ? &c->cpus[e->cpu] : NULL;
	uint32_t at = k->comm ? k->comm->offset : 0;

	if (!r)
		return;
	if (!r->known) {
		/* What ran before the first switch: since the first event of the CPU. */
		r->pid = e->pid;
		r->known = true;
		snprintf(r->comm, sizeof(r->comm), "%s", source_comm(c->s, e->pid));
	}
	ran(c, e->cpu, e->time);
	r->since = e->time;
	r->pid = (int32_t)number(c, e, k->pid);
	if (k->comm && !(k->comm->flags & FORMAT_DYNAMIC) && at < e->size)
		snprintf(r->comm, sizeof(r->comm), "%.*s",
			 (int)(k->comm->size < e->size - at ? k->comm->size : e->size - at),
			 (const char *)e->data + at);
	else
		snprintf(r->comm, sizeof(r->comm), "%s", source_comm(c->s, r->pid));
}

static void instant(struct chrome *c, const struct event *e)
{
	const char *event = source_event_name(c->s, e->type), *text;
	struct track *t = task_track(c, e);
	size_t n;

	if (!t)
		return;
	begin(c, 'i', t->group, t->id);
	at(c, e->time);
	name(c, event, strlen(event));
	text = eventline_info(c->line, e, &n);
	fprintf(c->out, ",\"s\":\"t\",\"args\":{\"cpu\":%u,\"text\":\"", e->cpu);
	json_escape(c->out, text, n);
	fputs("\"}}", c->out);
}

void chrome_event(struct chrome *c, const struct event *e)
{
	const struct kind *k = kind_of(c, e->type);

	if (e->cpu < c->nr_cpus && !c->cpus[e->cpu].seen) {
		c->cpus[e->cpu].seen = true;
		c->cpus[e->cpu].since = e->time;
	}
	if (e->time > c->last)
		c->last = e->time;
	switch (k->role) {
	case ROLE_CALL: call(c, k, e); break;
	case ROLE_RETURN: returned(c, k, e); break;
	case ROLE_IRQ_ENTRY:
	case ROLE_IRQ_EXIT: interrupt(c, k, e); break;
	case ROLE_SWITCH:
		switched(c, k, e); /* and it is an event of its task */
	/* fallthrough */
	default: instant(c, e); break;
	}
}

struct chrome *chrome_new(struct source *s, struct eventline *line, FILE *out)
{
	struct chrome *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	*c = (struct chrome){.s = s, .out = out, .line = line, .nr_cpus = 1};
	c->swap = s->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	for (size_t i = 0; i < s->nr_streams; i++)
		if (s->streams[i].cpu >= c->nr_cpus && s->streams[i].cpu < 65536)
			c->nr_cpus = s->streams[i].cpu + 1;
	c->kinds = calloc(SOURCE_ID_FAST, sizeof(*c->kinds));
	c->cpus = calloc(c->nr_cpus, sizeof(*c->cpus));
	if (!c->kinds || !c->cpus) {
		free(c->kinds);
		free(c->cpus);
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

void chrome_end(struct chrome *c)
{
	for (uint32_t i = 0; i < c->nr_cpus; i++)
		if (c->cpus[i].known)
			ran(c, i, c->last);
	for (size_t i = 0; i < c->tracks.cap; i++) {
		struct track *t = c->tracks.slots[i].value;

		if (!t)
			continue;
		while (t->nr)
			close_top(c, t, c->last);
		free(t->open);
		free(t);
	}
	fputs("\n]}\n", c->out);
	idmap_free(&c->tracks);
	free(c->kinds);
	free(c->cpus);
	free(c);
}
