/* SPDX-License-Identifier: MIT */
/* fs.h -- files of a target's control tree, as a shell's commands show and change them. */
#ifndef CAPTURE_FS_H
#define CAPTURE_FS_H

#include "capture/p9.h"

/* ls, cat, write, append, mkdir, rmdir or tree, to stdout. 0, 1 (the words make no sense) or a negative errno. */
int fs_run(struct p9 *c, int argc, char **argv);

#endif
