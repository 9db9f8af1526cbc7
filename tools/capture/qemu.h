/* SPDX-License-Identifier: MIT */
/* qemu.h -- a kernel under QEMU: its console, its trace line and QEMU's own control line, each a socket. */
#ifndef CAPTURE_QEMU_H
#define CAPTURE_QEMU_H

#include "capture/capture.h"
#include <sys/types.h>

struct qemu {
	pid_t pid;
	int console; /* -1 once it closed */
	int trace;
	int control;	      /* QMP */
	bool agreed;	      /* its greeting is done */
	struct bytes text;    /* all the console said */
	uint64_t ram;	      /* physical: where its memory begins */
	int resets;	      /* QEMU's own log of CPU resets, or -1 */
	const char *log_path; /* where it is copied to as it comes; NULL: nowhere */
	int log_fd;
};

struct qemu_options {
	const char *kernel;
	const char *append; /* kernel command line or NULL */
	unsigned smp, memory_mib;
	bool serial; /* the trace line is a serial port, not a virtio console */
};

/* 0, or -1 with a message. */
int qemu_start(struct qemu *q, const struct qemu_options *o);
/* Read what the console has; false when it closed. */
bool qemu_console(struct qemu *q);
/* Wait for a prompt ("# " at the start of a line) after byte `from` of the text. */
bool qemu_prompt(const struct qemu *q, size_t from);
int qemu_type(struct qemu *q, const char *line);
/* One QMP command as JSON text; waits for its return. 0 or -1. */
int qemu_control(struct qemu *q, const char *json);
/* Why QEMU ended, in a few words; "" while it runs. Waits a little for its end. */
const char *qemu_end(struct qemu *q, char *buf, size_t bytes);
void qemu_stop(struct qemu *q);

#endif
