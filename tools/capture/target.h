/* SPDX-License-Identifier: MIT */
/* target.h -- how a target is reached: a socket or a serial line. */
#ifndef CAPTURE_TARGET_H
#define CAPTURE_TARGET_H

#include <stdbool.h>

/*
 * `where`: unix:PATH or the path of a socket, tcp:HOST:PORT, a serial device (/dev/..., 115200 unless `:BAUD` follows), and with `by_port`
 * HOST:PORT as well. The fd, which does not block, or -1 with a message that names `target`.
 */
int target_open(const char *target, const char *where, bool by_port);

#define TARGET_TRACEFS "/sys/kernel/tracing"
/* This Linux. tracefs is mounted if it is not there yet, as trace-cmd does; where that is not allowed, opening it says so. */
const char *target_this_linux(void);
/* Is it a target, as `record --target` takes them, and not a trace? */
bool target_is_live(const char *name);

#endif
