/* SPDX-License-Identifier: MIT */
/* stacks.h -- stacks out of any trace, into a flame tree. */
#ifndef VIEW_STACKS_H
#define VIEW_STACKS_H

#include "view/flame.h"
#include "store/scan.h"

enum stacks_by {
	STACKS_BY_NONE,
	STACKS_BY_CPU,
	STACKS_BY_TASK,
};

enum stacks_only {
	STACKS_BOTH,
	STACKS_USER,
	STACKS_KERNEL,
};

struct stacks_options {
	enum stacks_by by;
	enum stacks_only only;
	bool reverse; /* leaf first: who calls it */
	bool samples; /* count samples instead of time */
	struct source_options source;
	/*
	 * What of the trace. Called when its CPUs and its clock are known; 0, or a negative errno with a message.
	 * Of folded text nothing is known: with NULL, -EINVAL if more than all of it is wanted, without a message.
	 */
	int (*settle)(struct stacks_options *o, struct source *s);
	void *arg;
	struct scan_choice choice; /* once settled */
};

/*
 * What a trace gave. Names in the tree point into what is kept here, so it must outlive the tree.
 */
struct stacks {
	const char *unit;	/* "ns" or "samples" */
	uint64_t stacks;	/* taken into the tree */
	struct account account; /* events lost by the trace: the picture is of what is left */
	uint64_t open;		/* calls whose end was not seen */
	struct source *source;	/* NULL: it was folded text */
	const char *map;	/* which is here */
	size_t map_bytes;
	void *walk; /* of stacks_from_source() */
	void (*release)(void *walk);
};

/* Read the file: folded text, or a trace with stack samples or function_graph. 0, or a negative errno with a message. */
int stacks_read(const char *path, struct stacks_options *o, struct flame *f, bool other,
		struct stacks *out);
void stacks_release(struct stacks *s);

/* From an opened source (stacks_source.c). -ENODATA: it has no stacks. */
int stacks_from_source(struct source *s, const struct stacks_options *o, struct flame *f,
		       bool other, struct stacks *out);

/* Frames of one stack being put together, outermost first. */
#define STACK_FRAMES_MAX 4096
struct stack_frames {
	struct flame_frame v[STACK_FRAMES_MAX];
	size_t n;
};
/* Put the frames after the first `group` ones in reverse order if asked, and add; the stack was seen `calls` times. */
void stacks_add(struct flame *f, struct stack_frames *s, size_t group,
		const struct stacks_options *o, uint64_t weight, uint64_t calls, bool other);

#endif
