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

/*
 * In one file of a shared library with events (fathom/object.h): they are recorded with the program's. The program links
 * libfathom.a whole and with -rdynamic; docs/USER-PORT.md.
 */
struct fathom_object;
void fathom_user_join(struct fathom_object *o);
#define FATHOM_USER_LIBRARY                                                        \
	FATHOM_OBJECT(fathom_user_object);                                         \
	__attribute__((__constructor__)) static void fathom_user_object_join(void) \
	{                                                                          \
		fathom_user_join(&fathom_user_object);                             \
	}                                                                          \
	__attribute__((__destructor__)) static void fathom_user_object_leave(void) \
	{                                                                          \
		fathom_object_remove(&fathom_user_object);                         \
	}                                                                          \
	struct fathom_object

/* Events refused because every ring belonged to a living thread. */
uint64_t fathom_user_refused(void);

#endif
