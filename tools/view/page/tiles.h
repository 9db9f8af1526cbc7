/* SPDX-License-Identifier: MIT */
/* tiles.h -- a piece of a lane in some detail: its spans where they are few, else sums of equal parts. */
#ifndef VIEW_PAGE_TILES_H
#define VIEW_PAGE_TILES_H

#include "view/page/lanes.h"

/*
 * Level 0 is one tile of 1 << scale units of time; each level halves them. In the bytes of a tile, as data.js reads them, all
 * numbers are little endian and each begins at a multiple of 8:
 *
 *	u32 lane, u32 mode | n << 8, then
 *	TILE_SPANS   n f64 from, n f64 length, n u32 what: all that reach into the tile, whole
 *	TILE_TIMES   n times u8 share of each class, in 255ths; n u32 what has most of class 0
 *	TILE_COUNTS  n u32 how many, n u32 what most of them are
 *
 * A tile of spans needs no finer one. Shares are within 1/255 of the full data.
 */
#define TILE_PARTS 256u
#define TILE_ITEMS 256u /* spans, at most */

enum tile_mode {
	TILE_SPANS,
	TILE_TIMES,
	TILE_COUNTS,
};

/* Bytes that grow: `failed` if memory is out. */
struct tile_bytes {
	uint8_t *v;
	size_t n, cap;
	bool failed;
};

/* False: there is no such lane or tile. */
bool tile_put(const struct lanes *l, uint64_t lane, uint32_t level, uint64_t index,
	      struct tile_bytes *out);
/* The finest level: its parts are one unit of time. */
uint32_t tile_levels(const struct lanes *l);
/* The time of each class of a lane before t (as `before` of a chunk), from the start on. */
void lane_sums(const struct lanes *l, const struct lane *k, uint64_t t, uint64_t slack,
	       uint64_t out[LANE_CLASSES]);

#endif
