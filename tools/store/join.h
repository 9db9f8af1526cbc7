/* SPDX-License-Identifier: MIT */
/* join.h -- two traces as one source, on the time line of the first. */
#ifndef STORE_JOIN_H
#define STORE_JOIN_H

#include "decode/source.h"

/* How times become nanoseconds of the first trace's clock. */
struct join_clock {
	uint64_t hz[2];	   /* ticks per second of each; 0: it counts nanoseconds */
	int64_t offset_ns; /* added to the second */
	bool align;	   /* instead: both begin at the same time */
};

/* The same as a command line says it. */
struct join_relation {
	uint64_t hz[2];
	const char *offset, *at; /* nanoseconds; TA=TB; NULL: not given */
	bool align;
};

/* False, with a message: it makes no sense. */
bool join_relate(const struct join_relation *r, struct join_clock *out);
/* Can its times become nanoseconds? False, with a message that names the option to say how. */
bool join_has_clock(const struct source *s, uint64_t hz, const char *option);

struct join_options {
	struct join_clock clock;
	bool same_tasks; /* tasks with the same number are one task: the second is a program under the first's kernel */
	const char *
		buffer; /* the second's streams go into a buffer of this name; NULL: they are further CPUs */
};

/*
 * Takes over both sources: closing the joined one closes them. Event types of the second whose number is taken get
 * another; tasks of the second are numbered from JOIN_PIDS on, unless same_tasks. Its last streams are skipped if they are
 * empty. NULL with a message; then both are closed.
 */
struct source *join_open(struct source *a, struct source *b, const struct join_options *o);

#define JOIN_PIDS 1000000

#endif
