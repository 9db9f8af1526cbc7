/* SPDX-License-Identifier: MIT */
/* stacks_source.c -- stacks out of an opened trace: function_graph with exact times, stack samples, or call edges. */
#include "view/stacks.h"
#include "decode/names/elf.h"
#include "decode/source.h"
#include "base/bytes.h"
#include "base/diag.h"
#include "base/idmap.h"
#include "model/calltree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * Three kinds of trace have stacks in them, best first:
 *
 *	graph    funcgraph_entry and _exit: every call with its time, added up by the model's call tree.
 *	samples  kernel_stack and user_stack records: each stands for one look, or for a time that its format knows. User
 *	         and kernel part of the same moment are joined.
 *	function only that a function was entered, and from where: edges of two frames.
 */
struct name {
	uint32_t bytes;
	bool known;
	char text[];
};

struct stack_walk {
	struct source *s;
	const struct stacks_options *o;
	struct flame *f;
	bool other;
	struct stacks *out;
	struct idmap names; /* of struct name, by address */
	struct model *model;
	struct calltree tree;
	struct stack_frames frames;
	enum flame_kind code; /* that was traced */
	uint32_t entry, exit, kernel, user,
		function; /* type ids; UINT32_MAX: the trace does not have it */
	/* a kernel part that waits for its user part, and the event it came with */
	uint64_t pending[STACK_FRAMES_MAX];
	size_t nr_pending;
	struct event pending_event;
	bool have_pending;
};

static struct name *make_name(const char *text, bool known)
{
	size_t n = strlen(text);
	struct name *k = malloc(sizeof(*k) + n + 1);

	if (!k)
		return NULL;
	k->bytes = (uint32_t)n;
	k->known = known;
	memcpy(k->text, text, n + 1);
	return k;
}

/* The function that holds addr, its name copied: it lives as long as the tree. */
static struct flame_frame frame_of(struct stack_walk *w, uint64_t addr, enum flame_kind kind)
{
	void **slot = idmap_at(&w->names, addr);
	const struct name *k;
	struct symbol sym;

	if (slot && !*slot) {
		char text[32], *readable = NULL;
		bool known = source_symbol(w->s, addr, &sym);

		if (known)
			readable = elf_demangle(sym.name);
		else
			snprintf(text, sizeof(text), "0x%" PRIx64, addr);
		*slot = make_name(readable ? readable : text, known);
		free(readable);
	}
	k = slot ? *slot : NULL;
	if (!k)
		return (struct flame_frame){"?", 1, FLAME_UNKNOWN};
	return (struct flame_frame){k->text, k->bytes, k->known ? kind : FLAME_UNKNOWN};
}

/* A label with inlined functions is several frames, the outer first. */
static void push_label(struct stack_frames *s, const struct source_label *l)
{
	const char *p = l->text, *end = p + l->bytes;
	enum flame_kind kind = l->kernel ? FLAME_KERNEL : FLAME_AUTO;

	for (; p <= end && s->n < STACK_FRAMES_MAX; kind = FLAME_INLINED) {
		const char *semi = memchr(p, ';', (size_t)(end - p));
		const char *stop = semi ? semi : end;

		s->v[s->n++] = (struct flame_frame){p, (uint32_t)(stop - p), kind};
		p = stop + 1;
	}
}

/* The frames of a record, whose innermost comes first; of one that the format labels, kernel and user are mixed. */
static void push_frames(struct stack_walk *w, const struct event *e, const uint64_t *v, size_t n,
			enum flame_kind kind)
{
	const struct source_own *own = w->s->ops->own;
	enum stacks_only only = w->o->only;

	while (n-- > 0 && w->frames.n < STACK_FRAMES_MAX) {
		if (own && own->stack_label) {
			const struct source_label *l = own->stack_label(w->s, e, v[n]);

			if (only == STACKS_BOTH || l->kernel == (only == STACKS_KERNEL))
				push_label(&w->frames, l);
		} else {
			w->frames.v[w->frames.n++] =
				v[n] ? frame_of(w, v[n], kind)
				     : (struct flame_frame){"[cut]", 5, FLAME_UNKNOWN};
		}
	}
}

