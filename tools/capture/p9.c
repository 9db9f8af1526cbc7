/* SPDX-License-Identifier: MIT */
/* p9.c -- files over 9P: walk, open, read, write, list. */
#include "capture/p9_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define P9_LIST_MAX 65536 /* entries of a directory that are believed */

static void qid_get(struct p9_call *m, struct p9_stat *st)
{
	uint32_t type = (uint32_t)p9_call_get(m, 1);

	p9_call_get(m, 4);
	st->id = p9_call_get(m, 8);
	st->is_dir = type & WIRE_P9_QID_DIR;
	st->is_stream = type & WIRE_P9_QID_STREAM;
}

/* A message that begins with a fid, and may end with it. */
static int fid_begin(struct p9_call *m, struct p9 *c, uint8_t type, uint32_t fid)
{
	int ret = p9_call_begin(m, c, type);

	if (!ret)
		p9_call_u(m, fid, 4);
	return ret;
}

static int call_fid(struct p9 *c, uint8_t type, uint32_t fid)
{
	struct p9_call m;
	int ret = fid_begin(&m, c, type, fid);

	if (!ret)
		ret = p9_call_run(&m, false);
	p9_call_end(&m);
	return ret;
}

int p9_clunk(struct p9 *c, uint32_t fid)
{
	return call_fid(c, WIRE_P9_TCLUNK, fid);
}

void p9_let_go(struct p9 *c, uint32_t fid)
{
	struct p9_call m;

	if (!fid_begin(&m, c, WIRE_P9_TCLUNK, fid))
		p9_call_drop(&m);
	p9_call_end(&m);
}

/* Up to 16 names of a path from one fid to a new one; *path goes on after them. The number of names, or a negative errno value. */
static int walk_send(struct p9_call *m, struct p9 *c, uint32_t from, uint32_t to, const char **path)
{
	uint32_t names = 0, count_at;
	int ret = fid_begin(m, c, WIRE_P9_TWALK, from);

	if (ret)
		return ret;
	p9_call_u(m, to, 4);
	count_at = m->len;
	p9_call_u(m, 0, 2);
	while (**path && names < WIRE_P9_WALK_MAX) {
		size_t n = strcspn(*path, "/");

		if (n) {
			p9_call_text(m, *path, n);
			names++;
		}
		*path += n;
		*path += strspn(*path, "/");
	}
	wire_p9_put(m->buf + count_at, names, 2);
	ret = p9_call_send(m);
	return ret ? ret : (int)names;
}

static int walk_wait(struct p9_call *m, int names)
{
	int ret = names < 0 ? names : p9_call_wait(m, false);

	if (!ret && p9_call_get(m, 2) != (uint32_t)names)
		ret = -ENOENT;
	p9_call_end(m);
	return ret;
}

/*
 * Walk to a path, and send `then`, which has *fid's place in it, with the last step: its answer is the caller's to wait for
 * unless this fails.
 */
static int walk_and(struct p9 *c, const char *path, uint32_t *fid, struct p9_call *then)
{
	uint32_t from = P9_ROOT;
	int names, sent = 0, ret;

	*fid = p9_new_fid(c);
	path += strspn(path, "/");
	do {
		struct p9_call m;
		bool last;

		names = walk_send(&m, c, from, *fid, &path);
		last = then && !*path && names >= 0;
		if (last) {
			wire_p9_put(then->buf + WIRE_P9_HEAD, *fid, 4);
			sent = p9_call_send(then);
		}
		ret = walk_wait(&m, names);
		if (last && ret && !sent)
			p9_call_wait(then, false);
		else if (last && !ret)
			ret = sent;
		if (ret && (from != P9_ROOT || ret != -ENOENT))
			p9_let_go(c, *fid);
		from = *fid;
	} while (!ret && *path);
	return ret;
}

static int walk(struct p9 *c, const char *path, uint32_t *fid)
{
	return walk_and(c, path, fid, NULL);
}

