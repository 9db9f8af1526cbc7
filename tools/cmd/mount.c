/* SPDX-License-Identifier: MIT */
/* mount.c -- fathom mount: the control tree of a target as a file system. */
#include "cmd/cmd.h"
#include "cmd/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/diag.h"
#include "capture/mount.h"

static struct mount_options o;
static bool down;

static const struct option_spec own[] = {
	{"foreground", 'f', NULL, "stay in the foreground", OPTION_FLAG, &o.foreground, NULL},
	{"tracefs", 't', NULL,
	 "mount the host's tracefs below it first (root): unmodified trace-cmd\n"
	 "                             takes the first tracefs of /proc/mounts, and then finds "
	 "this",
	 OPTION_FLAG, &o.tracefs, NULL},
	{"unmount", 'u', NULL, "unmount DIR; reads that wait on it end", OPTION_FLAG, &down, NULL},
	{"debug", 'd', NULL, "log every request; stays in the foreground", OPTION_FLAG, &o.debug,
	 NULL},
	{0},
};

static const struct command_spec spec = {
	.name = "mount",
	.args = "TARGET DIR [COMMAND [ARGUMENT]...]",
	.about = "Mount the control tree of a traced kernel or process on DIR: Linux's tracefs, "
		 "file by\n"
		 "file. With a COMMAND (root): only while it runs and only for it, in a mount "
		 "namespace of\n"
		 "its own where the number of CPUs and kallsyms are the target's too; for "
		 "trace-cmd.\n"
		 "`fathom mount -u DIR` unmounts.\n\n"
		 "TARGET  a pid (a process with the user port), unix:PATH or a socket's path "
		 "(QEMU's\n"
		 "        chardev), tcp:HOST:PORT, udp:HOST:PORT, or a serial device, "
		 "/dev/ttyUSB0[:BAUD]",
	.own = own,
	.shared = OPTIONS_NONE,
	.runs_command = true,
};

/* How many words follow the options, and whether that makes sense. */
static bool words_fit(char **words)
{
	int n = 0;

	while (words && words[n])
		n++;
	if (down ? n == 1 : n == 2 || (n > 2 && !o.foreground))
		return true;
	diag_error("mount: %s", down	? "-u wants one directory"
				: n > 2 ? "a COMMAND and -f exclude each other"
					: "TARGET and DIR are required; see --help");
	return false;
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

static int serve_here(const char *dir)
{
	struct p9 *c = p9_connect(o.target);

	return !c || mount_serve(c, dir, &o) ? EXIT_FAIL : EXIT_OK;
}

int cmd_mount(int argc, char **argv)
{
	struct options line;
	struct stat st;
	char *dir, **words;
	int ret = options_parse(&spec, argc, argv, &line);

	if (ret != OPTIONS_GO)
		return ret;
	o.foreground |= o.debug;
	words = line.command;
	if (!words_fit(words))
		return EXIT_USAGE;
	if (down)
		return end(words[0]);
	o.target = words[0];
	dir = realpath(words[1], NULL);
	if (!dir || stat(dir, &st) || !S_ISDIR(st.st_mode)) {
		diag_error("%s: %s", words[1], dir ? "not a directory" : strerror(errno));
		ret = EXIT_FAIL;
	} else if (words[2]) {
		ret = mount_run(dir, o.target, words + 2);
		ret = ret < 0 ? EXIT_FAIL : ret;
	} else if (o.foreground) {
		ret = serve_here(dir);
	} else {
		ret = mount_start(dir, &o) < 0 ? EXIT_FAIL : EXIT_OK;
	}
	free(dir);
	return ret;
}
