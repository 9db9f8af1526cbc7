/* SPDX-License-Identifier: MIT */
/* reader.c -- walk the merged events and settle what depends on their order, into batches of items. */
#include "view/lines.h"
#include "base/diag.h"

#include <stdlib.h>
#include <string.h>

/* trace-cmd's indentation of functions: per CPU the names seen at each depth, by number; never shortened. */
struct function_stack {
	uint32_t *ids;
	uint32_t nr, cap;
};

struct reader {
	struct source *source;
	const struct report_options *o;
	struct merge *merge;
	struct lookup lookup;
	struct task_table *tasks;
	struct printer **printers; /* by event id, up to SOURCE_ID_FAST; made on first use */
	struct printer *unknown;
	struct function_stack *stacks; /* by stream's CPU */
	uint32_t nr_stacks;
	uint32_t exit_id; /* of ftrace:funcgraph_exit */
	const struct format *exit_format;
	const struct format_field *exit_func, *exit_call, *exit_ret;
	char scratch[EXPR_SCRATCH_MAX]; /* of filters */
};

#define STACK_MAX 4096 /* depths remembered; a real kernel stack has room for less */

static void find_exit(struct reader *r)
{
	const struct schema *s = source_schema_named(r->source, "ftrace:funcgraph_exit");
	const struct format *f = s ? source_format(r->source, s->id) : NULL;

	r->exit_id = UINT32_MAX;
	if (!f)
		return;
	r->exit_func = format_field(f, "func");
	r->exit_call = format_field(f, "calltime");
	r->exit_ret = format_field(f, "rettime");
	if (r->exit_func && r->exit_call && r->exit_ret)
		r->exit_id = f->id;
}

struct reader *reader_new(struct source *s, const struct report_options *o)
{
	struct reader *r = calloc(1, sizeof(*r));
	uint32_t cpus = 0;

	if (!r)
		return NULL;
	r->source = s;
	r->o = o;
	for (size_t i = 0; i < s->nr_streams; i++)
		if (s->streams[i].cpu >= cpus)
			cpus = s->streams[i].cpu + 1;
	r->nr_stacks = cpus;
	r->stacks = calloc(cpus ? cpus : 1, sizeof(*r->stacks));
	r->printers = calloc(SOURCE_ID_FAST, sizeof(*r->printers));
	r->unknown = calloc(1, sizeof(*r->unknown));
	r->tasks = task_table_new(s);
	r->merge = merge_open(s, o->keep, o->keep_arg);
	if (!r->stacks || !r->printers || !r->unknown || !r->tasks || !r->merge ||
	    !lookup_init(&r->lookup, s, true, true)) {
		reader_free(r);
		return NULL;
	}
	printer_choose(r->unknown, o, &r->lookup.env);
	find_exit(r);
	if (o->from)
		merge_seek_time(r->merge, o->from);
	return r;
}

static void printer_free(struct printer *p)
{
	if (!p)
		return;
	printfmt_free(p->fmt);
	filter_event_free(p->filter);
	free(p);
}

void reader_free(struct reader *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; r->printers && i < SOURCE_ID_FAST; i++)
		printer_free(r->printers[i]);
	for (uint32_t i = 0; r->stacks && i < r->nr_stacks; i++)
		free(r->stacks[i].ids);
	free(r->stacks);
	free(r->printers);
	printer_free(r->unknown);
	task_table_free(r->tasks);
	merge_close(r->merge);
	lookup_free(&r->lookup);
	free(r);
}

static struct printer *make_printer(struct reader *r, uint32_t type)
{
	struct printer *p = calloc(1, sizeof(*p));

	if (!p)
		return r->unknown;
	p->schema = source_schema(r->source, type);
	p->format = p->schema ? source_format(r->source, type) : NULL;
	printer_choose(p, r->o, &r->lookup.env);
	return r->printers[type] = p;
}

static inline struct printer *printer_of(struct reader *r, uint32_t type)
{
	if (type >= SOURCE_ID_FAST)
		return r->unknown;
	return r->printers[type] ? r->printers[type] : make_printer(r, type);
}

/* ---- functions ---- */

static void stack_set(struct function_stack *s, uint32_t at, uint32_t id)
{
	if (at >= s->cap) {
		uint32_t cap = s->cap ? s->cap * 2 : 64;
		uint32_t *ids = at < STACK_MAX ? realloc(s->ids, cap * sizeof(*ids)) : NULL;

		if (!ids)
			return;
		s->ids = ids;
		s->cap = cap;
	}
	s->ids[at] = id;
	if (at >= s->nr)
		s->nr = at + 1;
}

/* The depth of `parent` in the stack of its CPU; the function called stands one deeper from now on. */
static uint32_t stack_depth(struct function_stack *s, uint32_t parent, uint32_t func)
{
	for (uint32_t k = 0; k < s->nr && s->ids[k]; k++)
		if (s->ids[k] == parent) {
			if (func)
				stack_set(s, k + 1, func);
			return k;
		}
	stack_set(s, 0, parent);
	if (func)
		stack_set(s, 1, func);
	return 0;
}

