/* SPDX-License-Identifier: MIT */
/* graphtext.c -- the text of function_graph as a source: calls and returns, and the events written between them. */
#include "decode/eventlist.h"
#include "base/vec.h"
#include "decode/text/graphtext.h"
#include "base/strmap.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/idmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * The text is read at once into lists: a return is known by its depth only, so it needs the calls before it. What does not
 * fit into memory goes to a nameless file. Functions get
 * made-up addresses and a symbol each, so that every view takes the events for what the kernel records.
 *
 *   G1  A line's time is the one in it. Where the text has none, time is counted in the order of the lines, which it keeps:
 *       a line takes a nanosecond, a leaf its duration; a return comes its duration after its call if that is not over yet.
 *   G2  The task of a CPU is the one of the column, or of the last switch; before the first switch it is the one that gave
 *       way there. If nothing says so, the pid is that of no task: UNKNOWN_PID.
 */
#define ID_EXIT	    10u
#define ID_ENTRY    11u
#define TEXT_BASE   0xffffffff81000000ull
#define FUNCTION    16u
#define FUNCTIONS   (1u << 20)
#define UNKNOWN_PID (-1)

struct open_call {
	uint32_t function;
	uint64_t since;
};

/* Calls that are open, by depth, of a task: of a CPU, until its task is known. */
struct task_calls {
	struct open_call *calls;
	uint32_t nr;
};

struct graphtext {
	struct eventlist events; /* first: the ops of lists take it */
	struct textlog types;	 /* of events between the calls */
	struct strmap functions;
	struct idmap tasks; /* of struct task_calls, by pid and cpu */
	int32_t *pids;	    /* by CPU */
	uint64_t *lost;	    /* by CPU: to be reported with the next event */
	uint64_t now;
	uint8_t *record;
};

/* ---- functions ---- */

static uint64_t address(uint32_t function)
{
	return TEXT_BASE + (uint64_t)function * FUNCTION;
}

/* The number of a function; 0, which is of no name, when there are too many or memory is gone. */
static uint32_t function_of(struct source *s, struct words name)
{
	struct graphtext *g = s->priv;
	uint32_t before = g->functions.nr, number = STRMAP_NONE;

	if (before < FUNCTIONS)
		number = strmap_add(&g->functions, name.p, name.n);
	if (number == STRMAP_NONE)
		return 0;
	if (g->functions.nr > before)
		symbols_add(s->symbols, address(number), FUNCTION, name.p, name.n, NULL, 0);
	return number;
}

/* ---- tasks ---- */

/* The idle task and one that is not known are another on every CPU. */
static struct task_calls *calls_of(struct graphtext *g, int32_t pid, uint32_t cpu)
{
	void **at = idmap_at(&g->tasks, (uint64_t)(uint32_t)pid << 32 | (pid > 0 ? 0 : cpu));

	if (at && !*at)
		*at = calloc(1, sizeof(struct task_calls));
	return at ? *at : NULL;
}

/* The open call of a depth, made if `make`; NULL: there is none, it is too deep, or memory is gone. */
static struct open_call *call_at(struct task_calls *t, uint32_t depth, bool make)
{
	uint32_t nr = t->nr ? t->nr : 16;

	if (depth < t->nr)
		return &t->calls[depth];
	if (!make || depth >= GRAPH_DEPTH_MAX)
		return NULL;
	while (nr <= depth)
		nr *= 2;
	if (!vec_resize(&t->calls, nr, sizeof(*t->calls)))
		return NULL;
	memset(t->calls + t->nr, 0, (nr - t->nr) * sizeof(*t->calls));
	t->nr = nr;
	return &t->calls[depth];
}

/* G2: what was read of the CPU before its task was named belongs to that task. */
static int settle_task(struct graphtext *g, uint32_t cpu, int32_t pid)
{
	struct task_calls *from = calls_of(g, UNKNOWN_PID, cpu), *to = calls_of(g, pid, cpu);

	if (pid == UNKNOWN_PID)
		return 0;
	if (!from || !to)
		return -ENOMEM;
	free(to->calls);
	*to = *from;
	*from = (struct task_calls){0};
	return eventlist_set_pid(&g->events, cpu, UNKNOWN_PID, pid);
}

static int set_task(struct source *s, const struct text_line *l, uint32_t cpu)
{
	struct graphtext *g = s->priv;
	int err = 0;

	/* Names are cut to seven characters in this text: one that is known from elsewhere is not replaced. */
	if (l->pid && !strcmp(source_comm(s, l->pid), "<...>"))
		tasks_set_comm(s->tasks, l->pid, l->comm.p, l->comm.n);
	if (g->pids[cpu] == UNKNOWN_PID)
		err = settle_task(g, cpu, l->pid);
	g->pids[cpu] = l->pid;
	return err;
}

/* ---- events ---- */

