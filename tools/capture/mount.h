/* SPDX-License-Identifier: MIT */
/* mount.h -- a target's control tree as a FUSE file system. */
#ifndef CAPTURE_MOUNT_H
#define CAPTURE_MOUNT_H

#include <stdbool.h>
#include "capture/p9.h"

struct mount_options {
	bool foreground;
	bool debug; /* libfuse's own log on stderr */
	bool tracefs; /* mount the host's tracefs on the directory first: trace-cmd looks for that name */
	const char *name; /* what /proc/mounts shows as the source */
};

/* Serves until it is unmounted or the target goes away. 0, or -1 with the reason told. Takes the connection. */
int mount_serve(struct p9 *c, const char *dir, const struct mount_options *options);

#endif
