/* SPDX-License-Identifier: MIT */
/* tree.c -- a control tree as files: over 9P, or in a directory where one is mounted. */
#include "capture/tree.h"
#include "base/vec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "base/diag.h"
#include "capture/p9.h"

struct tree {
	struct p9 *p9; /* NULL: a directory */
	int dir;
};

static int open_dir(const char *target)
{
	int dir = open(target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0) {
		diag_error("%s: %s", target, strerror(errno));
	} else if (faccessat(dir, "per_cpu/cpu0/trace_pipe_raw", F_OK, 0)) {
		diag_error("%s: no control tree is mounted here", target);
		close(dir);
		dir = -1;
	}
	return dir;
}

struct tree *tree_open(const char *target)
{
	struct tree *t = calloc(1, sizeof(*t));
	struct stat st;
	bool ok;

	if (!t)
		return NULL;
	t->dir = -1;
	if (!stat(target, &st) && S_ISDIR(st.st_mode)) {
		t->dir = open_dir(target);
		ok = t->dir >= 0;
	} else {
		t->p9 = p9_connect(target);
		ok = t->p9 != NULL;
	}
	if (ok)
		return t;
	free(t);
	return NULL;
}

void tree_close(struct tree *t)
{
	p9_close(t->p9);
	if (t->dir >= 0)
		close(t->dir);
	free(t);
}

bool tree_is_local(const struct tree *t)
{
	struct statfs fs;

	return t->dir >= 0 && !fstatfs(t->dir, &fs) && fs.f_type == TRACEFS_MAGIC;
}

bool tree_is_framed(const struct tree *t)
{
	return t->p9 && p9_is_framed(t->p9);
}

int tree_claim(struct tree *t)
{
	if (t->p9)
		return p9_claim(t->p9);
	return flock(t->dir, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK ? -EBUSY : 0;
}

bool tree_is_dead(const struct tree *t)
{
	return t->p9 && p9_is_dead(t->p9);
}

void tree_stop_when(struct tree *t, bool (*told_to_stop)(void))
{
	if (t->p9)
		p9_stop_when(t->p9, told_to_stop);
}

void tree_patience(struct tree *t, int64_t silent_ms, int64_t flush_ms)
{
	if (t->p9)
		p9_patience(t->p9, silent_ms, flush_ms);
}

int tree_mkdir(struct tree *t, const char *path)
{
	if (t->p9)
		return p9_mkdir(t->p9, path);
	return mkdirat(t->dir, path, 0750) ? -errno : 0;
}

int tree_rmdir(struct tree *t, const char *path)
{
	if (t->p9)
		return p9_rmdir(t->p9, path);
	return unlinkat(t->dir, path, AT_REMOVEDIR) ? -errno : 0;
}

ssize_t tree_file_read(const struct tree_file *f, void *buf, size_t bytes, uint64_t at)
{
	ssize_t n;

	if (f->p9)
		return p9_read(f->p9, f->fid, buf, bytes, at, true);
	n = read(f->fd, buf, bytes);
	return n < 0 ? -errno : n;
}

int tree_file_open(struct tree *t, const char *path, struct tree_file *f)
{
	*f = (struct tree_file){.p9 = t->p9, .fd = -1};
	if (t->p9)
		return p9_open(t->p9, path, O_RDONLY, &f->fid, NULL);
	if (!strcmp(path, "kallsyms") && tree_is_local(t))
		path = "/proc/kallsyms";
	f->fd = openat(t->dir, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return f->fd < 0 ? -errno : 0;
}

void tree_file_close(const struct tree_file *f)
{
	if (f->p9)
		p9_clunk(f->p9, f->fid);
	else
		close(f->fd);
}

char *tree_load(struct tree *t, const char *path, size_t max, size_t *bytes, int *err)
{
	size_t room = 65536, n = 0;
	struct tree_file f;
	char *buf = NULL;
	ssize_t got = 0;

	*err = tree_file_open(t, path, &f);
	if (*err)
		return NULL;
	do {
		if (!buf || n == room) {
			room *= 2;
			if (!vec_resize(&buf, room + 1, 1))
				break;
		}
		got = tree_file_read(&f, buf + n, room - n, n);
		n += got > 0 ? (size_t)got : 0;
	} while (got > 0 && n < max);
	tree_file_close(&f);
	*err = got < 0 && got != -EAGAIN ? (int)got : buf && n < room ? 0 : -ENOMEM;
	if (*err) {
		free(buf);
		return NULL;
	}
	buf[n] = '\0';
	if (bytes)
		*bytes = n;
	return buf;
}

static int store_fd(int fd, const char *text, size_t bytes)
{
	int err = 0;

	while (bytes && !err) {
		ssize_t n = write(fd, text, bytes);

		if (n < 0) {
			err = -errno;
		} else {
			text += n;
			bytes -= (size_t)n;
		}
	}
	return close(fd) && !err ? -errno : err;
}

int tree_store(struct tree *t, const char *path, const void *data, size_t bytes, bool truncate)
{
	int flags = O_WRONLY | (truncate ? O_TRUNC : 0), fd;

	if (t->p9)
		return p9_store(t->p9, path, flags, data, bytes);
	fd = openat(t->dir, path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : store_fd(fd, data, bytes);
}

static int store(struct tree *t, const char *path, const char *text, bool truncate)
{
	char *line;
	int n = asprintf(&line, "%s\n", text), ret;

	if (n < 0)
		return -ENOMEM;
	ret = tree_store(t, path, line, (size_t)n, truncate);
	free(line);
	return ret;
}

int tree_write(struct tree *t, const char *path, const char *text)
{
	return store(t, path, text, true);
}

int tree_append(struct tree *t, const char *path, const char *text)
{
	return store(t, path, text, false);
}

int tree_clear(struct tree *t, const char *path)
{
	uint32_t fid;
	int fd;

	if (t->p9) {
		fd = p9_open(t->p9, path, O_WRONLY | O_TRUNC, &fid, NULL);
		return fd ? fd : p9_clunk(t->p9, fid);
	}
	fd = openat(t->dir, path, O_WRONLY | O_CLOEXEC | O_TRUNC);
	return fd < 0 ? -errno : close(fd) ? -errno : 0;
}

int tree_names_add(struct tree_names *l, const char *name)
{
	if (!VEC_MORE(l->name, l->nr))
		return -ENOMEM;
	l->name[l->nr] = strdup(name);
	return l->name[l->nr++] ? 0 : -ENOMEM;
}

void tree_names_free(struct tree_names *l)
{
	for (size_t i = 0; i < l->nr; i++)
		free(l->name[i]);
	free(l->name);
	*l = (struct tree_names){NULL, 0};
}

struct listing {
	tree_each_fn each;
	void *arg;
};

static int list_entry(void *arg, const char *name, const struct p9_stat *st)
{
	const struct listing *l = arg;

	return l->each(l->arg, name, st->is_dir);
}

static int list_dir(struct tree *t, const char *path, tree_each_fn each, void *arg)
{
	int fd = openat(t->dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d)
		return -errno;
	while (!err && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			err = each(arg, e->d_name, e->d_type == DT_DIR);
	closedir(d);
	return err;
}

int tree_list(struct tree *t, const char *path, tree_each_fn each, void *arg)
{
	struct listing l = {each, arg};

	return t->p9 ? p9_list(t->p9, path, list_entry, &l) : list_dir(t, path, each, arg);
}
