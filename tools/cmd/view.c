/* SPDX-License-Identifier: MIT */
/* view.c -- fathom view: a trace over time in a browser, at any zoom, served by this program. */
#include "base/diag.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "view/page/server.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *title;
static uint64_t port;
static bool no_browser;

static const struct option_spec own[] = {
	{"title", 0, "TEXT", "above the drawing", OPTION_STRING, &title, NULL},
	{"port", 0, "N", "to listen on; without it, one that is free", OPTION_NUMBER, &port, NULL},
	{"no-browser", 0, NULL, "only print the address", OPTION_FLAG, &no_browser, NULL},
	{0},
};

static const struct command_spec spec = {
	.name = "view",
	.args = "FILE",
	.about = "Show a trace over time in a browser, at any zoom and of any size: the page of "
		 "`fathom timeline`,\nwith every span, all events, searches over the whole trace, "
		 "and the chain behind a wait. It is served\nto this machine only, until Ctrl-C.",
	.more = "examples:\n"
		"  fathom view trace.dat\n"
		"  fathom view trace.dat --no-browser --port 8000",
	.own = own,
	.shared = OPTIONS_EVENTS,
	.min_args = 1,
	.max_args = 1,
};

/* A browser, where there is a screen for one. False: the address must be opened by hand. */
static bool open_browser(const char *url)
{
	char *const argv[] = {(char *)(uintptr_t) "xdg-open", (char *)(uintptr_t)url, NULL};
	extern char **environ;
	pid_t child;
	int status;

	if (no_browser || (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY")))
		return false;
	if (posix_spawnp(&child, argv[0], NULL, NULL, argv, environ))
		return false;
	return waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status);
}

static int serve(struct asks *a)
{
	sigset_t ends;
	struct server *s;
	int got;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &ends, NULL); /* the server's threads have it so too */
	s = server_start(a, (uint16_t)port);
	if (!s && errno == ELIBACC) {
		diag_error(
			"view: libmicrohttpd.so.12 is not there (Debian: libmicrohttpd12); `fathom "
			"timeline` needs no server");
		return EXIT_FAIL;
	}
	if (!s) {
		diag_error("view: cannot listen on 127.0.0.1, port %" PRIu64
			   ": %s; --port names another",
			   port, strerror(errno));
		return EXIT_FAIL;
	}
	printf("%s\n", server_url(s));
	fflush(stdout);
	if (!open_browser(server_url(s)))
		fprintf(stderr, "fathom: open this address in a browser; Ctrl-C ends it\n");
	sigwait(&ends, &got);
	server_stop(s);
	return EXIT_OK;
}

static int view_file(struct source *s, struct options *o)
{
	struct progress bar;
	struct lanes_options lo = {.choice = &o->choice,
				   .no_file = o->no_index || options_name_source(o),
				   .progress = progress_scan,
				   .progress_arg = &bar};
	struct asks a = {.s = s, .choice = &o->choice, .no_index = o->no_index};
	struct lanes *l = NULL;
	int err, rc;

	progress_start(&bar, "", 1);
	err = lanes_open(s, &lo, &l);
	progress_end(&bar);
	if (err) {
		diag_error("%s: %s", s->path,
			   err == -ENODATA ? "no event to show" : strerror(-err));
		return EXIT_FAIL;
	}
	a.lanes = l;
	a.title = title ? title : strrchr(s->path, '/') ? strrchr(s->path, '/') + 1 : s->path;
	pthread_mutex_init(&a.walking, NULL);
	options_tell_missing(s);
	diag_flush();
	rc = serve(&a);
	pthread_mutex_destroy(&a.walking);
	lanes_close(l);
	return rc;
}

int cmd_view(int argc, char **argv)
{
	struct options o;
	struct source *s;
	int rc = options_parse(&spec, argc, argv, &o);

	if (rc != OPTIONS_GO)
		return rc;
	if (port > 65535) {
		diag_error("view: --port takes 0 to 65535, not %" PRIu64, port);
		options_close(&o);
		return EXIT_USAGE;
	}
	s = options_open(&o);
	rc = s ? view_file(s, &o) : EXIT_FAIL;
	if (s)
		source_close(s);
	options_close(&o);
	return rc;
}
