/* SPDX-License-Identifier: MIT */
/* stream.h -- the events of a seL4 16-bit stream: one at a time, or only the rare ones of a block at once. */
#ifndef DECODE_SEL4_STREAM_H
#define DECODE_SEL4_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decode/sel4/scan.h"
#include "wire/sel4.h"

/* Function addresses by index: WIRE_SEL4_FUNC_FIRST + i is at addr[i]; 0 is not known. */
struct sel4_dict {
	uint64_t addr[WIRE_SEL4_FUNC_MAX];
	uint32_t nr; /* entries that are known; with none, every index is taken as valid */
};

static inline bool sel4_dict_has(const struct sel4_dict *d, uint32_t id)
{
	if (id < WIRE_SEL4_FUNC_FIRST || id > WIRE_SEL4_FUNC_LAST)
		return false;
	return !d || !d->nr || d->addr[id - WIRE_SEL4_FUNC_FIRST];
}

static inline uint64_t sel4_dict_addr(const struct sel4_dict *d, uint32_t id)
{
	if (!d || id < WIRE_SEL4_FUNC_FIRST || id > WIRE_SEL4_FUNC_LAST)
		return 0;
	return d->addr[id - WIRE_SEL4_FUNC_FIRST];
}

/*
 * An event straddles at most this many words ahead of its marker, the look at what follows an unknown marker included.
 * A step that has fewer words and is not at the end asks for more.
 */
#define SEL4_AHEAD 64u

/*
 * The event at w[0], n words are there, `last` if the stream ends after them. Its words, and its type in *type; 0 if it
 * takes more words to decide (never when `last`). An unknown marker has no length: what follows is skipped up to the
 * first place from where the stream makes sense again (at most 8 words, the longest event there is).
 */
uint32_t sel4_step(const uint16_t *w, size_t n, bool last, const struct sel4_dict *d,
		   uint32_t *type);

/* Words to skip at w[0] until the stream makes sense: after a gap. 0 .. 8. */
uint32_t sel4_resync(const uint16_t *w, size_t n, const struct sel4_dict *d);

/* A place at or after `from` that is surely the beginning of an event, whatever comes before; n if there is none near. */
size_t sel4_boundary(const uint16_t *w, size_t n, size_t from);

/* The state after the events up to some place. Members that no event has set yet say so. */
struct sel4_state {
	uint64_t event;	     /* number of the next event */
	uint64_t time;	     /* the clock, if time_known */
	uint64_t time_raw;   /* the last timestamp, 48 bits */
	uint64_t entry_time; /* of the kernel entry under way */
	uint64_t tcb;	     /* SEL4_NO_TCB: not known */
	int64_t depth;	 /* functions entered and not left since the last kernel entry or exit */
	int32_t vmid;	 /* -1: not known */
	uint32_t wraps;	 /* of the 48-bit clock */
	bool time_known; /* there was a timestamp */
	bool entry_known;
	bool depth_known; /* there was a kernel entry or exit; else depth is relative to the beginning */
};

#define SEL4_NO_TCB UINT64_MAX

void sel4_state_init(struct sel4_state *st);
/* Account for one special event (not a function). */
void sel4_state_special(struct sel4_state *st, uint32_t type, const uint16_t *w);

/* One special event of a block. */
struct sel4_special {
	uint64_t event;
	uint64_t word; /* its place in the stream */
	const uint16_t *w;
	uint32_t type;
	uint32_t nr_words;
	int32_t vmid; /* in force, the event's own effect included; -1: not known */
};

/* Walks whole blocks: functions are only counted, each special event is handed to `found`. */
struct sel4_bulk {
	sel4_scan_fn scan;
	const struct sel4_dict *dict;
	void (*found)(void *arg, const struct sel4_special *s);
	void *arg;
	uint32_t *at;  /* room for as many positions as a block has words */
	uint64_t word; /* place of the next word */
	size_t ahead;  /* words after a last block: they show where an unknown marker ends */
	struct sel4_state state;
	uint64_t count[WIRE_SEL4_NR_TYPES];
};

/* Account for the events in w[0 .. n): the words consumed, all but an unfinished event unless `last`. */
size_t sel4_bulk_block(struct sel4_bulk *b, const uint16_t *w, size_t n, bool last);

#endif