/* Groups are names too, under keys that no address has. */
static void push_group(struct stack_walk *w, const struct event *e)
{
	uint64_t key =
		0x8000dead00000000ull | (w->o->by == STACKS_BY_CPU ? e->cpu : (uint32_t)e->pid);
	const struct name *k;
	char text[64];
	void **slot;

	if (w->o->by == STACKS_BY_NONE)
		return;
	slot = idmap_at(&w->names, key);
	if (slot && !*slot) {
		if (w->o->by == STACKS_BY_CPU)
			snprintf(text, sizeof(text), "cpu_%u", e->cpu);
		else
			snprintf(text, sizeof(text), "%s-%d",
				 w->model ? model_comm(w->model, e->pid)
					  : source_comm(w->s, e->pid),
				 e->pid);
		*slot = make_name(text, true);
	}
	k = slot ? *slot : NULL;
	if (k)
		w->frames.v[w->frames.n++] = (struct flame_frame){k->text, k->bytes, FLAME_GROUP};
}

/* ---- fields ---- */

static uint64_t named(struct stack_walk *w, const struct event *e, const char *name)
{
	uint64_t v = 0;

	source_field(w->s, e, name, &v);
	return v;
}

/* ---- graph ---- */

/* What the stacks are told apart by; the kernel that has one stack per CPU runs for whom it runs. */
static uint64_t group_of(void *arg, const struct model_stack *k)
{
	const struct stack_walk *w = arg;

	return 1 + (uint64_t)(w->o->by == STACKS_BY_CPU ? k->cpu : (uint32_t)k->pid);
}

static void on_enter(void *arg, struct model_stack *k, bool named)
{
	calltree_enter(&((struct stack_walk *)arg)->tree, k, named);
}

static void on_span(void *arg, const struct span *s)
{
	struct stack_walk *w = arg;

	if (s->kind == SPAN_CALL)
		calltree_call(&w->tree, s, model_stack(w->model));
}

/* The calls of one node: the frames above it are there already. */
static void add_node(struct stack_walk *w, uint32_t n, size_t frames, size_t group)
{
	const struct calltree_node *k = &w->tree.node[n];
	struct stack_frames path;

	if (!k->calls)
		return;
	/* Turned round in place, so of a copy. */
	path.n = frames;
	memcpy(path.v, w->frames.v, frames * sizeof(path.v[0]));
	stacks_add(w->f, w->o->reverse ? &path : &w->frames, group, w->o,
		   w->o->samples ? k->calls : k->self, k->calls, w->other);
	w->out->stacks += k->calls;
}

/* The whole tree, depth first. */
static void add_tree(struct stack_walk *w)
{
	struct calltree *t = &w->tree;
	size_t group = w->o->by != STACKS_BY_NONE, depth = 0;

	for (uint32_t n = t->node[0].child; n && !w->f->failed;) {
		const struct calltree_node *k = &t->node[n];

		w->frames.n = depth;
		if (group && !depth)
			push_group(w, &(struct event){.pid = (int32_t)(k->func - 1),
						      .cpu = (uint32_t)(k->func - 1)});
		else if (depth < STACK_FRAMES_MAX)
			w->frames.v[w->frames.n++] =
				k->func ? frame_of(w, k->func, w->code)
					: (struct flame_frame){"[unknown]", 9, FLAME_UNKNOWN};
		add_node(w, n, w->frames.n, group);
		if (k->child && depth + 1 < STACK_FRAMES_MAX) {
			n = k->child;
			depth++;
			continue;
		}
		while (n && !t->node[n].sibling) {
			n = t->node[n].parent;
			depth--;
		}
		n = n ? t->node[n].sibling : 0;
	}
	w->out->open += t->open;
}

/* Calls need their task's names and nothing else of the model. */
static bool start_model(struct stack_walk *w)
{
	struct model_options o = {.to = UINT64_MAX, .without = ~(1u << SPAN_CALL)};
	struct model_sink sink = {.arg = w, .span = on_span, .enter = on_enter};
	struct model_counts *n = model_count(w->s);

	o.counts = n;
	w->tree.group = w->o->by == STACKS_BY_NONE ? NULL : group_of;
	w->tree.arg = w;
	w->model = n && calltree_init(&w->tree) ? model_new(w->s, &o, &sink) : NULL;
	free(n);
	return w->model;
}

