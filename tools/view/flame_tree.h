/* SPDX-License-Identifier: MIT */
/* flame_tree.h -- the tree while it grows: what adds stacks to it sees this, nobody else. */
#ifndef VIEW_FLAME_TREE_H
#define VIEW_FLAME_TREE_H

#include "view/flame.h"

/* The index of a name; it becomes one if it is new. */
uint32_t flame_name_of(struct flame *f, const char *text, size_t bytes, enum flame_kind kind);
/* The child of a node by that name; it is made if it is new. Out of memory: the node itself. */
uint32_t flame_child(struct flame *f, uint32_t parent, const char *text, size_t bytes,
		     enum flame_kind kind);
void flame_weigh(struct flame *f, uint32_t node, uint64_t weight, uint64_t calls, bool other);
/* Between two stacks, when only a picture is wanted: keep the tree small. True if nodes have moved. */
bool flame_prune(struct flame *f);
/* Is the stack one that flame_choose() asked for? Counts it if not. */
bool flame_wanted(struct flame *f, const struct flame_frame *v, size_t n, uint64_t calls);

#endif
