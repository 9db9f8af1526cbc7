/* SPDX-License-Identifier: MIT */
/* unseen.h -- inside tools/view: events of CPUs that are not shown. */
#ifndef VIEW_UNSEEN_H
#define VIEW_UNSEEN_H

#include "view/report.h"

/*
 * trace-cmd reads all CPUs of a buffer even if it shows only some: whether a call is a leaf depends on the event that comes
 * next on any of them. The streams that are skipped are walked beside the others, from the first call on.
 */
struct unseen {
	struct source *source;
	const struct report_options *o;
	struct unseen_buffer
		*buffers; /* NULL: nothing is omitted from a buffer of which something is shown */
};

/* False when out of memory. */
bool unseen_init(struct unseen *u, struct source *s, const struct report_options *o);
void unseen_free(struct unseen *u);
/* The first event omitted from the stream's buffer that comes after the one of this time, but before `next` (NULL: the end).
 * Times do not go back. NULL: none. */
const struct event *unseen_between(struct unseen *u, uint64_t time, uint32_t stream,
				   const struct event *next);
/* The one returned last is taken. */
void unseen_drop(struct unseen *u, uint32_t stream);

#endif
