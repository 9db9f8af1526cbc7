/* SPDX-License-Identifier: MIT */
/* stop.h -- a recording is asked to end: by signals. */
#ifndef CAPTURE_STOP_H
#define CAPTURE_STOP_H

#include <stdbool.h>

/*
 * From here on SIGINT, SIGTERM and SIGHUP ask the recording to end and no longer end the program; SIGCHLD wakes a thread that
 * polls. A target that went away and a file that grew too large are errors of the calls, not signals.
 */
void stop_watch(void);
/* The signal that came, 0: none. */
int stop_signal(void);
/* The same as a predicate, for callbacks of waiting calls. */
bool stop_came(void);
/* Did more than one come? Then no call waits any longer. */
bool stop_at_once(void);
/* Did a child end, or stop, since the last call? */
bool stop_child(void);
/* To be polled: can be read when any of the signals came. */
int stop_fd(void);
/* Clear it after reading. */
void stop_take(void);

#endif
