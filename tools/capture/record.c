/* SPDX-License-Identifier: MIT */
/* record.c -- one recording from its first check to its file, whichever way the pages come. */
#include "capture/record.h"
#include "capture/stop.h"
#include "base/diag.h"

#include <stdio.h>
#include <string.h>

static int take(const struct record_options *o, struct capture *c, struct recording *r, int *status)
{
	if (o->qemu)
		return record_qemu(o, c, r);
	if (o->image)
		return record_memory(o, o->image, c, r);
	return record_tree(o, c, r, status);
}

int record_run(const struct record_options *o, struct capture *c, int *status)
{
	struct recording r;
	char file[32];
	int err;

	*status = 0;
	if (recording_open(&r, o->output))
		return -1;
	stop_watch();
	err = take(o, c, &r, status);
	if (r.begun) {
		if (r.err)
			snprintf(c->ended, sizeof(c->ended), "the file could not be written: %s",
				 strerror(-r.err));
		recording_end(&r, c);
		capture_count(c, recording_file(&r, file));
	}
	return recording_close(&r) || err ? -1 : 0;
}
