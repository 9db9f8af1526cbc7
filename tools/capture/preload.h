/* SPDX-License-Identifier: MIT */
/* preload.h -- the command of a recording, traced from inside by libfathom.so, which is loaded into it. */
#ifndef CAPTURE_PRELOAD_H
#define CAPTURE_PRELOAD_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* Linux's clock that the library's times are of. */
#ifdef __x86_64__
#define PRELOAD_CLOCK "mono_raw"
#else
#define PRELOAD_CLOCK "mono"
#endif

struct preload {
	char library[PATH_MAX + 64];
	char dir[64], file[80]; /* where it leaves its trace */
};

/* Find the library and make room for the trace. False: it cannot be done, and a message says why. */
bool preload_prepare(struct preload *p);
/* In the process that becomes the command. */
void preload_environment(const struct preload *p);
/* Run the command without a kernel's trace, for `seconds` or until it ends (0). Its status as a shell has it. */
int preload_run(const struct preload *p, char *const *command, unsigned seconds);
/*
 * What it left goes into the trace `output`, or becomes it (`alone`). *events counts what it recorded. 0, -ENOENT (it left
 * nothing), or another negative errno, with a message.
 */
int preload_merge(const struct preload *p, const char *output, bool alone, uint64_t *events);
void preload_done(const struct preload *p);

#endif
