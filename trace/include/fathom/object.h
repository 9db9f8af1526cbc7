/* SPDX-License-Identifier: MIT */
/* object.h -- events and functions outside of the program that links the library: shared libraries, loadable modules. */
#ifndef FATHOM_OBJECT_H
#define FATHOM_OBJECT_H

#include "fathom/inside/far.h"
#include "fathom/inside/site.h"
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

/* ---- functions of parts that have a name, or come later ---- */

/*
 * Takes the lock itself. The text [from, to) is about to be given away or must never be traced (boot code, a module, naked handlers): its
 * sites turn off for good. Also before fathom_init(); then up to 16 ranges, or no function is traced at all.
 */
void fathom_function_forget(uintptr_t from, uintptr_t to);

/*
 * A part of the kernel that has a name, or what was loaded later: its functions are listed as `name [module]`, and
 * `glob:mod:module` chooses among them. The caller's memory, zero where nothing is said.
 */
struct fathom_module {
	const char *name;
	uintptr_t from, to;	    /* its text */
	struct fathom_module *next; /* the list's */
	/*
	 * Loaded later: the compiler's tables of its functions (the section __mcount_loc, or
	 * __patchable_function_entries) and of their returns (__return_loc, if it has one), relocated. NULL: its
	 * functions are in the tables of the program.
	 */
	const void *entries, *entries_end;
	const void *returns, *returns_end;
	/* Text in reach of a call from it that jumps on to the library: FATHOM_FAR_JUMPS(). 0: the library is in reach */
	uintptr_t far;
};
/*
 * Takes the lock itself. Before fathom_init() or after it, and before its code runs. A tracer that runs traces its functions at once, as far as
 * filters want them; lines that waited for it are set now. 0, -EEXIST: one has this name, -EINVAL: no text, -ENOSPC: more
 * functions than config.module_functions left room for, or too many modules (all of it is left out, and counted).
 */
int fathom_module_add(struct fathom_module *m);
/*
 * Takes the lock itself. Its text is about to go, and no CPU runs it or will return to it. Its sites are NOPs again, and it is in no list, filter,
 * probe or profile any more; records keep its addresses. 0, -ENOENT.
 */
int fathom_module_remove(struct fathom_module *m);

#endif
