/* SPDX-License-Identifier: MIT */
/* mount.c -- fathom mount: the control tree of a target as a file system. */
#include "cmd/cmd.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/diag.h"
#include "capture/mount.h"

static const char mount_help[] =
	"usage: fathom mount [-f] [-t] TARGET DIR\n"
	"       fathom mount TARGET DIR COMMAND [ARGUMENT]...\n"
	"       fathom mount -u DIR\n"
	"\n"
	"Mount the control tree of a traced kernel or process on DIR: Linux's tracefs, file by "
	"file.\n"
	"With a COMMAND (root): only while it runs and only for it, in a mount namespace of its "
	"own\n"
	"where the number of CPUs and kallsyms are the target's too; for trace-cmd.\n"
	"\n"
	"TARGET  a pid (a process with the user port), unix:PATH or a socket's path (QEMU's "
	"chardev),\n"
	"        tcp:HOST:PORT, or a serial device, /dev/ttyUSB0[:BAUD]\n"
	"\n"
	"  -f, --foreground  stay in the foreground\n"
	"  -t, --tracefs     mount the host's tracefs below it first (root): unmodified trace-cmd "
	"takes\n"
	"                    the first tracefs of /proc/mounts, and then finds this one\n"
	"  -u, --unmount     unmount DIR; reads that wait on it end\n"
	"  -d, --debug       log every request\n"
	"  -h, --help\n";

struct mount_command {
	struct mount_options o;
	bool down;
	bool help;
};

static bool parse(int argc, char **argv, struct mount_command *m)
{
	static const struct option options[] = {
		{"foreground", no_argument, NULL, 'f'}, {"tracefs", no_argument, NULL, 't'},
		{"unmount", no_argument, NULL, 'u'},	{"debug", no_argument, NULL, 'd'},
		{"help", no_argument, NULL, 'h'},	{NULL, 0, NULL, 0}};
	int opt, args;

	while ((opt = getopt_long(argc, argv, "+ftudh", options, NULL)) != -1) {
		switch (opt) {
		case 'f': m->o.foreground = true; break;
		case 't': m->o.tracefs = true; break;
		case 'u': m->down = true; break;
		case 'd': m->o.debug = m->o.foreground = true; break;
		case 'h': m->help = true; return true;
		default: return false;
		}
	}
	args = argc - optind;
	return m->down ? args == 1 : args == 2 || (args > 2 && !m->o.foreground);
}

static int end(const char *dir)
{
	char *full = realpath(dir, NULL); /* fails on a mount whose server died */
	int err = mount_end(full ? full : dir);

	free(full);
	if (err == -EINVAL)
		diag_error("%s: no control tree is mounted here", dir);
	else if (err)
		diag_error("%s: cannot unmount: %s", dir, strerror(-err));
	return err ? EXIT_FAIL : EXIT_OK;
}

static int serve_here(const char *dir, const struct mount_options *o)
{
	struct p9 *c = p9_connect(o->target);

	return !c || mount_serve(c, dir, o) ? EXIT_FAIL : EXIT_OK;
}

int cmd_mount(int argc, char **argv)
{
	struct mount_command m = {.down = false};
	struct stat st;
	char *dir;
	int ret;

	if (!parse(argc, argv, &m)) {
		fputs(mount_help, stderr);
		return EXIT_USAGE;
	}
	argv += optind;
	if (m.help || m.down)
		return m.help ? fputs(mount_help, stdout), EXIT_OK : end(argv[0]);
	m.o.target = argv[0];
	dir = realpath(argv[1], NULL);
	if (!dir || stat(dir, &st) || !S_ISDIR(st.st_mode)) {
		diag_error("%s: %s", argv[1], dir ? "not a directory" : strerror(errno));
		ret = EXIT_FAIL;
	} else if (argv[2]) {
		ret = mount_run(dir, m.o.target, argv + 2);
		ret = ret < 0 ? EXIT_FAIL : ret;
	} else if (m.o.foreground) {
		ret = serve_here(dir, &m.o);
	} else {
		ret = mount_start(dir, &m.o) < 0 ? EXIT_FAIL : EXIT_OK;
	}
	free(dir);
	return ret;
}
