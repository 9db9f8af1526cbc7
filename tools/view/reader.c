/* SPDX-License-Identifier: MIT */
/* reader.c -- walk the merged events and settle what depends on their order, into batches of items. */
#include "view/lines.h"
#include "base/vec.h"
#include "view/unseen.h"
#include "base/diag.h"

#include <stdlib.h>
#include <string.h>

/* trace-cmd's indentation of functions: per CPU the names seen at each depth, by number; never shortened. */
struct function_stack {
	uint32_t *ids;
	uint32_t nr, cap;
};

struct line_reader {
	struct source *source;
	const struct report_options *o;
	struct scan *scan;
	struct merge *merge; /* of the scan */
	struct lookup lookup;
	struct task_table *tasks;
	struct printer **printers; /* by event id, up to SOURCE_ID_FAST; made on first use */
	uint32_t end_printers;	   /* after the highest id of one */
	struct printer *unknown;
	struct function_stack *stacks; /* by stream's CPU */
	uint32_t nr_stacks;
	bool choosy;	  /* not all events are shown */
	uint32_t exit_id; /* of ftrace:funcgraph_exit */
	const struct printer *exit;
	struct unseen unseen;
};

#define STACK_MAX 4096 /* depths remembered; a real kernel stack has room for less */

static struct printer *make_printer(struct line_reader *r, uint32_t type)
{
	struct printer *p = calloc(1, sizeof(*p));

	if (!p)
		return r->unknown;
	p->schema = source_schema(r->source, type);
	p->format = p->schema ? source_format(r->source, type) : NULL;
	printer_choose(p, r->o, &r->lookup.env);
	if (type >= r->end_printers)
		r->end_printers = type + 1;
	return r->printers[type] = p;
}

static inline struct printer *printer_of(struct line_reader *r, uint32_t type)
{
	if (type >= SOURCE_ID_FAST)
		return r->unknown;
	return r->printers[type] ? r->printers[type] : make_printer(r, type);
}

/* The printer of what ends a call; one that has no calls has no leaves. */
static void find_exit(struct line_reader *r)
{
	const struct schema *s = source_schema_named(r->source, "ftrace:funcgraph_exit");

	r->exit = s ? printer_of(r, s->id) : r->unknown;
	r->exit_id = r->exit->kind == ITEM_GRAPH_EXIT ? s->id : UINT32_MAX;
}

struct line_reader *reader_new(struct source *s, const struct report_options *o, bool single)
{
	struct line_reader *r = calloc(1, sizeof(*r));
	uint32_t cpus = 0;

	if (!r)
		return NULL;
	r->source = s;
	r->o = o;
	r->choosy = scan_is_choosy(o->choice);
	for (size_t i = 0; i < s->nr_streams; i++)
		if (s->streams[i].cpu >= cpus)
			cpus = s->streams[i].cpu + 1;
	r->nr_stacks = cpus;
	r->stacks = calloc(cpus ? cpus : 1, sizeof(*r->stacks));
	r->printers = calloc(SOURCE_ID_FAST, sizeof(*r->printers));
	r->unknown = calloc(1, sizeof(*r->unknown));
	r->tasks = task_table_new(s);
	if (!single)
		r->scan = scan_open(s, o->choice, &(struct scan_options){.stacks = true});
	if (!r->stacks || !r->printers || !r->unknown || !r->tasks || (!r->scan && !single) ||
	    !lookup_init(&r->lookup, s, !o->first_alias) || !unseen_init(&r->unseen, s, o)) {
		reader_free(r);
		return NULL;
	}
	r->merge = single ? NULL : scan_merge(r->scan);
	printer_choose(r->unknown, o, &r->lookup.env);
	find_exit(r);
	return r;
}

static void printer_free(struct printer *p)
{
	if (!p)
		return;
	printfmt_free(p->fmt);
	free(p);
}

void reader_free(struct line_reader *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; i < r->end_printers; i++)
		printer_free(r->printers[i]);
	for (uint32_t i = 0; r->stacks && i < r->nr_stacks; i++)
		free(r->stacks[i].ids);
	free(r->stacks);
	free(r->printers);
	printer_free(r->unknown);
	task_table_free(r->tasks);
	scan_close(r->scan);
	lookup_free(&r->lookup);
	unseen_free(&r->unseen);
	free(r);
}

