/* SPDX-License-Identifier: MIT */
/* walk.h -- the model of a choice of events, from the first to the last: what answers are made of. */
#ifndef MODEL_WALK_H
#define MODEL_WALK_H

#include <stdio.h>

#include "model/model.h"
#include "store/scan.h"

struct model_walk {
	const struct scan_choice *choice; /* what is shown; events of all CPUs are followed */
	const struct model_pair *pairs;
	size_t nr_pairs;
	uint32_t without; /* 1 << kind */
	bool numbered;	  /* spans have the numbers of their events */
	bool no_index;
	void (*progress)(void *arg, const char *what, uint64_t done, uint64_t total);
	void *progress_arg;
	FILE *out; /* what is written while walking: the walk ends when that fails; may be NULL */
};

/*
 * Make the model and feed it; *out is then at its end, and the caller frees it. The sink's `arg` may look for the model in
 * *out from the first call on. 0, or a negative errno; -EINVAL with a message.
 */
int model_walk(struct source *s, const struct model_walk *w, const struct model_sink *sink,
	       struct model **out);
/* What the walk met, and the trace says, of loss. 0 or -ENOMEM; the caller frees it. */
int model_account(struct source *s, const struct model_walk *w, const struct model *m,
		  struct account *out);

#endif
