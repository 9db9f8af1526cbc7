/* SPDX-License-Identifier: MIT */
/* object.h -- events outside of the program that links the library: in shared libraries and loadable modules. */
#ifndef FATHOM_OBJECT_H
#define FATHOM_OBJECT_H

#include "fathom/site.h"
#include "fathom/tracepoint.h"

/* The tables that the linker made of the object's events and of their call sites. */
struct fathom_object {
	struct fathom_event *const *events, *const *events_end;
	const struct fathom_site *sites, *sites_end;
	const struct fathom_enum *const *enums,
		*const *enums_end;  /* of TRACE_DEFINE_ENUM; none: both are NULL */
	struct fathom_object *next; /* the registry's */
};

/*
 * From now on its events can be found, switched and recorded; they come behind all others, with ids of their own. Before
 * fathom_init() or after it. 0, -EEXIST, -EINVAL: a call site is not aligned, -E2BIG: no ids are left, or -ENOSPC: it is added, but the control tree, which has
 * room for config.module_events, does not show its events. Context: task.
 */
int fathom_object_add(struct fathom_object *o);
/* All there are: NULL gives the program, behind the last comes NULL. */
const struct fathom_object *fathom_object_next(const struct fathom_object *o);
/* Before its memory goes: its events are off and unknown, and records of theirs print as such. 0, or -ENOENT. Context: task. */
int fathom_object_remove(struct fathom_object *o);

/* In one file of the object, which has at least one event: the object, under this name. */
#define FATHOM_OBJECT(name)                                                                 \
	extern struct fathom_event *const __start_fathom_events[] FATHOM_HIDDEN;            \
	extern struct fathom_event *const __stop_fathom_events[] FATHOM_HIDDEN;             \
	FATHOM_OBJECT_SITES                                                                 \
	FATHOM_OBJECT_ENUMS                                                                 \
	static struct fathom_object name = {__start_fathom_events,    __stop_fathom_events, \
					    FATHOM_OBJECT_SITE_RANGE, __start_fathom_enums, \
					    __stop_fathom_enums,      NULL}

#define FATHOM_OBJECT_ENUMS                                                         \
	extern const struct fathom_enum *const __start_fathom_enums[] FATHOM_HIDDEN \
		__attribute__((__weak__));                                          \
	extern const struct fathom_enum *const __stop_fathom_enums[] FATHOM_HIDDEN  \
		__attribute__((__weak__));

#ifdef FATHOM_SITE_ASM
/* An entry that belongs to no event, so that the section is there in an object without call sites. */
#define FATHOM_OBJECT_SITES                                                   \
	extern const struct fathom_site __start_fathom_sites[] FATHOM_HIDDEN; \
	extern const struct fathom_site __stop_fathom_sites[] FATHOM_HIDDEN;  \
	__asm__(".pushsection fathom_sites, \"aR\"\n.balign 4\n.long 0, 0, 0\n.popsection");
#define FATHOM_OBJECT_SITE_RANGE __start_fathom_sites, __stop_fathom_sites
#else
#define FATHOM_OBJECT_SITES
#define FATHOM_OBJECT_SITE_RANGE NULL, NULL
#endif

#endif
