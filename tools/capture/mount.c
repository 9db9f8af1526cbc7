/* SPDX-License-Identifier: MIT */
/* mount.c -- serving a mount until it is unmounted or the target goes away. */
#include "capture/mount.h"
#include "capture/mount_files.h"

#include <errno.h>
#include <fuse3/fuse_lowlevel.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>
#include "base/diag.h"

static void ignore_signal(int sig)
{
	(void)sig;
}

/* libfuse would restart the interrupted call; ours must see that it was interrupted. */
static void install_interrupt(void)
{
	struct sigaction sa = {.sa_handler = ignore_signal};

	sigaction(SIGUSR1, &sa, NULL);
}

/* Ends the loop when the target is gone, so that no mount without a target is left. */
struct watch {
	struct p9 *c;
	struct fuse *fuse;
	const char *dir;
	bool stop;
};

#define WATCH_US      200000
#define WATCH_LAST_US 5000000 /* the longest time a waiting thread takes to notice */

static void *watch_target(void *arg)
{
	struct watch *w = arg;

	while (!w->stop) {
		usleep(WATCH_US);
		if (!p9_is_dead(w->c) || w->stop)
			continue;
		/* A thread that waits for the target gets EIO, not the error of a mount that is gone. */
		for (int us = 0; p9_waiting(w->c) && us < WATCH_LAST_US; us += WATCH_US)
			usleep(WATCH_US);
		usleep(WATCH_US);
		diag_error("%s: the target is gone: unmounting", w->dir);
		fuse_exit(w->fuse);
		mount_end(w->dir);
		break;
	}
	return NULL;
}

static int run_loop(struct fuse *fuse, struct p9 *c, const char *dir)
{
	struct fuse_loop_config loop = {.clone_fd = 0, .max_idle_threads = 16};
	struct fuse_session *se = fuse_get_session(fuse);
	struct watch w = {c, fuse, dir, false};
	pthread_t thread;
	int ret;

	if (fuse_set_signal_handlers(se))
		return -1;
	install_interrupt();
	if (pthread_create(&thread, NULL, watch_target, &w))
		return -1;
	ret = fuse_loop_mt(fuse, &loop);
	w.stop = true;
	pthread_join(thread, NULL);
	fuse_remove_signal_handlers(se);
	return ret;
}

static struct fuse *make_fuse(struct p9 *c, const struct mount_options *o)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	char name[128], option[256];
	struct fuse *fuse;

	snprintf(name, sizeof(name), "fathom:%s", o->target);
	for (char *p = name; *p; p++)
		if (strchr(" ,\\", *p)) /* which options and /proc/mounts would misunderstand */
			*p = '_';
	snprintf(option, sizeof(option), "-ofsname=%s,subtype=tracefs", name);
	fuse_opt_add_arg(&args, "fathom");
	fuse_opt_add_arg(&args, option);
	if (o->debug)
		fuse_opt_add_arg(&args, "-d");
	fuse = fuse_new(&args, &mount_operations, sizeof(mount_operations), c);
	fuse_opt_free_args(&args);
	return fuse;
}

int mount_serve(struct p9 *c, const char *dir, const struct mount_options *o)
{
	struct fuse *fuse;
	int ret = -1;

	p9_stop_when(c, mount_interrupted);
	if (o->tracefs && mount(MOUNT_BELOW, dir, "tracefs", 0, NULL) && errno != EBUSY)
		diag_warn("%s: cannot mount the host's tracefs below it: %s; trace-cmd will not "
			  "find it",
			  dir, strerror(errno));
	fuse = make_fuse(c, o);
	if (!fuse) {
		diag_error("%s: libfuse refused", dir);
		p9_close(c);
		return -1;
	}
	if (fuse_mount(fuse, dir)) {
		diag_error("%s: cannot mount here; check that /dev/fuse exists and that you may "
			   "use it",
			   dir);
	} else {
		/* A process that reads our messages would otherwise wait for the daemon to end. */
		if (!o->foreground && !freopen("/dev/null", "w", stderr))
			diag_warn("%s: stderr stays open", dir);
		ret = run_loop(fuse, c, dir) ? -1 : 0;
		fuse_unmount(fuse);
	}
	fuse_destroy(fuse);
	if (o->tracefs)
		umount2(dir, MNT_DETACH);
	p9_close(c);
	return ret;
}
