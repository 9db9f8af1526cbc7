/* SPDX-License-Identifier: MIT */
/* output.c -- a file that is written whole or not at all. */
#include "base/output.h"
#include "base/diag.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER (1 << 20)

/* Follows a link, so that the file it names is replaced and not the link. */
static char *settled(const char *path)
{
	char *real = realpath(path, NULL);

	return real ? real : strdup(path);
}

/*
 * Incomplete files, which a signal handler removes. A node stays in the list for ever and is used again, so that the
 * handler can walk it at any moment: the name is there before `active` is set, and goes after it is cleared.
 */
struct part {
	struct part *next;
	char *volatile name; /* NULL: it has none yet */
	volatile sig_atomic_t active;
};

static struct part *volatile parts;
static pthread_mutex_t parts_lock = PTHREAD_MUTEX_INITIALIZER;

bool output_pending(void)
{
	for (struct part *p = parts; p; p = p->next)
		if (p->active)
			return true;
	return false;
}

void output_abandon(void)
{
	for (struct part *p = parts; p; p = p->next)
		if (p->active && p->name)
			unlink(p->name);
}

static void on_end(int sig)
{
	output_abandon();
	signal(sig, SIG_DFL);
	raise(sig);
}

/* Only where the signal has no other handler and is not ignored (nohup). */
static void catch_signals(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sigaction now, ours = {.sa_handler = on_end};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (!sigaction(ends[i], NULL, &now) && now.sa_handler == SIG_DFL)
			sigaction(ends[i], &ours, NULL);
}

/* NULL: no memory. */
static struct part *remember_part(char *name)
{
	struct part *p;

	pthread_mutex_lock(&parts_lock);
	for (p = parts; p && p->active; p = p->next)
		;
	if (!p && (p = calloc(1, sizeof(*p)))) {
		p->next = parts;
		parts = p;
	}
	if (p) {
		p->name = name;
		p->active = 1;
		catch_signals();
	}
	pthread_mutex_unlock(&parts_lock);
	return p;
}

static void forget_part(struct output *o)
{
	if (o->listed)
		o->listed->active = 0;
	o->listed = NULL;
}

/* PATH.RANDOM.part: an unpredictable name. */
static char *part_name(const char *path)
{
	uint64_t dice = 0;
	char *name;

	if (getrandom(&dice, sizeof(dice), 0) != sizeof(dice))
		return NULL;
	return asprintf(&name, "%s.%016" PRIx64 ".part", path, dice) < 0 ? NULL : name;
}

/* A file without a name in the folder of `path`: it vanishes if the program is killed. Named through /proc. */
static int open_nameless(const char *path, mode_t mode)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash ? strndup(path, slash > path ? (size_t)(slash - path) : 1) : strdup(".");
	int fd = dir && !access("/proc/self/fd", X_OK)
			 ? open(dir, O_RDWR | O_TMPFILE | O_CLOEXEC, mode)
			 : -1;

	free(dir);
	return fd;
}

static int open_part(struct output *o, mode_t mode)
{
	int fd = open_nameless(o->path, mode);

	o->part = part_name(o->path);
	o->nameless = fd >= 0;
	if (fd < 0 && o->part)
		fd = open(o->part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (fd >= 0 && o->part)
		o->listed = remember_part(o->nameless ? NULL : o->part);
	if (o->listed)
		return fd;
	if (fd >= 0 && !o->nameless)
		unlink(o->part);
	if (fd >= 0)
		close(fd);
	free(o->part);
	o->part = NULL;
	return -1;
}

static int open_file(struct output *o)
{
	struct stat st = {.st_mode = S_IFREG | 0666};
	bool there = !stat(o->path, &st);
	int fd = -1;

	/* Anything but an ordinary file is written to, not replaced. */
	if (!S_ISREG(st.st_mode))
		o->fresh = false;
	if (there && o->fresh) {
		errno = EEXIST;
		return -1;
	}
	if (there && S_ISREG(st.st_mode) && access(o->path, W_OK))
		return -1;
	if (S_ISREG(st.st_mode))
		fd = open_part(o, st.st_mode & 0777);
	if (fd >= 0 && there)
		(void)!fchmod(fd, st.st_mode & 0777);
	/* A pipe cannot be opened for both. */
	return fd >= 0 ? fd
		       : open(o->path,
			      (S_ISREG(st.st_mode) ? O_RDWR : O_WRONLY) | O_CREAT | O_TRUNC |
				      O_CLOEXEC | (o->fresh ? O_EXCL : 0),
			      0666);
}

static void release(struct output *o)
{
	forget_part(o);
	free(o->path);
	free(o->part);
	*o = (struct output){0};
}

int output_open(struct output *o, const char *path, bool fresh)
{
	int fd = -1, err;

	*o = (struct output){.fresh = fresh};
	if (!strcmp(path, "-")) {
		o->f = stdout;
		return 0;
	}
	o->path = settled(path);
	if (o->path)
		fd = open_file(o);
	if (fd >= 0)
		o->f = fdopen(fd, "wb");
	if (!o->f) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		if (o->part && !o->nameless)
			unlink(o->part);
		release(o);
		return err;
	}
	setvbuf(o->f, NULL, _IOFBF, BUFFER);
	return 0;
}

