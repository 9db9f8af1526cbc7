/* SPDX-License-Identifier: MIT */
/* mount.c -- fathom mount */
#include "cmd/cmd.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/diag.h"
#include "capture/mount.h"

static const char mount_help[] =
	"usage: fathom mount [-f] [-t] TARGET DIR\n"
	"       fathom mount -u DIR\n"
	"\n"
	"Mount the control tree of a traced kernel or process on DIR: Linux's tracefs, file by "
	"file.\n"
	"\n"
	"TARGET  a pid (a process with the user port), unix:PATH or a socket's path (QEMU's "
	"chardev),\n"
	"        tcp:HOST:PORT, or a serial device, /dev/ttyUSB0[:BAUD]\n"
	"\n"
	"  -f, --foreground  stay in the foreground\n"
	"  -t, --tracefs     mount the host's tracefs below it first (root): unmodified trace-cmd "
	"takes\n"
	"                    the first tracefs of /proc/mounts, and then finds this one\n"
	"  -u, --unmount     unmount DIR\n"
	"  -d, --debug       log every request\n"
	"  -h, --help\n";

/* Both layers of --tracefs. */
static int unmount(const char *dir)
{
	char *const argv[] = {"fusermount3", "-u", "-z", (char *)dir, NULL};
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		execvp(argv[0], argv);
		execvp("fusermount", argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status)) {
		diag_error("%s: cannot unmount", dir);
		return EXIT_FAIL;
	}
	return EXIT_OK;
}

/* The parent waits until the tree answers on DIR, so that a script can go on using it. */
static int wait_mounted(pid_t child, const char *dir, dev_t before)
{
	for (int i = 0; i < 500; i++) {
		struct stat st;
		int status;

		if (waitpid(child, &status, WNOHANG) == child)
			return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAIL;
		if (!stat(dir, &st) && st.st_dev != before) {
			char probe[4096];

			if ((size_t)snprintf(probe, sizeof(probe), "%s/tracing_on", dir) <
				    sizeof(probe) &&
			    !access(probe, F_OK) && !stat(dir, &st) && st.st_dev != before)
				return EXIT_OK;
		}
		usleep(20000);
	}
	diag_error("%s: the mount did not come up", dir);
	kill(child, SIGTERM);
	return EXIT_FAIL;
}

static int serve(const char *target, const char *dir, const struct mount_options *o)
{
	struct p9 *c = p9_connect(target);

	if (!c)
		return EXIT_FAIL;
	return mount_serve(c, dir, o) ? EXIT_FAIL : EXIT_OK;
}

int cmd_mount(int argc, char **argv)
{
	static const struct option options[] = {
		{"foreground", no_argument, NULL, 'f'}, {"tracefs", no_argument, NULL, 't'},
		{"unmount", no_argument, NULL, 'u'},	{"debug", no_argument, NULL, 'd'},
		{"help", no_argument, NULL, 'h'},	{NULL, 0, NULL, 0}};
	struct mount_options o = {.name = "fathom"};
	char name[128], *dir;
	bool down = false;
	struct stat st;
	pid_t child;
	int opt;

	while ((opt = getopt_long(argc, argv, "ftudh", options, NULL)) != -1) {
		switch (opt) {
		case 'f': o.foreground = true; break;
		case 't': o.tracefs = true; break;
		case 'u': down = true; break;
		case 'd': o.debug = o.foreground = true; break;
		case 'h': fputs(mount_help, stdout); return EXIT_OK;
		default: fputs(mount_help, stderr); return EXIT_USAGE;
		}
	}
	if (argc - optind != (down ? 1 : 2)) {
		fputs(mount_help, stderr);
		return EXIT_USAGE;
	}
	if (down)
		return unmount(argv[optind]);
	dir = realpath(argv[optind + 1], NULL);
	if (!dir || stat(dir, &st) || !S_ISDIR(st.st_mode)) {
		diag_error("%s: not a directory", argv[optind + 1]);
		free(dir);
		return EXIT_FAIL;
	}
	snprintf(name, sizeof(name), "fathom:%s", argv[optind]);
	o.name = name;
	if (o.foreground) {
		opt = serve(argv[optind], dir, &o);
		free(dir);
		return opt;
	}
	child = fork();
	if (child == 0) {
		setsid();
		if (!freopen("/dev/null", "r", stdin) || !freopen("/dev/null", "w", stdout))
			_exit(EXIT_FAIL);
		_exit(serve(argv[optind], dir, &o));
	}
	opt = child < 0 ? EXIT_FAIL : wait_mounted(child, dir, st.st_dev);
	free(dir);
	return opt;
}
