/* SPDX-License-Identifier: MIT */
/* setup.h -- switch on in a target what was asked for: events with filters and triggers, tracer, functions, options. */
#ifndef CAPTURE_SETUP_H
#define CAPTURE_SETUP_H

#include "capture/record.h"
#include "capture/steer.h"

/* With tracing off. The capture has the target's formats. 0, or -1 with a message. */
int setup_target(struct steer *s, const struct record_options *o, const struct capture *c);
/* Trace only the tasks of o->pids, and `child` if it is not 0. */
int setup_pids(struct steer *s, const struct record_options *o, pid_t child);

#endif
