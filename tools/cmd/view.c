/* SPDX-License-Identifier: MIT */
/* view.c -- fathom view: a trace over time in a browser, at any zoom, served by this program. */
#include "base/diag.h"
#include "capture/stop.h"
#include "cmd/cmd.h"
#include "cmd/live.h"
#include "cmd/options.h"
#include "view/page/server.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *title;
static uint64_t port;
static bool no_browser;

static const struct option_spec own[] = {
	{"title", 0, "TEXT", "above the drawing", OPTION_STRING, &title, NULL},
	{"port", 0, "N", "port to listen on (default: any free one)", OPTION_NUMBER, &port, NULL},
	{"no-browser", 0, NULL, "only print the address", OPTION_FLAG, &no_browser, NULL},
	LIVE_OPTIONS,
	{0},
};

static const struct command_spec spec = {
	.name = "view",
	.args = "FILE|TARGET",
	.about = "Show a trace over time in a browser, at any zoom and of any size: the page of "
		 "`fathom timeline`,\nwith every span, all events, searches over the whole trace, "
		 "and the chain behind a wait. It is served\nto this machine only, until Ctrl-C.\n"
		 "A TARGET, as `fathom record --target` takes them, is recorded meanwhile, and the "
		 "page grows with it.",
	.more = "examples:\n"
		"  fathom view trace.dat\n"
		"  fathom view trace.dat --no-browser --port 8000\n"
		"  fathom view 4711 -o trace.dat          a process with the user port, live\n"
		"  fathom view /sys/kernel/tracing -e sched",
	.own = own,
	.shared = OPTIONS_EVENTS,
	.min_args = 1,
	.max_args = 1,
};

/* Start a browser if there is a screen. It is not waited for: some run until they are closed. */
static void open_browser(const char *url)
{
	char *const argv[] = {(char *)(uintptr_t) "xdg-open", (char *)(uintptr_t)url, NULL};
	extern char **environ;
	posix_spawnattr_t attr;
	sigset_t none;
	pid_t child;

	if (no_browser || (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY")) ||
	    posix_spawnattr_init(&attr))
		return;
	sigemptyset(&none);
	posix_spawnattr_setsigmask(&attr, &none); /* here they may be blocked */
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	posix_spawnp(&child, argv[0], NULL, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
}

/* NULL with a message. */
static struct server *start(struct asks *a)
{
	struct server *s = server_start(a, (uint16_t)port);

	if (!s && errno == ELIBACC)
		diag_error("view: libmicrohttpd.so.12 is not installed (Debian: libmicrohttpd12); "
			   "`fathom timeline` needs no server");
	else if (!s)
		diag_error("view: cannot listen on 127.0.0.1, port %" PRIu64
			   ": %s; --port names another",
			   port, strerror(errno));
	if (!s)
		return NULL;
	printf("%s\n", server_url(s));
	fflush(stdout);
	open_browser(server_url(s));
	fprintf(stderr, "fathom: open this address in a browser; Ctrl-C ends it\n");
	return s;
}

static bool ended; /* pending answers are abandoned */

static bool is_ended(void)
{
	return __atomic_load_n(&ended, __ATOMIC_RELAXED);
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
	pthread_sigmask(SIG_BLOCK, &ends, NULL); /* the server's threads inherit the mask */
	s = start(a);
	if (!s)
		return EXIT_FAIL;
	sigwait(&ends, &got);
	__atomic_store_n(&ended, true, __ATOMIC_RELAXED);
	server_stop(s);
	return EXIT_OK;
}

static int view_file(struct source *s, struct options *o)
{
	struct progress bar;
	struct lanes_options lo = {.choice = &o->choice,
				   .no_file = o->no_index || options_name_source(o),
				   .progress = progress_show,
				   .progress_arg = &bar};
	struct asks a = {.s = s, .choice = &o->choice, .no_index = o->no_index};
	struct lanes *l = NULL;
	int err, rc;

	progress_start(&bar);
	err = lanes_open(s, &lo, &l);
	progress_end(&bar);
	if (err) {
		diag_error("%s: %s", s->path,
			   err == -ENODATA ? "no event to show" : strerror(-err));
		return EXIT_FAIL;
	}
	a.lanes = l;
	a.title = title ? title : basename(s->path);
	pthread_mutex_init(&a.walking, NULL);
	options_tell_missing(s);
	diag_flush();
	o->choice.stop = is_ended;
	rc = serve(&a);
	pthread_mutex_destroy(&a.walking);
	lanes_close(l);
	return rc;
}

/* ---- a target ---- */

#define STEP_MS 100

static void tell_state(void *arg, struct ask_state *out)
{
	const struct record_live *s = arg;

	out->cuts = __atomic_load_n(&s->cuts, __ATOMIC_RELAXED);
	out->away = __atomic_load_n(&s->away, __ATOMIC_RELAXED);
	out->over = __atomic_load_n(&s->over, __ATOMIC_RELAXED);
}

/* Until a signal comes; a recording that is over can still be looked at. */
static int watch(struct asks *a, struct follow *f)
{
	struct server *s = NULL;
	int got = 0; /* as lanes_live_step() says */

	while (got >= 0 && live_wait(got ? 0 : STEP_MS)) {
		if (got || !follow_ended(f))
			got = lanes_live_step(a->live);
		if (got >= 0 && !s && a->lanes->nr_events && !(s = start(a)))
			return EXIT_FAIL;
	}
	if (got < 0)
		diag_error("view: %s", strerror(-got));
	if (s)
		server_stop(s);
	return got < 0 ? EXIT_FAIL : EXIT_OK;
}

static int view_target(const char *target, const struct options *o)
{
	struct live l = {0};
	struct asks a = {
		.choice = &o->choice, .no_index = true, .state = tell_state, .state_arg = &l.state};
	struct follow *f;
	int err, rc = EXIT_FAIL;

	if (live_start(&l, target))
		return EXIT_FAIL;
	f = live_follow(&l);
	if (f) {
		a.s = follow_source(f);
		a.title = title ? title : target;
		pthread_mutex_init(&a.walking, NULL);
		err = lanes_live_open(f, &o->choice, &a.live);
		a.lanes = err ? NULL : lanes_live_lanes(a.live);
		if (err)
			diag_error("%s: %s", target, strerror(-err));
		else
			rc = watch(&a, f);
		lanes_live_close(a.live);
		pthread_mutex_destroy(&a.walking);
		follow_close(f);
	}
	return live_stop(&l) ? EXIT_FAIL : rc;
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
	if (live_is_target(o.args[0])) {
		o.choice = SCAN_ALL;
		o.choice.stop = stop_came;
		if (o.cpu_list || o.from_text || o.to_text || o.filter_text || o.buffer) {
			diag_error("view: --cpu, --from, --to, --filter and --buffer apply to a "
				   "trace; for a target, --event selects what is recorded");
			rc = EXIT_USAGE;
		} else {
			rc = view_target(o.args[0], &o);
		}
		options_close(&o);
		return rc;
	}
	s = options_open(&o);
	rc = s ? view_file(s, &o) : EXIT_FAIL;
	source_close(s);
	options_close(&o);
	return rc;
}
