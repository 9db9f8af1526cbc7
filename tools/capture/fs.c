/* SPDX-License-Identifier: MIT */
/* fs.c -- files of a target's control tree, as a shell's commands show and change them. */
#include "capture/fs.h"
#include "capture/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int print_entry(void *arg, const char *name, const struct p9_stat *st)
{
	const char *dir = arg;

	printf("%c%03o  %s%s%s%s\n", st->is_dir ? 'd' : '-', st->mode & 0777, dir, *dir ? "/" : "",
	       name, st->is_dir ? "/" : "");
	return 0;
}

/* Subdirectories are collected first, so that only one listing is open at a time. */
static int collect_dir(void *arg, const char *name, const struct p9_stat *st)
{
	return st->is_dir ? tree_names_add(arg, name) : 0;
}

static int tree(struct p9 *c, const char *dir, int depth)
{
	struct tree_names names = {NULL, 0};
	int ret = p9_list(c, dir, print_entry, (void *)dir);

	if (!ret && depth < 8)
		ret = p9_list(c, dir, collect_dir, &names);
	for (size_t i = 0; i < names.nr && !ret; i++) {
		char path[1024];

		if ((size_t)snprintf(path, sizeof(path), "%s%s%s", dir, *dir ? "/" : "",
				     names.name[i]) < sizeof(path))
			ret = tree(c, path, depth + 1);
	}
	tree_names_free(&names);
	return ret;
}

static int cat(struct p9 *c, const char *path)
{
	char buf[8192];
	uint64_t at = 0;
	uint32_t fid;
	ssize_t n;
	int ret = p9_open(c, path, O_RDONLY, &fid, NULL);

	if (ret)
		return ret;
	while ((n = p9_read(c, fid, buf, sizeof(buf), at, false)) > 0) {
		at += (uint64_t)n;
		if (fwrite(buf, 1, (size_t)n, stdout) != (size_t)n || fflush(stdout)) {
			n = -errno;
			break;
		}
	}
	p9_clunk(c, fid);
	return n < 0 ? (int)n : 0;
}

static int put(struct p9 *c, const char *path, const char *text, int flags)
{
	char *line;
	int n = asprintf(&line, "%s\n", text), ret;

	if (n < 0)
		return -ENOMEM;
	ret = p9_store(c, path, O_WRONLY | flags, line, (size_t)n);
	free(line);
	return ret;
}

int fs_run(struct p9 *c, int argc, char **argv)
{
	const char *dir = argc > 1 ? argv[1] : "";
	int ret = 0;

	if (!strcmp(argv[0], "ls") && argc <= 2)
		return p9_list(c, dir, print_entry, (void *)dir);
	if (!strcmp(argv[0], "tree") && argc == 1)
		return tree(c, "", 0);
	if (!strcmp(argv[0], "write") && argc == 3)
		return put(c, argv[1], argv[2], O_TRUNC);
	if (!strcmp(argv[0], "append") && argc == 3)
		return put(c, argv[1], argv[2], 0);
	if (!strcmp(argv[0], "mkdir") && argc == 2)
		return p9_mkdir(c, argv[1]);
	if (!strcmp(argv[0], "rmdir") && argc == 2)
		return p9_rmdir(c, argv[1]);
	if (strcmp(argv[0], "cat") != 0 || argc < 2)
		return 1;
	for (int i = 1; i < argc && !ret; i++)
		ret = cat(c, argv[i]);
	return ret;
}