/* ---- samples ---- */

#define PADDED_FRAMES 8 /* a user_stack of Linux has this many, with zeros after its frames */

/* A 0 among the frames, or at the end of a long stack, is the sampler's mark of what it cut. */
static size_t read_frames(struct stack_walk *w, const struct event *e, const struct format_field *f,
			  uint64_t *v, size_t max)
{
	uint32_t size = w->s->long_bytes == 4 ? 4 : 8, at = f->offset;
	uint64_t limit = e->size;
	uint64_t count;
	bool counted = source_field(w->s, e, "size", &count);
	size_t n = 0;

	if (f->flags & FORMAT_DYNAMIC) {
		uint32_t loc = (uint32_t)named(w, e, "caller");

		at = (loc & 0xffff) + (f->flags & FORMAT_REL_LOC ? f->offset + f->size : 0);
		limit = at + (loc >> 16) < e->size ? at + (loc >> 16) : e->size;
	}
	if (counted && count < max)
		max = count;
	for (; n < max && at + size <= limit; at += size) {
		uint64_t a = size == 8 ? get_u64(e->data + at, w->s->big_endian)
				       : get_u32(e->data + at, w->s->big_endian);

		if (a == (size == 8 ? UINT64_MAX : UINT32_MAX))
			break;
		v[n++] = a;
	}
	while (!counted && n && n <= PADDED_FRAMES && !v[n - 1])
		n--;
	return n;
}

static void add_sample(struct stack_walk *w, const struct event *e, const uint64_t *user,
		       size_t nr_user)
{
	const struct source_own *own = w->s->ops->own;
	bool labelled = own && own->stack_label;
	size_t group;

	w->frames.n = 0;
	push_group(w, e);
	group = w->frames.n;
	if (w->o->only != STACKS_KERNEL)
		push_frames(w, e, user, nr_user, FLAME_USER);
	if (w->have_pending && (labelled || w->o->only != STACKS_USER))
		push_frames(w, e, w->pending, w->nr_pending, w->code);
	w->have_pending = false;
	if (w->frames.n > group) {
		stacks_add(w->f, &w->frames, group, w->o,
			   own && own->stack_time && !w->o->samples ? own->stack_time(w->s, e) : 1,
			   1, w->other);
		w->out->stacks++;
	}
}

static void flush_sample(struct stack_walk *w)
{
	if (w->have_pending)
		add_sample(w, &w->pending_event, NULL, 0);
}

static void sample(struct stack_walk *w, const struct event *e)
{
	static uint64_t user[STACK_FRAMES_MAX];
	const struct format *f = source_format(w->s, e->type);
	const struct format_field *caller = f ? format_field(f, "caller") : NULL;

	if (!caller)
		return;
	if (e->type == w->kernel) {
		flush_sample(w);
		w->nr_pending = read_frames(w, e, caller, w->pending, STACK_FRAMES_MAX);
		w->pending_event = *e;
		w->have_pending = true;
		return;
	}
	if (w->have_pending && (w->pending_event.pid != e->pid || w->pending_event.cpu != e->cpu))
		flush_sample(w);
	add_sample(w, e, user, read_frames(w, e, caller, user, STACK_FRAMES_MAX));
}

/* ---- edges ---- */

static void edge(struct stack_walk *w, const struct event *e)
{
	size_t group;

	w->frames.n = 0;
	push_group(w, e);
	group = w->frames.n;
	w->frames.v[w->frames.n++] = frame_of(w, named(w, e, "parent_ip"), w->code);
	w->frames.v[w->frames.n++] = frame_of(w, named(w, e, "ip"), w->code);
	stacks_add(w->f, &w->frames, group, w->o, 1, 1, w->other);
	w->out->stacks++;
}

/* ---- the walk ---- */

