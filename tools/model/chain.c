/* SPDX-License-Identifier: MIT */
/* chain.c -- why a task was late: the time of a delay, link by link, back to the root cause. */
#include "model/chain.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 64	/* of wakers of wakers */
#define OFF_PART  10	/* interrupts off for a tenth of a wait, or longer, are worth a link */
#define SOON	  50000 /* ns: an interrupt that was held back comes so soon after they are on again */

/* Spans by track (a task or a CPU) and time; those of one track do not overlap, see flatten(). */
struct spans {
	struct span *v;
	size_t nr, cap;
	bool by_cpu;
};

struct moves {
	struct edge *v;
	size_t nr, cap;
};

struct chain_build {
	struct chain *out;
	size_t cap;
	struct spans tasks, runs, irqs, offs, calls;
	struct moves moves;
	size_t group; /* leaves from here on, of the same depth, belong together */
	bool failed;
};

static const char *const kind_names[CHAIN_KINDS] = {
	[CHAIN_RAN] = "ran",	     [CHAIN_INSTEAD] = "instead",   [CHAIN_MEANWHILE] = "meanwhile",
	[CHAIN_IDLE] = "idle",	     [CHAIN_IRQ] = "irq",	    [CHAIN_SOFTIRQ] = "softirq",
	[CHAIN_IRQSOFF] = "irqsoff", [CHAIN_EXTERNAL] = "external", [CHAIN_UNKNOWN] = "unknown",
	[CHAIN_BLOCKED] = "blocked", [CHAIN_UNBORN] = "unborn",
};

const char *chain_kind_name(enum chain_kind kind)
{
	return kind_names[kind];
}

/* ---- lists of spans ---- */

static void keep(struct chain_build *b, struct spans *l, const struct span *s)
{
	if (!VEC_ROOM(l->v, l->nr, l->cap)) {
		b->failed = true;
		return;
	}
	l->v[l->nr++] = *s;
}

static void note_span(void *arg, const struct span *s)
{
	struct chain_build *b = arg;

	if (s->to < b->out->delay.from || s->from > b->out->delay.to)
		return;
	switch (s->kind) {
	case SPAN_RUNNING: keep(b, &b->runs, s); /* fall through */
	case SPAN_READY:
	case SPAN_BLOCKED: keep(b, &b->tasks, s); break;
	case SPAN_LOST:
		if (s->pid >= 0)
			keep(b, &b->tasks, s);
		break;
	case SPAN_IRQ:
	case SPAN_SOFTIRQ: keep(b, &b->irqs, s); break;
	case SPAN_IRQSOFF: keep(b, &b->offs, s); break;
	case SPAN_SYSCALL:
		if (s->pid >= 0)
			keep(b, &b->calls, s);
		break;
	default: break;
	}
}

static void note_edge(void *arg, const struct edge *e)
{
	struct chain_build *b = arg;
	struct moves *l = &b->moves;

	if (e->kind != EDGE_MIGRATE || e->to_time < b->out->delay.from)
		return;
	if (!VEC_ROOM(l->v, l->nr, l->cap)) {
		b->failed = true;
		return;
	}
	l->v[l->nr++] = *e;
}

static int64_t track(const struct spans *l, const struct span *s)
{
	return l->by_cpu ? (int64_t)s->cpu : s->pid;
}

static int in_order(int64_t track_a, const struct span *a, int64_t track_b, const struct span *b)
{
	if (track_a != track_b)
		return track_a < track_b ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->to < b->to ? -1 : a->to > b->to; /* what took no time was before */
}

static int by_cpu(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return in_order(x->cpu, x, y->cpu, y);
}

/* For flatten(): the outer one first. */
static int outer_first(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->cpu == y->cpu && x->from == y->from ? -by_cpu(a, b) : by_cpu(a, b);
}

static int by_pid(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return in_order(x->pid, x, y->pid, y);
}

