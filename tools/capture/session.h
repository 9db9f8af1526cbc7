/* SPDX-License-Identifier: MIT */
/* session.h -- a recording as a user asks for it: of which target, with what the command itself records, and what came of it. */
#ifndef CAPTURE_SESSION_H
#define CAPTURE_SESSION_H

#include "capture/record.h"

/*
 * Record and print what came of it; without a target, a kernel for QEMU or an image: this Linux. The status of the command, as a shell
 * has it; 1 with a message if the recording failed.
 */
int record_session(struct record_options *o);

#endif
