/* SPDX-License-Identifier: MIT */
/* mount_files.c -- what a mount answers: FUSE on one side, 9P on the other. */
#include "capture/mount_files.h"
#include "capture/mount_closes.h"
#include "capture/p9.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <fuse3/fuse_lowlevel.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * What makes trace-cmd and shells work on it:
 * - direct_io: files have size 0, so nothing may be cached or cut.
 * - O_TRUNC comes with the open: `>` means something of its own on `trace` and the filter files.
 * - O_NONBLOCK is looked at in every read: it may be set later with fcntl().
 * - A read that waits gives up when its caller is killed: libfuse's intr, and a handler of SIGUSR1 that does nothing.
 * - poll() is answered by a request that the target answers when there is something to read.
 * - What is written takes effect before close() returns, though the kernel reports the last close later, and beside other
 *   requests: FLUSH, which close() waits for, closes the target's file, and who still writes opens it again.
 * - For the same reason what is refused because a file is open is tried again for a moment (mount_closes.h).
 */

struct open_file {
	uint32_t fid;
	bool stream;
	bool shut;    /* by FLUSH: fid is no longer open */
	bool written; /* since it was opened */
	int flags;    /* to open it again */
	char *path;
	pthread_mutex_t io; /* fid, shut and written, of a file that is no stream */
	pthread_mutex_t lock;
	struct fuse_pollhandle *poll; /* to be notified; NULL: nobody waits */
	bool asked;		      /* the target will answer */
	bool closed; /* nobody has it open; the answer that is still out frees it */
	struct mount_close close;
};

static struct p9 *mount_p9(void)
{
	return fuse_get_context()->private_data;
}

bool mount_interrupted(void)
{
	return fuse_interrupted() ||
	       fuse_session_exited(fuse_get_session(fuse_get_context()->fuse));
}

/* A directory that somebody still has open may be gone (an instance), and then has no path: NULL. */
static const char *path_of(const char *path)
{
	return path && *path == '/' ? path + 1 : path;
}

static void fill_stat(struct stat *out, const struct p9_stat *st)
{
	memset(out, 0, sizeof(*out));
	out->st_mode = st->mode;
	out->st_nlink = st->is_dir ? 2 : 1;
	out->st_ino = st->id;
	out->st_uid = getuid();
	out->st_gid = getgid();
	out->st_blksize = 4096;
}

static struct open_file *file_of(struct fuse_file_info *fi)
{
	return (struct open_file *)(uintptr_t)fi->fh;
}

static int mount_getattr(const char *path, struct stat *out, struct fuse_file_info *fi)
{
	struct p9_stat st;
	int ret = -ENOENT;

	if (path || fi)
		ret = p9_stat(mount_p9(), path ? path_of(path) : file_of(fi)->path, &st);
	if (!ret)
		fill_stat(out, &st);
	return ret;
}

struct dir_listing {
	void *buf;
	fuse_fill_dir_t fill;
};

static int list_entry(void *arg, const char *name, const struct p9_stat *st)
{
	struct dir_listing *l = arg;
	struct stat s;

	fill_stat(&s, st);
	return l->fill(l->buf, name, &s, 0, 0) ? -ENOMEM : 0;
}

static int mount_readdir(const char *path, void *buf, fuse_fill_dir_t fill, off_t offset,
			 struct fuse_file_info *fi, enum fuse_readdir_flags flags)
{
	struct dir_listing l = {buf, fill};

	(void)path;
	(void)offset;
	(void)flags;
	fill(buf, ".", NULL, 0, 0);
	fill(buf, "..", NULL, 0, 0);
	return p9_list(mount_p9(), (const char *)(uintptr_t)fi->fh, list_entry, &l);
}

static int mount_opendir(const char *path, struct fuse_file_info *fi)
{
	char *copy = strdup(path_of(path));

	fi->fh = (uintptr_t)copy;
	return copy ? 0 : -ENOMEM;
}

static int mount_releasedir(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	free((char *)(uintptr_t)fi->fh);
	return 0;
}

static void file_free(struct open_file *f)
{
	pthread_mutex_destroy(&f->lock);
	pthread_mutex_destroy(&f->io);
	free(f->path);
	free(f);
}

/* For how long the kernel may know a name without asking for it. It rounds up, to the ticks of its clock. */
#define NAMES_MS  200
#define FORGET_MS 250

