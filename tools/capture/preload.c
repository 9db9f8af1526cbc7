/* SPDX-License-Identifier: MIT */
/* preload.c -- the command of a recording, traced from inside by libfathom.so, which is loaded into it. */
#include "capture/preload.h"
#include "base/diag.h"
#include "base/output.h"
#include "store/join.h"
#include "store/writer.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIBRARY	  "libfathom.so.0"
#define BUFFER_KB 8192 /* of each thread */

/* ---- loading it ---- */

/* Beside this program in the tree it was built in, or where `make install` puts it. */
static bool find_library(char *path)
{
	static const char *const places[] = {"shared/" LIBRARY, "../lib/" LIBRARY};
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);
	char *slash;

	path[n > 0 ? n : 0] = 0;
	slash = strrchr(path, '/');
	for (size_t i = 0; slash && i < sizeof(places) / sizeof(places[0]); i++) {
		strcpy(slash + 1, places[i]);
		if (!access(path, R_OK))
			return true;
	}
	diag_warn(LIBRARY " is not beside this program: COMMAND is not traced from inside (make "
			  "install)");
	return false;
}

bool preload_prepare(struct preload *p)
{
	if (!find_library(p->library))
		return false;
	strcpy(p->dir, "/tmp/fathom-XXXXXX");
	if (!mkdtemp(p->dir)) {
		diag_warn("%s: %s: COMMAND is not traced from inside", p->dir, strerror(errno));
		return false;
	}
	snprintf(p->file, sizeof(p->file), "%s/trace.dat", p->dir);
	return true;
}

void preload_environment(const struct preload *p)
{
	const char *others = getenv("LD_PRELOAD");
	char options[256], *list;

	snprintf(options, sizeof(options), "record=%d,buffer_kb=%d,quiet=1,out=%s", (int)getpid(),
		 BUFFER_KB, p->file);
	if (asprintf(&list, "%s%s%s", p->library, others ? ":" : "", others ? others : "") < 0)
		return;
	setenv("LD_PRELOAD", list, 1);
	setenv("FATHOM_TRACE", options, 1);
	free(list);
}

/* ---- without a kernel's trace ---- */

/* SIGINT of a terminal goes to the command too, which ends and leaves its trace. */
static int wait_for(pid_t child, unsigned seconds)
{
	struct pollfd p = {.fd = (int)syscall(SYS_pidfd_open, child, 0), .events = POLLIN};
	int status = 0;

	signal(SIGINT, SIG_IGN);
	if (seconds && poll(&p, 1, (int)seconds * 1000) == 0)
		kill(child, SIGTERM);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	signal(SIGINT, SIG_DFL);
	close(p.fd);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int preload_run(const struct preload *p, char *const *command, unsigned seconds)
{
	pid_t child = fork();

	if (!child) {
		preload_environment(p);
		execvp(command[0], command);
		diag_error("%s: %s", command[0], strerror(errno));
		_exit(127);
	}
	if (child < 0) {
		diag_error("%s: %s", command[0], strerror(errno));
		return 127;
	}
	return wait_for(child, seconds);
}

/* ---- merging ---- */

static void count(struct source *s, uint64_t *events)
{
	struct event e;

	*events = 0;
	for (uint32_t i = 0; i < s->nr_streams; i++) {
		struct cursor *c = cursor_open(s, i);

		while (c && cursor_next(c, &e))
			++*events;
		cursor_close(c);
	}
}

static int write_out(struct source *s, const char *path)
{
	const struct scan_choice all = SCAN_ALL;
	struct writer_options w = {.version = 6, .choice = &all};
	uint64_t too_large = 0;
	struct output out;
	int err = output_open(&out, path, false);

	if (!err)
		err = output_close(&out, writer_tracedat(s, &w, out.f, &too_large));
	return output_error(path, err);
}

int preload_merge(const struct preload *p, const char *output, bool alone, uint64_t *events)
{
	struct join_options same = {.same_tasks = true};
	struct source *kernel = NULL, *program, *both;
	int err;

	if (access(p->file, F_OK))
		return -ENOENT;
	if (source_open(p->file, NULL, &program))
		return -EINVAL;
	count(program, events);
	if (!alone && source_open(output, NULL, &kernel)) {
		source_close(program);
		return -EINVAL;
	}
	both = alone ? program : join_open(kernel, program, &same);
	if (!both)
		return -EINVAL;
	err = write_out(both, output);
	source_close(both);
	return err;
}

void preload_done(const struct preload *p)
{
	unlink(p->file);
	rmdir(p->dir);
}
