/* SPDX-License-Identifier: MIT */
/* mount_run.c -- a command that takes a target for its machine: what trace-cmd asks the local kernel, answered for the target. */
#include "capture/mount.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/diag.h"

/* Clients take the first tracefs of /proc/mounts: unmount them all, the last one first. */
static int hide_tracefs(void)
{
	FILE *f = setmntent("/proc/self/mounts", "r");
	struct mntent *m;
	char last[4096] = "";

	while (f && (m = getmntent(f)))
		if (!strcmp(m->mnt_type, "tracefs"))
			snprintf(last, sizeof(last), "%s", m->mnt_dir);
	if (f)
		endmntent(f);
	if (!*last)
		return 0;
	if (umount2(last, MNT_DETACH)) {
		diag_error("%s: cannot be unmounted: %s", last, strerror(errno));
		return -1;
	}
	return 1;
}

static int enter_namespace(void)
{
	int more;

	if (unshare(CLONE_NEWNS)) {
		diag_error("no mount namespace: %s (this needs root)", strerror(errno));
		return -1;
	}
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)) {
		diag_error("/: mounts cannot be made private: %s%s", strerror(errno),
			   errno == EINVAL ? " (the root of a chroot must be a mount point)" : "");
		return -1;
	}
	do
		more = hide_tracefs();
	while (more > 0);
	return more;
}

/* Replace a file of this machine by the one at `from`. A missing one need not be hidden. */
static void cover(const char *from, const char *at)
{
	if (access(at, F_OK) || access(from, F_OK))
		return;
	if (mount(from, at, NULL, MS_BIND, NULL))
		diag_warn("%s is still this machine's: %s", at, strerror(errno));
}

static void cover_with_text(const char *text, const char *at)
{
	char path[] = "/tmp/fathom-run-XXXXXX";
	int fd = mkstemp(path);

	if (fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text))
		cover(path, at);
	if (fd >= 0) {
		close(fd);
		unlink(path);
	}
}

static void cover_with_file(const char *dir, const char *name, const char *at)
{
	char path[4096];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) < sizeof(path))
		cover(path, at);
}

static unsigned int count_cpus(const char *dir)
{
	char path[4096];
	unsigned int nr = 0, cpu;
	struct dirent *e;
	DIR *d = NULL;

	if ((size_t)snprintf(path, sizeof(path), "%s/per_cpu", dir) < sizeof(path))
		d = opendir(path);
	while (d && (e = readdir(d)))
		if (sscanf(e->d_name, "cpu%u", &cpu) == 1 && cpu >= nr)
			nr = cpu + 1;
	if (d)
		closedir(d);
	return nr;
}

static void disguise(const char *dir)
{
	unsigned nr = count_cpus(dir);
	char cpus[32];

	snprintf(cpus, sizeof(cpus), "0-%u\n", nr - 1);
	if (nr) /* else keep the host's: this target lists no CPUs */
		cover_with_text(cpus, "/sys/devices/system/cpu/possible");
	cover_with_text("1\n", "/proc/sys/kernel/ftrace_enabled");
	cover_with_file(dir, "kallsyms", "/proc/kallsyms");
	cover_with_file(dir, "stack_tracer_enabled", "/proc/sys/kernel/stack_tracer_enabled");
}

/*
 * trace-cmd's recorders splice pages into the file, which FUSE gives nothing for since Linux 6.5: they would only read what
 * the rings still hold at the end. `--nosplice` makes them read. NULL: the command is another.
 */
static char **without_splice(char *const *command)
{
	static const char *const recording[] = {"record", "stream", "profile"};
	static char nosplice[] = "--nosplice";
	const char *slash = strrchr(command[0], '/');
	size_t n = 0;
	char **own;

	while (command[n])
		n++;
	if (n < 2 || strcmp(slash ? slash + 1 : command[0], "trace-cmd"))
		return NULL;
	for (size_t i = 0; i < sizeof(recording) / sizeof(recording[0]); i++) {
		if (strcmp(command[1], recording[i]) || !(own = calloc(n + 2, sizeof(*own))))
			continue;
		own[0] = command[0];
		own[1] = command[1];
		own[2] = nosplice;
		memcpy(own + 3, command + 2, (n - 2) * sizeof(*own));
		return own;
	}
	return NULL;
}

/* The command gets the terminal's signals; this process waits for it. */
static int run(char *const *command)
{
	char **own = without_splice(command);
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		execvp(command[0], own ? own : command);
		diag_error("%s: %s", command[0], strerror(errno));
		_exit(127);
	}
	free(own);
	signal(SIGINT, SIG_IGN);
	if (pid < 0 || waitpid(pid, &status, 0) < 0) {
		diag_error("%s: %s", command[0], strerror(errno));
		return -1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int mount_run(const char *dir, const char *target, char *const *command)
{
	struct mount_options o = {.tracefs = true, .target = target};
	pid_t server;
	int ret;

	if (enter_namespace())
		return -1;
	server = mount_start(dir, &o);
	if (server < 0)
		return -1;
	disguise(dir);
	ret = run(command);
	umount2("/proc/kallsyms", MNT_DETACH); /* which keeps the mount busy */
	umount2("/proc/sys/kernel/stack_tracer_enabled", MNT_DETACH);
	mount_end(dir);
	waitpid(server, NULL, 0);
	return ret;
}
