/* SPDX-License-Identifier: MIT */
/* pages.h -- the ring pages of a stream for a writer: copied as they are, or made anew from events. */
#ifndef STORE_PAGES_H
#define STORE_PAGES_H

#include "decode/source.h"

#define PAGES_BYTES 4096u

/* Which events go into the pages; NULL members let all through. */
struct pages_filter {
	bool (*stream)(const struct source *s, uint32_t stream, void *arg);
	bool (*event)(const struct event *e, void *arg);
	uint64_t from, to;
	bool any; /* `event`, `from` or `to` leave something out: pages cannot be copied */
	void *arg;
};

/* True if pages can be copied: the source has pages and nothing is left out. */
bool pages_copied(const struct source *s, const struct pages_filter *f);

/*
 * Feed every page of a stream to `put` (0 or a negative errno), each of the same size. Events that do not fit into a page
 * are counted in *too_large and left out. 0 or a negative errno.
 */
int pages_each(struct source *s, uint32_t stream, const struct pages_filter *f,
	       int (*put)(void *arg, const void *page, uint32_t bytes), void *arg,
	       uint64_t *too_large);
/* The size of the pages that pages_each() gives. */
uint32_t pages_size(const struct source *s, const struct pages_filter *f);

#endif
