/* SPDX-License-Identifier: MIT */
/* fathom_user.h -- tracing a Linux process from inside: start, save, stop. FATHOM_TRACE does all of it without a call. */
#ifndef FATHOM_USER_H
#define FATHOM_USER_H

#include <stdint.h>
#include "fathom/object.h"

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
 * In one file of a shared library: its events (fathom/object.h) are recorded with the program's, and its functions can be
 * traced if it is compiled for it. The program links libfathom.a whole and with -rdynamic; docs/USER-PORT.md.
 */
struct fathom_user_library {
	struct fathom_object *events;
	struct fathom_module functions;
	struct fathom_user_library *next; /* the port's */
};
void fathom_user_join(struct fathom_user_library *l);
void fathom_user_leave(struct fathom_user_library *l);

#define FATHOM_USER_UNTRACED \
	__attribute__((__no_instrument_function__, __patchable_function_entry__(0)))
/* Of a section that the library does not have, the linker makes an empty one. */
#define FATHOM_USER_SECTION(type, name)                                       \
	extern type __start_##name[] FATHOM_HIDDEN __attribute__((__weak__)); \
	extern type __stop_##name[] FATHOM_HIDDEN __attribute__((__weak__))
#define FATHOM_USER_LIBRARY                                                       \
	FATHOM_USER_SECTION(struct fathom_event *const, fathom_events);           \
	FATHOM_USER_SECTION(const char, __patchable_function_entries);            \
	FATHOM_OBJECT(fathom_user_object);                                        \
	FATHOM_FAR_JUMPS(fathom_user_far);                                        \
	static struct fathom_user_library fathom_user_library = {                 \
		.events = &fathom_user_object,                                    \
		.functions = {.entries = __start___patchable_function_entries,    \
			      .entries_end = __stop___patchable_function_entries, \
			      .far = (uintptr_t)fathom_user_far}};                \
	__attribute__((__constructor__(101))) FATHOM_USER_UNTRACED static void    \
	fathom_user_library_join(void)                                            \
	{                                                                         \
		fathom_user_join(&fathom_user_library);                           \
	}                                                                         \
	__attribute__((__destructor__(101))) FATHOM_USER_UNTRACED static void     \
	fathom_user_library_leave(void)                                           \
	{                                                                         \
		fathom_user_leave(&fathom_user_library);                          \
	}                                                                         \
	struct fathom_user_library

/* Events refused because every ring belonged to a living thread. */
uint64_t fathom_user_refused(void);

#endif
