/* SPDX-License-Identifier: MIT */
/* asks.h -- what the page asks its server: tiles, sums, events, a summary, searches, stacks, causes. */
#ifndef VIEW_PAGE_ASKS_H
#define VIEW_PAGE_ASKS_H

#include <pthread.h>

#include "view/page/lanes_live.h"
#include "view/page/page.h"

/* How a recording that is shown while it is made is doing. */
struct ask_state {
	bool away; /* the target is */
	bool over;
	uint32_t cuts;
};

/* What all answers are made of; read-only but for the lock. */
struct asks {
	struct source *s;
	const struct lanes *lanes;
	const struct scan_choice *choice; /* what is shown */
	const char *title;
	bool no_index;
	pthread_mutex_t walking; /* one at a time: questions that read many events */
	struct lanes_live *live; /* of a recording that grows; else NULL */
	void (*state)(void *arg, struct ask_state *out);
	void *state_arg;
};

/* A question: its parameters by name, NULL if one is not there. */
struct asked {
	const char *(*get)(void *arg, const char *name);
	void *arg;
};

/* Times of a question are from the trace's start on. */
struct ask_window {
	uint64_t from, to;
	struct scan_choice choice;
};

/* False: `from` or `to` is not a number. */
bool ask_window(const struct asks *a, const struct asked *q, struct ask_window *w);
bool ask_number(const struct asked *q, const char *name, uint64_t max, uint64_t *out);

/*
 * Answer `what`; the answer is written to `out`. 0; -ENOENT: there is no such question; -EINVAL: a parameter is wrong, what is
 * expected is in *why; or another negative errno.
 */
int ask(struct asks *a, const char *what, const struct asked *q, FILE *out, bool *binary,
	char why[256]);

/* asks_search.c, asks_sums.c */
int ask_search(struct asks *a, const struct asked *q, FILE *out, char why[256]);
int ask_sums(struct asks *a, const struct asked *q, FILE *out);
int ask_summary(struct asks *a, const struct asked *q, FILE *out);
int ask_flame(struct asks *a, const struct asked *q, FILE *out, char why[256]);
int ask_why(struct asks *a, const struct asked *q, FILE *out, char why[256]);

#endif
