/* SPDX-License-Identifier: MIT */
/* stacks_source.c -- stacks out of an opened trace: function_graph with exact times, stack samples, or call edges. */
#include "view/stacks.h"
#include "decode/names/elf.h"
#include "decode/source.h"
#include "base/bytes.h"
#include "base/diag.h"
#include "base/idmap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * Three kinds of trace have stacks in them, best first:
 *
 *	graph    funcgraph_entry and _exit: every call with its time. A call's own time is its duration less its
 *	         callees'; one stack per task, since calls go on across a task switch.
 *	samples  kernel_stack and user_stack records: each stands for one look, user and kernel part of the same moment
 *	         are joined.
 *	function only that a function was entered, and from where: edges of two frames.
 */
#define DEPTH_MAX 1024

struct name {
	uint32_t bytes;
	bool known;
	char text[];
};

struct call {
	uint64_t func, start, children;
};

struct thread {
	size_t depth;
	struct call calls[DEPTH_MAX];
};

struct walk {
	struct source *s;
	const struct stacks_options *o;
	struct flame *f;
	bool other;
	struct stacks *out;
	struct idmap names;   /* of struct name, by address */
	struct idmap threads; /* of struct thread, by pid and cpu */
	struct stack_frames frames;
	enum flame_kind code; /* that was traced */
	uint32_t entry, exit, kernel, user,
		function; /* type ids; UINT32_MAX: the trace does not have it */
	/* a kernel part that waits for its user part */
	uint64_t pending[STACK_FRAMES_MAX];
	size_t nr_pending;
	int32_t pending_pid;
	uint32_t pending_cpu;
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
static struct flame_frame frame_of(struct walk *w, uint64_t addr, enum flame_kind kind)
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

/* Groups are names too, under keys that no address has. */
static void push_group(struct walk *w, const struct event *e)
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
			snprintf(text, sizeof(text), "%s-%d", source_comm(w->s, e->pid), e->pid);
		*slot = make_name(text, true);
	}
	k = slot ? *slot : NULL;
	if (k)
		w->frames.v[w->frames.n++] = (struct flame_frame){k->text, k->bytes, FLAME_GROUP};
}

/* ---- fields ---- */

static uint64_t named(struct walk *w, const struct event *e, const char *name)
{
	uint64_t v = 0;

	source_field(w->s, e, name, &v);
	return v;
}

/* ---- graph ---- */

/* The idle tasks all have pid 0: told apart by their CPU. */
static struct thread *thread_of(struct walk *w, const struct event *e)
{
	void **at = idmap_at(&w->threads, (uint64_t)(uint32_t)e->pid << 32 | (e->pid ? 0 : e->cpu));

	if (at && !*at)
		*at = calloc(1, sizeof(struct thread));
	return at ? *at : NULL;
}

static void graph_entry(struct walk *w, const struct event *e)
{
	struct thread *t = thread_of(w, e);
	uint64_t depth = named(w, e, "depth");

	if (!t || depth >= DEPTH_MAX)
		return;
	if (depth < t->depth) {
		w->out->open += t->depth - depth;
		t->depth = depth;
	}
	/* Callers above that were entered before the trace began have no name. */
	while (t->depth < depth)
		t->calls[t->depth++] = (struct call){0};
	t->calls[t->depth++] = (struct call){named(w, e, "func"), e->time, 0};
}

static void graph_exit(struct walk *w, const struct event *e)
{
	struct thread *t = thread_of(w, e);
	uint64_t depth = named(w, e, "depth"), func = named(w, e, "func"), time, group;
	uint64_t called = named(w, e, "calltime"), returned = named(w, e, "rettime");
	struct call *c;

	if (!t || depth >= DEPTH_MAX)
		return;
	if (t->depth <= depth || t->calls[depth].func != func) {
		/* Its entry was not seen: it began before the trace, or only slow calls are told. */
		while (t->depth <= depth)
			t->calls[t->depth++] = (struct call){0};
		t->calls[depth] = (struct call){
			func, called, t->calls[depth].func ? 0 : t->calls[depth].children};
	}
	t->depth = depth + 1;
	c = &t->calls[depth];
	time = returned > called ? returned - called : e->time > c->start ? e->time - c->start : 0;
	w->frames.n = 0;
	push_group(w, e);
	group = w->frames.n;
	for (size_t i = 0; i <= depth && w->frames.n < STACK_FRAMES_MAX; i++)
		if (t->calls[i].func)
			w->frames.v[w->frames.n++] = frame_of(w, t->calls[i].func, w->code);
	/* Also a call whose whole time is its callees' counts as a call. */
	stacks_add(w->f, &w->frames, group, w->o,
		   w->o->samples	? 1
		   : time > c->children ? time - c->children
					: 0,
		   w->other);
	w->out->stacks++;
	if (depth)
		t->calls[depth - 1].children += time;
	t->depth = depth;
}