static struct listed *add(struct source *s, const struct graph_line *l, uint16_t id, uint64_t time,
			  uint64_t offset)
{
	struct graphtext *g = s->priv;
	uint32_t cpu = l->event.cpu;
	struct listed *e = eventlist_add(&g->events, cpu, id, g->pids[cpu]);

	if (!e)
		return NULL;
	e->time = time;
	e->offset = offset;
	e->lost = g->lost[cpu];
	g->lost[cpu] = 0;
	e->record[2] = l->event.flags;
	e->record[3] = l->event.preempt;
	return e;
}

static int add_call(struct source *s, const struct graph_line *l, uint16_t id, uint32_t function,
		    uint64_t time, uint64_t since, uint64_t offset)
{
	struct listed *e = add(s, l, id, time, offset);
	uint64_t func = address(function);

	if (!e)
		return -ENOMEM;
	memcpy(e->record + 8, &func, 8);
	memcpy(e->record + 16, &l->depth, 4);
	if (id == ID_EXIT) {
		memcpy(e->record + 24, &since, 8);
		memcpy(e->record + 32, &time, 8);
	}
	return 0;
}

static int entry(struct source *s, const struct graph_line *l, uint64_t offset)
{
	struct graphtext *g = s->priv;
	struct task_calls *t = calls_of(g, g->pids[l->event.cpu], l->event.cpu);
	uint32_t function = function_of(s, l->name);
	uint64_t end = g->now + l->duration_ns;
	struct open_call *c;
	int err;

	if (!t)
		return -ENOMEM;
	err = add_call(s, l, ID_ENTRY, function, g->now, 0, offset);
	if (l->kind == GRAPH_LEAF && !err) {
		err = add_call(s, l, ID_EXIT, function, end, g->now, offset);
		g->now = end;
	} else if ((c = call_at(t, l->depth, true))) {
		*c = (struct open_call){function + 1, g->now};
	}
	return err;
}

static int leave(struct source *s, const struct graph_line *l, uint64_t offset)
{
	struct graphtext *g = s->priv;
	struct task_calls *t = calls_of(g, g->pids[l->event.cpu], l->event.cpu);
	struct open_call *c = t ? call_at(t, l->depth, false) : NULL;
	uint32_t function = c && c->function ? c->function - 1 : 0;

	if (!t)
		return -ENOMEM;
	if (l->name.n)
		function = function_of(s, l->name);
	if (!l->has_time && c && c->function && c->since + l->duration_ns > g->now)
		g->now = c->since + l->duration_ns;
	if (c)
		c->function = 0;
	return add_call(s, l, ID_EXIT, function, g->now,
			l->duration_ns < g->now ? g->now - l->duration_ns : 0, offset);
}

/* An event between the calls: a record with the fields its text shows. */
static int comment(struct source *s, struct graph_line *l, uint64_t offset)
{
	struct graphtext *g = s->priv;
	const struct text_type *k = text_type_of(&g->types, l->event.name, false);
	struct listed *e;
	uint32_t bytes;
	bool cut;

	if (!k)
		return 0;
	e = add(s, l, (uint16_t)k->id, g->now, offset);
	if (!e)
		return -ENOMEM;
	l->event.pid = g->pids[l->event.cpu];
	bytes = text_make_record(g->record, k, &l->event, l->event.info.p + l->event.info.n, &cut);
	if (cut)
		text_was_cut(s, offset, l->event.info.n);
	return eventlist_record(&g->events, e, g->record, bytes);
}

static int take_line(struct source *s, struct graph_line *l, uint64_t offset)
{
	struct graphtext *g = s->priv;
	uint32_t cpu = l->event.cpu;
	int err = 0;

	if (l->kind == GRAPH_OTHER)
		return 0;
	if (l->kind == GRAPH_LOST) {
		g->lost[cpu] = l->event.lost;
		return 0;
	}
	if (l->kind == GRAPH_SWITCH && g->pids[cpu] == UNKNOWN_PID)
		err = set_task(s, &l->before, cpu);
	if (l->has_task && !err)
		err = set_task(s, &l->event, cpu);
	if (err)
		return err;
	g->now = l->has_time ? l->event.time : g->now + 1;
	switch (l->kind) {
	case GRAPH_ENTRY:
	case GRAPH_LEAF: return entry(s, l, offset);
	case GRAPH_EXIT: return leave(s, l, offset);
	case GRAPH_COMMENT: return comment(s, l, offset);
	default: return 0;
	}
}

/* ---- opening ---- */

static int each_line(struct source *s,
		     int (*take)(struct source *s, struct graph_line *l, uint64_t at))
{
	const char *text = (const char *)s->map, *end = text + s->map_bytes;
	size_t walked = 0;
	int err = 0;

	for (const char *p = text; p < end && !err;) {
		const char *nl = memchr(p, '\n', (size_t)(end - p)), *stop = nl ? nl : end;
		struct graph_line l;

		graph_parse_line(p, stop, &l);
		err = take(s, &l, (uint64_t)(p - text));
		file_map_walked(text, s->map_bytes, (size_t)(stop + 1 - p), &walked);
		p = stop + 1;
	}
	return err;
}

