/* SPDX-License-Identifier: MIT */
/* p9_file.c -- the 9P server's work on files: walk, open, read, write, stat, and the instances' directories. */
#include "control/p9_int.h"
#include "control/str.h"
#include "control/tree.h"

static uint32_t p9_stream(const struct fathom_node *node)
{
	return node->entry && fathom_fs_ops(node)->stream;
}

void fathom_p9_qid(struct p9_msg *m, const struct fathom_node *node)
{
	struct fathom_stat st = {0, 0};
	uint32_t type = 0;

	if (!node->entry)
		type = WIRE_P9_QID_DIR;
	else if (p9_stream(node))
		type = WIRE_P9_QID_STREAM;
	fathom_fs_stat(node, &st);
	p9_put(m, type, 1);
	p9_put(m, 0, 4);
	p9_put(m, st.id, 8);
}

/* Walk as far as the names lead; the new fid exists only if all of them did. */
int fathom_p9_walk(struct p9_msg *m)
{
	uint32_t fid = p9_number(&m->in, 4), newfid = p9_number(&m->in, 4);
	uint32_t names = p9_number(&m->in, 2), done = 0, at = m->len, len;
	struct fathom_p9_fid *f = fathom_p9_fid_find(m->s, fid), *g = f;
	struct fathom_node node;
	int ret = 0;

	if (m->in.bad || !f || f->is_open)
		return -FATHOM_EBADF;
	if (names > WIRE_P9_WALK_MAX || newfid == WIRE_P9_NOFID ||
	    (newfid != fid && fathom_p9_fid_find(m->s, newfid)))
		return -FATHOM_EINVAL;
	node = f->node;
	p9_put(m, 0, 2);
	while (done < names && !ret) {
		const char *name = p9_string(&m->in, &len);

		ret = m->in.bad ? -FATHOM_EINVAL : fathom_fs_walk(&node, name, len, &node);
		if (!ret) {
			fathom_p9_qid(m, &node);
			done++;
		}
	}
	if (ret && !done)
		return ret;
	wire_p9_put(m->s->out + at, done, 2);
	if (ret)
		return 0;
	if (newfid != fid)
		g = fathom_p9_fid_new(m->s, newfid);
	if (!g)
		return -FATHOM_ENFILE;
	g->node = node;
	return 0;
}

int fathom_p9_open(struct p9_msg *m)
{
	struct fathom_p9_fid *f = fathom_p9_fid_find(m->s, p9_number(&m->in, 4));
	uint32_t mode = p9_number(&m->in, 1), flags = mode & FATHOM_O_ACCMODE;
	int ret = 0;

	if (m->in.bad || !f || f->is_open)
		return -FATHOM_EBADF;
	if (flags == FATHOM_O_ACCMODE)
		return -FATHOM_EACCES; /* nothing is executable */
	if (mode & WIRE_P9_OTRUNC)
		flags |= FATHOM_O_TRUNC;
	if (f->node.entry)
		ret = fathom_fs_open(&f->file, &f->node, flags);
	else if (flags != FATHOM_O_RDONLY)
		ret = -FATHOM_EISDIR;
	if (ret)
		return ret;
	f->is_open = 1;
	f->dir_next = 0;
	f->dir_offset = 0;
	fathom_p9_qid(m, &f->node);
	p9_put(m, m->s->msize - WIRE_P9_WRITE_HEAD, 4);
	return 0;
}

int fathom_p9_create(struct p9_msg *m)
{
	struct fathom_p9_fid *f = fathom_p9_fid_find(m->s, p9_number(&m->in, 4));
	uint32_t len, perm;
	const char *name = p9_string(&m->in, &len);
	int ret;

	perm = p9_number(&m->in, 4);
	if (m->in.bad || !f || f->is_open)
		return -FATHOM_EBADF;
	if (!(perm & WIRE_P9_DIR))
		return -FATHOM_EACCES;
	ret = fathom_fs_mkdir(&f->node, name, len);
	if (!ret)
		ret = fathom_fs_walk(&f->node, name, len, &f->node);
	if (ret)
		return ret;
	f->is_open = 1;
	f->dir_next = 0;
	f->dir_offset = 0;
	fathom_p9_qid(m, &f->node);
	p9_put(m, 0, 4);
	return 0;
}

/* The fid is gone afterwards, whatever happened. */
int fathom_p9_remove(struct p9_msg *m)
{
	struct fathom_p9_fid *f = fathom_p9_fid_find(m->s, p9_number(&m->in, 4));
	int ret;

	if (m->in.bad || !f)
		return -FATHOM_EBADF;
	ret = fathom_fs_rmdir(&f->node);
	fathom_p9_fid_drop(m->s, f);
	return ret;
}

static int p9_stat_entry(struct p9_msg *m, const struct fathom_node *node, const char *name)
{
	struct fathom_stat st;
	uint32_t at = m->len, mode;
	int ret = fathom_fs_stat(node, &st);

	if (ret)
		return ret;
	mode = st.mode & 0777;
	if (!node->entry)
		mode |= WIRE_P9_DIR;
	else if (p9_stream(node))
		mode |= WIRE_P9_STREAM;
	p9_put(m, 0, 2); /* the size, filled in below */
	p9_put(m, 0, 2);
	p9_put(m, 0, 4);
	fathom_p9_qid(m, node);
	p9_put(m, mode, 4);
	p9_put(m, 0, 8); /* atime, mtime */
	p9_put(m, 0, 8); /* length: 0, as in tracefs */
	p9_put_text(m, name);
	p9_put_text(m, "root");
	p9_put_text(m, "root");
	p9_put_text(m, "root");
	wire_p9_put(m->s->out + at, m->len - at - 2, 2);
	return 0;
}

