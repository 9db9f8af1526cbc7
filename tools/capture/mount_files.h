/* SPDX-License-Identifier: MIT */
/* mount_files.h -- what a mount answers: FUSE on one side, 9P on the other. */
#ifndef CAPTURE_MOUNT_FILES_H
#define CAPTURE_MOUNT_FILES_H

#define FUSE_USE_VERSION 35
#include <fuse3/fuse.h>
#include <stdbool.h>

/* The private data of the mount is the connection, a `struct p9`. */
extern const struct fuse_operations mount_operations;

/* Is the request of this thread: by a signal to its caller, or because the mount is gone. */
bool mount_interrupted(void);

#endif
