/* SPDX-License-Identifier: MIT */
/* mount_start.c -- a mount's server as a process: started, waited for, ended. */
#include "capture/mount.h"

#include <errno.h>
#include <mntent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/diag.h"

#define START_MS 30000 /* connecting may take seconds on a serial line */
#define END_MS	 3000

/* What is mounted on a directory, on top of everything else there. */
enum what {
	NOTHING,
	OURS,
	BELOW, /* the tracefs that lies below ours */
	OTHER,
};

static enum what what_is_at(const char *dir)
{
	FILE *f = setmntent("/proc/self/mounts", "r");
	enum what what = NOTHING;
	struct mntent *m;

	while (f && (m = getmntent(f))) {
		if (strcmp(m->mnt_dir, dir) != 0)
			continue;
		if (!strcmp(m->mnt_type, "fuse.tracefs"))
			what = OURS;
		else
			what = strcmp(m->mnt_fsname, MOUNT_BELOW) ? OTHER : BELOW;
	}
	if (f)
		endmntent(f);
	return what;
}

static _Noreturn void server(const char *dir, const struct mount_options *o)
{
	struct p9 *c = p9_connect(o->target);

	if (!o->foreground) {
		setsid();
		if (!freopen("/dev/null", "r", stdin) || !freopen("/dev/null", "w", stdout))
			_exit(1);
	}
	_exit(!c || mount_serve(c, dir, o) ? 1 : 0);
}

pid_t mount_start(const char *dir, const struct mount_options *o)
{
	char probe[4096];
	pid_t child;

	if (what_is_at(dir) == OURS) {
		diag_error("%s: a control tree is mounted here already", dir);
		return -1;
	}
	child = fork();
	if (child == 0)
		server(dir, o);
	if (child < 0 ||
	    (size_t)snprintf(probe, sizeof(probe), "%s/tracing_on", dir) >= sizeof(probe)) {
		diag_error("%s: %s", dir, child < 0 ? strerror(errno) : "name too long");
		return -1;
	}
	for (int ms = 0; ms < START_MS; ms += 20) {
		if (waitpid(child, NULL, WNOHANG) == child)
			return -1; /* it has said why */
		if (what_is_at(dir) == OURS && !access(probe, F_OK))
			return child;
		poll(NULL, 0, 20);
	}
	diag_error("%s: the mount did not appear", dir);
	kill(child, SIGTERM);
	waitpid(child, NULL, 0);
	return -1;
}

/* The helper may unmount the user's own mounts. */
static int end_by_helper(const char *dir)
{
	char *const argv[] = {"fusermount3", "-u", "-z", (char *)dir, NULL};
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		execvp(argv[0], argv);
		execvp("fusermount", argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EPERM;
}

/* If it is in use, MNT_FORCE ends FUSE's connection, which wakes waiting readers. */
int mount_end(const char *dir)
{
	if (what_is_at(dir) != OURS)
		return -EINVAL;
	if (umount2(dir, 0) && umount2(dir, MNT_FORCE | MNT_DETACH)) {
		int err = errno == EPERM ? end_by_helper(dir) : -errno;

		if (err)
			return err;
	}
	/* The server unmounts what it mounted below. */
	for (int ms = 0; ms < END_MS && what_is_at(dir) == BELOW; ms += 20)
		poll(NULL, 0, 20);
	return 0;
}
