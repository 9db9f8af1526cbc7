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
	size_t cap_chunks;
	uint64_t base; /* of the open chunk */
	uint64_t end;  /* of the last item */
	uint64_t before[LANE_CLASSES];
	/* While it is shown: */
	uint64_t room;	      /* where the body of the open chunk goes; 0: none yet */
	uint32_t nr_shown;    /* items of it that are there */
	struct lane_span now; /* what goes on; `from` UINT64_MAX: nothing */
};

/* A place among the lanes; a place that was given up is taken by the next lane that is new. */
struct lane_place {
	struct lane_fill *k; /* NULL: none now */
	uint32_t changed;    /* when it was taken or given up */
	uint32_t next_free;  /* 1 + its number; 0: none */
};

struct lanes_fill {
	FILE *out;
	uint64_t at; /* in the file */
	struct idmap by_key;
	struct lane_place *v;
	size_t nr;
	uint32_t first_free; /* 1 + its number; 0: none */
	uint32_t turn;	     /* of lane_place.changed */
	uint64_t refused;    /* items of lanes beyond LANES_MAX */
	bool shown; /* lanes are shown while they are filled: bodies have their room before they are full */
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
/* Give up the lanes of tasks that are over: over[number of the task] is set. */
void lanes_fill_forget(struct lanes_fill *l, const bool *over);
/* Write what is open, the chunks and the lanes; sets those members of the header. 0 or a negative errno. */
int lanes_fill_end(struct lanes_fill *l, struct lanes_header *h);
void lanes_fill_free(struct lanes_fill *l);
/* What goes on in the lane until now; it is shown after the items, and forgotten by lanes_fill_show(). */
void lanes_fill_now(struct lane_fill *k, uint64_t from, uint64_t to, uint32_t what, uint32_t class,
		    uint32_t flags);
/* The same in the first lane from `depth` on where it overlaps nothing. */
void lanes_fill_now_depth(struct lanes_fill *l, enum lane_kind kind, uint32_t id, uint32_t cpu,
			  uint32_t depth, struct lane_span s, uint32_t flags);
/* The lane as it is now: *out, its chunks in k->chunks. False with err set. */
bool lanes_fill_show(struct lanes_fill *l, struct lane_fill *k, struct lane *out);
/* Append bytes to the file; false with err set. */
bool lanes_fill_write(struct lanes_fill *l, const void *bytes, size_t n);

#endif