/* A stat as Tstat and directory reads carry it, at the place the call stands; its name into `name`. */
static bool stat_get(struct p9_call *m, struct p9_stat *st, char name[256])
{
	uint32_t size = (uint32_t)p9_call_get(m, 2), end = m->at + size, mode, n;

	if (m->bad || size > m->len - m->at)
		return false;
	p9_call_get(m, 2);
	p9_call_get(m, 4);
	qid_get(m, st);
	mode = (uint32_t)p9_call_get(m, 4);
	p9_call_get(m, 8);
	p9_call_get(m, 8);
	n = (uint32_t)p9_call_get(m, 2);
	if (m->bad || m->at > end || n > 255 || n > end - m->at)
		return false;
	memcpy(name, m->buf + m->at, n);
	name[n] = '\0';
	st->mode = (mode & 0777) | (st->is_dir ? S_IFDIR : S_IFREG);
	m->at = end;
	return !memchr(name, '/', n) || n == 1;
}

int p9_stat(struct p9 *c, const char *path, struct p9_stat *st)
{
	struct p9_call m;
	char name[256];
	uint32_t fid;
	int ret = fid_begin(&m, c, WIRE_P9_TSTAT, 0);

	if (!ret)
		ret = walk_and(c, path, &fid, &m);
	if (!ret) {
		p9_let_go(c, fid);
		ret = p9_call_wait(&m, false);
	}
	if (!ret) {
		p9_call_get(&m, 2);
		ret = stat_get(&m, st, name) ? 0 : -EPROTO;
	}
	p9_call_end(&m);
	return ret;
}

int p9_open(struct p9 *c, const char *path, int flags, uint32_t *fid, struct p9_stat *st)
{
	struct p9_call m;
	int ret = fid_begin(&m, c, WIRE_P9_TOPEN, 0);

	if (!ret) {
		p9_call_u(&m,
			  (uint32_t)(flags & O_ACCMODE) | (flags & O_TRUNC ? WIRE_P9_OTRUNC : 0),
			  1);
		ret = walk_and(c, path, fid, &m);
	}
	if (!ret) {
		ret = p9_call_wait(&m, false);
		if (ret)
			p9_let_go(c, *fid);
		else if (st)
			qid_get(&m, st);
	}
	p9_call_end(&m);
	return ret;
}

static int read_call(struct p9_call *m, struct p9 *c, uint32_t fid, uint64_t offset, size_t bytes)
{
	int ret = fid_begin(m, c, WIRE_P9_TREAD, fid);

	if (ret)
		return ret;
	if (bytes > c->msize - WIRE_P9_READ_HEAD)
		bytes = c->msize - WIRE_P9_READ_HEAD;
	p9_call_u(m, offset, 8);
	p9_call_u(m, bytes, 4);
	return 0;
}

ssize_t p9_read(struct p9 *c, uint32_t fid, void *buf, size_t bytes, uint64_t offset, bool nowait)
{
	struct p9_call m;
	uint32_t n;
	int ret = read_call(&m, c, fid, offset | (nowait ? WIRE_P9_NOWAIT : 0), bytes);

	if (ret)
		return ret;
	ret = p9_call_run(&m, !nowait);
	if (!ret) {
		n = (uint32_t)p9_call_get(&m, 4);
		if (m.bad || n > m.len - m.at || n > bytes)
			ret = -EPROTO;
		else
			memcpy(buf, m.buf + m.at, n);
	}
	p9_call_end(&m);
	return ret ? ret : (ssize_t)n;
}

ssize_t p9_write(struct p9 *c, uint32_t fid, const void *buf, size_t bytes, pid_t pid)
{
	struct p9_call m;
	ssize_t n = 0;
	int ret = fid_begin(&m, c, WIRE_P9_TWRITE, fid);

	if (ret)
		return ret;
	if (bytes > c->msize - WIRE_P9_WRITE_HEAD)
		bytes = c->msize - WIRE_P9_WRITE_HEAD;
	p9_call_u(&m, pid > 0 ? WIRE_P9_PID | (uint32_t)pid : 0, 8);
	p9_call_u(&m, bytes, 4);
	memcpy(m.buf + m.len, buf, bytes);
	m.len += (uint32_t)bytes;
	ret = p9_call_run(&m, false);
	if (!ret) {
		n = (ssize_t)p9_call_get(&m, 4);
		if (m.bad || (size_t)n > bytes)
			ret = -EPROTO;
	}
	p9_call_end(&m);
	return ret ? ret : n;
}

