/* SPDX-License-Identifier: MIT */
/* text.h -- the text forms of a backtrace buffer, as the original tools write them. */
#ifndef DECODE_BTB_TEXT_H
#define DECODE_BTB_TEXT_H

#include <stdio.h>
#include "decode/btb/names.h"

enum btb_form {
	BTB_INTERPRETED,
	BTB_LINES,
	BTB_FOLDED,
	BTB_HISTOGRAM,
	BTB_DURATIONS,
	BTB_FORMS,
};

extern const char *const btb_form_suffix[BTB_FORMS];

/* Write one form; cpu >= 0: what the original writes into the file of that CPU alone. */
void btb_text_write(const struct btb *b, struct btb_names *names, enum btb_form form, int64_t cpu,
		    FILE *out);
/* The CPUs that have entries of the form's kind, ascending; how many. `cpus` may be NULL. */
size_t btb_text_cpus(const struct btb *b, enum btb_form form, uint64_t *cpus, size_t max);

#endif
