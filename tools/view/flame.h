/* SPDX-License-Identifier: MIT */
/* flame.h -- stacks folded into a tree, and the pictures made of it. */
#ifndef VIEW_FLAME_H
#define VIEW_FLAME_H

#include <stdbool.h>
#include <stddef.h>
#include <regex.h>
#include <stdint.h>
#include <stdio.h>

#include "base/idmap.h"
#include "base/strmap.h"

/* What a frame is, for its colour. */
enum flame_kind {
	FLAME_AUTO, /* decided by the name */
	FLAME_ROOT,
	FLAME_GROUP, /* a CPU or a task */
	FLAME_KERNEL,
	FLAME_USER,
	FLAME_INLINED,
	FLAME_UNKNOWN, /* an address without a name */
};

struct flame_frame {
	const char *name; /* kept by reference: must live as long as the tree */
	uint32_t bytes;
	enum flame_kind kind;
};

/*
 * A node's total is its own weight and its children's. `other` is the total of the trace that is compared with.
 * Siblings are in the order of their names after flame_finish(), where they are wide enough to be seen.
 */
struct flame_node {
	uint64_t self, total;
	uint64_t other_self, other;
	uint64_t calls;			 /* stacks that ended here */
	uint32_t name;			 /* index into flame.name */
	uint32_t parent, child, sibling; /* 0: none; node 0 is the root */
};

/* A name, kept once. */
struct flame_name {
	const char *text;
	uint32_t bytes;
	uint8_t kind;
	uint8_t wanted, unwanted; /* what flame_choose()'s expressions say of it */
};

struct flame {
	struct flame_node *node;
	size_t nr, cap;
	struct idmap children; /* node by its parent (upper half of the key) and its name */
	struct flame_name *name;
	size_t nr_names;
	struct strmap by_name; /* number + 1 is the index in `name`; 0 is the root */
	size_t depth;	       /* of the deepest stack */
	uint64_t stacks;
	bool compared;
	bool seen_only; /* set before adding: what is too narrow to be seen need not be kept apart */
	uint64_t pruned;	 /* frames folded into their callers for that */
	bool failed;		 /* out of memory: what was added later is missing */
	regex_t *only, *without; /* NULL: not asked for */
	uint64_t left_out;	 /* stacks that they skipped */
};

struct flame_style {
	const char *title;
	const char *subtitle;
	const char *unit; /* "samples", "ns" ... */
	uint32_t width;	  /* of the drawing before a browser fits it to the window; 0: 1200 */
	double min_px; /* narrower frames are omitted from the drawing, and counted; default 0.1 */
	bool all;      /* none is skipped, however narrow */
	bool icicle;   /* root on top */
};

struct flame *flame_new(void);
void flame_free(struct flame *f);

/*
 * Take only stacks with a frame that matches `only` and none that matches `without`: extended regular expressions, NULL:
 * any. Before the first stack. False with a message if one of them is wrong.
 */
bool flame_choose(struct flame *f, const char *only, const char *without);
/* Add a stack that was seen `calls` times, outermost frame first. `other`: it belongs to the trace compared with. */
void flame_add(struct flame *f, const struct flame_frame *v, size_t n, uint64_t weight,
	       uint64_t calls, bool other);
/* Add the lines of a folded file (`a;b;c 12`). Lines without a weight are reported and skipped. Returns how many were. */
size_t flame_add_folded(struct flame *f, const char *text, size_t bytes, const char *file,
			bool reverse, bool other);
/* Sum up, and sort the children of nodes of at least `least`; call once, after the last add. */
void flame_finish(struct flame *f, uint64_t least);
/* Order siblings by their totals instead, the largest first. After flame_finish(). */
void flame_by_total(struct flame *f);
/* A tree with the innermost frames first: let each node have the calls of the stacks that pass it, and their time as its own. */
void flame_turn(struct flame *f);
/* The least total that is drawn at all in the style's width. */
uint64_t flame_least(const struct flame *f, const struct flame_style *s);
enum flame_kind flame_kind_of(const char *name, size_t bytes);

void flame_svg(const struct flame *f, const struct flame_style *s, FILE *out);
void flame_html(const struct flame *f, const struct flame_style *s, FILE *out);
void flame_folded(const struct flame *f, FILE *out);
void flame_speedscope(const struct flame *f, const struct flame_style *s, FILE *out);
int flame_pprof(const struct flame *f, const struct flame_style *s, FILE *out);

#endif
