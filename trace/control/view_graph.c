/* SPDX-License-Identifier: MIT */
/* view_graph.c -- the function_graph layout of a view: plugged in by whoever shows a graph, so others need not link it. */
#include "wire/cold.h"
#include "fathom/inside/internal.h"
#include "fathom/inside/view.h"

static const char *view_graph_comm(void *arg, int32_t pid)
{
	struct fathom_view *v = arg;

	return fathom_text_comm(pid, fathom_view_comm(v, pid, v->graph_comm));
}

static void view_graph_start(struct fathom_view *v, void *per_cpu)
{
	v->graph.view = &v->text;
	v->graph.cpus = per_cpu;
	v->graph.nr_cpus = v->config.nr_cpus;
	v->graph.comm = view_graph_comm;
	v->graph.arg = v;
	fathom_graph_init(&v->graph);
}

/* An entry whose exit is the next record of its CPU is a leaf: both are one line. The exit is then taken. */
static const struct fathom_rec_funcgraph_exit *view_leaf_exit(struct fathom_view *v)
{
	const struct fathom_rec_funcgraph_entry *in = (const void *)v->record;
	struct fathom_view_cpu *c = &v->cpus[v->cpu];
	const struct fathom_rec_funcgraph_exit *ex = c->rec.data;

	if (!c->has || c->rec.lost || c->rec.bytes < sizeof(*ex))
		return NULL;
	if (ex->ent.type != WIRE_ID_FUNCGRAPH_EXIT || ex->func != in->func ||
	    ex->ent.pid != in->ent.pid)
		return NULL;
	return ex;
}

static void view_call(struct fathom_graph_call *c, uintptr_t func, int32_t depth)
{
	const struct fathom_config *config = &fathom_core.config;
	uintptr_t offset, size;

	__builtin_memset(c, 0, sizeof(*c));
	c->func = func;
	c->depth = depth;
	if (config->symbol)
		c->name = config->symbol(func, &offset, &size);
	c->is_irq = func >= config->irq_text && func < config->irq_text_end;
}

/* An odd word in front of the arguments is where it returns to. */
static void view_args(struct fathom_view *v, struct fathom_graph_call *c)
{
	uintptr_t from = 0;

	fathom_view_args(v, FATHOM_ENTRY_ARGS, &c->args);
	if (!(c->args.nr & 1))
		return;
	__builtin_memcpy(&from, c->args.data, sizeof(from));
	fathom_text_symbol_at(&c->from, from);
	fathom_view_args(v, FATHOM_ENTRY_ARGS + (uint32_t)sizeof(from), &c->args);
}

static void view_returned(struct fathom_graph_call *c, const struct fathom_rec_funcgraph_exit *ex,
			  uint32_t bytes)
{
	uintptr_t value;

	c->duration_ns = ex->rettime - ex->calltime; /* the record has nanoseconds, as Linux's */
	c->overrun = ex->overrun;
	if (bytes < FATHOM_EXIT_RETVAL + sizeof(value))
		return;
	__builtin_memcpy(&value, (const uint8_t *)ex + FATHOM_EXIT_RETVAL, sizeof(value));
	c->retval = value;
	c->has_retval = 1;
	c->word_bytes = sizeof(value);
}

static void view_graph_entry(struct fathom_view *v, struct fathom_text *out,
			     const struct fathom_text_entry *e)
{
	const struct fathom_rec_funcgraph_entry *in = (const void *)v->record;
	const struct fathom_rec_funcgraph_exit *ex = view_leaf_exit(v);
	struct fathom_graph_call c;

	view_call(&c, in->func, in->depth);
	view_args(v, &c);
	if (!ex) {
		fathom_graph_entry(out, &v->graph, e, &c);
		return;
	}
	view_returned(&c, ex, v->cpus[v->cpu].rec.bytes);
	fathom_graph_leaf(out, &v->graph, e, &c);
	if (v->config.flags & FATHOM_VIEW_CONSUME)
		fathom_ring_consume(v->config.rings[v->cpu], &v->cpus[v->cpu].rec);
	fathom_view_advance(v, v->cpu);
}

static void view_graph(struct fathom_view *v, struct fathom_text *out,
		       const struct fathom_text_entry *e)
{
	const struct fathom_rec_funcgraph_exit *ex = (const void *)v->record;
	struct fathom_graph_call c;

	switch (ex->ent.type) {
	case WIRE_ID_FUNCGRAPH_ENTRY: view_graph_entry(v, out, e); break;
	case WIRE_ID_FUNCGRAPH_EXIT:
		view_call(&c, ex->func, ex->depth);
		view_returned(&c, ex, v->bytes);
		fathom_graph_exit(out, &v->graph, e, &c);
		break;
	case WIRE_ID_FUNCTION:
	case WIRE_ID_KERNEL_STACK:
	case WIRE_ID_USER_STACK:
		fathom_text_prefix(out, &v->text, e);
		fathom_view_body(v, out);
		break;
	default:
		fathom_graph_comment(out, &v->graph, e);
		fathom_view_body(v, out);
		fathom_graph_comment_end(out);
	}
}

const struct fathom_view_graph fathom_view_graph = {
	.bytes_per_cpu = sizeof(struct fathom_graph_cpu),
	.start = view_graph_start,
	.header = fathom_graph_header,
	.entry = view_graph,
};
