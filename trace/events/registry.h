/* SPDX-License-Identifier: MIT */
/* registry.h -- what core.c needs of the registry. */
#ifndef PROBE_REGISTRY_H
#define PROBE_REGISTRY_H

struct fathom_object;

/* Gives ids, sets fields up, keeps what is enabled already. -EINVAL: a call site is not aligned, nothing was changed. */
int fathom_registry_init(void);
void fathom_registry_exit(void); /* every event off */

/* All there are: NULL gives the program, behind the last comes NULL. */
const struct fathom_object *fathom_object_next(const struct fathom_object *o);

/* fathom_object_add() and fathom_object_remove(), for who holds the lock. */
int fathom_object_add_locked(struct fathom_object *o);
int fathom_object_remove_locked(struct fathom_object *o);

int fathom_event_sites_ok(const struct fathom_object *o);

#endif