static void sort(struct spans *l, int (*order)(const void *, const void *))
{
	l->by_cpu = order != by_pid;
	if (l->nr)
		qsort(l->v, l->nr, sizeof(*l->v), order);
}

/* Of spans that nest, the innermost has the time; `self` is 1 in the first piece of each, `key` when it all began. */
static void flatten(struct chain_build *b, struct spans *l)
{
	struct spans flat = {.by_cpu = l->by_cpu};
	size_t *open = calloc(l->nr + 1, sizeof(*open)), nr = 0;
	uint64_t at = 0;

	b->failed |= !open;
	for (size_t i = 0; open && i <= l->nr; i++) {
		const struct span *next = i < l->nr ? &l->v[i] : NULL;

		while (nr) {
			struct span piece = l->v[open[nr - 1]];
			bool over = !next || piece.cpu != next->cpu || piece.to <= next->from;

			piece.self = at == piece.from;
			piece.key = piece.from;
			piece.from = at > piece.from ? at : piece.from;
			piece.to = over || piece.to < next->from ? piece.to : next->from;
			if (piece.to > piece.from) {
				keep(b, &flat, &piece);
				at = piece.to;
			}
			if (!over)
				break;
			nr--;
		}
		if (next) {
			at = nr && at > next->from ? at : next->from;
			open[nr++] = i;
		}
	}
	free(open);
	free(l->v);
	*l = flat;
}

/* The last span of the track that began at `t` or before; NULL: none. */
static const struct span *before(const struct spans *l, int64_t on, uint64_t t)
{
	size_t lo = 0, hi = l->nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct span *s = &l->v[mid];

		if (track(l, s) < on || (track(l, s) == on && s->from <= t))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && track(l, &l->v[lo - 1]) == on ? &l->v[lo - 1] : NULL;
}

/* The span of the track that goes on at `t`. */
static const struct span *at(const struct spans *l, int64_t on, uint64_t t)
{
	const struct span *s = before(l, on, t);

	return s && s->to > t ? s : NULL;
}