/* ---- functions ---- */

/* False: no room, and nothing was changed. */
static bool stack_grow(struct function_stack *s)
{
	uint32_t cap = s->cap ? s->cap * 2 : 64;
	if (cap > STACK_MAX || !vec_resize(&s->ids, cap, sizeof(*s->ids)))
		return false;
	memset(s->ids + s->cap, 0, (cap - s->cap) * sizeof(*s->ids));
	s->cap = cap;
	return true;
}

static inline void stack_set(struct function_stack *s, uint32_t at, uint32_t id)
{
	if (at >= s->cap && !stack_grow(s))
		return;
	s->ids[at] = id;
	if (at >= s->nr)
		s->nr = at + 1;
}

typedef uint32_t four_ids __attribute__((vector_size(16)));
typedef uint64_t two_words __attribute__((vector_size(16)));

/* The lowest place of an id, or nr. Eight are looked at together: the stacks of a busy CPU are long. */
static inline uint32_t stack_find(const struct function_stack *s, uint32_t id)
{
	for (uint32_t k = 0; k < s->nr; k += 8) {
		four_ids a, b;
		two_words hit;

		memcpy(&a, s->ids + k, sizeof(a));
		memcpy(&b, s->ids + k + 4, sizeof(b));
		hit = (two_words)((a == id) | (b == id));
		if (!(hit[0] | hit[1]))
			continue;
		while (s->ids[k] != id)
			k++;
		return k;
	}
	return s->nr;
}

/* The depth of `parent` in the stack of its CPU; the function called stands one deeper from now on. */
static uint32_t stack_depth(struct function_stack *s, uint32_t parent, uint32_t func)
{
	uint32_t depth = stack_find(s, parent);

	if (depth == s->nr) {
		stack_set(s, 0, parent);
		depth = 0;
	}
	if (func)
		stack_set(s, depth + 1, func);
	return depth;
}

static inline uint64_t number(const struct line_reader *r, const uint8_t *data, uint32_t size,
			      const struct format_field *f)
{
	return expr_field(data, size, f, r->lookup.env.swap);
}

/* Of a record that is plain. */
static inline uint64_t word(const struct printer *p, const uint8_t *data, unsigned field)
{
	uint64_t v;

	memcpy(&v, data + p->at[field], sizeof(v));
	return v;
}

static inline bool is_plain(const struct printer *p, uint32_t size)
{
	return p->plain && size >= p->plain;
}

static inline __attribute__((always_inline)) void settle_function(struct line_reader *r,
								  const struct printer *p,
								  const uint8_t *data,
								  struct item *i)
{
	const struct lookup_symbol *s;
	uint64_t caller;
	uint32_t id;

	if (is_plain(p, i->size)) {
		i->value = word(p, data, 0);
		caller = word(p, data, 1);
	} else {
		i->value = number(r, data, i->size, p->field[0]);
		caller = number(r, data, i->size, p->field[1]);
	}
	s = lookup_symbol(&r->lookup, i->value);
	id = s->id;
	i->name = s->name;
	i->name_len = s->len;
	i->depth = 0;
	s = lookup_symbol(&r->lookup, caller);
	if (s->name)
		i->depth = (uint16_t)stack_depth(&r->stacks[i->cpu], s->id, id);
}

enum {
	GRAPH_FUNC,
	GRAPH_DEPTH,
	GRAPH_CALLTIME,
	GRAPH_RETTIME
};

static inline uint64_t graph_word(const struct line_reader *r, const struct printer *p,
				  const uint8_t *data, uint32_t size, unsigned field)
{
	return is_plain(p, size) ? word(p, data, field) : number(r, data, size, p->field[field]);
}

static inline uint64_t duration(const struct line_reader *r, const struct printer *p,
				const uint8_t *data, uint32_t size)
{
	uint64_t called = graph_word(r, p, data, size, GRAPH_CALLTIME);

	return called ? graph_word(r, p, data, size, GRAPH_RETTIME) - called : ITEM_NO_TIME;
}

