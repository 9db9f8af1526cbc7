/* SPDX-License-Identifier: MIT */
/* pages.h -- the ring pages of a stream for a writer: copied unchanged, or rebuilt from events. */
#ifndef STORE_PAGES_H
#define STORE_PAGES_H

#include "store/scan.h"

#define PAGES_BYTES 4096u

/* True if pages can be copied: the source has pages and nothing is skipped. */
bool pages_copied(const struct source *s, const struct scan_choice *f);

/*
 * Feed every page of a stream to `put` (0 or a negative errno), each of the same size. Events that do not fit into a page
 * are counted in *too_large and skipped. 0 or a negative errno.
 */
int pages_each(struct source *s, uint32_t stream, const struct scan_choice *f,
	       int (*put)(void *arg, const void *page, uint32_t bytes), void *arg,
	       uint64_t *too_large);
/* The size of the pages that pages_each() gives. */
uint32_t pages_size(const struct source *s, const struct scan_choice *f);

#endif