/* A name for a file that has none. -EEXIST if there is one of that name. */
static int give_name(int fd, const char *name)
{
	char self[32];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW) ? -errno : 0;
}

/* The part takes the file's place, unless a file that must not be replaced has appeared meanwhile. */
static int settle(struct output *o, int fd)
{
	int err = o->nameless ? give_name(fd, o->path) : 0;

	if (o->nameless && (!err || o->fresh || err != -EEXIST))
		return err;
	/* Only rename() replaces a file, and it needs a source name: the part has one for a moment. */
	if (o->nameless && (err = give_name(fd, o->part)))
		return err;
	err = renameat2(AT_FDCWD, o->part, AT_FDCWD, o->path, o->fresh ? RENAME_NOREPLACE : 0);
	if (err && o->fresh && errno == EINVAL) /* a file system without that guarantee */
		err = rename(o->part, o->path);
	err = err ? -errno : 0;
	if (err)
		unlink(o->part);
	return err;
}

int output_place(struct output *o)
{
	int err = fflush(o->f) ? -errno : o->part ? settle(o, fileno(o->f)) : 0;

	if (!err) {
		forget_part(o);
		free(o->part);
		o->part = NULL;
	}
	return err;
}

/* stdio forgets why an earlier write failed: writing one more byte to the file, which is lost anyway, shows the reason. */
static int why_not(FILE *f)
{
	clearerr(f);
	return fputc('\n', f) == EOF || fflush(f) ? -errno : -EIO;
}

int output_close(struct output *o, int err)
{
	int fd;

	if (!err && fflush(o->f))
		err = -errno;
	if (!err && ferror(o->f))
		err = why_not(o->f);
	if (o->f == stdout)
		return err;
	fd = dup(fileno(o->f)); /* a file without a name lives as long as it is open */
	if (fd < 0 && !err)
		err = -errno;
	if (fclose(o->f) && !err)
		err = -errno;
	if (!err && o->part)
		err = settle(o, fd);
	if (fd >= 0)
		close(fd);
	if (err && o->part && !o->nameless)
		unlink(o->part);
	else if (err && o->fresh && !o->part)
		unlink(o->path);
	release(o);
	return err;
}

int output_error(const char *path, int err)
{
	if (err && err != -EPIPE)
		diag_error("%s: cannot write: %s%s", path, strerror(-err),
			   err == -EEXIST ? "; --force overwrites it" : "");
	return err;
}

bool output_is_input(const char *path, const char *in)
{
	struct stat a, b;
	bool same =
		!stat(path, &a) && !stat(in, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;

	if (same)
		diag_error("%s: is the trace that is read", path);
	return same;
}

char *output_beside(const char *in, const char *suffix)
{
	bool stream = !strcmp(in, "-") || !strncmp(in, "/dev/", 5);
	const char *slash = strrchr(in, '/'), *name = slash ? slash + 1 : in;
	const char *dot = strrchr(name, '.');
	int stem = (int)(dot && dot > name ? (size_t)(dot - in) : strlen(in));
	char *out;

	if (stream)
		return asprintf(&out, "trace.%s", suffix) < 0 ? NULL : out;
	return asprintf(&out, "%.*s.%s", stem, in, suffix) < 0 ? NULL : out;
}
