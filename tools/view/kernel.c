/* SPDX-License-Identifier: MIT */
/* kernel.c -- report as the kernel's `trace` file: header, lines in every form, function_graph's drawing. */
#include "view/kernel.h"
#include "base/vec.h"
#include "base/diag.h"
#include "base/terminal.h"
#include "decode/blk.h"
#include "wire/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FLUSH_BYTES (1u << 20)

static const char *comm_of(void *arg, int32_t pid)
{
	struct kernel_view *k = arg;

	return tasks_comm(k->source->tasks, pid);
}

static void type_free(struct kernel_event *t)
{
	if (!t)
		return;
	printfmt_free(t->fmt);
	free(t);
}

static void view_free(struct kernel_view *k)
{
	for (uint32_t i = 0; k->types && i < SOURCE_ID_FAST; i++)
		type_free(k->types[i]);
	free(k->types);
	type_free(k->unknown);
	free(k->graph.cpus);
	free(k->tracer);
	free(k->release);
	free(k->banner_text);
	free(k->data);
	free(k->started);
	free(k->seen);
	scan_close(k->scan);
	lookup_free(&k->lookup);
	out_free(&k->out);
	out_free(&k->args_text);
	out_free(&k->value_text);
	free(k);
}

static struct kernel_view *view_new(struct source *s, const struct report_options *o)
{
	struct kernel_view *k = calloc(1, sizeof(*k));
	uint32_t cpus = s->info.nr_cpus;

	if (!k)
		return NULL;
	k->source = s;
	k->o = o;
	for (size_t i = 0; i < s->nr_streams; i++)
		if (s->streams[i].cpu >= cpus)
			cpus = s->streams[i].cpu + 1;
	source_want_names(s);
	k->blk = blk_type(s);
	k->scan = scan_open(s, o->choice, &(struct scan_options){.stacks = true});
	k->merge = k->scan ? scan_merge(k->scan) : NULL;
	k->types = calloc(SOURCE_ID_FAST, sizeof(*k->types));
	k->unknown = calloc(1, sizeof(*k->unknown));
	k->started = calloc(s->nr_streams + 1, 1);
	k->seen = calloc(s->nr_streams + 1, 1);
	k->graph =
		(struct fathom_graph){.view = &k->view, .nr_cpus = cpus, .comm = comm_of, .arg = k};
	k->graph.cpus = calloc(cpus ? cpus : 1, sizeof(*k->graph.cpus));
	if (!k->merge || !k->types || !k->unknown || !k->started || !k->seen || !k->graph.cpus ||
	    !lookup_init(&k->lookup, s, false)) {
		diag_error("out of memory");
		view_free(k);
		return NULL;
	}
	kernel_choose(k, k->unknown);
	fathom_graph_init(&k->graph);
	return k;
}

static struct kernel_event *type_of(struct kernel_view *k, uint32_t id)
{
	struct kernel_event *t;

	if (id >= SOURCE_ID_FAST)
		return k->unknown;
	if (k->types[id])
		return k->types[id];
	t = calloc(1, sizeof(*t));
	if (!t)
		return k->unknown;
	t->schema = source_schema(k->source, id);
	t->format = t->schema ? source_format(k->source, id) : NULL;
	kernel_choose(k, t);
	return k->types[id] = t;
}

/* Copy the record: what is printed looks ahead, and that makes the merge's data go. */
static bool take(struct kernel_view *k, const struct event *e)
{
	if (!VEC_ROOM(k->data, e->size + 8u, k->data_cap))
		return false;
	memcpy(k->data, e->data, e->size);
	k->event = *e;
	k->event.data = k->data;
	return true;
}

static uint64_t next_time(struct kernel_view *k)
{
	const struct event *next = merge_next(k->merge);
	uint64_t t = k->event.time;

	if (next) {
		t = next->time;
		merge_unget(k->merge);
	}
	return t;
}

static struct fathom_text_entry entry_of(struct kernel_view *k)
{
	int32_t tgid = source_tgid(k->source, k->event.pid);
	struct fathom_text_entry e = {
		.comm = tasks_comm(k->source->tasks, k->event.pid),
		.pid = k->event.pid,
		.tgid = tgid < 0 ? 0 : tgid,
		.cpu = k->event.cpu,
		.time = k->event.time,
		.next_time = k->event.time,
		.index = k->index,
	};