int p9_readable(struct p9 *c, uint32_t fid)
{
	char none;
	ssize_t n = p9_read(c, fid, &none, 0, WIRE_P9_POLL, true);

	return n == -EAGAIN ? 0 : n < 0 ? (int)n : 1;
}

int p9_notify(struct p9 *c, uint32_t fid, void (*ready)(void *arg), void *arg)
{
	struct p9_call m;
	int ret = read_call(&m, c, fid, WIRE_P9_POLL, 0);

	if (ret)
		return ret;
	ret = p9_call_notify(&m, fid, ready, arg);
	p9_call_end(&m);
	return ret;
}

/* The entries of one Rread. How many, or a negative errno value; the callback's non-zero ends it. */
static int list_some(struct p9_call *m, int (*each)(void *, const char *, const struct p9_stat *),
		     void *arg)
{
	uint32_t n = (uint32_t)p9_call_get(m, 4);
	char name[256];
	int count = 0;

	if (m->bad || n > m->len - m->at)
		return -EPROTO;
	m->len = m->at + n;
	while (m->at < m->len) {
		struct p9_stat st;
		int ret;

		if (!stat_get(m, &st, name))
			return -EPROTO;
		count++;
		ret = each(arg, name, &st);
		if (ret)
			return ret;
	}
	return count;
}

int p9_list(struct p9 *c, const char *path,
	    int (*each)(void *arg, const char *name, const struct p9_stat *st), void *arg)
{
	uint64_t offset = 0;
	uint32_t fid, total = 0;
	int ret = p9_open(c, path, O_RDONLY, &fid, NULL);

	if (ret)
		return ret;
	do {
		struct p9_call m;

		ret = read_call(&m, c, fid, offset, c->msize);
		if (ret)
			break;
		ret = p9_call_run(&m, false);
		if (!ret) {
			offset += wire_p9_get(m.buf, 4);
			ret = list_some(&m, each, arg);
		}
		p9_call_end(&m);
		total += ret > 0 ? (uint32_t)ret : 0;
	} while (ret > 0 && total < P9_LIST_MAX);
	p9_let_go(c, fid);
	return ret < 0 ? ret : 0;
}

int p9_mkdir(struct p9 *c, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char *dir = strndup(path, slash ? (size_t)(slash - path) : 0);
	struct p9_call m;
	uint32_t fid;
	int ret = dir ? walk(c, dir, &fid) : -ENOMEM;

	free(dir);
	if (ret)
		return ret;
	ret = fid_begin(&m, c, WIRE_P9_TCREATE, fid);
	if (!ret) {
		p9_call_text(&m, name, strlen(name));
		p9_call_u(&m, WIRE_P9_DIR | 0750, 4);
		p9_call_u(&m, WIRE_P9_OREAD, 1);
		ret = p9_call_run(&m, false);
		p9_call_end(&m);
	}
	p9_clunk(c, fid);
	return ret;
}

/* Tremove drops the fid whatever it answers. */
int p9_rmdir(struct p9 *c, const char *path)
{
	uint32_t fid;
	int ret = walk(c, path, &fid);

	return ret ? ret : call_fid(c, WIRE_P9_TREMOVE, fid);
}

int p9_store(struct p9 *c, const char *path, int flags, const void *data, size_t bytes)
{
	const char *at = data;
	uint32_t fid;
	int ret = p9_open(c, path, flags, &fid, NULL);

	if (ret)
		return ret;
	do {
		ssize_t n = p9_write(c, fid, at, bytes, getpid());

		if (n < 0 || (n == 0 && bytes)) {
			ret = n < 0 ? (int)n : -EIO;
			break;
		}
		at += n;
		bytes -= (size_t)n;
	} while (bytes);
	p9_clunk(c, fid);
	return ret;
}
