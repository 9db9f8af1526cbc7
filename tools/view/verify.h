/* SPDX-License-Identifier: MIT */
/* verify.h -- everything in a trace is read: what is damaged, at which offset, and what can still be read. */
#ifndef VIEW_VERIFY_H
#define VIEW_VERIFY_H

#include "decode/source.h"

struct verify_options {
	bool json;
	void (*progress)(void *arg, const char *what, uint64_t done, uint64_t total);
	void *arg;
};

/* Print it to stdout; s->damage_total then says how much was found. 0 or -ENOMEM. */
int verify(struct source *s, const struct verify_options *o);

#endif
