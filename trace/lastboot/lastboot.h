/* SPDX-License-Identifier: MIT */
/* lastboot.h -- what the last boot left of one CPU's ring, and how it is taken over. */
#ifndef LASTBOOT_LASTBOOT_H
#define LASTBOOT_LASTBOOT_H

#include "fathom/inside/ring.h"

struct lastboot_found {
	uint64_t events;     /* that can be read */
	uint64_t damaged;    /* that were in damaged pages */
	uint32_t pages;	     /* with records that can be read */
	uint32_t bad_pages;  /* damaged, and skipped */
	uint32_t unreadable; /* of `events`: without a type now, see fathom_lastboot_tame() */
	uint8_t not_counted; /* `damaged` is not known */
};

/*
 * `r` and `mem` hold what a ring of this CPU left there, or anything at all: make a ring of what is whole. 0, or -EILSEQ if
 * not even the head makes sense: then nothing was changed.
 */
int fathom_lastboot_adopt(struct fathom_ring *r, void *mem, size_t bytes, uint32_t cpu,
			  struct lastboot_found *found);

/*
 * Take the type from a record that this boot would misread: of an event that is made at run time, or whose text would lead
 * out of the record. It prints as unknown. 1 if it did.
 */
int fathom_lastboot_tame(uint8_t *record, uint32_t bytes);

#endif
