/* SPDX-License-Identifier: MIT */
/* sessions.h -- what can be done with a live target: run a program in it, show it in a terminal or in a browser. */
#ifndef LIVE_SESSIONS_H
#define LIVE_SESSIONS_H

#include "live/live.h"
#include "program/program.h"
#include "view/page/show.h"
#include "view/top_screen.h"

/* All return 0, or -1 with a message. */

/* A program inside the target, for so many seconds (0: until it or a signal ends it). */
int live_run_program(const char *target, const struct program_options *p, uint32_t seconds);

struct live_top_options {
	enum top_order order;
	uint64_t interval; /* seconds between two pictures */
	uint64_t times;	   /* how many; 0: until a signal comes */
};

/* Recorded as `asked` says, in this terminal. */
int live_top(const char *target, const struct record_options *asked,
	     const struct live_top_options *o);
/* The same in a browser. */
int live_view(const char *target, const struct record_options *asked, const struct show_options *o);

#endif