static inline uint16_t graph_depth(const struct line_reader *r, const struct printer *p,
				   const uint8_t *data, uint32_t size)
{
	uint32_t plain = DEPTH_MAX;
	int64_t depth;

	if (is_plain(p, size))
		memcpy(&plain, data + p->at[GRAPH_DEPTH], sizeof(plain));
	if (plain < DEPTH_MAX)
		return (uint16_t)plain;
	depth = (int64_t)number(r, data, size, p->field[GRAPH_DEPTH]);
	return (uint16_t)(depth < 0 ? 0 : depth < DEPTH_MAX ? depth : DEPTH_MAX);
}

/*
 * A leaf: its exit, with the same task and function, is the very next event of the buffer (trace-cmd does not look further,
 * though the kernel looks for the next of the CPU); that event is not printed then.
 */
static inline void settle_entry(struct line_reader *r, const struct printer *p, const uint8_t *data,
				struct item *i)
{
	const struct event *near, *unseen = NULL, *next;

	i->func = graph_word(r, p, data, i->size, GRAPH_FUNC);
	i->depth = graph_depth(r, p, data, i->size);
	i->leaf = i->has_value = false;
	if (!r->merge)
		return;
	near = merge_near(r->merge);
	next = near ? near : merge_peek_buffer(r->merge);
	if (r->unseen.buffers)
		unseen = unseen_between(&r->unseen, i->time, i->stream, next);
	if (unseen)
		next = unseen;
	i->leaf = next && next->type == r->exit_id && next->pid == i->pid &&
		  graph_word(r, r->exit, next->data, next->size, GRAPH_FUNC) == i->func;
	if (!i->leaf)
		return;
	i->value = duration(r, r->exit, next->data, next->size);
	if (next->size >= r->exit->more.need) {
		struct args a;

		args_read(&r->exit->more, &r->lookup.env, next->data, next->size, &a);
		i->has_value = a.has_value;
		i->returned = a.value;
	}
	if (unseen)
		unseen_drop(&r->unseen, i->stream);
	else if (near)
		merge_next(r->merge);
	else
		merge_drop(r->merge);
}

static inline void settle_exit(struct line_reader *r, const struct printer *p, const uint8_t *data,
			       struct item *i)
{
	i->value = duration(r, p, data, i->size);
	i->depth = graph_depth(r, p, data, i->size);
}

/* ---- tasks ---- */

static void learn(struct line_reader *r, const uint8_t *data, uint32_t size,
		  const struct format_field *comm, const struct format_field *pid)
{
	if (!comm || !pid || comm->flags & FORMAT_DYNAMIC || comm->offset >= size)
		return;
	task_learn(r->tasks, (int32_t)number(r, data, size, pid), (const char *)data + comm->offset,
		   comm->size < size - comm->offset ? comm->size : size - comm->offset);
}

/* ---- batches ---- */

/* Make room for a record of this many bytes. */
static bool make_room(struct batch *b, size_t bytes)
{
	size_t cap = (b->cap ? b->cap * 2 : 256u << 10) + bytes;

	if (!vec_resize(&b->data, cap, 1))
		return false;
	b->cap = cap;
	return true;
}

static inline void copy_record(uint8_t *to, const uint8_t *from, uint32_t n)
{
	if (n >= 16 && n <= 32) {
		/* The rule: two moves that overlap beat a call. */
		memcpy(to, from, 16);
		memcpy(to + n - 16, from + n - 16, 16);
	} else {
		memcpy(to, from, n);
	}
}

static void settle(struct line_reader *r, const struct printer *p, const uint8_t *data,
		   struct item *i)
{
	switch (p->kind) {
	case ITEM_FUNCTION: settle_function(r, p, data, i); break;
	case ITEM_GRAPH_ENTRY: settle_entry(r, p, data, i); break;
	case ITEM_GRAPH_EXIT: settle_exit(r, p, data, i); break;
	case ITEM_SWITCH:
		learn(r, data, i->size, p->field[0], p->field[1]);
		learn(r, data, i->size, p->field[4], p->field[5]);
		break;
	case ITEM_WAKEUP: learn(r, data, i->size, p->field[0], p->field[1]); break;
	default: break;
	}
}

