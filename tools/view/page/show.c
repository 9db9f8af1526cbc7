/* SPDX-License-Identifier: MIT */
/* show.c -- a trace in a browser: its server, the browser, and the end of both. */
#include "base/diag.h"
#include "view/page/show.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Start a browser if there is a screen. It is not waited for: some run until they are closed. */
static void open_browser(const char *url)
{
	char *const argv[] = {(char *)(uintptr_t) "xdg-open", (char *)(uintptr_t)url, NULL};
	extern char **environ;
	posix_spawnattr_t attr;
	sigset_t none;
	pid_t child;

	if ((!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY")) || posix_spawnattr_init(&attr))
		return;
	sigemptyset(&none);
	posix_spawnattr_setsigmask(&attr, &none); /* here they may be blocked */
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	posix_spawnp(&child, argv[0], NULL, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
}

struct server *show_start(struct asks *a, const struct show_options *o)
{
	struct server *s = server_start(a, o->port);

	if (!s && errno == ELIBACC)
		diag_error("view: libmicrohttpd.so.12 is not installed (Debian: libmicrohttpd12); "
			   "`fathom timeline` needs no server");
	else if (!s)
		diag_error("view: cannot listen on 127.0.0.1, port %" PRIu16
			   ": %s; --port names another",
			   o->port, strerror(errno));
	if (!s)
		return NULL;
	printf("%s\n", server_url(s));
	fflush(stdout);
	if (!o->no_browser)
		open_browser(server_url(s));
	fprintf(stderr, "fathom: open this address in a browser; Ctrl-C ends it\n");
	return s;
}

static bool ended; /* pending answers are abandoned */

static bool is_ended(void)
{
	return __atomic_load_n(&ended, __ATOMIC_RELAXED);
}

static int serve(struct asks *a, const struct show_options *o)
{
	sigset_t ends;
	struct server *s;
	int got;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &ends, NULL); /* the server's threads inherit the mask */
	s = show_start(a, o);
	if (!s)
		return -1;
	sigwait(&ends, &got);
	__atomic_store_n(&ended, true, __ATOMIC_RELAXED);
	server_stop(s);
	return 0;
}

int show_trace(struct source *s, const struct lanes_options *lo, const struct show_options *o)
{
	struct scan_choice choice = *lo->choice;
	struct asks a = {.s = s, .choice = &choice, .no_index = o->no_index, .title = o->title};
	struct lanes *l = NULL;
	int err = lanes_open(s, lo, &l);

	lo->progress(lo->progress_arg, "", 1, 1);
	if (err) {
		diag_error("%s: %s", s->path,
			   err == -ENODATA ? "no event to show" : strerror(-err));
		return -1;
	}
	a.lanes = l;
	pthread_mutex_init(&a.walking, NULL);
	choice.stop = is_ended;
	err = serve(&a, o);
	pthread_mutex_destroy(&a.walking);
	lanes_close(l);
	return err;
}