/* ---- samples ---- */

static size_t read_frames(struct walk *w, const struct event *e, const struct format_field *f,
			  uint64_t *v, size_t max)
{
	uint32_t size = w->s->long_bytes == 4 ? 4 : 8, at = f->offset;
	uint64_t limit = e->size;
	uint64_t count;
	size_t n = 0;

	if (f->flags & FORMAT_DYNAMIC) {
		uint32_t loc = (uint32_t)named(w, e, "caller");

		at = (loc & 0xffff) + (f->flags & FORMAT_REL_LOC ? f->offset + f->size : 0);
		limit = at + (loc >> 16) < e->size ? at + (loc >> 16) : e->size;
	}
	if (source_field(w->s, e, "size", &count) && count < max)
		max = count;
	for (; n < max && at + size <= limit; at += size) {
		uint64_t a = size == 8 ? get_u64(e->data + at, w->s->big_endian)
				       : get_u32(e->data + at, w->s->big_endian);

		if (!a || a == (size == 8 ? UINT64_MAX : UINT32_MAX))
			break;
		v[n++] = a;
	}
	return n;
}

/* Innermost frames come first in a record: the stack is user from its end, then kernel from its end. */
static void add_sample(struct walk *w, const struct event *e, const uint64_t *user, size_t nr_user)
{
	size_t group;

	w->frames.n = 0;
	push_group(w, e);
	group = w->frames.n;
	if (w->o->only != STACKS_KERNEL)
		for (size_t i = nr_user; i-- > 0 && w->frames.n < STACK_FRAMES_MAX;)
			w->frames.v[w->frames.n++] = frame_of(w, user[i], FLAME_USER);
	if (w->o->only != STACKS_USER && w->have_pending)
		for (size_t i = w->nr_pending; i-- > 0 && w->frames.n < STACK_FRAMES_MAX;)
			w->frames.v[w->frames.n++] = frame_of(w, w->pending[i], w->code);
	w->have_pending = false;
	if (w->frames.n > group) {
		stacks_add(w->f, &w->frames, group, w->o, 1, w->other);
		w->out->stacks++;
	}
}

static void flush_sample(struct walk *w)
{
	struct event e = {.pid = w->pending_pid, .cpu = w->pending_cpu};

	if (w->have_pending)
		add_sample(w, &e, NULL, 0);
}

static void sample(struct walk *w, const struct event *e)
{
	static uint64_t user[STACK_FRAMES_MAX];
	const struct format *f = source_format(w->s, e->type);
	const struct format_field *caller = f ? format_field(f, "caller") : NULL;

	if (!caller)
		return;
	if (e->type == w->kernel) {
		flush_sample(w);
		w->nr_pending = read_frames(w, e, caller, w->pending, STACK_FRAMES_MAX);
		w->pending_pid = e->pid;
		w->pending_cpu = e->cpu;
		w->have_pending = true;
		return;
	}
	if (w->have_pending && (w->pending_pid != e->pid || w->pending_cpu != e->cpu))
		flush_sample(w);
	add_sample(w, e, user, read_frames(w, e, caller, user, STACK_FRAMES_MAX));
}

/* ---- edges ---- */

static void edge(struct walk *w, const struct event *e)
{
	size_t group;

	w->frames.n = 0;
	push_group(w, e);
	group = w->frames.n;
	w->frames.v[w->frames.n++] = frame_of(w, named(w, e, "parent_ip"), w->code);
	w->frames.v[w->frames.n++] = frame_of(w, named(w, e, "ip"), w->code);
	stacks_add(w->f, &w->frames, group, w->o, 1, w->other);
	w->out->stacks++;
}