/* The name is not kept in a node, and the client that asks knows it: the root is "/", the rest what it walked. */
int fathom_p9_stat(struct p9_msg *m)
{
	struct fathom_p9_fid *f = fathom_p9_fid_find(m->s, p9_number(&m->in, 4));
	uint32_t at = m->len;
	int ret;

	if (m->in.bad || !f)
		return -FATHOM_EBADF;
	p9_put(m, 0, 2);
	ret = p9_stat_entry(m, &f->node, f->node.entry ? f->node.entry->name : "/");
	wire_p9_put(m->s->out + at, m->len - at - 2, 2);
	return ret;
}

/* Whole entries only; the client goes on where it stopped, or starts over at 0. */
static int p9_read_dir(struct p9_msg *m, struct fathom_p9_fid *f, uint64_t offset, uint32_t count)
{
	uint32_t at = m->len, start;
	struct fathom_dirent e;
	int ret = 0;

	if (!offset) {
		f->dir_next = 0;
		f->dir_offset = 0;
	} else if (offset != f->dir_offset) {
		return -FATHOM_EINVAL;
	}
	p9_put(m, 0, 4);
	start = m->len;
	for (;;) {
		uint32_t before = m->len;

		ret = fathom_fs_list(&f->node, f->dir_next, &e);
		if (ret != 1)
			break;
		if (FATHOM_P9_MSIZE - m->len < 160)
			break;
		ret = p9_stat_entry(m, &e.node, e.name);
		if (m->len - start > count) {
			m->len = before;
			break;
		}
		f->dir_next++;
	}
	if (ret < 0 && m->len == start)
		return ret;
	f->dir_offset += m->len - start;
	wire_p9_put(m->s->out + at, m->len - start, 4);
	return 0;
}

int fathom_p9_read_try(struct p9_msg *m, uint32_t fid, uint64_t offset, uint32_t count)
{
	struct fathom_p9_fid *f = fathom_p9_fid_find(m->s, fid);
	uint32_t room = m->s->msize - WIRE_P9_READ_HEAD;
	int ret;

	if (!f || !f->is_open)
		return -FATHOM_EBADF;
	if (count > room)
		count = room;
	if (!f->node.entry)
		return p9_read_dir(m, f, offset & ~(WIRE_P9_NOWAIT | WIRE_P9_POLL), count);
	if (offset & WIRE_P9_POLL) {
		if (!(fathom_fs_poll(&f->file) & FATHOM_POLL_IN))
			return -FATHOM_EAGAIN;
		p9_put(m, 0, 4);
		return 0;
	}
	offset &= ~WIRE_P9_NOWAIT;
	ret = fathom_fs_pread(&f->file, m->s->out + WIRE_P9_READ_HEAD, count, offset);
	if (ret < 0)
		return ret;
	p9_put(m, (uint32_t)ret, 4);
	m->len += (uint32_t)ret;
	return 0;
}

static int p9_wait(struct p9_msg *m, uint32_t fid, uint64_t offset, uint32_t count)
{
	for (uint32_t i = 0; i < FATHOM_P9_WAITS; i++) {
		struct fathom_p9_wait *w = &m->s->wait[i];

		if (w->used)
			continue;
		*w = (struct fathom_p9_wait){1, m->tag, fid, count, offset};
		m->s->waits++;
		return P9_LATER;
	}
	return -FATHOM_EAGAIN;
}

int fathom_p9_read(struct p9_msg *m)
{
	uint32_t fid = p9_number(&m->in, 4);
	uint64_t offset = p9_number64(&m->in);
	uint32_t count = p9_number(&m->in, 4);
	int ret;

	if (m->in.bad)
		return -FATHOM_EINVAL;
	ret = fathom_p9_read_try(m, fid, offset, count);
	if (ret == -FATHOM_EAGAIN && !(offset & WIRE_P9_NOWAIT))
		ret = p9_wait(m, fid, offset, count);
	return ret;
}

int fathom_p9_write(struct p9_msg *m)
{
	struct fathom_p9_fid *f = fathom_p9_fid_find(m->s, p9_number(&m->in, 4));
	uint64_t offset = p9_number64(&m->in);
	uint32_t count = p9_number(&m->in, 4);
	const uint8_t *data = p9_take(&m->in, count);
	int ret;

	if (m->in.bad)
		return -FATHOM_EINVAL;
	if (!f || !f->is_open || !f->node.entry)
		return -FATHOM_EBADF;
	f->file.pid = offset & WIRE_P9_PID ? (int32_t)(uint32_t)offset : 0;
	ret = fathom_fs_write(&f->file, data, count);
	if (ret < 0)
		return ret;
	p9_put(m, (uint32_t)ret, 4);
	return 0;
}
