/* SPDX-License-Identifier: MIT */
/* pids.h -- a set of tasks that forks and exits on any CPU change while events look. */
#ifndef PROBE_PIDS_H
#define PROBE_PIDS_H

#include <stdint.h>
#include "functions/tracer.h"

/* P1. A slot holds a pid + 1, or 0; slots from `high` on are 0. It is taken and given back by one exchange. */
struct fathom_pids {
	uint32_t high;
	int32_t slot[FATHOM_PIDS_MAX];
};

/* Any context; a set that changes meanwhile answers for the old or the new one. */
int fathom_pids_has(const struct fathom_pids *p, int32_t pid);
int fathom_pids_put(struct fathom_pids *p, int32_t pid); /* 0, -ENOSPC */
void fathom_pids_take(struct fathom_pids *p, int32_t pid);
void fathom_pids_clear(struct fathom_pids *p);
/* In ascending order; -1 behind the last. */
int32_t fathom_pids_nth(const struct fathom_pids *p, uint32_t index);

/*
 * What control keeps of tasks, if anything: task `parent` made `child`, or, with a child of -1, is about to end.
 * fathom_want_forks() says who wants to be told.
 */
enum fathom_fork_user {
	FATHOM_FORKS_FUNCTION = 1,
	FATHOM_FORKS_CONTROL = 2,
};
extern void (*fathom_fork_hook)(int32_t parent, int32_t child);
void fathom_want_forks(enum fathom_fork_user who, int on);

#endif
