/* SPDX-License-Identifier: MIT */
/* lanes.h -- a trace as lanes of spans with sums: what pictures of any width are made of without reading the trace again. */
#ifndef VIEW_PAGE_LANES_H
#define VIEW_PAGE_LANES_H

#include "store/scan.h"

#include <stdio.h>

/*
 * One pass of the model over the trace writes a file; pictures are made from a map of it. Memory while it is written is that of
 * the lanes' tables, some 0.6 bytes per span, and not of the spans.
 *
 *	header | items of chunks, as they fill | chunks, lane after lane | lanes | names, as JSON
 *
 *   L1  Items of a lane do not overlap, and are in the order of time: spans that nest or overlap lie in lanes of other depths.
 *   L2  A chunk holds at most LANE_CHUNK items (or LANE_CHUNK_COUNTS) of a lane. It has the sums of all items before it, so the time of a class up to
 *       any moment is one bisection and a walk of one chunk.
 *   L3  A chunk of one item needs no body: it is the chunk's `from`, `to` and `top`. An item too long for 32 bits is alone.
 *   L4  Lanes that count (marks, markers, samples) have no bodies: the events are in the trace.
 */
#define LANE_CHUNK	  128u
#define LANE_CHUNK_COUNTS 512u /* of lanes that count */
#define LANE_CLASSES	  4u
#define LANES_MAX	  (1u << 20) /* of one trace; tasks that come later are counted, and said */

enum lane_kind {
	LANE_CPU,   /* what ran: class 0 a task, 1 idle; what: number of the task */
	LANE_IRQ,   /* of a CPU: interrupts and soft interrupts; what: name */
	LANE_LOST,  /* of a CPU: class 3; what: LANE_LOST_* or how many events */
	LANE_MARKS, /* of a CPU: all events but those of LANE_MARKERS and LANE_SAMPLES; what: type */
	LANE_TASK, /* class 0 running (what: CPU), 1 ready, 2 blocked (what: prev_state), 3 not known */
	LANE_WAKES, /* of a task: from its wakeup until it runs; what: number of the task that woke it */
	LANE_IPC,     /* of the task that receives; what: number of the task that sent */
	LANE_SPANS,   /* of a task: system calls, faults, pairs; what: name */
	LANE_CALLS,   /* of a task: calls, the depth is that of the call; what: name */
	LANE_MARKERS, /* of the trace: text that programs and the kernel wrote into it */
	LANE_SAMPLES, /* of a CPU: stacks */
	LANE_COUNTER, /* id: name of the counter; what: its value, as a float */
	LANE_KINDS,
};

#define LANE_WHAT \
	0xffffffu /* item.what: the number, then class << 24, then flags of the span << 26 */
#define LANE_LOST_UNKNOWN 0xffffffu /* how many is not known */
#define LANE_LOST_NOT	  0xfffffeu /* nothing was lost: it was not recorded */
#define LANE_LOST_MANY	  0xfffffdu /* this many or more */

struct lane_item {
	uint32_t from, len; /* from the chunk's `from` on */
	uint32_t what;
};

struct lane_chunk {
	uint64_t from, to;
	uint64_t before
		[LANE_CLASSES]; /* time by class; [0] of lanes that count: items; of LANE_LOST: events lost */
	uint64_t at;		/* of the items in the file */
	uint32_t nr, top; /* top: what had the most time of class 0; of one item: its `what` */
	uint64_t top_time;
};

struct lane {
	uint32_t kind;
	uint32_t id; /* CPU, number of the task, name */
	uint32_t depth;
	uint32_t cpu; /* of calls of an idle task: whose */
	uint64_t first_chunk, nr_chunks;
	uint64_t nr; /* items */
	uint64_t sum[LANE_CLASSES];
};

struct lanes {
	const uint8_t *map;
	uint64_t map_bytes;
	const struct lane *lane;
	uint64_t nr_lanes;
	const struct lane_chunk *chunk;
	uint64_t nr_chunks;
	struct lane_chunk **chunks_of; /* of a recording that grows: by lane; else NULL */
	const char *meta; /* members of a JSON object: names, tasks, types, what was lost */
	uint64_t meta_bytes;
	void (*put_meta)(const struct lanes *l,
			 FILE *out); /* of a recording that grows: writes them; else NULL */
	uint64_t start, span;	     /* of the trace; times in lanes are from `start` on */
	uint64_t nr_events;
	uint32_t scale; /* the least number with 1 << scale > span, at least 8 */
	bool from_file; /* it was there already */
};

struct lanes_options {
	const struct scan_choice *choice;
	bool no_file; /* neither read nor write FILE.fpage: names or times come from options */
	void (*progress)(void *arg, const char *what, uint64_t done, uint64_t total);
	void *progress_arg;
};

/* 0, or a negative errno; -ENODATA: there is no event in the choice. */
int lanes_open(struct source *s, const struct lanes_options *o, struct lanes **out);
void lanes_close(struct lanes *l);

static inline bool lane_counts(uint32_t kind)
{
	return kind == LANE_MARKS || kind == LANE_MARKERS || kind == LANE_SAMPLES;
}

/* The chunks of a lane. */
static inline const struct lane_chunk *lane_chunks(const struct lanes *l, const struct lane *k)
{
	return l->chunks_of ? l->chunks_of[k - l->lane] : l->chunk + k->first_chunk;
}

/* Item i of a chunk, with its times from the trace's start on. */
struct lane_span {
	uint64_t from, to;
	uint32_t what;
};

static inline struct lane_span lane_item(const struct lanes *l, const struct lane_chunk *c,
					 uint32_t i)
{
	const struct lane_item *v = (const struct lane_item *)(const void *)(l->map + c->at);

	if (c->nr == 1)
		return (struct lane_span){c->from, c->to, c->top};
	return (struct lane_span){c->from + v[i].from, c->from + v[i].from + v[i].len, v[i].what};
}

static inline uint32_t lane_class(uint32_t what)
{
	return what >> 24 & 3;
}

/* Inside view/page. */
struct lanes_header {
	char magic[8];
	uint32_t version, order;
	uint64_t trace_bytes, trace_sample;
	int64_t trace_mtime_ns;
	uint64_t start, span, nr_events;
	uint64_t chunks_at, nr_chunks, lanes_at, nr_lanes, meta_at, meta_bytes;
	uint64_t check; /* of the tables */
	uint64_t head_check;
};

/* Walk the trace and write all but the header's identity: lanes_build.c. */
int lanes_build(struct source *s, const struct lanes_options *o, FILE *out, struct lanes_header *h);

#endif