/* The first of the track that begins after `t`. */
static const struct span *after(const struct spans *l, int64_t on, uint64_t t)
{
	const struct span *s = before(l, on, t), *end = l->v + l->nr;

	if (s)
		s++;
	else
		for (s = l->v; s < end && track(l, s) < on; s++)
			;
	return s < end && track(l, s) == on ? s : NULL;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* ---- links ---- */

static struct chain_link *add(struct chain_build *b, const struct chain_link *k)
{
	struct chain *c = b->out;

	if (!VEC_ROOM(c->links, c->nr, b->cap)) {
		b->failed = true;
		return NULL;
	}
	c->links[c->nr] = *k;
	c->links[c->nr].time = k->to - k->from;
	c->links[c->nr].name = k->name ? k->name : "";
	c->links[c->nr].in = k->in ? k->in : "";
	return &c->links[c->nr++];
}

/* Add a leaf; if the group has one of the same kind, that one gets its time. */
static void leaf(struct chain_build *b, const struct chain_link *k)
{
	for (size_t i = b->group; i < b->out->nr; i++) {
		struct chain_link *old = &b->out->links[i];

		if (old->kind != k->kind || old->depth != k->depth || old->of != k->of ||
		    old->by != k->by || old->cpu != k->cpu ||
		    strcmp(old->name, k->name ? k->name : ""))
			continue;
		old->time += k->to - k->from;
		old->count += k->count;
		old->to = k->to;
		return;
	}
	add(b, k);
}

static void unknown(struct chain_build *b, int32_t of, uint32_t depth, uint64_t from, uint64_t to,
		    const char *why)
{
	leaf(b, &(struct chain_link){.kind = CHAIN_UNKNOWN,
				     .depth = depth,
				     .from = from,
				     .to = to,
				     .count = 1,
				     .of = of,
				     .by = -1,
				     .prio = -1,
				     .cpu = CHAIN_NO_CPU,
				     .name = why});
}

/* ---- what a CPU did ---- */

/* What the CPU worked for from *t on, until `to` or earlier. */
static struct chain_link one_piece(const struct chain_build *b, uint32_t cpu, uint64_t t,
				   uint64_t to, enum chain_kind kind, uint64_t worth, bool first)
{
	struct chain_link k = {
		.kind = kind, .from = t, .to = to, .count = 1, .by = -1, .prio = -1, .cpu = cpu};
	const struct span *irq = at(&b->irqs, cpu, t), *off = at(&b->offs, cpu, t),
			  *run = at(&b->runs, cpu, t), *next;

	if (irq) {
		k.kind = irq->kind == SPAN_IRQ ? CHAIN_IRQ : CHAIN_SOFTIRQ;
		k.name = model_span_name(b->out->model, irq);
		k.count = irq->self;
		k.to = least(to, irq->to);
		return k;
	}
	if ((next = after(&b->irqs, cpu, t)))
		k.to = least(k.to, next->from);
	if (off)
		k.to = least(k.to, off->to);
	else if ((next = after(&b->offs, cpu, t)))
		k.to = least(k.to, next->from);
	if (run) {
		k.to = least(k.to, run->to);
		k.by = run->pid;
		k.prio = run->prio;
		k.count = t == run->from || first;
		if (kind != CHAIN_RAN && off && off->to - off->from >= worth)
			k.kind = CHAIN_IRQSOFF;
		else if (kind == CHAIN_INSTEAD && !run->pid)
			k.kind = CHAIN_IDLE;
		return k;
	}
	if ((next = after(&b->runs, cpu, t)))
		k.to = least(k.to, next->from);
	k.kind = CHAIN_UNKNOWN;
	k.name = "who ran is not recorded";
	return k;
}

static void occupied(struct chain_build *b, int32_t of, uint32_t cpu, uint64_t from, uint64_t to,
		     uint32_t depth, enum chain_kind kind)
{
	uint64_t worth = (to - from) / OFF_PART;
	bool first = true;

	while (from < to && !b->failed) {
		struct chain_link k = one_piece(b, cpu, from, to, kind, worth, first);

		k.of = of;
		k.depth = depth;
		leaf(b, &k);
		from = k.to;
		first = false;
	}
}

/* ---- what a task did ---- */

static void explain(struct chain_build *b, int32_t pid, uint64_t from, uint64_t to, uint32_t depth);

/* The task waited in the queue of one CPU, or of several in turn. */
static void was_ready(struct chain_build *b, const struct span *s, uint64_t from, uint64_t to,
		      uint32_t depth)
{
	const struct span *run = after(&b->tasks, s->pid, s->from);
	uint32_t cpu = s->queue;
	bool ends_here = run && run->kind == SPAN_RUNNING && run->from == s->to && to == s->to;

	for (size_t i = 0; i < b->moves.nr && b->moves.v[i].to_time <= to; i++) {
		const struct edge *e = &b->moves.v[i];

		if (e->to_pid != s->pid || e->to_time < s->from)
			continue;
		if (e->to_time > from) {
			occupied(b, s->pid, e->from_cpu, from, e->to_time, depth, CHAIN_INSTEAD);
			from = e->to_time;
		}
		cpu = e->to_cpu;
	}
	if (ends_here && cpu == CHAIN_NO_CPU)
		cpu = run->cpu;
	if (from >= to)
		return;
	if (cpu == CHAIN_NO_CPU || (ends_here && cpu != run->cpu))
		unknown(b, s->pid, depth, from, to, "it was ready, in whose queue is not recorded");
	else
		occupied(b, s->pid, cpu, from, to, depth, CHAIN_INSTEAD);
}

/* Interrupts were off until shortly before this one was taken: it may have been pending all that time. */
static uint64_t held_back(struct chain_build *b, const struct span *s, uint64_t from,
			  uint64_t taken, struct chain_link *k)
{
	const struct span *off = before(&b->offs, s->by_cpu, taken);
	uint64_t since;

	if (!off || off->to <= from || (off->to < taken && taken - off->to > SOON))
		return from;
	since = off->from > from ? off->from : from;
	k->to = since;
	if (k->to > k->from)
		leaf(b, k);
	k->from = since;
	k->to = least(off->to, taken);
	k->kind = CHAIN_IRQSOFF;
	k->by = off->pid;
	leaf(b, k);
	k->by = -1;
	k->kind = CHAIN_EXTERNAL;
	return k->to;
}

/* An interrupt woke it: until that was taken, the cause was outside; or interrupts were off. */
static void woken_by_irq(struct chain_build *b, const struct span *s, uint64_t from, uint64_t to,
			 uint32_t depth)
{
	const struct span *irq = at(&b->irqs, s->by_cpu, to);
	uint64_t taken = !irq ? to : irq->key > from ? irq->key : from;
	struct chain_link k = {.kind = CHAIN_EXTERNAL,
			       .depth = depth,
			       .from = from,
			       .count = 1,
			       .of = s->pid,
			       .by = -1,
			       .prio = -1,
			       .cpu = s->by_cpu,
			       .name = irq ? model_span_name(b->out->model, irq) : ""};

	k.from = held_back(b, s, from, taken, &k);
	k.to = taken;
	if (k.to > k.from)
		leaf(b, &k);
	k.kind = irq && irq->kind == SPAN_SOFTIRQ ? CHAIN_SOFTIRQ : CHAIN_IRQ;
	k.from = taken;
	k.to = to;
	if (k.to > k.from)
		leaf(b, &k);
}

static void was_blocked(struct chain_build *b, const struct span *s, uint64_t from, uint64_t to,
			uint32_t depth)
{
	const struct span *call = at(&b->calls, s->pid, from);
	bool irq = s->by_flags & (MODEL_IN_HARDIRQ | MODEL_IN_SOFTIRQ | MODEL_IN_NMI) ||
		   s->by <= 0 || at(&b->irqs, s->by_cpu, to);

	if (s->flags & SPAN_NO_WAKE || s->flags & SPAN_CUT || s->to > to) {
		unknown(b, s->pid, depth, from, to,
			s->flags & SPAN_NO_WAKE ? "it was blocked, and who woke it is not recorded"
			: s->flags & SPAN_CUT	? "it was blocked, and then events are missing"
						: "it was blocked, and was not woken yet");
		return;
	}
	add(b, &(struct chain_link){.kind = CHAIN_BLOCKED,
				    .depth = depth,
				    .from = from,
				    .to = to,
				    .count = 1,
				    .of = s->pid,
				    .by = irq ? -1 : s->by,
				    .prio = -1,
				    .cpu = s->by_cpu,
				    .name = model_span_name(b->out->model, s),
				    .in = call ? model_span_name(b->out->model, call) : ""});
	if (irq)
		woken_by_irq(b, s, from, to, depth + 1);
	else
		explain(b, s->by, from, to, depth + 1);
}

/* The task has no span: it did not exist yet, or its states are not recorded. Returns the end of that time. */
static uint64_t nothing_of(struct chain_build *b, int32_t pid, uint64_t from, uint64_t to,
			   uint32_t depth)
{
	const struct span *old = before(&b->tasks, pid, from), *next = after(&b->tasks, pid, from);
	uint64_t end = next ? least(next->from, to) : to;

	if ((next && next->flags & SPAN_GUESS) || (old && old->flags & SPAN_GUESS)) {
		occupied(b, pid, next ? next->cpu : old->cpu, from, end, depth, CHAIN_MEANWHILE);
	} else if (!old && next && next->kind == SPAN_READY && !(next->flags & SPAN_NO_BEGIN) &&
		   next->by > 0 && end == next->from) {
		add(b, &(struct chain_link){.kind = CHAIN_UNBORN,
					    .depth = depth,
					    .from = from,
					    .to = end,
					    .count = 1,
					    .of = pid,
					    .by = next->by,
					    .prio = -1,
					    .cpu = next->by_cpu});
		explain(b, next->by, from, end, depth + 1);
	} else {
		unknown(b, pid, depth, from, end, "nothing of it is recorded");
	}
	return end;
}

static void explain(struct chain_build *b, int32_t pid, uint64_t from, uint64_t to, uint32_t depth)
{
	size_t group = b->group;

	b->group = b->out->nr;
	if (depth > DEPTH_MAX) {
		unknown(b, pid, depth, from, to, "too many tasks waited for each other");
		to = from;
	}
	while (from < to && !b->failed) {
		const struct span *s = at(&b->tasks, pid, from);
		uint64_t end = s ? least(s->to, to) : 0;

		if (!s)
			end = nothing_of(b, pid, from, to, depth);
		else if (s->kind == SPAN_RUNNING)
			occupied(b, pid, s->cpu, from, end, depth, CHAIN_RAN);
		else if (s->kind == SPAN_READY)
			was_ready(b, s, from, end, depth);
		else if (s->kind == SPAN_BLOCKED)
			was_blocked(b, s, from, end, depth);
		else
			unknown(b, pid, depth, from, end, "events are missing");
		from = end;
	}
	b->group = group;
}

/* ---- the cause ---- */

static int32_t blamed(const struct chain_link *k)
{
	return k->kind == CHAIN_RAN || k->kind == CHAIN_UNKNOWN ? k->of : k->by;
}

static int by_blame(const void *a, const void *b)
{
	const struct chain_link *x = *(struct chain_link *const *)a,
				*y = *(struct chain_link *const *)b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (blamed(x) != blamed(y))
		return blamed(x) < blamed(y) ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void find_cause(struct chain_build *b)
{
	struct chain *c = b->out;
	const struct chain_link **v = calloc(c->nr + 1, sizeof(*v));
	size_t nr = 0;

	b->failed |= !v;
	for (size_t i = 0; v && i < c->nr; i++)
		if (CHAIN_IS_LEAF(c->links[i].kind))
			v[nr++] = &c->links[i];
	if (nr)
		qsort(v, nr, sizeof(*v), by_blame);
	for (size_t i = 0, k; i < nr; i = k) {
		const struct chain_link *largest = v[i];
		uint64_t sum = 0;

		for (k = i; k < nr && !by_blame(&v[i], &v[k]); k++) {
			sum += v[k]->time;
			largest = v[k]->time > largest->time ? v[k] : largest;
		}
		if (sum > c->cause_time || !c->cause) {
			c->cause = largest;
			c->cause_time = sum;
		}
	}
	free(v);
}

int chain_make(struct source *s, const struct model_walk *w, const struct chain_delay *d,
	       struct chain *out)
{
	struct scan_choice until = *w->choice;
	struct model_walk walk = *w;
	struct chain_build b = {.out = out};
	struct model_sink sink = {.arg = &b, .span = note_span, .edge = note_edge};
	int err;

	*out = (struct chain){.delay = *d};
	until.to = d->to;
	walk.choice = &until;
	walk.without = 1u << SPAN_CALL | 1u << SPAN_PAIR | 1u << SPAN_WAKEUP;
	err = model_walk(s, &walk, &sink, &out->model);
	sort(&b.tasks, by_pid);
	sort(&b.calls, by_pid);
	sort(&b.runs, by_cpu);
	sort(&b.irqs, outer_first);
	sort(&b.offs, by_cpu);
	if (!err)
		flatten(&b, &b.irqs);
	if (!err && !b.failed)
		explain(&b, d->pid, d->from, d->to, 0);
	if (!err && !b.failed)
		find_cause(&b);
	free(b.tasks.v);
	free(b.calls.v);
	free(b.runs.v);
	free(b.irqs.v);
	free(b.offs.v);
	free(b.moves.v);
	return err ? err : b.failed ? -ENOMEM : 0;
}

void chain_free(struct chain *c)
{
	free(c->links);
	model_free(c->model);
}
