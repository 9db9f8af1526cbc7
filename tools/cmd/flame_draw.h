/* SPDX-License-Identifier: MIT */
/* flame_draw.h -- the stacks of a trace drawn into a file: what flame does, and convert when OUT is a flame graph. */
#ifndef CMD_FLAME_DRAW_H
#define CMD_FLAME_DRAW_H

#include "cmd/forms.h"
#include "cmd/stack_options.h"

struct flame_drawing {
	struct stack_options *stacks; /* settled */
	const char *file;
	const char *compared; /* the older trace to compare `file` with; NULL: none */
	const char *output;
	const struct form *form; /* of stacks */
	const struct flame_style
		*style; /* a missing title is the file's name, a missing subtitle what is in it */
};

/* Read, draw and write. Returns an exit code, with a message; closes the options of the stacks. */
int flame_draw(const struct flame_drawing *d);

#endif
