/* SPDX-License-Identifier: MIT */
/* maps.h -- inside the maps: the states of a slot, and the walk over the slots that a key may have. */
#ifndef PROGRAMS_MAPS_H
#define PROGRAMS_MAPS_H

#include "programs/programs.h"

/*
 * The state of a slot is a word: what it is in bits 0 and 1, a part of its key's hash in bits 2 to 9, and above them a number
 * that changes each time the slot gets a key.
 *
 *	EMPTY --> BUSY --> LIVE --> DEAD --> BUSY --> LIVE ...
 *
 * M1  Only who moved a slot to BUSY, by compare-and-exchange, writes its key; LIVE is stored with release after that.
 * M2  A key was compared rightly if the state is the same word before and after: the slot had that key all the while.
 * M3  Of two makers of one key, the one whose slot comes later on the key's path gives it back and looks again, MAP_TRIES times
 *     at most: the other one may be below us on this CPU, and never gets on while we wait. Only then one key has two slots; a
 *     deletion takes both, a reader adds both up, and a lookup finds the first one always.
 * M4  A slot never becomes EMPTY again while programs run, so every key on a probe path stays in reach.
 */
enum slot_state {
	SLOT_EMPTY,
	SLOT_BUSY,
	SLOT_DEAD,
	SLOT_LIVE,
	SLOT_IS = 3,
};
#define SLOT_TAG  0x3fcu
#define SLOT_TURN 0x400u

static inline int map_is_array(const struct program_map *m)
{
	return m->spec.kind == BPF_MAP_ARRAY || m->spec.kind == BPF_MAP_PERCPU_ARRAY;
}

/* A walk over the slots that a key may have. */
struct map_walk {
	uint32_t at, left, tag;
	uint32_t seen; /* state of this slot */
};

void fathom_map_walk(const struct program_map *m, const void *key, struct map_walk *w);
/* The next slot; 0: there is no other. */
int fathom_map_next(const struct program_map *m, struct map_walk *w);
/* It has the key. Keeps M2. */
int fathom_map_matches(const struct program_map *m, const struct map_walk *w, const void *key);

#endif
