/* SPDX-License-Identifier: MIT */
/* rings.h -- the rings in a target's memory, found by their beacon: all at once, or again and again while the target runs. */
#ifndef CAPTURE_RINGS_H
#define CAPTURE_RINGS_H

#include "capture/image.h"
#include "capture/recording.h"
#include "wire/beacon.h"

/* How far a ring has been taken. It begins where the target's own reader of it is, which is left alone from then on. */
struct rings_cpu {
	uint64_t head; /* where the ring's head was; 0: not looked at yet */
	bool begun;    /* a page was looked at */
	bool changed;  /* another ring took its place: what is missing in between is not known */
	uint64_t next; /* the number of the next record, if none is missed */
	/* the slot to go on with, and the lap it was on; without that lap the whole ring is looked at */
	uint32_t index;
	uint64_t lap;
	/* the page that was taken in part: the number of its first record, how far, the time there */
	uint64_t part_first, part_time;
	uint32_t part_at;
	struct wire_stats before; /* counters when the recording began */
};

struct rings {
	const char *name; /* in messages */
	/* `n` bytes of memory, false: there are none. `to` NULL: are they there? */
	bool (*read)(void *arg, uint64_t at, void *to, uint64_t n);
	void *arg;
	bool is_virtual;	    /* it takes the target's addresses; else physical ones */
	const struct image *kernel; /* says where the target's addresses outside of the block are */
	uint64_t at;		    /* where the beacon lies, as `read` takes it */
	struct wire_beacon b;
	struct capture *c;
	struct recording *out;
	uint64_t bad;  /* damaged pages that were skipped */
	bool unread;   /* memory could not be read */
	uint32_t used; /* of the last rings_take(): how many percent of the ring were new */
};

/* The beacon at `at`, if the bytes at `p` are one. */
bool rings_beacon(struct rings *r, uint64_t at, const void *p);
/* Find out what the target has, and begin the recording. 0, or -1 with a message. */
int rings_begin(struct rings *r, const char *kernel);
/* All that a ring holds, once, with what its reader has not handed out. 0, or -1 with a message. */
int rings_all(struct rings *r, uint32_t cpu);
/*
 * What was written since the last call, of a target that is halted. 0: all of it, 1: the time was up after a page or more, -1
 * with a message, or with `unread` set and none.
 */
int rings_take(struct rings *r, uint32_t cpu, struct rings_cpu *s, int64_t end_ms);
/* What is known at the end. */
void rings_end(struct rings *r);

#endif