	if (k->event.size >= 4) {
		e.flags = k->data[2];
		e.preempt_count = k->data[3];
	}
	if (k->lazy_count)
		e.lazy_count = (uint8_t)kernel_number(k, k->lazy_count);
	return e;
}

/* ---- function_graph ---- */

/* What a return gives, in the form that the types or the options say. */
static void take_value(struct kernel_view *k, const struct kernel_event *t,
		       struct fathom_graph_call *c)
{
	struct args a = {.nr = 0};
	const struct proto *p;

	if (k->event.size < t->more.need)
		return;
	args_read(&t->more, &k->lookup.env, k->data, k->event.size, &a);
	p = lookup_proto(&k->lookup, c->func);
	c->has_retval = a.has_value && !args_is_void(&k->lookup, c->func);
	c->retval = a.value;
	c->word_bytes = k->lookup.env.long_bytes;
	if (!c->has_retval || !p || p->is_btf)
		return;
	k->value_text.at = k->value_text.base;
	args_value(&k->lookup, c->func, a.value, &k->value_text);
	out_char(&k->value_text, 0);
	c->value = k->value_text.failed ? NULL : k->value_text.base;
}

static struct fathom_graph_call call_of(struct kernel_view *k, const struct kernel_event *t)
{
	struct fathom_graph_call c = {
		.func = kernel_number(k, t->field[0]),
		.depth = (int32_t)kernel_number(k, t->field[1]),
	};
	const struct lookup_symbol *s = lookup_symbol(&k->lookup, c.func);

	c.name = s->name;
	c.is_irq = c.func >= k->irq_start && c.func < k->irq_end;
	if (t->kind == KERNEL_GRAPH_EXIT) {
		uint64_t called = kernel_number(k, t->field[2]),
			 returned = kernel_number(k, t->field[3]);

		/* A return at the event's own time, of a call that was not seen. */
		c.duration_ns =
			called || returned != k->event.time ? returned - called : UINT64_MAX;
		c.overrun = (uint32_t)kernel_number(k, t->field[4]);
		take_value(k, t, &c);
	} else {
		c.args = kernel_args(k, t, c.func);
		if (k->args.has_from)
			c.from = kernel_symbol_of(k, k->args.from);
	}
	return c;
}

/* Its exit is the next event of the CPU: take it away, and say how long the call took. */
static bool is_leaf(struct kernel_view *k, struct fathom_graph_call *c)
{
	const struct event *next = merge_peek(k->merge);
	const struct kernel_event *t = next ? type_of(k, next->type) : NULL;
	struct event entry = k->event;
	struct fathom_graph_call exit;

	if (!t || t->kind != KERNEL_GRAPH_EXIT || next->pid != k->event.pid || !take(k, next))
		return false;
	exit = call_of(k, t);
	k->event = entry; /* its columns are still to be printed; its record has been read */
	if (exit.func != c->func)
		return false;
	c->duration_ns = exit.duration_ns;
	c->has_retval = exit.has_retval;
	c->retval = exit.retval;
	c->word_bytes = exit.word_bytes;
	c->value = exit.value;
	merge_drop(k->merge);
	return true;
}

static bool draw(struct kernel_view *k, struct kernel_event *type)
{
	struct fathom_text_entry e;
	struct fathom_graph_call c;
	struct fathom_text t;

	if (type->kind == KERNEL_STACK || type->kind == KERNEL_FUNCTION)
		return false;
	e = entry_of(k);
	if (type->kind == KERNEL_GRAPH_ENTRY || type->kind == KERNEL_GRAPH_EXIT) {
		bool leaf;

		c = call_of(k, type);
		leaf = type->kind == KERNEL_GRAPH_ENTRY && is_leaf(k, &c);
		t = kernel_text(k, 8192 + c.args.nr + out_len(&k->value_text));
		if (type->kind == KERNEL_GRAPH_EXIT)
			fathom_graph_exit(&t, &k->graph, &e, &c);
		else if (leaf)
			fathom_graph_leaf(&t, &k->graph, &e, &c);
		else
			fathom_graph_entry(&t, &k->graph, &e, &c);
		kernel_text_end(k, &t);
		return true;
	}
	t = kernel_text(k, 8192);
	fathom_graph_comment(&t, &k->graph, &e);
	kernel_text_end(k, &t);
	k->message_only = type->kind == KERNEL_PRINT;
	type->print(k, type);
	k->message_only = false;
	if (out_len(&k->out) && k->out.at[-1] == '\n')
		k->out.at--;
	out_str(&k->out, " */\n");
	return true;
}