static uint64_t number(const struct reader *r, const uint8_t *data, uint32_t size,
		       const struct format_field *f)
{
	if (f->offset > size || f->size > size - f->offset ||
	    (f->size != 4 && f->size != 8 && f->size != 2 && f->size != 1))
		return 0;
	return expr_load(data + f->offset,
			 (uint8_t)(f->size | (f->flags & FORMAT_SIGNED ? TYPE_SIGNED : 0)),
			 r->lookup.env.swap);
}

static void settle_function(struct reader *r, const struct printer *p, const uint8_t *data,
			    struct item *i)
{
	uint64_t ip = number(r, data, i->size, p->field[0]);
	uint64_t parent_ip = number(r, data, i->size, p->field[1]);
	const struct lookup_symbol *s = lookup_symbol(&r->lookup, ip);
	uint32_t id = s->id;

	i->name = s->name;
	i->name_len = s->len;
	s = lookup_symbol(&r->lookup, parent_ip);
	if (s->name && i->cpu < r->nr_stacks)
		i->depth = (uint16_t)stack_depth(&r->stacks[i->cpu], s->id, id);
}

/*
 * A leaf: its exit, with the same task and function, is the very next event of the whole trace (trace-cmd does not look
 * further, though the kernel looks for the next of the CPU); that event is not printed then.
 */
static void settle_entry(struct reader *r, const struct printer *p, const uint8_t *data,
			 struct item *i)
{
	uint64_t func = number(r, data, i->size, p->field[0]);
	const struct event *next = merge_next(r->merge);

	if (!next)
		return;
	if (next->type != r->exit_id || next->pid != i->pid ||
	    number(r, next->data, next->size, r->exit_func) != func) {
		merge_unget(r->merge);
		return;
	}
	i->leaf = true;
	i->value = number(r, next->data, next->size, r->exit_ret) -
		   number(r, next->data, next->size, r->exit_call);
}

/* ---- tasks ---- */

static void learn(struct reader *r, const uint8_t *data, uint32_t size,
		  const struct format_field *comm, const struct format_field *pid)
{
	if (!comm || !pid || comm->flags & FORMAT_DYNAMIC || comm->offset >= size)
		return;
	task_learn(r->tasks, (int32_t)number(r, data, size, pid), (const char *)data + comm->offset,
		   comm->size < size - comm->offset ? comm->size : size - comm->offset);
}

/* ---- batches ---- */

static bool keep_data(struct batch *b, const struct event *e)
{
	if (b->used + e->size + 8 > b->cap) {
		size_t cap = (b->cap ? b->cap * 2 : 256u << 10) + e->size;
		uint8_t *p = realloc(b->data, cap);

		if (!p)
			return false;
		b->data = p;
		b->cap = cap;
	}
	memcpy(b->data + b->used, e->data, e->size);
	return true;
}

static bool filtered(struct reader *r, const struct printer *p, const struct event *e)
{
	struct expr_record rec = {.data = e->data,
				  .size = e->size,
				  .cpu = e->cpu,
				  .pid = e->pid,
				  .time = e->time,
				  .name = p->schema ? p->schema->name : "",
				  .env = &r->lookup.env,
				  .scratch = r->scratch};

	return !p->filter || !filter_match(p->filter, &rec);
}

static void settle(struct reader *r, const struct printer *p, const uint8_t *data, struct item *i)
{
	switch (p->kind) {
	case ITEM_FUNCTION: settle_function(r, p, data, i); break;
	case ITEM_GRAPH_ENTRY: settle_entry(r, p, data, i); break;
	case ITEM_SWITCH:
		learn(r, data, i->size, p->field[0], p->field[1]);
		learn(r, data, i->size, p->field[4], p->field[5]);
		break;
	case ITEM_WAKEUP: learn(r, data, i->size, p->field[0], p->field[1]); break;
	default: break;
	}
}

bool reader_fill(struct reader *r, struct batch *b)
{
	const struct event *e;

	b->nr = 0;
	b->used = 0;
	while (b->nr < BATCH_ITEMS && b->used < (1u << 20) && (e = merge_next(r->merge))) {
		struct item *i = &b->items[b->nr];
		const struct printer *p = printer_of(r, e->type);

		if (e->time > r->o->to)
			break;
		if (e->time < r->o->from || (r->o->filter && filtered(r, p, e)) || !keep_data(b, e))
			continue;
		*i = (struct item){
			.time = e->time,
			.lost = e->lost,
			.printer = p,
			.data = (uint32_t)b->used,
			.size = e->size,
			.cpu = e->cpu,
			.pid = e->pid,
			.buffer = r->source->streams[e->stream].buffer,
		};
		i->task = task_find(r->tasks, e->pid);
		if (p->kind != ITEM_PLAIN)
			settle(r, p, b->data + b->used, i);
		b->used += (e->size + 7) & ~7u;
		b->nr++;
	}
	return b->nr != 0;
}
