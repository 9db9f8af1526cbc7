/* SPDX-License-Identifier: MIT */
/* flame.c -- stacks folded into a tree. */
#include "view/flame_tree.h"
#include "base/vec.h"
#include "base/diag.h"

#include <stdlib.h>
#include <string.h>

#define SEEN_NODES \
	2000000u /* what a picture may take of memory: 56 bytes a node, 16 or 32 of its table */
#define SEEN_SHARE \
	(1u        \
	 << 17) /* a frame with less than this part of the whole is narrower than a pixel's tenth */

/*
 * Names are few and nodes are many, so a name is looked up first (its table stays in the cache) and a child by two
 * numbers, the parent's and the name's: one miss a frame. A line mostly shares its first frames with the line before:
 * flame_add_folded() goes on from where they part and looks only the rest up.
 */
struct flame *flame_new(void)
{
	struct flame *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->cap = 4096;
	f->node = calloc(f->cap, sizeof(*f->node));
	if (!f->node || !VEC_MORE(f->name, 0)) {
		flame_free(f);
		return NULL;
	}
	f->name[0] = (struct flame_name){.text = "all", .bytes = 3, .kind = FLAME_ROOT};
	f->nr_names = f->nr = 1;
	return f;
}

void flame_free(struct flame *f)
{
	if (!f)
		return;
	free(f->node);
	idmap_free(&f->children);
	free(f->name);
	strmap_free(&f->by_name);
	for (int i = 0; i < 2; i++) {
		regex_t *r = i ? f->without : f->only;

		if (r)
			regfree(r);
		free(r);
	}
	free(f);
}

static bool matches(const regex_t *r, const char *text, size_t bytes)
{
	regmatch_t all = {.rm_eo = (regoff_t)bytes};

	return r && !regexec(r, text, 1, &all, REG_STARTEND);
}

uint32_t flame_name_of(struct flame *f, const char *text, size_t bytes, enum flame_kind kind)
{
	uint32_t i = strmap_add(&f->by_name, text, (uint32_t)bytes);

	if (i != STRMAP_NONE && i + 1 < f->nr_names)
		return i + 1;
	if (i == STRMAP_NONE || !VEC_MORE(f->name, f->nr_names)) {
		f->failed = true;
		return 0;
	}
	if (kind == FLAME_AUTO)
		kind = flame_kind_of(text, bytes);
	f->name[f->nr_names] = (struct flame_name){text, (uint32_t)bytes, (uint8_t)kind,
						   matches(f->only, text, bytes),
						   matches(f->without, text, bytes)};
	return (uint32_t)f->nr_names++;
}

uint32_t flame_child(struct flame *f, uint32_t parent, const char *text, size_t bytes,
		     enum flame_kind kind)
{
	uint32_t name = flame_name_of(f, text, bytes, kind), i;
	void **slot = idmap_at(&f->children, (uint64_t)parent << 32 | name);

	if (slot && *slot)
		return (uint32_t)(uintptr_t)*slot;
	if (f->failed || !slot || f->nr >= UINT32_MAX || !VEC_ROOM(f->node, f->nr, f->cap)) {
		f->failed = true;
		return parent;
	}
	i = (uint32_t)f->nr++;
	f->node[i] = (struct flame_node){
		.name = name, .parent = parent, .sibling = f->node[parent].child};
	f->node[parent].child = i;
	*slot = (void *)(uintptr_t)i;
	return i;
}

void flame_weigh(struct flame *f, uint32_t node, uint64_t weight, uint64_t calls, bool other)
{
	if (other) {
		f->node[node].other_self += weight;
		f->compared = true;
	} else {
		f->node[node].self += weight;
		f->node[node].calls += calls;
		f->stacks += calls;
	}
}

static void sum_up(struct flame *f)
{
	for (size_t i = 0; i < f->nr; i++) {
		f->node[i].total = f->node[i].self;
		f->node[i].other = f->node[i].other_self;
	}
	/* A child always stands after its parent. */
	for (size_t i = f->nr; i-- > 1;) {
		f->node[f->node[i].parent].total += f->node[i].total;
		f->node[f->node[i].parent].other += f->node[i].other;
	}
}

/* Fold nodes of less than `least` into their parents, close the ranks, link and hash again. */
static void fold_small(struct flame *f, uint64_t least, uint32_t *to)
{
	size_t n = 1;

	to[0] = 0;
	f->node[0].child = 0;
	for (size_t i = 1; i < f->nr; i++) {
		struct flame_node k = f->node[i];
		uint32_t parent = to[k.parent];

		if (k.total + k.other < least) {
			to[i] = parent;
			f->node[parent].self += k.self;
			f->node[parent].other_self += k.other_self;
			f->pruned++;
			continue;
		}
		to[i] = (uint32_t)n;
		k.parent = parent;
		k.child = 0;
		k.sibling = f->node[parent].child;
		f->node[parent].child = (uint32_t)n;
		f->node[n++] = k;
	}
	f->nr = n;
	idmap_clear(&f->children);
	for (size_t i = 1; i < f->nr; i++) {
		void **slot =
			idmap_at(&f->children, (uint64_t)f->node[i].parent << 32 | f->node[i].name);

		if (slot)
			*slot = (void *)(uintptr_t)i;
	}
}

