/* SPDX-License-Identifier: MIT */
/* lanes_build.h -- inside view/page: events into lanes, all at once or as they come. */
#ifndef VIEW_PAGE_LANES_BUILD_H
#define VIEW_PAGE_LANES_BUILD_H

#include "base/strmap.h"
#include "model/model.h"
#include "view/page/lanes_put.h"

struct lanes_build {
	/* Set before it begins. */
	struct source *s;
	const struct scan_choice *choice;
	struct lanes_fill fill;
	/* Its own. */
	struct model *model;
	struct strmap names;
	struct idmap of_word, of_function; /* 1 + number of the name */
	struct idmap tasks;		   /* 1 + number, by pid */
	struct build_task {
		int32_t pid;
		uint32_t name;	  /* 1 + number; 0: the model's */
		uint32_t changed; /* when it was named, as lane_place.changed */
	} * task;		  /* by number */
	size_t nr_tasks, forgotten;
	bool *over; /* by number: while tasks are forgotten */
	struct lost *lost;
	size_t nr_lost;
	struct lane_fill **marks; /* by CPU */
	uint32_t nr_marks;
	uint8_t *place;	  /* by type */
	uint64_t *counts; /* by type */
	struct idmap counters;
	uint64_t start, events;
	bool started;
	bool peeks; /* what comes is only going on */
};

/* 0 or -ENOMEM. `n` NULL: it is not known what will come. */
int lanes_build_begin(struct lanes_build *b, const struct model_counts *n);
void lanes_build_event(struct lanes_build *b, const struct event *e, bool wanted);
/* What goes on at this moment, into the lanes: lanes_fill_now(). */
void lanes_build_now(struct lanes_build *b);
/* While it is shown: tasks get their names; of those that have ended only this many are kept. */
void lanes_build_tasks(struct lanes_build *b, size_t keep);
/* From the first event to the last. */
uint64_t lanes_build_span(const struct lanes_build *b);
/* What was lost, in words; "": nothing. 0 or -ENOMEM. */
int lanes_build_lost(struct lanes_build *b, char lost[512]);
/* Members of the page's first answer: names, tasks, types; the lanes are added by who sends it. Later only what is new: names from
 * `first_name` on, tasks that were named after `turn`, with their numbers. */
void lanes_build_meta(struct lanes_build *b, const char *lost, uint32_t first_name, uint32_t turn,
		      FILE *out);
void lanes_build_free(struct lanes_build *b);

#endif