/* What events between the calls carry must be known before the first record is made. */
static int learn_line(struct source *s, struct graph_line *l, uint64_t offset)
{
	struct graphtext *g = s->priv;
	struct text_type *k =
		l->kind == GRAPH_COMMENT ? text_type_of(&g->types, l->event.name, true) : NULL;

	(void)offset;
	if (k)
		text_learn(k, l->event.info);
	return 0;
}

static int add_schemas(struct source *s)
{
	static const char call[] = "\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
				   "\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n";
	static const char exit[] =
		"\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
		"\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n"
		"\tfield:unsigned int overrun;\toffset:20;\tsize:4;\tsigned:0;\n"
		"\tfield:unsigned long long calltime;\toffset:24;\tsize:8;\tsigned:0;\n"
		"\tfield:unsigned long long rettime;\toffset:32;\tsize:8;\tsigned:0;\n";
	struct graphtext *g = s->priv;
	int err = eventlist_schema(s, "ftrace", "funcgraph_entry", ID_ENTRY, call,
				   "\"--> %ps (%d)\", (void *)REC->func, REC->depth");

	if (!err)
		err = eventlist_schema(
			s, "ftrace", "funcgraph_exit", ID_EXIT, exit,
			"\"<-- %ps (%d) (start: %llx  end: %llx) over: %d\", (void *)REC->func, "
			"REC->depth, REC->calltime, REC->rettime, REC->depth");
	for (uint32_t i = 0; !err && i < g->types.nr_types; i++)
		err = text_add_schema(s, &g->types.types[i]);
	return err;
}

static int make_tables(struct source *s)
{
	struct graphtext *g = calloc(1, sizeof(*g));

	s->priv = g;
	if (!g)
		return -ENOMEM;
	g->pids = malloc(TEXT_CPU_MAX * sizeof(*g->pids));
	g->lost = calloc(TEXT_CPU_MAX, sizeof(*g->lost));
	g->record = malloc(TEXT_RECORD_MAX);
	if (!g->pids || !g->lost || !g->record)
		return -ENOMEM;
	for (uint32_t i = 0; i < TEXT_CPU_MAX; i++)
		g->pids[i] = UNKNOWN_PID;
	/* Function 0 stands for returns whose call is not in the text. */
	function_of(s, (struct words){"unknown", 7});
	return 0;
}

static int graph_open(struct source *s, const struct source_options *o)
{
	struct graphtext *g;
	int err = make_tables(s);

	(void)o;
	g = s->priv;
	s->big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	if (!err)
		err = each_line(s, learn_line);
	if (!err)
		err = add_schemas(s);
	if (!err)
		err = each_line(s, take_line);
	if (!err && !g->events.nr_streams) {
		diag_error("%s: it has no line that is a call: \" 0)   1.234 us    |  name();\" is "
			   "expected",
			   s->path);
		err = -EINVAL;
	}
	if (!err) {
		loss_read_head(s, (const char *)s->map, s->map_bytes);
		free(s->info.tracer);
		s->info.tracer = strdup("function_graph");
		err = s->info.tracer ? eventlist_streams(s) : -ENOMEM;
	}
	return err;
}

static void graph_close(struct source *s)
{
	struct graphtext *g = s->priv;

	if (!g)
		return;
	for (size_t i = 0; i < g->tasks.cap; i++) {
		struct task_calls *t = g->tasks.slots[i].value;

		free(t ? t->calls : NULL);
		free(t);
	}
	idmap_free(&g->tasks);
	strmap_free(&g->functions);
	text_types_free(&g->types);
	free(g->pids);
	free(g->lost);
	free(g->record);
	eventlist_close(s);
}

/* By the header, or because most lines are calls: a log may be pasted from its middle. */
static int graph_probe(const struct source_probe *p)
{
	const char *at = (const char *)p->head, *end;
	unsigned lines = 0, calls = 0;
	struct graph_line l;

	if (!at || memchr(at, 0, p->head_bytes))
		return 0;
	end = at + p->head_bytes;
	if (p->head_bytes > 24 && !memcmp(at, "# tracer: function_graph", 24))
		return 75;
	for (; at < end && lines < 300; lines++) {
		const char *nl = memchr(at, '\n', (size_t)(end - at)), *stop = nl ? nl : end;

		/* The head of the columns, which irqsoff and its kind print too with display-graph. */
		if (*at == '#' && memmem(at, (size_t)(stop - at), "FUNCTION CALLS", 14))
			return 75;
		graph_parse_line(at, stop, &l);
		calls += l.has_cpu && l.kind != GRAPH_OTHER && l.kind != GRAPH_COMMENT;
		at = stop + 1;
	}
	return calls > 1 && calls * 2 > lines ? 60 : 0;
}

const struct source_ops source_graphtext = {
	.name = "graph-text",
	.what = "the text of function_graph",
	.probe = graph_probe,
	.open = graph_open,
	.close = graph_close,
	.cursor_bytes = sizeof(struct cursor),
	.cursor_init = eventlist_init,
	.seek = eventlist_seek,
	.next = eventlist_next,
	.block_time = eventlist_block_time,
};
