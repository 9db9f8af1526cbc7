/* SPDX-License-Identifier: MIT */
/* fathom_user.h -- tracing a Linux process from inside: start, save, stop. FATHOM_TRACE does all of it without a call. */
#ifndef FATHOM_USER_H
#define FATHOM_USER_H

#include <stdint.h>

/*
 * Start with options as FATHOM_TRACE has them (docs/USER-PORT.md): "events=sched:*,buffer_kb=1024,out=trace.dat".
 * 0 or a negative errno; what was wrong is said on stderr.
 */
int fathom_user_start(const char *options);
/* Write what is recorded so far to `path` (NULL: the `out` of the options) and go on with empty rings. */
int fathom_user_save(const char *path);
/* Save, as at exit, and end tracing. */
void fathom_user_stop(void);

/* Events refused because every ring belonged to a living thread. */
uint64_t fathom_user_refused(void);

#endif
