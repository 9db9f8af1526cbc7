/* SPDX-License-Identifier: MIT */
/* programs.h -- a loaded program: its maps, its parts, where they are attached, and what it emits. */
#ifndef PROGRAMS_PROGRAMS_H
#define PROGRAMS_PROGRAMS_H

#include "control/control.h"
#include "control/pool.h"
#include "control/tree.h"
#include "fathom/port_default.h"
#include "wire/bpf_image.h"

/*
 * B1  A program runs in any context, NMI included, on any CPU at once. It takes no lock, allocates nothing and never waits:
 *     maps and the ring are changed by compare-and-exchange alone.
 * B2  All of a program's memory comes from control's pool when it is loaded. It is retired after the last attachment was
 *     unlinked, and used again once no handler can be inside (pool.h, P1 and P2).
 * B3  A run takes at most `budget` instructions, and a map looks at PROGRAM_PROBES slots at most: its time has a bound.
 * B4  Memory that a program can reach stays a map's for as long as the program is loaded: an entry that was deleted may get
 *     another key under a program that still holds its address, as in Linux, but never another use.
 */
#define PROGRAM_PROBES 64u

/* Slots of a hash are found by linear probing; an array has all of its slots LIVE. */
struct program_map {
	struct bpf_image_map spec;
	uint32_t nr;	     /* slots; of a hash a power of two */
	uint32_t key_room;   /* bytes of a key in its slot, a multiple of 8; 0 in an array */
	uint32_t value_room; /* of one value */
	uint32_t copies;     /* values in a slot: 1, or one for each CPU */
	uint32_t stride;
	uint32_t dropped; /* new keys for which there was no room */
	uint32_t *state;  /* of each slot: see maps.c */
	uint8_t *data;
};

struct program_ring {
	uint32_t bytes;	     /* a power of two; 0: none */
	uint32_t head, tail; /* positions; writers move the head, the reader the tail */
	uint32_t lost;
	uint64_t *words;
};

/* Each in a cache line of its own. */
struct program_runs {
	uint32_t half[2]; /* of one number */
	uint32_t unused[14];
};

struct program {
	char name[FATHOM_NAME_MAX + 1];
	uint16_t serial;
	uint8_t slot;
	uint8_t loaded;
	uint8_t *image; /* as far as it was written */
	uint32_t image_bytes, image_room;
	struct bpf_image head;
	struct program_map *maps;
	struct bpf_image_part *parts;
	struct bpf_insn *code;
	struct program_ring ring;
	struct program_map stacks; /* keys are frames; the number of a slot is the stack's */
	uint64_t started;	   /* in ns */
	/* Counted by runs: */
	struct program_runs *runs; /* of each CPU */
	uint32_t too_short;	   /* the record had fewer bytes than the part needs */
	uint32_t unseen;	   /* the record was too large to be kept for programs */
	uint32_t stopped;	   /* the budget was used up */
	uint32_t nested;	   /* not run: too many of this CPU were under way */
};

enum program_point {
	POINT_EVENT,
	POINT_ENTRY,
	POINT_RETURN,
	POINT_SAMPLE,
};

/* An attachment. Functions and samples: in a list that handlers walk. */
struct program_link {
	struct program_link *next;
	struct program *program;
	uint16_t part;
	uint8_t point;
	uint16_t event, age; /* its place, and the place's age */
	uint32_t *functions; /* a bit each */
	char text[96];	     /* as it was written */
};

/* What one run sees. */
struct program_hit {
	const void *record;
	uint32_t bytes;
	uint32_t cpu;
	int32_t pid;
	uintptr_t fp;		 /* the frame that its stack begins with; 0: that of the event */
	uintptr_t ip, parent_ip; /* of functions; 0: none, or not known */
	uint64_t ticks;		 /* 0: the time is taken when the program asks for it */
};

/* A number of 64 bits by its halves, with carry: 32-bit machines have no atomic addition of 64 bits. */
static inline void program_sum(uint32_t half[2], uint64_t v)
{
	enum {
		LOW = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	};
	uint32_t low = (uint32_t)v, high = (uint32_t)(v >> 32);
	uint32_t was = __atomic_fetch_add(&half[LOW], low, __ATOMIC_RELAXED);

	high += was + low < was;
	if (high)
		__atomic_fetch_add(&half[!LOW], high, __ATOMIC_RELAXED);
}

/* ---- maps.c, map_change.c ---- */

/* Its memory, taken from the pool; spec is set. 0, -EINVAL, -E2BIG, -ENOMEM. */
int fathom_map_init(struct program_map *m);
/* All keys are deleted, or (also in an array) all values are zeros. Context: task. */
void fathom_map_reset(struct program_map *m, int clear);
/* Any context. The slot of the key, -1 if there is none; insert makes it, with the value or, if that is NULL, with zeros. */
int32_t fathom_map_find(const struct program_map *m, const void *key);
int32_t fathom_map_insert(struct program_map *m, const void *key, const void *value);
uint8_t *fathom_map_value(const struct program_map *m, uint32_t slot, uint32_t cpu);
int fathom_map_update(struct program_map *m, const void *key, const void *value, uint64_t flags,
		      uint32_t cpu);
int fathom_map_delete(struct program_map *m, const void *key);
/* The value of the key, which need not be there yet; NULL: there is no room. */
uint8_t *fathom_map_gather(struct program_map *m, const void *key, uint32_t cpu);
uint64_t fathom_map_word_add(void *word, uint64_t by);
uint64_t fathom_map_add(struct program_map *m, const void *key, uint64_t by, uint32_t cpu);
void fathom_map_note(struct program_map *m, const void *key, int64_t v);
void fathom_map_hist(struct program_map *m, const void *key, int64_t v);

/* ---- emit.c ---- */

/* Any context: 0, -ENOSPC (counted), -E2BIG. */
int fathom_program_emit(struct program_ring *r, uint32_t action, uint64_t time, const void *data,
			uint32_t bytes);
/* Whole records; 0 if there is none, -EINVAL: the next one does not fit. Context: task, lock held. */
int fathom_program_take(struct program_ring *r, uint8_t *to, size_t bytes);

/* ---- run.c ---- */

/* The caller is inside fathom_pool_enter(). */
void fathom_program_run(struct program *p, uint32_t part, const struct program_hit *hit);

/* ---- load.c ---- */

/* More of the image. 0 (more has to come, or it is loaded), or a negative errno with the reason in error_log. */
int fathom_program_load(struct program *p, const void *bytes, size_t n);
/* A load that failed or was not finished: it can be loaded anew. Nothing of it was ever attached. */
void fathom_program_unload(struct program *p);
/* Its memory, when it is detached. A run may still be under way and see all of it: nothing in it changes. Keeps B2. */
void fathom_program_retire(struct program *p);

/* ---- attach.c ---- */

/* `PART POINT`, or `!PART POINT` to detach it. */
int fathom_program_attach(struct program *p, const char *text, size_t n);
void fathom_program_detach_all(struct program *p);
void fathom_program_forget(void); /* the pool is new */
const struct program_link *fathom_program_link(const struct program *p, uint32_t index);

#endif
