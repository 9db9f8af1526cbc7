/* SPDX-License-Identifier: MIT */
/* live_options.h -- what top and view take of a live target: how it is recorded meanwhile. */
#ifndef CMD_LIVE_OPTIONS_H
#define CMD_LIVE_OPTIONS_H

#include "cmd/options.h"
#include "live/sessions.h"

extern struct record_options live_asked;
extern struct option_call live_add_event;

/* Rows of a command's table. */
/* clang-format off */
#define LIVE_OPTIONS                                                                                                   \
	{"event", 'e', "EVENT", "TARGET: an event to record, as in fathom record; repeatable (default: all)",          \
	 OPTION_CALL, &live_add_event, NULL},                                                                          \
	{"tracer", 'p', "NAME", "TARGET: use this tracer", OPTION_STRING, &live_asked.tracer, NULL},                   \
	{"buffer-size", 'b', "KB", "TARGET: size of the ring of each CPU", OPTION_STRING, &live_asked.buffer_kb, NULL}, \
	{"output", 'o', "FILE", "TARGET: keep the recording in this trace", OPTION_STRING, &live_asked.output, NULL}
/* clang-format on */

#endif