static uint32_t type_of(struct source *s, const char *name)
{
	const struct schema *k = source_schema_named(s, name);

	return k ? k->id : UINT32_MAX;
}

static void release(void *walk)
{
	struct stack_walk *w = walk;

	for (size_t i = 0; w && i < w->names.cap; i++)
		free(w->names.slots[i].value);
	if (w) {
		idmap_free(&w->names);
		calltree_free(&w->tree);
		model_free(w->model);
	}
	free(w);
}

static bool has(const struct model_counts *n, uint32_t type)
{
	return type < SOURCE_ID_FAST && n->by_type[type];
}

/* Which of the three kinds it is. False with a message: none. */
static bool choose(struct stack_walk *w, const struct model_counts *n, bool *graph, bool *samples)
{
	bool timed = w->s->ops->own && w->s->ops->own->stack_time;

	w->entry = type_of(w->s, "ftrace:funcgraph_entry");
	w->exit = type_of(w->s, "ftrace:funcgraph_exit");
	w->kernel = type_of(w->s, "ftrace:kernel_stack");
	w->user = type_of(w->s, "ftrace:user_stack");
	w->function = type_of(w->s, "ftrace:function");
	*graph = has(n, w->exit);
	*samples = has(n, w->kernel) || has(n, w->user);
	w->out->unit = w->o->samples || !(*graph || timed) ? "samples"
		       : w->s->unit == CLOCK_NS		   ? "ns"
							   : "ticks";
	if (*graph || *samples || has(n, w->function))
		return true;
	diag_error(
		"%s: has no stacks: neither function_graph nor function events, nor stack samples",
		w->s->path);
	return false;
}

static void note_loss(struct losses *losses, const struct event *e)
{
	losses_add(losses,
		   &(struct loss){
			   .stream = e->stream, .from = e->time, .to = e->time, .lost = e->lost});
}

static int walk(struct stack_walk *w, struct scan *sc, bool graph, bool samples,
		struct losses *losses)
{
	const struct event *e;

	while ((e = scan_next(sc))) {
		if (e->lost)
			note_loss(losses, e);
		if (graph)
			model_event(w->model, e, MODEL_NO_EVENT, true);
		else if (samples && (e->type == w->kernel || e->type == w->user))
			sample(w, e);
		else if (!samples && e->type == w->function)
			edge(w, e);
	}
	flush_sample(w);
	if (graph) {
		model_end(w->model);
		add_tree(w);
	}
	return graph && (w->tree.failed || model_failed(w->model)) ? -ENOMEM : 0;
}

static int settle_account(struct stack_walk *w, struct losses *losses)
{
	const struct scan_choice *c = &w->o->choice;
	uint64_t calls = 0;
	int err = account_make(&w->out->account, w->s, losses_at(losses, 0), losses_nr(losses),
			       scan_is_whole(c), scan_keep, (void *)c);

	if (!err && w->model) {
		model_losses(w->model, &calls);
		account_calls(&w->out->account, calls);
	}
	return err;
}

int stacks_from_source(struct source *s, const struct stacks_options *o, struct flame *f,
		       bool other, struct stacks *out)
{
	struct stack_walk *w = calloc(1, sizeof(*w));
	struct model_counts *counts = model_count(s);
	struct losses *losses = losses_new();
	struct scan *sc = w && counts && losses ? scan_open(s, &o->choice, NULL) : NULL;
	bool graph = false, samples = false;
	int err = sc ? 0 : -ENOMEM;

	out->walk = w;
	out->release = release;
	if (!err) {
		w->s = s;
		w->o = o;
		w->f = f;
		w->other = other;
		w->out = out;
		w->code = strcmp(s->info.uname, "process") ? FLAME_KERNEL : FLAME_USER;
		err = choose(w, counts, &graph, &samples) ? 0 : -ENODATA;
	}
	if (!err && graph && !start_model(w))
		err = -ENOMEM;
	if (!err)
		err = walk(w, sc, graph, samples, losses);
	if (!err)
		err = settle_account(w, losses);
	scan_close(sc);
	if (losses)
		losses_free(losses);
	free(counts);
	return err;
}