void reader_share(struct line_reader *r, uint32_t threads)
{
	merge_share(r->merge, threads);
}

void reader_place(const struct line_reader *r, uint64_t *done, uint64_t *total)
{
	*done = *total = 0;
	for (uint32_t i = 0; i < r->merge->nr; i++) {
		const struct cursor *c = r->merge->cursors[i];

		*done += c->next.block;
		*total += r->source->streams[c->stream].nr_blocks;
	}
}

bool reader_help(struct line_reader *r)
{
	return merge_help(r->merge);
}

bool reader_prepare(struct line_reader *r)
{
	return merge_prepare(r->merge);
}

/* The next event to be shown; NULL: none, or none before the end of the time asked for. */
static inline const struct event *next_shown(struct line_reader *r, const struct printer **p)
{
	const struct event *e = r->choosy ? scan_next(r->scan) : merge_next(r->merge);

	if (e)
		*p = printer_of(r, e->type);
	return e;
}

static inline void fill_item(struct line_reader *r, struct item *i, const struct event *e,
			     const struct printer *p)
{
	i->time = e->time;
	i->lost = e->lost;
	i->task = task_find(r->tasks, e->pid);
	i->printer = p;
	i->size = e->size;
	i->cpu = e->cpu;
	i->pid = e->pid;
	i->stream = e->stream;
	i->flags = e->size >= 4 ? e->data[2] : 0;
	i->preempt = e->size >= 4 ? e->data[3] : 0;
}

/* A function, and those after it that are near; the place after their items. */
static struct item *fill_functions(struct line_reader *r, struct item *i, struct item *end,
				   const struct event *e, const struct printer *p)
{
	for (;;) {
		fill_item(r, i, e, p);
		settle_function(r, p, e->data, i++);
		e = merge_near(r->merge);
		if (r->choosy || i == end || !e || e->type != p->schema->id ||
		    e->size >= p->more.need)
			return i;
		merge_next(r->merge);
	}
}

/* Whether an item holds all of its event, so that the record need not be kept. */
static inline bool item_complete(const struct line_reader *r, const struct printer *p,
				 uint32_t size)
{
	return !r->o->latency && size < p->more.need &&
	       (p->kind == ITEM_FUNCTION || p->kind == ITEM_GRAPH_ENTRY ||
		p->kind == ITEM_GRAPH_EXIT);
}

/* An event whose record is needed to print it. False: there is no memory for it. */
static bool fill_other(struct line_reader *r, struct batch *b, struct item *i,
		       const struct event *e, const struct printer *p)
{
	if (e->size + 8 > b->cap - b->used && !make_room(b, e->size))
		return false;
	fill_item(r, i, e, p);
	i->data = b->used;
	copy_record(b->data + b->used, e->data, e->size);
	b->used += (e->size + 7) & ~7u;
	if (p->kind != ITEM_PLAIN)
		settle(r, p, b->data + i->data, i);
	return true;
}

bool reader_fill(struct line_reader *r, struct batch *b)
{
	struct item *i = b->items, *end = b->items + BATCH_ITEMS;
	const struct printer *p;
	const struct event *e;

	b->used = 0;
	while (i < end && b->used < BATCH_BYTES && (e = next_shown(r, &p))) {
		if (!item_complete(r, p, e->size)) {
			i += fill_other(r, b, i, e, p);
		} else if (p->kind == ITEM_FUNCTION) {
			i = fill_functions(r, i, end, e, p);
		} else {
			fill_item(r, i, e, p);
			settle(r, p, e->data, i++);
		}
	}
	b->nr = (uint32_t)(i - b->items);
	return b->nr != 0;
}

bool reader_one(struct line_reader *r, struct batch *b, const struct event *e)
{
	b->used = 0;
	b->nr = fill_other(r, b, b->items, e, printer_of(r, e->type));
	return b->nr != 0;
}
