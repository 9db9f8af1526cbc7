/* SPDX-License-Identifier: MIT */
/* shell_fs.c -- the shell's cat, echo, ls, cd, mkdir and rmdir: tracefs without a VFS. */
#include "kernel.h"
#include "shell.h"
#include "fathom/fs.h"

#define CHUNK 256 /* on a kernel stack */

static int complain(const char *path, int err)
{
	if (err < 0)
		kprintf("%s: error %d\n", path, -err);
	return err;
}

#define PATH_BYTES 192

static char current_dir[PATH_BYTES]; /* without a slash at either end; the shell is one task */

/* Where Linux mounts it, is the root here. */
static const char *below_root(const char *path)
{
	static const char *const roots[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		size_t n = strlen(roots[i]);

		if (!strncmp(path, roots[i], n) && (!path[n] || path[n] == '/'))
			return path + n;
	}
	return path;
}

/* A path from the root, made of the current directory and what was typed, into buf. */
static const char *full_path(const char *typed, char buf[PATH_BYTES])
{
	const char *path = below_root(typed);

	if (path != typed || *path == '/' || !current_dir[0])
		ksnprintf(buf, PATH_BYTES, "%s", path);
	else
		ksnprintf(buf, PATH_BYTES, "%s/%s", current_dir, path);
	return buf;
}

static int look_up(const char *typed, struct fathom_node *node)
{
	char path[PATH_BYTES];

	return fathom_fs_lookup(full_path(typed, path), node);
}

static int open_path(struct fathom_file *f, const char *path, uint32_t flags)
{
	struct fathom_node node;
	int err = look_up(path, &node);

	return err ? err : fathom_fs_open(f, &node, flags);
}

static int cat_file(const char *path)
{
	struct fathom_file f;
	char text[CHUNK];
	int n = open_path(&f, path, FATHOM_O_RDONLY);

	if (n < 0)
		return complain(path, n);
	while ((n = fathom_fs_read(&f, text, sizeof(text))) > 0)
		console_write(text, (size_t)n);
	fathom_fs_close(&f);
	return n == -EAGAIN ? 0 : complain(path, n); /* a pipe that is empty now */
}

int cmd_cat(int argc, char **argv)
{
	int err = 0;

	for (int i = 1; i < argc && !err; i++)
		err = cat_file(argv[i]);
	return err;
}

static int write_all(struct fathom_file *f, const char *text, size_t bytes)
{
	while (bytes) {
		int n = fathom_fs_write(f, text, bytes);

		if (n <= 0)
			return n;
		text += n;
		bytes -= (size_t)n;
	}
	return 0;
}

/* echo WORD... [>|>> FILE] */
int cmd_echo(int argc, char **argv)
{
	int append = argc > 2 && !strcmp(argv[argc - 2], ">>");
	int to_file = append || (argc > 2 && !strcmp(argv[argc - 2], ">"));
	struct fathom_file f;
	char line[CHUNK];
	size_t len = 0;
	int err;

	for (int i = 1; i < argc - 2 * to_file; i++) {
		for (const char *p = argv[i]; *p && len < sizeof(line) - 2; p++)
			line[len++] = *p;
		if (i + 1 < argc - 2 * to_file)
			line[len++] = ' ';
	}
	line[len++] = '\n';
	if (!to_file) {
		console_write(line, len);
		return 0;
	}
	err = open_path(&f, argv[argc - 1], FATHOM_O_WRONLY | (append ? 0 : FATHOM_O_TRUNC));
	if (!err) {
		err = write_all(&f, line, len);
		fathom_fs_close(&f);
	}
	return complain(argv[argc - 1], err);
}

int cmd_ls(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "";
	struct fathom_node dir;
	struct fathom_dirent d;
	int err = look_up(path, &dir);

	for (uint32_t i = 0; !err && (err = fathom_fs_list(&dir, i, &d)) > 0; i++, err = 0)
		kprintf("%s\n", d.name);
	return complain(path, err);
}

/* The last slash of a path, or its begin. */
static char *last_part(char *path)
{
	char *cut = path;

	for (char *p = path; *p; p++)
		if (*p == '/')
			cut = p;
	return cut;
}

int cmd_cd(int argc, char **argv)
{
	char path[PATH_BYTES];
	const char *to = argc > 1 ? argv[1] : "/";
	struct fathom_node dir;
	struct fathom_dirent d;
	int err;

	if (!strcmp(to, "..")) {
		*last_part(current_dir) = 0;
		return 0;
	}
	err = fathom_fs_lookup(full_path(to, path), &dir);
	if (!err)
		err = fathom_fs_list(&dir, 0, &d); /* which only a directory has */
	if (err >= 0)
		ksnprintf(current_dir, sizeof(current_dir), "%s", path + (path[0] == '/'));
	return err < 0 ? complain(to, err) : 0;
}

int cmd_mkdir(int argc, char **argv)
{
	char path[PATH_BYTES], *name;
	struct fathom_node dir;
	int err;

	if (argc < 2)
		return -EINVAL;
	full_path(argv[1], path);
	name = last_part(path);
	if (*name == '/')
		*name++ = 0;
	err = fathom_fs_lookup(name == path ? "" : path, &dir);
	return complain(argv[1], err ? err : fathom_fs_mkdir(&dir, name, strlen(name)));
}

int cmd_rmdir(int argc, char **argv)
{
	struct fathom_node dir;
	int err = argc > 1 ? look_up(argv[1], &dir) : -EINVAL;

	return complain(argc > 1 ? argv[1] : "", err ? err : fathom_fs_rmdir(&dir));
}
