/* SPDX-License-Identifier: MIT */
/* why.h -- the chain behind a delay, as text and as JSON. */
#ifndef VIEW_WHY_H
#define VIEW_WHY_H

#include <stdio.h>

#include "model/chain.h"

struct why_options {
	double least; /* percent of the delay: smaller links are added up in one line */
	const char *bold, *plain;
	bool json;
};

void why_text(const struct source *s, const struct chain *c, const struct account *a,
	      const struct why_options *o, FILE *out);
void why_json(const struct source *s, const struct chain *c, const struct account *a, FILE *out);
/* Find the delay and print its chain. 0; -ENOENT: there is no such delay; or another negative errno. */
int why_print(struct source *s, const struct chain_choice *c, const struct why_options *o,
	      FILE *out);

#endif
