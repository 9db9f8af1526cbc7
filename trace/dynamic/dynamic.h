/* SPDX-License-Identifier: MIT */
/* dynamic.h -- events that are made while the system runs: synthetic ones, and probes of functions and of other events. */
#ifndef DYNAMIC_DYNAMIC_H
#define DYNAMIC_DYNAMIC_H

#include "control/control.h"
#include "control/pool.h"
#include "control/tree.h"
#include "fathom/object.h"
#include "fathom/port_default.h"

/*
 * D1  A dynamic event is an object of its own (fathom/object.h) with one event, all of it in one block of control's pool. It is
 *     taken out of the registry first and retired then: who makes its records is inside fathom_pool_enter().
 * D2  Its id is used again by a later one. So what was recorded of it is cleared from the rings when it goes, as in Linux.
 * D3  The list and all that is not said to be "any context" is under the lock.
 */
#define DYNAMIC_FIELDS_MAX 16
#define DYNAMIC_TEXT_BYTES 1536u /* names, types and the print format of one event */

enum dynamic_kind {
	DYNAMIC_SYNTH,
	DYNAMIC_ENTRY,	/* p: */
	DYNAMIC_RETURN, /* r: */
	DYNAMIC_EVENT,	/* e: */
};

struct dynamic_event {
	struct fathom_event ev; /* first */
	struct fathom_event *list[1];
	struct fathom_object object;
	struct dynamic_event *next;
	uint8_t kind;
	uint32_t seen_by; /* instances that may hold records of it, a bit each */
	struct fathom_field field[DYNAMIC_FIELDS_MAX];
	struct fathom_text words; /* in text */
	char text[DYNAMIC_TEXT_BYTES];
};

/* ---- dynamic.c ---- */

struct dynamic_event *fathom_dynamic_new(enum dynamic_kind kind); /* NULL: no memory */
/* A string that lives with the event; "" if there is no room: words.cut says so. */
const char *fathom_dynamic_word(struct dynamic_event *d, const char *s, size_t n);
/* Named and described: it is there from now on. 0, -EEXIST, -ENOSPC, -E2BIG; it is freed then. */
int fathom_dynamic_add(struct dynamic_event *d);
struct dynamic_event *fathom_dynamic_first(void);
/* By the id in a record; any context that may read records. */
const struct dynamic_event *fathom_dynamic_of(const void *record);

/* What is wrong with a command, and where: always -EINVAL. */
int fathom_dynamic_fail(const char *who, const char *what, const char *command, size_t n,
			size_t at);
int fathom_dynamic_is_name(const char *s, size_t n); /* as C has them */
/* The next word of a command: its length, 0 at the end; *at is moved to where it begins. */
size_t fathom_dynamic_next(const char *s, size_t n, size_t *at);

/* ---- match.c ---- */

struct ctl_hist;
struct hist_action;
struct hist_run;
int fathom_match_parse(struct ctl_hist *h, struct hist_action *a, const struct fathom_event *ev,
		       const char *s, size_t n, const char **what);
int fathom_match_make(const struct ctl_hist *h, const struct hist_action *a,
		      const struct hist_run *run); /* any context, gate held */

/* ---- synth.c ---- */

/* `[s:[synthetic/]]name type field; ...`, of which the name begins at `at`. */
int fathom_synth_create(const char *s, size_t n, int dynamic);
void fathom_synth_show(const struct dynamic_event *d, struct fathom_text *t);

#endif
