/* SPDX-License-Identifier: MIT */
/* page.h -- the page that draws a trace over time: alone in one file, or with a server that answers it. */
#ifndef VIEW_PAGE_PAGE_H
#define VIEW_PAGE_PAGE_H

#include "view/page/tiles.h"

#include <stdio.h>

struct page_options {
	const char *title;
	const struct scan_choice *choice;
	uint64_t max_bytes; /* of the file */
};

struct page_result {
	uint64_t events; /* of the choice */
	uint32_t
		parts; /* that the whole span is drawn in, where spans are too many to be there each */
	bool all;      /* every span is there */
	bool listed; /* every event is, too */
};

/* What the page asks for first: names, lanes, times. As JSON; no NUL. NULL: out of memory. The caller frees it. */
char *page_meta(struct source *s, const struct lanes *l, const char *title, size_t *bytes);
/* A lane, as the page knows it: [number, kind, id, depth, cpu, items, sums...]; of kind LANE_KINDS: there is none now */
struct json;
void page_lane(struct json *j, const struct lane *k, uint64_t number);
/* The page itself, with its first answer; it asks its server for all the rest. */
void page_shell(const char *title, const char *meta, size_t n, FILE *out);
/* The page with the answers in it: the whole span, as fine as there is room for. 0 or a negative errno. */
int page_write(struct source *s, const struct lanes *l, const struct page_options *o, FILE *out,
	       struct page_result *r);
/* Events of a choice as the list shows them: {"events": [...], "more": bool}; "t" is the time from `start` on. */
struct page_events {
	const struct scan_choice *choice;
	uint64_t start, skip, max;
};
/* 0 or a negative errno; *nr is how many there are. */
int page_events(struct source *s, const struct page_events *o, FILE *out, uint64_t *nr);

#endif
