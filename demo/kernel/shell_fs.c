/* SPDX-License-Identifier: MIT */
/* shell_fs.c -- the shell's cat, echo and ls: tracefs without a VFS. */
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

static int open_path(struct fathom_file *f, const char *path, uint32_t flags)
{
	struct fathom_node node;
	int err = fathom_fs_lookup(path, &node);

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
	const char *path = argc > 1 ? argv[1] : "/";
	struct fathom_node dir;
	struct fathom_dirent d;
	int err = fathom_fs_lookup(path, &dir);

	for (uint32_t i = 0; !err && (err = fathom_fs_list(&dir, i, &d)) > 0; i++, err = 0)
		kprintf("%s\n", d.name);
	return complain(path, err);
}