/* ---- lines ---- */

static void line(struct kernel_view *k, struct kernel_event *type)
{
	uint32_t other = FATHOM_TEXT_BIN | FATHOM_TEXT_HEX | FATHOM_TEXT_RAW;
	struct fathom_text_entry e = entry_of(k);
	struct fathom_text t;

	if (k->view.options & FATHOM_TEXT_LATENCY)
		e.next_time = next_time(k);
	if (type->kind == KERNEL_PRINT && k->view.options & FATHOM_TEXT_PRINTK_MSG_ONLY) {
		k->message_only = true;
		type->print(k, type);
		k->message_only = false;
		return;
	}
	t = kernel_text(k, 512);
	fathom_text_prefix(&t, &k->view, &e);
	kernel_text_end(k, &t);
	if (!(k->view.options & other)) {
		(k->fields && type->format ? kernel_print_by_field : type->print)(k, type);
		return;
	}
	if (type->raw &&
	    (type->kind == KERNEL_FUNCTION || !(k->view.options & (other & ~FATHOM_TEXT_RAW))))
		type->raw(k, type);
	else if (type == k->unknown)
		type->print(k, type);
	else
		out_printf(&k->out, "type: %u\n", k->event.type);
	if (k->view.options & FATHOM_TEXT_HEX && !(k->view.options & FATHOM_TEXT_BIN))
		out_char(&k->out, '\n');
}

/* What comes before an event: events lost in between, and the first event of a CPU in a buffer that overran. */
static void announce(struct kernel_view *k)
{
	uint32_t n = k->event.stream;
	const char *annotate = "##### CPU %u buffer started ####\n";
	uint32_t plain = FATHOM_TEXT_BIN | FATHOM_TEXT_HEX | FATHOM_TEXT_RAW;

	if (k->seen[n] && k->event.lost) {
		if (k->event.lost == LOST_UNKNOWN)
			out_printf(&k->out, "CPU:%u [LOST EVENTS]\n", k->event.cpu);
		else
			out_printf(&k->out, "CPU:%u [LOST %llu EVENTS]\n", k->event.cpu,
				   (unsigned long long)k->event.lost);
	}
	k->seen[n] = 1;
	if (k->blk_classic && kernel_is_blk(k, k->event.type, k->event.size))
		return; /* a line of its own: what comes after it may be the CPU's first */
	if (!k->started[n] && k->overrun && k->index && k->view.options & FATHOM_TEXT_ANNOTATE &&
	    !k->draws_graph && !(k->view.options & plain))
		out_printf(&k->out, annotate, k->event.cpu);
	k->started[n] = 1;
}

static int flush(struct kernel_view *k)
{
	int err;

	if (k->out.failed) {
		diag_error("out of memory");
		return -ENOMEM;
	}
	err = terminal_write(k->o->fd, k->out.base, out_len(&k->out));
	k->out.at = k->out.base;
	return err;
}

static int print_all(struct kernel_view *k)
{
	const struct event *e;
	int rc = 0;

	while (!rc && (e = scan_next(k->scan))) {
		struct kernel_event *t;

		if (!take(k, e))
			return -ENOMEM;
		t = type_of(k, k->event.type);
		announce(k);
		if (!k->draws_graph || !draw(k, t))
			line(k, t);
		k->index++;
		if (out_len(&k->out) > FLUSH_BYTES)
			rc = flush(k);
	}
	return rc ? rc : flush(k);
}

int report_kernel(struct source *s, const struct report_options *o)
{
	struct kernel_view *k;
	int rc = -EINVAL;

	if (source_is_text(s))
		return report_texts(s, o->fd);
	k = view_new(s, o);
	if (!k)
		return -ENOMEM;
	if (kernel_settle(k)) {
		kernel_header(k);
		rc = print_all(k);
		if (rc && rc != -EPIPE && rc != -ENOMEM)
			diag_error("cannot write: %s", strerror(-rc));
	}
	view_free(k);
	return rc;
}
