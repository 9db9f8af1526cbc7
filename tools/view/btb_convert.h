/* SPDX-License-Identifier: MIT */
/* btb_convert.h -- the steps of the backtracer's pipeline, chosen by suffix. */
#ifndef VIEW_BTB_CONVERT_H
#define VIEW_BTB_CONVERT_H

#include <stdbool.h>
#include "decode/btb/names.h"

struct btb_convert_options {
	struct btb_names_options names;
	int run;      /* of a log with several; -1: all */
	bool fresh;   /* files that are there already are an error */
	bool per_cpu; /* also write OUT-<cpu>.SUFFIX, as the original does */
};

/* Can `in` be made into the form that `to` names (traced cleaned compressed btb interpreted btb_lines folded ...)? */
bool btb_convert_takes(const char *in, const char *to);
/* 0, or a negative errno with a message. */
int btb_convert(const char *in, const char *out, const char *to,
		const struct btb_convert_options *o);

#endif