/* Folders may be gone now: a look for one of them has to find none. */
static void forget_names(const struct open_file *f)
{
	static const char dynamic[] = "_events";
	size_t n = strlen(f->path), tail = sizeof(dynamic) - 1;

	if (n > tail && !strcmp(f->path + n - tail, dynamic))
		nanosleep(&(struct timespec){.tv_nsec = FORGET_MS * 1000000}, NULL);
}

static int mount_open(const char *path, struct fuse_file_info *fi)
{
	struct open_file *f = calloc(1, sizeof(*f));
	struct mount_patience p;
	struct p9_stat st;
	int ret;

	if (!f)
		return -ENOMEM;
	pthread_mutex_init(&f->lock, NULL);
	pthread_mutex_init(&f->io, NULL);
	f->flags = fi->flags & O_ACCMODE;
	f->path = strdup(path_of(path));
	if (!f->path) {
		file_free(f);
		return -ENOMEM;
	}
	mount_patience_start(&p);
	do
		ret = p9_open(mount_p9(), f->path, f->flags | (fi->flags & O_TRUNC), &f->fid, &st);
	while (mount_refused_again(ret, &p, mount_interrupted));
	if (ret) {
		file_free(f);
		return ret;
	}
	if (fi->flags & O_TRUNC)
		forget_names(f);
	f->stream = st.is_stream;
	fi->fh = (uintptr_t)f;
	fi->direct_io = 1;
	fi->nonseekable = st.is_stream;
	return 0;
}

/* The one place that frees it: when it is closed and no answer about it is out. */
static void file_put(struct open_file *f, bool closed, bool answered)
{
	bool last;

	pthread_mutex_lock(&f->lock);
	f->closed |= closed;
	f->asked &= !answered;
	if ((closed || answered) && f->poll) {
		fuse_notify_poll(f->poll);
		fuse_pollhandle_destroy(f->poll);
		f->poll = NULL;
	}
	last = f->closed && !f->asked;
	pthread_mutex_unlock(&f->lock);
	if (last)
		file_free(f);
}

static int mount_flush(const char *path, struct fuse_file_info *fi)
{
	struct open_file *f = file_of(fi);

	(void)path;
	pthread_mutex_lock(&f->io);
	if (f->written && !f->stream) {
		p9_clunk(mount_p9(), f->fid);
		f->shut = true;
		f->written = false;
	}
	pthread_mutex_unlock(&f->io);
	mount_close_told(&f->close);
	return 0;
}

/* The caller holds f->io. */
static int file_reopen(struct open_file *f)
{
	struct p9_stat st;
	int ret = f->shut ? p9_open(mount_p9(), f->path, f->flags, &f->fid, &st) : 0;

	f->shut &= ret != 0;
	return ret;
}

static int mount_release(const char *path, struct fuse_file_info *fi)
{
	struct open_file *f = file_of(fi);

	(void)path;
	if (!f->shut)
		p9_let_go(mount_p9(), f->fid);
	mount_close_done(&f->close);
	file_put(f, true, false);
	return 0;
}

/* One message holds less than FUSE may ask for; a short answer would look like the end of the file. */
static int read_whole(struct open_file *f, char *buf, size_t size, off_t offset, bool nonblock)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = p9_read(mount_p9(), f->fid, buf + done, size - done,
				    (uint64_t)offset + done, nonblock);

		if (n < 0)
			return done ? (int)done : (int)n;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (int)done;
}

static int mount_read(const char *path, char *buf, size_t size, off_t offset,
		      struct fuse_file_info *fi)
{
	struct open_file *f = file_of(fi);
	bool nonblock = fi->flags & O_NONBLOCK;
	int ret;

	(void)path;
	mount_close_taken(&f->close);
	if (f->stream)
		return (int)p9_read(mount_p9(), f->fid, buf, size, 0, nonblock);
	pthread_mutex_lock(&f->io);
	ret = file_reopen(f);
	if (!ret)
		ret = read_whole(f, buf, size, offset, nonblock);
	pthread_mutex_unlock(&f->io);
	return ret;
}

static int mount_write(const char *path, const char *buf, size_t size, off_t offset,
		       struct fuse_file_info *fi)
{
	struct open_file *f = file_of(fi);
	struct mount_patience p;
	int ret;

	(void)path;
	(void)offset;
	mount_close_taken(&f->close);
	pthread_mutex_lock(&f->io);
	mount_patience_start(&p);
	do {
		ret = file_reopen(f);
		if (!ret)
			ret = (int)p9_write(mount_p9(), f->fid, buf, size, fuse_get_context()->pid);
	} while (mount_refused_again(ret, &p, mount_interrupted));
	f->written = true;
	pthread_mutex_unlock(&f->io);
	if (ret > 0)
		forget_names(f);
	return ret;
}

