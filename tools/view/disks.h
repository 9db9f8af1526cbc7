/* SPDX-License-Identifier: MIT */
/* disks.h -- block I/O as blkparse and btt sum it up: what each device and each task did, and how long each stage took. */
#ifndef VIEW_DISKS_H
#define VIEW_DISKS_H

#include <stdio.h>

#include "model/walk.h"

struct disks_options {
	struct model_walk walk;
	bool json;
	const char *bold, *plain; /* of a terminal, or "" */
};

/* Print it. 0, or a negative errno; -ENODATA: the trace has no block I/O. */
int disks_print(struct source *s, const struct disks_options *o, FILE *out);

#endif
