/* SPDX-License-Identifier: MIT */
/* summary.h -- what is in a trace, in numbers: counts by event, CPU and task, span, rates, losses. */
#ifndef VIEW_SUMMARY_H
#define VIEW_SUMMARY_H

#include "store/scan.h"

struct summary_type {
	uint32_t id;
	uint64_t count;
};

struct summary_pid {
	int32_t pid;
	uint64_t count;
};

struct summary_stream {
	uint32_t stream;
	uint64_t count;
	uint64_t first, last;
};

/* Sorted: the most frequent first; streams by number. */
struct summary {
	uint64_t nr_events, first, last;
	struct summary_type *types;
	size_t nr_types;
	struct summary_pid *pids;
	size_t nr_pids;
	struct summary_stream *streams;
	size_t nr_streams;
	struct loss *losses;
	size_t nr_losses;
	struct account account;
	double observed; /* 0 .. 1: the part of (span × streams with events) that is not inside a gap */
	bool observed_less; /* events are missing outside of gaps, or may be: less than that was observed */
};

/* From the index: everything that is in the trace. 0 or -ENOMEM. */
int summary_from_store(struct store *st, struct summary *out);

/* By walking: feed every event of the window, stream by stream in time, and say which ones count; then finish. */
struct summary_walk;
struct summary_walk *summary_walk_new(struct source *s);
void summary_walk_add(struct summary_walk *w, const struct event *e, bool count);
void summary_walk_free(struct summary_walk *w);
/* Frees w. Every event of the choice's streams and window was fed. */
int summary_walk_finish(struct summary_walk *w, struct summary *out, const struct scan_choice *c);

void summary_free(struct summary *s);

#endif
