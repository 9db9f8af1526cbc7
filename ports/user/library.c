/* SPDX-License-Identifier: MIT */
/* library.c -- shared libraries with events or traced functions, which come and go while the program runs. */
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include "fathom/trace.h"
#include "fathom/fs.h"
#include "fathom_user.h"
#include "port.h"

/*
 * A library tells of itself: its constructor (FATHOM_USER_LIBRARY) runs before dlopen() returns, so before anybody can
 * call it, and its destructor before dlclose() takes the text away. The dynamic linker runs one of them at a time; the
 * tree's lock keeps whoever steers the tracers out.
 */
static struct fathom_user_library *libraries;

/* The object that `inside` lies in. */
struct search {
	uintptr_t inside;
	struct user_text found;
};

static int search_object(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	struct search *s = arg;
	int here = 0;

	(void)bytes;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t from = info->dlpi_addr + p->p_vaddr, to = from + p->p_memsz;

		here |= p->p_type == PT_LOAD && s->inside >= from && s->inside < to;
	}
	if (here)
		s->found = user_text_of(info);
	return here;
}

static int library_text(const struct fathom_user_library *l, struct user_text *out)
{
	struct search s = {.inside = (uintptr_t)l};

	dl_iterate_phdr(search_object, &s);
	*out = s.found;
	return s.found.path && s.found.path[0];
}

/* Two files of one name are told apart by their paths. */
static int library_functions(struct fathom_module *m, const struct user_text *text)
{
	const char *slash = strrchr(text->path, '/');
	int err;

	m->from = text->from;
	m->to = text->to;
	m->name = strdup(slash ? slash + 1 : text->path);
	err = fathom_module_add(m);
	if (err == -FATHOM_EEXIST) {
		free((void *)m->name);
		m->name = strdup(text->path);
		err = fathom_module_add(m);
	}
	return err;
}

void user_libraries_start(void)
{
	struct user_text text;

	for (struct fathom_user_library *l = libraries; l; l = l->next)
		if (library_text(l, &text))
			user_symbols_add(&text);
}

void fathom_user_join(struct fathom_user_library *l)
{
	struct user_text text;
	int found = library_text(l, &text), err = 0, events;

	user_lock(NULL);
	l->next = libraries;
	libraries = l;
	user_formers_return(l->events);
	events = user_events_join(l->events);
	if (found) {
		if (user_is_running())
			user_symbols_add(&text);
		err = library_functions(&l->functions, &text);
	}
	user_unlock(NULL);
	if (events)
		user_say(found ? text.path : "a library",
			 events == -FATHOM_ENOSPC ? ": no room for its events in the control tree; "
						    "see library_events= "
						    "in docs/USER-PORT.md"
						  : ": its events cannot be recorded",
			 "");
	if (err)
		user_say(text.path,
			 err == -FATHOM_ENOSPC ? ": no room for its functions; see functions= in "
						 "docs/USER-PORT.md"
					       : ": its functions cannot be traced",
			 "");
}

void fathom_user_leave(struct fathom_user_library *l)
{
	struct fathom_user_library **p = &libraries;

	user_lock(NULL);
	fathom_module_remove(&l->functions);
	user_events_leave(l->events);
	user_symbols_gone(l->functions.from);
	while (*p && *p != l)
		p = &(*p)->next;
	if (*p)
		*p = l->next;
	user_unlock(NULL);
	free((void *)l->functions.name);
}
