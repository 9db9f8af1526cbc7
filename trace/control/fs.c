/* SPDX-License-Identifier: MIT */
/* fs.c -- handles: open, read in pieces, write, close, under the tree's lock. */
#include "control/control.h"
#include "control/str.h"
#include "control/tree.h"

const struct ctl_file_ops *fathom_fs_ops(const struct fathom_node *file)
{
	return file->entry->ops ? file->entry->ops : fathom_core.config.dynamic->files;
}

static const struct ctl_file_ops *fs_ops(const struct fathom_file *f)
{
	return fathom_fs_ops(&f->node);
}

static int fs_readable(const struct fathom_file *f)
{
	return (f->flags & FATHOM_O_ACCMODE) != FATHOM_O_WRONLY;
}

static int fs_writable(const struct fathom_file *f)
{
	return (f->flags & FATHOM_O_ACCMODE) != FATHOM_O_RDONLY;
}

/* Its event went while it was open. */
static int fs_gone(const struct fathom_file *f)
{
	return fathom_ctl_alive(&f->node) ? -FATHOM_ENODEV : 0;
}

int fathom_fs_open(struct fathom_file *f, const struct fathom_node *node, uint32_t flags)
{
	int err;

	__builtin_memset(f, 0, sizeof(*f));
	f->node = *node;
	f->flags = flags;
	if (!node->entry)
		return -FATHOM_EISDIR;
	fathom_lock();
	err = fathom_ctl_ready();
	if (!err)
		err = fathom_ctl_alive(node);
	if (!err && fs_ops(f)->open)
		err = fs_ops(f)->open(f);
	if (!err) {
		f->open = 1;
		fathom_ctl_instance(node)->open_files++;
	}
	fathom_unlock();
	return err;
}

void fathom_fs_close(struct fathom_file *f)
{
	if (!f->open)
		return;
	fathom_lock();
	if (fs_ops(f)->close && !fs_gone(f))
		fs_ops(f)->close(f);
	fathom_ctl_instance(&f->node)->open_files--;
	f->open = 0;
	fathom_unlock();
}

static void fs_rewind(struct fathom_file *f)
{
	f->piece = 0;
	f->piece_skip = 0;
	f->pos = 0;
	f->eof = 0;
}

/*
 * Take up to `bytes` from the pieces at the handle's place; `buf` NULL skips them. A piece is made again for each part
 * of it that is read, so a handle needs no buffer.
 */
static int fs_pieces(struct fathom_file *f, uint8_t *buf, size_t bytes)
{
	size_t done = 0;

	while (done < bytes && !f->eof) {
		struct fathom_text t;
		size_t n = 0;
		int more;

		fathom_ctl_scratch(&t);
		more = fs_ops(f)->show(f, &t);
		if (more < 0)
			return done ? (int)done : more;
		if (t.len > f->piece_skip)
			n = t.len - f->piece_skip;
		if (n > bytes - done) {
			n = bytes - done;
			if (buf)
				__builtin_memcpy(buf + done, t.buf + f->piece_skip, n);
			f->piece_skip += (uint32_t)n;
		} else {
			if (buf)
				__builtin_memcpy(buf + done, t.buf + f->piece_skip, n);
			f->piece++;
			f->piece_skip = 0;
			f->eof = !more;
		}
		done += n;
		f->pos += n;
	}
	return (int)done;
}

static int fs_pieces_at(struct fathom_file *f, void *buf, size_t bytes, uint64_t offset)
{
	if (offset < f->pos)
		fs_rewind(f);
	while (f->pos < offset && !f->eof) {
		uint64_t skip = offset - f->pos;
		int n = fs_pieces(f, 0, skip > 0x10000 ? 0x10000 : (size_t)skip);

		if (n < 0)
			return n;
	}
	return fs_pieces(f, buf, bytes);
}

int fathom_fs_pread(struct fathom_file *f, void *buf, size_t bytes, uint64_t offset)
{
	const struct ctl_file_ops *ops = fs_ops(f);
	int ret;

	if (!f->open || !fs_readable(f))
		return -FATHOM_EBADF;
	if (bytes > 0x100000)
		bytes = 0x100000;
	fathom_lock();
	ret = fs_gone(f);
	if (!ret && ops->read)
		ret = ops->read(f, buf, bytes);
	else if (!ret)
		ret = ops->show ? fs_pieces_at(f, buf, bytes, offset) : -FATHOM_EINVAL;
	fathom_unlock();
	return ret;
}

int fathom_fs_read(struct fathom_file *f, void *buf, size_t bytes)
{
	return fathom_fs_pread(f, buf, bytes, f->pos);
}

/* Linux makes a string of what is written: a NUL, which C programs like to write too, ends it and counts as written. */
static int fs_put(struct fathom_file *f, const char *buf, size_t bytes)
{
	const struct ctl_file_ops *ops = fs_ops(f);
	size_t n = bytes;
	int ret;

	if (!ops->write)
		return -FATHOM_EINVAL;
	if (!ops->stream && !ops->words)
		n = ctl_find(buf, bytes, '\0');
	ret = ops->write(f, buf, n);
	return ret >= 0 && (size_t)ret == n ? (int)bytes : ret;
}

int fathom_fs_write(struct fathom_file *f, const void *buf, size_t bytes)
{
	int ret;

	if (!f->open || !fs_writable(f))
		return -FATHOM_EBADF;
	if (bytes > 0x100000)
		bytes = 0x100000;
	fathom_lock();
	ret = fs_gone(f);
	if (!ret)
		ret = fs_put(f, buf, bytes);
	fathom_unlock();
	return ret;
}

int fathom_fs_poll(struct fathom_file *f)
{
	int ret = FATHOM_POLL_IN | FATHOM_POLL_OUT;

	if (!f->open)
		return 0;
	fathom_lock();
	if (fs_ops(f)->poll && !fs_gone(f))
		ret = fs_ops(f)->poll(f);
	fathom_unlock();
	return ret;
}

/* The pieces of fathom_set() and fathom_get(): a handle on the stack. */
int fathom_set(const char *path, const char *value)
{
	struct fathom_node node;
	struct fathom_file f;
	size_t n = ctl_len(value), done = 0;
	int ret = fathom_fs_lookup(path, &node);

	if (!ret)
		ret = fathom_fs_open(&f, &node, FATHOM_O_WRONLY | FATHOM_O_TRUNC);
	if (ret)
		return ret;
	do {
		ret = fathom_fs_write(&f, value + done, n - done);
		if (ret > 0)
			done += (size_t)ret;
	} while (ret > 0 && done < n);
	fathom_fs_close(&f);
	return ret < 0 ? ret : 0;
}

int fathom_get(const char *path, char *buf, size_t bytes)
{
	struct fathom_node node;
	struct fathom_file f;
	size_t done = 0;
	int ret;

	if (!bytes)
		return -FATHOM_EINVAL;
	ret = fathom_fs_lookup(path, &node);
	if (!ret)
		ret = fathom_fs_open(&f, &node, FATHOM_O_RDONLY);
	if (ret)
		return ret;
	do {
		ret = fathom_fs_read(&f, buf + done, bytes - 1 - done);
		if (ret > 0)
			done += (size_t)ret;
	} while (ret > 0 && done < bytes - 1);
	fathom_fs_close(&f);
	buf[done] = '\0';
	return ret < 0 && !done ? ret : (int)done;
}
