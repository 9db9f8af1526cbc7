/* SPDX-License-Identifier: MIT */
/* answer_options.c -- what commands that answer from the model take alike. */
#include "cmd/answer_options.h"
#include "base/diag.h"

#include <stdlib.h>
#include <string.h>

/* begin=end, or begin=end:key; the events may be system:name, which only the trace can tell from name:key. */
static bool parse_pair(struct answer_options *a, char *text)
{
	char *end = strchr(text, '=');

	if (!end || end == text || !end[1] || a->nr_pairs == ANSWER_PAIRS) {
		diag_error(a->nr_pairs == ANSWER_PAIRS
				   ? "--pair: at most 32, '%s' is one too many"
				   : "--pair takes BEGIN=END or BEGIN=END:KEY, not '%s'",
			   text);
		return false;
	}
	*end++ = 0;
	a->pair[a->nr_pairs++] = (struct model_pair){text, end, NULL};
	return true;
}

bool answer_pairs(struct answer_options *a)
{
	char *p = a->pairs;

	while (p && *p) {
		char *next = strstr(p, "; ");

		if (next) {
			*next = 0;
			next += 2;
		}
		if (!parse_pair(a, p))
			return false;
		p = next;
	}
	return true;
}

void answer_walk(struct answer_options *a, struct model_walk *w, struct progress *bar)
{
	*w = (struct model_walk){.choice = &a->o.choice,
				 .pairs = a->pair,
				 .nr_pairs = a->nr_pairs,
				 .no_index = a->o.no_index,
				 .progress = progress_scan,
				 .progress_arg = bar};
}

void answer_close(struct answer_options *a)
{
	free(a->pairs);
	a->pairs = NULL;
	options_close(&a->o);
}
