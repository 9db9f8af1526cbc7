/* SPDX-License-Identifier: MIT */
/* walk.c -- the model of a choice of events, from the first to the last: what answers are made of. */
#include "model/walk.h"

#include <errno.h>
#include <stdlib.h>

int model_walk(struct source *s, const struct model_walk *w, const struct model_sink *sink,
	       struct model **out)
{
	struct model_counts *n = model_count(s);
	struct model_options o = {.pairs = w->pairs,
				  .nr_pairs = w->nr_pairs,
				  .counts = n,
				  .without = w->without,
				  .from = w->choice->from,
				  .to = w->choice->to};
	struct scan_choice all = *w->choice;
	struct scan_options so = {.numbered = w->numbered,
				  .no_index = w->no_index,
				  .progress = w->progress,
				  .arg = w->progress_arg};
	const struct event *e;
	struct scan *sc;
	bool wanted;

	/* Who wakes a task, and what it did before, may be on any CPU. */
	all.cpus = NULL;
	*out = n ? model_new(s, &o, sink) : NULL;
	free(n);
	if (!*out)
		return w->nr_pairs ? -EINVAL : -ENOMEM;
	sc = scan_open(s, &all, &so);
	while (sc && !(w->out && ferror(w->out)) && (e = scan_next_any(sc, &wanted)))
		model_event(*out, e, w->numbered ? scan_number(sc) : MODEL_NO_EVENT, wanted);
	if (sc)
		model_end(*out);
	scan_close(sc);
	return sc && !model_failed(*out) ? 0 : -ENOMEM;
}

int model_account(struct source *s, const struct model_walk *w, const struct model *m,
		  struct account *out)
{
	uint64_t calls;
	const struct losses *l = model_losses(m, &calls);
	int err = account_make(out, s, losses_at(l, 0), losses_nr(l), scan_is_whole(w->choice),
			       scan_keep, (void *)w->choice);

	if (!err)
		account_calls(out, calls);
	return err;
}
