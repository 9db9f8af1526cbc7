/* SPDX-License-Identifier: MIT */
/* calltree.c -- calls added up by caller and callee, from the model's calls. */
#include "model/calltree.h"
#include "base/vec.h"

#include <stdlib.h>

/*
 * Each open call knows its node. Callees of a call that has no name yet go below a node of its own, apart; when the call
 * returns, they move below its node, or below its caller's if they ran before it began (see calls.c).
 * model_frame.cookie: the node in the lower half, the node apart in the upper.
 */
static uint32_t node_of(const struct model_frame *f)
{
	return (uint32_t)f->cookie;
}

static uint32_t apart_of(const struct model_frame *f)
{
	return (uint32_t)(f->cookie >> 32);
}

bool calltree_init(struct calltree *t)
{
	t->node = calloc(64, sizeof(*t->node));
	t->cap = t->node ? 64 : 0;
	t->nr = 1;
	return t->node;
}

void calltree_free(struct calltree *t)
{
	free(t->node);
	idmap_free(&t->table);
	idmap_free(&t->funcs);
}

static uint32_t add_node(struct calltree *t, uint32_t parent, uint64_t func, bool apart)
{
	if (t->nr >= UINT32_MAX / 2 || !VEC_ROOM(t->node, t->nr, t->cap)) {
		t->failed = true;
		return 0;
	}
	t->node[t->nr] = (struct calltree_node){
		.func = func, .parent = parent, .sibling = t->node[parent].child, .apart = apart};
	t->node[parent].child = t->nr;
	return t->nr++;
}

/* A small number for an address: half of a key. */
static uint64_t number_of(struct calltree *t, uint64_t func)
{
	void **at = idmap_at(&t->funcs, func);

	if (!at) {
		t->failed = true;
		return 0;
	}
	if (!*at)
		*at = (void *)(uintptr_t)++t->nr_funcs;
	return (uint64_t)(uintptr_t)*at;
}

static void **slot_of(struct calltree *t, uint32_t parent, uint64_t func)
{
	void **at = idmap_at(&t->table, (uint64_t)parent << 32 | number_of(t, func));

	t->failed |= !at;
	return at;
}

static uint32_t child_of(struct calltree *t, uint32_t parent, uint64_t func)
{
	void **at;
	uint32_t c;

	if (t->node[parent].apart) {
		for (c = t->node[parent].child; c; c = t->node[c].sibling)
			if (t->node[c].func == func)
				return c;
		return add_node(t, parent, func, true);
	}
	at = slot_of(t, parent, func);
	if (at && !*at) {
		c = add_node(t, parent, func, false);
		*at = c ? (void *)(uintptr_t)c : NULL;
	}
	return at ? (uint32_t)(uintptr_t)*at : 0;
}

/* What is below `from`, which stands apart, goes below `to`. As deep as calls nest. */
static void move_below(struct calltree *t, uint32_t from, uint32_t to)
{
	uint32_t c = t->node[from].child;

	t->node[from].child = 0;
	while (c && !t->failed) {
		struct calltree_node k = t->node[c];
		uint32_t dest = child_of(t, to, k.func);

		t->node[dest].self += k.self;
		t->node[dest].total += k.total;
		t->node[dest].calls += k.calls;
		move_below(t, c, dest);
		c = k.sibling;
	}
}

static uint32_t root_of(struct calltree *t, const struct model_stack *k)
{
	return t->group ? child_of(t, 0, t->group(t->arg, k)) : 0;
}

static uint32_t parent_of(struct calltree *t, const struct model_stack *k)
{
	return k->nr > 1 ? node_of(&k->v[k->nr - 2]) : root_of(t, k);
}

/* Of a new call. Where one waits for its return in the same place, it is not known yet whether inside or beside that. */
static uint32_t place_of(struct calltree *t, struct model_stack *k)
{
	struct model_pending *p = k->nr_pending ? &k->pending[k->nr_pending - 1] : NULL;
	struct model_frame *f = p ? &p->frame : NULL;
	uint32_t parent = parent_of(t, k);

	if (!p || p->depth + 1 != k->nr)
		return parent;
	if (!apart_of(f))
		f->cookie |= (uint64_t)add_node(t, parent, 0, true) << 32;
	return apart_of(f);
}

void calltree_enter(struct calltree *t, struct model_stack *k, bool named)
{
	struct model_frame *f = &k->v[k->nr - 1];
	uint32_t parent = place_of(t, k);

	if (t->failed)
		return;
	if (!f->func) {
		f->cookie = add_node(t, parent, 0, true);
		return;
	}
	f->cookie = (named ? (uint64_t)node_of(f) << 32 : 0) | child_of(t, parent, f->func);
}

/* The node apart goes out of its parent's list: it is the newest but for those added since. */
static void unlink_node(struct calltree *t, uint32_t n)
{
	uint32_t *at = &t->node[t->node[n].parent].child;

	while (*at && *at != n)
		at = &t->node[*at].sibling;
	if (*at)
		*at = t->node[n].sibling;
}

void calltree_call(struct calltree *t, const struct span *s, struct model_stack *k)
{
	const struct model_frame *f = &k->v[k->nr - 1];
	uint32_t n = node_of(f), apart = apart_of(f), parent = place_of(t, k);
	bool counts = !(s->flags & (SPAN_CUT | SPAN_NO_END | SPAN_NO_TIME));

	if (t->failed)
		return;
	if (!s->key) { /* it never got a name */
		unlink_node(t, n);
		move_below(t, n, s->flags & SPAN_NO_CALL ? parent : child_of(t, parent, 0));
		return;
	}
	if (apart) {
		unlink_node(t, apart);
		move_below(t, apart, f->early_inside ? n : parent);
	}
	if (!counts) {
		t->open++;
		return;
	}
	t->node[n].calls++;
	t->node[n].self += s->self;
	t->node[n].total += s->to - s->from;
}
