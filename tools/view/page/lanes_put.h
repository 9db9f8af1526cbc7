/* SPDX-License-Identifier: MIT */
/* lanes_put.h -- inside view/page: lanes being filled. */
#ifndef VIEW_PAGE_LANES_PUT_H
#define VIEW_PAGE_LANES_PUT_H

#include "base/idmap.h"
#include "view/page/lanes.h"

/* A lane that is being filled: the chunk that is open, and those that are in the file. */
struct lane_fill {
	struct lane k;
	struct lane_chunk *chunks;
	struct lane_item *item;
	uint32_t nr, cap;
	uint64_t base; /* of the open chunk */
	uint64_t end;  /* of the last item */
	uint64_t before[LANE_CLASSES];
};

struct lanes_fill {
	FILE *out;
	uint64_t at; /* in the file */
	struct idmap by_key;
	struct lane_fill **v;
	size_t nr;
	uint64_t refused; /* items of lanes beyond LANES_MAX */
	int err;
};

/* The lane, made if it is new; NULL: out of memory or too many. */
struct lane_fill *lanes_fill_lane(struct lanes_fill *l, enum lane_kind kind, uint32_t id,
				  uint32_t cpu, uint32_t depth);
/* An item. What began before the last one ended is cut (L1). */
void lanes_fill_put(struct lanes_fill *l, struct lane_fill *k, uint64_t from, uint64_t to,
		    uint32_t what, uint32_t class, uint32_t flags);
/* The same into the first lane from `depth` on where it overlaps nothing. */
void lanes_fill_free_depth(struct lanes_fill *l, enum lane_kind kind, uint32_t id, uint32_t cpu,
			   uint32_t depth, uint64_t from, uint64_t to, uint32_t what,
			   uint32_t flags);
/* Write what is open, the chunks and the lanes; sets those members of the header. 0 or a negative errno. */
int lanes_fill_end(struct lanes_fill *l, struct lanes_header *h);
void lanes_fill_free(struct lanes_fill *l);
/* Append bytes to the file; false with err set. */
bool lanes_fill_write(struct lanes_fill *l, const void *bytes, size_t n);

#endif