static void poll_ready(void *arg)
{
	file_put(arg, false, true);
}

static int mount_poll(const char *path, struct fuse_file_info *fi, struct fuse_pollhandle *ph,
		      unsigned int *events)
{
	struct open_file *f = file_of(fi);
	struct p9 *c = mount_p9();
	int ready = f->stream ? p9_readable(c, f->fid) : 1;
	bool ask = false;

	(void)path;
	*events = POLLOUT;
	if (ready < 0)
		ready = 1; /* a read will say what is wrong */
	if (ready)
		*events |= POLLIN;
	if (!ph)
		return 0;
	pthread_mutex_lock(&f->lock);
	if (f->poll)
		fuse_pollhandle_destroy(f->poll);
	f->poll = NULL;
	if (ready) {
		fuse_pollhandle_destroy(ph);
	} else {
		f->poll = ph;
		ask = !f->asked;
		f->asked = true;
	}
	pthread_mutex_unlock(&f->lock);
	if (ask && p9_notify(c, f->fid, poll_ready, f))
		poll_ready(f);
	return 0;
}

static int mount_mkdir(const char *path, mode_t mode)
{
	(void)mode;
	return p9_mkdir(mount_p9(), path_of(path));
}

static int mount_rmdir(const char *path)
{
	struct mount_patience p;
	int ret;

	mount_patience_start(&p);
	do
		ret = p9_rmdir(mount_p9(), path_of(path));
	while (mount_refused_again(ret, &p, mount_interrupted));
	return ret;
}

static int mount_truncate(const char *path, off_t size, struct fuse_file_info *fi)
{
	(void)path;
	(void)size;
	(void)fi;
	return 0; /* files have no length */
}

static int mount_create(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	(void)path;
	(void)mode;
	(void)fi;
	return -EACCES;
}

static int mount_mknod(const char *path, mode_t mode, dev_t dev)
{
	(void)path;
	(void)mode;
	(void)dev;
	return -EACCES;
}

static int mount_unlink(const char *path)
{
	(void)path;
	return -EPERM;
}

static int mount_rename(const char *from, const char *to, unsigned int flags)
{
	(void)from;
	(void)to;
	(void)flags;
	return -EPERM;
}

static int mount_chmod(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	(void)path;
	(void)mode;
	(void)fi;
	return 0;
}

static int mount_chown(const char *path, uid_t uid, gid_t gid, struct fuse_file_info *fi)
{
	(void)path;
	(void)uid;
	(void)gid;
	(void)fi;
	return 0;
}

static int mount_utimens(const char *path, const struct timespec tv[2], struct fuse_file_info *fi)
{
	(void)path;
	(void)tv;
	(void)fi;
	return 0;
}

static int mount_ioctl(const char *path, unsigned int cmd, void *arg, struct fuse_file_info *fi,
		       unsigned int flags, void *data)
{
	(void)path;
	(void)cmd;
	(void)arg;
	(void)fi;
	(void)flags;
	(void)data;
	return -ENOTTY;
}

static void *mount_init(struct fuse_conn_info *conn, struct fuse_config *cfg)
{
	conn->want |= conn->capable & FUSE_CAP_ATOMIC_O_TRUNC;
	cfg->intr = 1;
	cfg->intr_signal = SIGUSR1;
	cfg->direct_io = 1;
	/* Else the word of a last close waits for the rmdir that waits for it. */
	cfg->nullpath_ok = 1;
	cfg->use_ino = 1;
	cfg->entry_timeout = cfg->attr_timeout = NAMES_MS / 1000.0;
	cfg->negative_timeout = 0;
	return fuse_get_context()->private_data;
}

const struct fuse_operations mount_operations = {
	.init = mount_init,
	.getattr = mount_getattr,
	.opendir = mount_opendir,
	.readdir = mount_readdir,
	.releasedir = mount_releasedir,
	.open = mount_open,
	.create = mount_create,
	.read = mount_read,
	.write = mount_write,
	.flush = mount_flush,
	.release = mount_release,
	.poll = mount_poll,
	.mkdir = mount_mkdir,
	.rmdir = mount_rmdir,
	.mknod = mount_mknod,
	.unlink = mount_unlink,
	.rename = mount_rename,
	.truncate = mount_truncate,
	.chmod = mount_chmod,
	.chown = mount_chown,
	.utimens = mount_utimens,
	.ioctl = mount_ioctl,
};
