/* SPDX-License-Identifier: MIT */
/* store.h -- the sparse index of a trace: event number N, the n-th of a type, counts and losses without reading events. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "decode/source.h"

/*
 * A stream is cut into steps of STORE_STEP blocks. Of each step the index keeps the time it begins at and the number of
 * events before it; of each event type, in which steps it occurs and how often. That is some 0.1 % of the trace.
 *
 *   X1  steps[i].time is the largest time of the stream up to and including the step's first event ("reached" time): it
 *       never falls, even if the stream's times do. A merge of streams gives events ordered by (reached time, stream).
 *   X2  steps[i].before is the number of events of the stream before the step.
 *   X3  The postings of a type are ordered by (stream, step); `before` counts events of the type in the stream before it.
 *
 * So the number of events before a time t is known from the steps to within one step per stream, and exactly after
 * reading that one step: finding event N is a bisection over t and then a short walk.
 */
#define STORE_STEP 8u

struct store_step {
	uint64_t time;
	uint64_t before;
};

struct store_stream {
	uint64_t first_step, nr_steps;
	uint64_t nr_events;
	uint64_t first_time, last_time; /* last: the largest */
};

struct store_posting {
	uint64_t before;
	uint32_t stream;
	uint32_t step;
	uint32_t count;
	uint32_t pad;
};

struct store_type {
	uint32_t id;
	uint32_t pad;
	uint64_t count;
	uint64_t first_posting, nr_postings;
};

struct store_pid {
	int32_t pid;
	uint32_t pad;
	uint64_t count;
};

struct store_options {
	bool no_file;	  /* neither read nor write the file */
	bool rebuild;	  /* do not read it */
	bool existing;	  /* do not build it: -ENOENT if there is no valid one */
	bool always_save; /* else only for traces with at least STORE_SAVE_BYTES of events */
	unsigned threads; /* that build it; 0: by the size of the trace and the CPUs there are */
	const char *path; /* of the file; NULL: the trace's path + ".fidx" */
	/* Called by one thread now and then with what is done, and the bytes of the total; may be NULL. */
	void (*progress)(void *arg, const char *what, uint64_t done, uint64_t total);
	void *arg;
};

struct store {
	struct source *source;
	uint32_t nr_streams;
	const struct store_stream *streams;
	const struct store_step *steps;
	uint64_t nr_steps;
	const struct store_type *types; /* those that occur, by id */
	uint64_t nr_types;
	const struct store_posting *postings;
	uint64_t nr_postings;
	const struct store_pid *pids; /* by pid */
	uint64_t nr_pids;
	const struct loss *losses; /* by stream, then time */
	uint64_t nr_losses;
	uint64_t nr_events;
	uint64_t first_time, last_time;
	bool complete;	/* the tables are there; else only nr_events (see store_complete) */
	bool from_file; /* it was read from FILE.fidx */
	bool written;	/* it was written there */
	void *map;	/* the file the tables lie in; NULL: they were allocated */
	size_t map_bytes;
	struct store_options options;
};

#define STORE_SAVE_BYTES (4u << 20)

/*
 * Read the index beside the trace if it fits the trace, else build it and try to save it. 0 or a negative errno. Options may be
 * NULL.
 */
int store_open(struct source *s, const struct store_options *o, struct store **out);
void store_close(struct store *st);
/* What became of the file of an index. */
struct indexed {
	bool built; /* else the file was up to date */
	uint64_t events, bytes, index_bytes;
	uint64_t steps; /* 0: it is the format's own */
	double seconds;
};
/* The index, the format's own if it has one, into the file o->path. 0 or a negative errno: -EROFS, it could not be written. */
int store_index(struct source *s, const struct store_options *o, struct indexed *out);
/* A format that finds events by number itself is not indexed at opening: this makes the tables. 0 or a negative errno. */
int store_complete(struct store *st);

/*
 * Stand the merge before event number n (from 0) of all streams; it must be a merge of all. -ENOENT if there are not so
 * many. Sets m->number.
 */
int store_seek_number(struct store *st, struct merge *m, uint64_t n);
/* ... before the n-th event (from 0) of a type. */
int store_seek_type(struct store *st, struct merge *m, uint32_t type, uint64_t n);
/* The number of events before time t; the merge then stands before the first of the others. */
uint64_t store_seek_time(struct store *st, struct merge *m, uint64_t t);
const struct store_type *store_type(const struct store *st, uint32_t id);
/* How many events of a type. Of a complete store, or one whose format counts by itself. */
uint64_t store_count(const struct store *st, uint32_t type);
/* Does the format have a list of the type, so that any of its events is found at once? */
bool store_has_list(struct store *st, uint32_t type);

/* What distinguishes a trace from another, for files that are kept beside it: size, time of change, a hash of parts of the content. 0, or
 * -ESTALE if it is not one regular file, or has changed since it was opened. */
int store_identity(const struct source *s, uint64_t *bytes, int64_t *mtime_ns, uint64_t *content);

/* Inside tools/store. */
int store_build(struct source *s, const struct store_options *o, struct store *st);
int store_load(struct store *st, const char *path);
int store_save(const struct store *st, const char *path);
/* Tables of a file or of memory: checks that every reference is inside (the file is hostile). False if not. */
bool store_valid(const struct store *st);

#endif
