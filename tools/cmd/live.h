/* SPDX-License-Identifier: MIT */
/* live.h -- a target that is recorded by a thread while others look at it. */
#ifndef CMD_LIVE_H
#define CMD_LIVE_H

#include "capture/record.h"
#include "cmd/options.h"
#include "store/follow.h"

#include <pthread.h>

struct live {
	struct record_options record;
	struct record_live state;
	struct capture c;
	pthread_t thread;
	bool running;
	int err;
};

/* The options of a live recording, for a command's own list. */
extern struct record_options live_asked;
extern struct option_call live_add_event;
#define LIVE_OPTIONS                                                                              \
	{                                                                                         \
		"event",                                                                          \
		'e',                                                                              \
		"EVENT",                                                                          \
		"TARGET: an event to record, as in fathom record; repeatable (default: all)",     \
		OPTION_CALL,                                                                      \
		&live_add_event,                                                                  \
		NULL},                                                                            \
		{"tracer",	     'p', "NAME", "TARGET: use this tracer", OPTION_STRING,       \
		 &live_asked.tracer, NULL},                                                       \
		{"buffer-size", 'b',                                                              \
		 "KB",		"TARGET: size of the ring of each CPU",                           \
		 OPTION_STRING, &live_asked.buffer_kb,                                            \
		 NULL},                                                                           \
	{                                                                                         \
		"output", 'o', "FILE", "TARGET: keep the recording in this trace", OPTION_STRING, \
			&live_asked.output, NULL                                                  \
	}

#define LIVE_TRACEFS "/sys/kernel/tracing"
/* This Linux. tracefs is mounted if it is not there yet, as trace-cmd does; where that is not allowed, opening it says so. */
const char *live_this_linux(void);
/* Is it a target, as `record --target` takes them, and not a trace? */
bool live_is_target(const char *name);
/* Start to record. 0, or -1 with a message. From here on signals end the recording: stop_signal(). */
int live_start(struct live *l, const char *target);
/* Wait until there is something to follow, the recording fails, or a signal comes. NULL: there is nothing, with a message. */
struct follow *live_follow(struct live *l);
/* Wait this long, or until a signal comes. False: a signal came. */
bool live_wait(int ms);
/* End the recording and switch off what it switched on. 0, or -1: it failed, with a message. A second signal ends the program. */
int live_stop(struct live *l);

#endif