/* Between two stacks, when only a picture is wanted: keep the tree within SEEN_NODES. True if nodes have moved. */
bool flame_prune(struct flame *f)
{
	uint64_t least;
	uint32_t *to;

	if (!f->seen_only || f->nr < SEEN_NODES || !(to = malloc(f->nr * sizeof(*to))))
		return false;
	sum_up(f);
	least = (f->node[0].total + f->node[0].other) / SEEN_SHARE + 1;
	for (;; least *= 2) {
		fold_small(f, least, to);
		if (f->nr < SEEN_NODES / 2)
			break;
		sum_up(f);
	}
	free(to);
	return true;
}

static regex_t *compile(const char *text)
{
	regex_t *r = malloc(sizeof(*r));
	char why[128];
	int err = r ? regcomp(r, text, REG_EXTENDED | REG_NOSUB) : REG_ESPACE;

	if (!err)
		return r;
	regerror(err, r, why, sizeof(why));
	diag_error("'%s' is not a regular expression: %s", text, why);
	free(r);
	return NULL;
}

bool flame_choose(struct flame *f, const char *only, const char *without)
{
	f->only = only ? compile(only) : NULL;
	f->without = without ? compile(without) : NULL;
	return (!only || f->only) && (!without || f->without);
}

bool flame_wanted(struct flame *f, const struct flame_frame *v, size_t n, uint64_t calls)
{
	bool wanted = !f->only, unwanted = false;

	for (size_t i = 0; i < n && !unwanted; i++) {
		uint32_t name = flame_name_of(f, v[i].name, v[i].bytes, v[i].kind);

		wanted |= f->name[name].wanted;
		unwanted = f->name[name].unwanted;
	}
	f->left_out += !wanted || unwanted ? calls : 0;
	return wanted && !unwanted;
}

void flame_add(struct flame *f, const struct flame_frame *v, size_t n, uint64_t weight,
	       uint64_t calls, bool other)
{
	uint32_t at = 0;

	if ((f->only || f->without) && !flame_wanted(f, v, n, calls))
		return;
	flame_prune(f);
	for (size_t i = 0; i < n && !f->failed; i++)
		at = flame_child(f, at, v[i].name, v[i].bytes, v[i].kind);
	if (n > f->depth)
		f->depth = n;
	if (!f->failed)
		flame_weigh(f, at, weight, calls, other);
}

/* Frames say what they are in several dialects: BINARY`function (L4Re), `_[k]` and `_[i]` (perf), 0x and task/address. */
enum flame_kind flame_kind_of(const char *name, size_t n)
{
	if (n > 7 && !memcmp(name, "KERNEL`", 7))
		return FLAME_KERNEL;
	if (n > 4 && !memcmp(name + n - 4, "_[k]", 4))
		return FLAME_KERNEL;
	if (n > 4 && !memcmp(name + n - 4, "_[i]", 4))
		return FLAME_INLINED;
	if (n > 4 && !memcmp(name, "cpu_", 4))
		return FLAME_GROUP;
	if (n > 2 && !memcmp(name, "0x", 2))
		return FLAME_UNKNOWN;
	if ((n == 9 && !memcmp(name, "[unknown]", 9)) || (n == 5 && !memcmp(name, "[cut]", 5)))
		return FLAME_UNKNOWN;
	if (n > 17 && name[n - 17] == '/') {
		size_t i = n - 16;

		while (i < n && strchr("0123456789abcdef", name[i]))
			i++;
		if (i == n)
			return FLAME_UNKNOWN;
	}
	return FLAME_USER;
}

static int by_name(const void *a, const void *b, void *arg)
{
	const struct flame *f = arg;
	const struct flame_name *x = &f->name[f->node[*(const uint32_t *)a].name];
	const struct flame_name *y = &f->name[f->node[*(const uint32_t *)b].name];
	int c = memcmp(x->text, y->text, x->bytes < y->bytes ? x->bytes : y->bytes);

	return c ? c : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static int by_total(const void *a, const void *b, void *arg)
{
	const struct flame *f = arg;
	uint64_t x = f->node[*(const uint32_t *)a].total, y = f->node[*(const uint32_t *)b].total;

	return x != y ? (x < y ? 1 : -1) : by_name(a, b, arg);
}

static void sort_children(struct flame *f, uint32_t parent, uint32_t *v,
			  int (*order)(const void *, const void *, void *))
{
	size_t n = 0;

	for (uint32_t c = f->node[parent].child; c; c = f->node[c].sibling)
		v[n++] = c;
	if (n < 2)
		return;
	qsort_r(v, n, sizeof(*v), order, f);
	f->node[parent].child = v[0];
	for (size_t i = 0; i < n; i++)
		f->node[v[i]].sibling = i + 1 < n ? v[i + 1] : 0;
}

void flame_finish(struct flame *f, uint64_t least)
{
	uint32_t *v = malloc(f->nr * sizeof(*v));

	sum_up(f);
	if (v)
		for (size_t i = 0; i < f->nr; i++)
			if (f->node[i].child && f->node[f->node[i].child].sibling &&
			    f->node[i].total >= least)
				sort_children(f, (uint32_t)i, v, by_name);
	free(v);
}

void flame_by_total(struct flame *f)
{
	uint32_t *v = malloc(f->nr * sizeof(*v));

	for (size_t i = 0; v && i < f->nr; i++)
		if (f->node[i].child)
			sort_children(f, (uint32_t)i, v, by_total);
	free(v);
}

void flame_turn(struct flame *f)
{
	for (size_t i = f->nr; i-- > 1;)
		f->node[f->node[i].parent].calls += f->node[i].calls;
	for (size_t i = 1; i < f->nr; i++)
		f->node[i].self = f->node[i].total;
}
