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

struct summary_options {
	const struct scan_choice *choice;
	bool no_index;
	size_t names; /* of this many tasks, the most frequent, learn names from records that the trace's table lacks */
	void (*progress)(void *arg, const char *what, uint64_t done, uint64_t total);
	void *arg;
};

/* From the index if everything is wanted, else by walking. 0 or a negative errno; a message where it is needed. */
int summary_make(struct source *s, const struct summary_options *o, struct summary *out);
void summary_free(struct summary *s);
/* To stdout: for people, `lines` per table (0: all); the number of each type, for scripts of the seL4 tools; as JSON. */
void summary_text(struct source *s, const struct summary *m, uint64_t lines);
void summary_short(struct source *s, const struct summary *m);
void summary_json(struct source *s, const struct summary *m);

#endif