/* ---- the walk ---- */

static uint32_t type_of(struct source *s, const char *name)
{
	const struct schema *k = source_schema_named(s, name);

	return k ? k->id : UINT32_MAX;
}

/* How many events of each type: says which kind of trace it is before it is walked. */
static uint64_t *count_types(struct source *s)
{
	struct tally scan = {
		.by_type = calloc(SOURCE_ID_FAST, sizeof(uint64_t)),
		.pids = pid_counts_new(),
		.losses = losses_new(),
	};

	for (uint32_t i = 0; scan.by_type && scan.pids && scan.losses && i < s->nr_streams; i++) {
		struct cursor *c = cursor_open(s, i);

		for (uint64_t b = 0; c && b < s->streams[i].nr_blocks; b++)
			cursor_tally(c, b, &scan);
		cursor_close(c);
	}
	pid_counts_free(scan.pids);
	losses_free(scan.losses);
	return scan.by_type;
}

static void release(void *keep[2])
{
	struct walk *w = keep[1];

	for (size_t i = 0; w && i < w->names.cap; i++)
		free(w->names.slots[i].value);
	if (w)
		idmap_free(&w->names);
	free(w);
	source_close(keep[0]);
}

static void free_threads(struct walk *w)
{
	for (size_t i = 0; i < w->threads.cap; i++) {
		struct thread *t = w->threads.slots[i].value;

		if (!t)
			continue;
		w->out->open += t->depth;
		free(t);
	}
	idmap_free(&w->threads);
}

static bool has(const uint64_t *counts, uint32_t type)
{
	return type < SOURCE_ID_FAST && counts[type];
}

int stacks_from_source(struct source *s, const struct stacks_options *o, struct flame *f,
		       bool other, struct stacks *out)
{
	struct walk *w = calloc(1, sizeof(*w));
	uint64_t *counts = count_types(s);
	struct losses *losses = losses_new();
	const struct event *e;
	struct scan *sc;
	int err = 0;

	out->keep[1] = w;
	out->release = release;
	sc = w && counts && losses ? scan_open(s, &o->choice, NULL) : NULL;
	if (!sc) {
		free(counts);
		losses_free(losses);
		return -ENOMEM;
	}
	w->s = s;
	w->o = o;
	w->f = f;
	w->other = other;
	w->out = out;
	w->code = strcmp(s->info.uname, "process") ? FLAME_KERNEL : FLAME_USER;
	w->entry = type_of(s, "ftrace:funcgraph_entry");
	w->exit = type_of(s, "ftrace:funcgraph_exit");
	w->kernel = type_of(s, "ftrace:kernel_stack");
	w->user = type_of(s, "ftrace:user_stack");
	w->function = type_of(s, "ftrace:function");
	bool graph = has(counts, w->exit), samples = has(counts, w->kernel) || has(counts, w->user);

	out->unit = graph && !o->samples ? "ns" : samples || !graph ? "samples" : "calls";
	if (!graph && !samples && !has(counts, w->function)) {
		diag_error("%s: it has no stacks: no function_graph, no stack samples, no function "
			   "events",
			   s->path);
		err = -ENODATA;
	}
	while (!err && (e = scan_next(sc))) {
		if (e->lost)
			losses_add(losses, &(struct loss){.stream = e->stream,
							  .from = e->time,
							  .to = e->time,
							  .lost = e->lost});
		if (graph && e->type == w->entry)
			graph_entry(w, e);
		else if (graph && e->type == w->exit)
			graph_exit(w, e);
		else if (!graph && samples && (e->type == w->kernel || e->type == w->user))
			sample(w, e);
		else if (!graph && !samples && e->type == w->function)
			edge(w, e);
	}
	flush_sample(w);
	free_threads(w);
	scan_close(sc);
	free(counts);
	if (!err)
		err = account_make(&out->account, s, losses_at(losses, 0), losses_nr(losses),
				   scan_is_whole(&o->choice), scan_keep, (void *)&o->choice);
	losses_free(losses);
	return err;
}
