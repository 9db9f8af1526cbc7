/* SPDX-License-Identifier: MIT */
/* tree.h -- files of the control tree as a test writes and reads them. */
#ifndef TEST_TREE_H
#define TEST_TREE_H

#include <stdio.h>
#include <string.h>
#include "fathom/fs.h"
#include "fathom/trace.h"

/* The whole text, or "error N". Valid until the next call. */
static inline const char *get(const char *path)
{
	static char buf[1 << 20];
	int n = fathom_get(path, buf, sizeof(buf));

	if (n < 0)
		snprintf(buf, sizeof(buf), "error %d", n);
	return buf;
}

/* As `>>` does; fathom_set() is `>`. */
static inline int append(const char *path, const char *text)
{
	struct fathom_node node;
	struct fathom_file f;
	int ret = fathom_fs_lookup(path, &node);

	if (!ret)
		ret = fathom_fs_open(&f, &node, FATHOM_O_WRONLY | FATHOM_O_APPEND);
	if (ret)
		return ret;
	ret = fathom_fs_write(&f, text, strlen(text));
	fathom_fs_close(&f);
	return ret < 0 ? ret : 0;
}

#endif
