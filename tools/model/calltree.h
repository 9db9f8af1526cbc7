/* SPDX-License-Identifier: MIT */
/* calltree.h -- calls added up by caller and callee, from the model's calls. */
#ifndef MODEL_CALLTREE_H
#define MODEL_CALLTREE_H

#include "base/idmap.h"
#include "model/model.h"

/* Node 0 is the root; below it are groups, below them the outermost functions. */
struct calltree_node {
	uint64_t func; /* of a group: its number; 0: a caller that was never named */
	uint64_t total, self, calls;
	uint32_t parent, child, sibling; /* 0: none */
	bool apart; /* below a call without a name so far: found by walking, not in the table */
};

struct calltree {
	struct calltree_node *node;
	uint32_t nr, cap;
	struct idmap table; /* node, by number of parent and of function */
	struct idmap funcs; /* 1 .., by address */
	uint64_t nr_funcs;
	uint64_t open; /* calls without an end, and without a time: in no sum */
	uint64_t (*group)(void *arg, const struct model_stack *k); /* NULL: one for all */
	void *arg;
	bool failed;
};

bool calltree_init(struct calltree *t);
void calltree_free(struct calltree *t);
/* For model_sink.enter, and for model_sink.span of SPAN_CALL with model_stack(). */
void calltree_enter(struct calltree *t, struct model_stack *k, bool named);
void calltree_call(struct calltree *t, const struct span *s, struct model_stack *k);

#endif
