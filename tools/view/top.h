/* SPDX-License-Identifier: MIT */
/* top.h -- what a target does at the moment: tasks by CPU and wait, switches, interrupts, events, loss. */
#ifndef VIEW_TOP_H
#define VIEW_TOP_H

#include "store/follow.h"

#include <stdio.h>

enum top_order {
	TOP_CPU,
	TOP_READY,
	TOP_BLOCKED,
	TOP_SWITCHES,
	TOP_PID,
};

struct top;

/* NULL: out of memory. What is followed must outlive it. */
struct top *top_new(struct follow *f);
void top_free(struct top *t);
/* Take in what came, up to some 100,000 events. 1: there is more of it; 0, or a negative errno. */
int top_step(struct top *t);
/* From now on the figures are of the time since here; until then of the time between the last two calls. */
void top_turn(struct top *t);
/* The figures as lines, at most `rows`: a head, then tasks. `state` is said in the first line. */
void top_print(struct top *t, enum top_order order, const char *state, unsigned rows, FILE *out);
/* How many lines of the head come before those of the tasks, the last of them naming the columns. */
#define TOP_HEAD 4u

#endif
