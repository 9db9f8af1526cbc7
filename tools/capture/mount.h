/* SPDX-License-Identifier: MIT */
/* mount.h -- a target's control tree as a FUSE file system: serving it, starting and ending that. */
#ifndef CAPTURE_MOUNT_H
#define CAPTURE_MOUNT_H

#include <stdbool.h>
#include <sys/types.h>
#include "capture/p9.h"

struct mount_options {
	bool foreground;
	bool debug; /* libfuse's own log on stderr */
	bool tracefs; /* mount the host's tracefs on the directory first: trace-cmd looks for that name */
	const char *target; /* /proc/mounts shows it as the source */
};

#define MOUNT_BELOW "fathom" /* the source of the tracefs that lies below */

/* mount.c: serves until it is unmounted or the target goes away. 0, or -1 with a message. Takes the connection. */
int mount_serve(struct p9 *c, const char *dir, const struct mount_options *options);

/* mount_start.c: connect and serve in a child process. Its pid once the tree is there, or -1 with a message. */
pid_t mount_start(const char *dir, const struct mount_options *options);
/*
 * Take the mount out of the tree; reads that wait on it end with an error. A user other than root detaches it only, and
 * who has files of it open keeps them. 0, or a negative errno value: -EINVAL if none of ours is there.
 */
int mount_end(const char *dir);

/*
 * mount_run.c: run a command that takes the target for its machine, in a mount namespace of its own (root): its tree is
 * the only tracefs, and the number of CPUs, kallsyms and ftrace's sysctls are the target's. The command's exit status,
 * or -1 with a message.
 */
int mount_run(const char *dir, const char *target, char *const *command);

#endif
