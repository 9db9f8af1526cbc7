/* SPDX-License-Identifier: MIT */
/* top.c -- fathom top: what a target is doing, in a terminal. */
#include "base/diag.h"
#include "capture/stop.h"
#include "cmd/cmd.h"
#include "cmd/live.h"
#include "view/top.h"

#define NCURSES_NOMACROS
#include <curses.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STEP_MS 100

static uint64_t interval = 1, times;
static struct option_choice sort = {
	.names = "cpu, ready, blocked, switches or pid"}; /* enum top_order */

static const struct option_spec own[] = {
	{"interval", 'i', "SECONDS", "between two pictures (1)", OPTION_NUMBER, &interval, NULL},
	{"times", 'n', "N",
	 "end after N updates; without a terminal they are printed one after another",
	 OPTION_NUMBER, &times, NULL},
	{"sort", 's', "KEY", "cpu, ready, blocked, switches or pid (cpu)", OPTION_CHOICE, &sort,
	 NULL},
	LIVE_OPTIONS,
	{0},
};

static const struct command_spec spec = {
	.name = "top",
	.args = "[TARGET]",
	.about = "Show what a live target does at the moment: tasks by CPU and wait, switches, "
		 "interrupts, events a\nsecond, loss. TARGET is what `fathom record --target` "
		 "takes; without it, this Linux, of\nwhich the events of sched and irq are "
		 "recorded.",
	.more = "keys: c CPU, r ready, b blocked, s switches, p pid: what is on top; space pauses; "
		"q "
		"ends\n\n"
		"examples:\n"
		"  fathom top\n"
		"  fathom top 4711\n"
		"  fathom top tcp:board:4711 -i 5",
	.own = own,
	.shared = OPTIONS_NONE,
	.min_args = 0,
	.max_args = 1,
};

static const char order_keys[] = "crbsp"; /* by enum top_order */

/* ---- the screen ---- */

/* The library is loaded only for a screen: other commands start without it. */
static struct {
	__typeof__(&newterm) newterm;
	__typeof__(&endwin) endwin;
	__typeof__(&cbreak) cbreak;
	__typeof__(&noecho) noecho;
	__typeof__(&curs_set) curs_set;
	__typeof__(&wtimeout) wtimeout;
	__typeof__(&wgetch) wgetch;
	__typeof__(&werase) werase;
	__typeof__(&wmove) wmove;
	__typeof__(&waddnstr) waddnstr;
	__typeof__(&wattr_on) wattr_on;
	__typeof__(&wattr_off) wattr_off;
	__typeof__(&wrefresh) wrefresh;
	__typeof__(&getmaxy) getmaxy;
	__typeof__(&getmaxx) getmaxx;
	WINDOW **stdscr;
} nc;

static bool load_library(void)
{
	const struct {
		const char *name;
		void *to;
	} wanted[] = {{"newterm", &nc.newterm},	  {"endwin", &nc.endwin},
		      {"cbreak", &nc.cbreak},	  {"noecho", &nc.noecho},
		      {"curs_set", &nc.curs_set}, {"wtimeout", &nc.wtimeout},
		      {"wgetch", &nc.wgetch},	  {"werase", &nc.werase},
		      {"wmove", &nc.wmove},	  {"waddnstr", &nc.waddnstr},
		      {"wattr_on", &nc.wattr_on}, {"wattr_off", &nc.wattr_off},
		      {"wrefresh", &nc.wrefresh}, {"getmaxy", &nc.getmaxy},
		      {"getmaxx", &nc.getmaxx},	  {"stdscr", &nc.stdscr}};
	void *lib = dlopen("libncursesw.so.6", RTLD_NOW | RTLD_GLOBAL);

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		void *f = lib ? dlsym(lib, wanted[i].name) : NULL;

		if (!f)
			return false;
		memcpy(wanted[i].to, &f, sizeof(f));
	}
	return true;
}

struct screen {
	WINDOW *window; /* NULL: lines to stdout */
	enum top_order order;
	bool paused;
	char last_words[256]; /* messages meanwhile */
};

static void show_line(const struct screen *s, unsigned y, const char *line, size_t n)
{
	if (y == TOP_HEAD - 1)
		nc.wattr_on(s->window, A_REVERSE, NULL);
	nc.wmove(s->window, (int)y, 0);
	nc.waddnstr(s->window, line, (int)n);
	for (int x = (int)n; y == TOP_HEAD - 1 && x < nc.getmaxx(s->window) - 1; x++)
		nc.waddnstr(s->window, " ", 1);
	if (y == TOP_HEAD - 1)
		nc.wattr_off(s->window, A_REVERSE, NULL);
}

static void show(struct screen *s, struct top *t, const char *state)
{
	unsigned rows = s->window ? (unsigned)nc.getmaxy(s->window) : UINT_MAX, y = 0;
	size_t bytes = 0, wide;
	char *text = NULL;
	FILE *f;

	if (!s->window) {
		top_print(t, s->order, state, rows, stdout);
		puts("");
		fflush(stdout);
		return;
	}
	f = open_memstream(&text, &bytes);
	if (!f)
		return;
	top_print(t, s->order, state, rows, f);
	if (fclose(f))
		return;
	wide = (size_t)nc.getmaxx(s->window);
	nc.werase(s->window);
	for (const char *at = text, *end; *at && y < rows; at = end + (*end == '\n'), y++) {
		size_t n = strcspn(at, "\n");

		end = at + n;
		show_line(s, y, at, n < wide ? n : wide - 1);
	}
	nc.wrefresh(s->window);
	free(text);
}

/* Handle keys, waiting this long for one. False: end. */
static bool take_keys(struct screen *s, int ms)
{
	const char *order;
	int key;

	if (!s->window)
		return live_wait(ms);
	nc.wtimeout(s->window, ms);
	while ((key = nc.wgetch(s->window)) != ERR) {
		if (key == 'q')
			return false;
		if (key == ' ')
			s->paused = !s->paused;
		else if (key > 0 && key < 128 && (order = strchr(order_keys, key)))
			s->order = (enum top_order)(order - order_keys);
		nc.wtimeout(s->window, 0);
	}
	return !stop_signal();
}

/* ---- the target ---- */

static const char *state_of(const struct screen *s, const struct live *l)
{
	static char text[400];
	const struct record_live *r = &l->state;
	uint32_t cuts = __atomic_load_n(&r->cuts, __ATOMIC_RELAXED);
	const char *is = __atomic_load_n(&r->over, __ATOMIC_ACQUIRE) ? "the recording is over"
			 : __atomic_load_n(&r->away, __ATOMIC_RELAXED)
				 ? "the target is away: waiting for it"
			 : s->paused ? "paused"
				     : "live";

	snprintf(text, sizeof(text), "%s: %s", l->record.target, is);
	if (cuts)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 ", the line was cut %u time%s", cuts, cuts == 1 ? "" : "s");
	return text;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int watch(struct screen *s, struct live *l, struct follow *f)
{
	struct top *t = top_new(f);
	int64_t next = now_ms() + (int64_t)interval * 1000;
	uint64_t shown = 0;
	int got = t ? 0 : -ENOMEM; /* as top_step() says */

	while (got >= 0 && !(times && shown >= times) && take_keys(s, got ? 0 : STEP_MS)) {
		bool over = follow_ended(f) && !got;

		if (!over)
			got = top_step(t);
		if (now_ms() >= next && !over && !s->paused) {
			top_turn(t);
			next = now_ms() + (int64_t)interval * 1000;
			shown++;
			if (!s->window)
				show(s, t, state_of(s, l));
		}
		if (s->window)
			show(s, t, state_of(s, l));
		else if (over)
			break;
	}
	if (got < 0)
		diag_error("top: %s", strerror(-got));
	top_free(t);
	return got < 0 ? EXIT_FAIL : EXIT_OK;
}

static bool open_screen(struct screen *s)
{
	FILE *out;

	if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))
		return true;
	if (!getenv("TERM") || !load_library()) {
		diag_error("top: libncursesw.so.6 is not installed, or TERM is not set; `| cat` "
			   "prints lines instead");
		return false;
	}
	out = fdopen(dup(STDOUT_FILENO), "w"); /* stdout itself escapes control characters */
	if (!out || !nc.newterm(NULL, out, stdin)) {
		diag_error("top: the terminal %s is not known", getenv("TERM"));
		return false;
	}
	s->window = *nc.stdscr;
	diag_keep(s->last_words, sizeof(s->last_words));
	nc.cbreak();
	nc.noecho();
	nc.curs_set(0);
	return true;
}

static void close_screen(struct screen *s)
{
	if (!s->window)
		return;
	nc.endwin();
	diag_keep(NULL, 0);
	if (s->last_words[0])
		diag_warn("%s", s->last_words);
}

static int top_target(const char *target, enum top_order order)
{
	struct screen s = {.order = order};
	struct live l = {0};
	struct follow *f;
	int rc = EXIT_FAIL;

	if (live_start(&l, target))
		return EXIT_FAIL;
	f = live_follow(&l);
	if (f && open_screen(&s)) {
		rc = watch(&s, &l, f);
		close_screen(&s);
	}
	follow_close(f);
	return live_stop(&l) ? EXIT_FAIL : rc;
}

/* Recording every event would be expensive, and the figures need only these. */
static int top_this_linux(enum top_order order)
{
	if (!live_asked.nr_events && !live_asked.tracer) {
		live_add_event.fn("sched");
		live_add_event.fn("irq");
	}
	return top_target(live_this_linux(), order);
}

int cmd_top(int argc, char **argv)
{
	struct options o;
	int rc = options_parse(&spec, argc, argv, &o);

	if (rc != OPTIONS_GO)
		return rc;
	if (!interval || interval > 86400) {
		diag_error("top: --interval takes 1 to 86400 seconds");
		rc = EXIT_USAGE;
	} else if (!o.nr_args) {
		rc = top_this_linux((enum top_order)sort.at);
	} else if (!live_is_target(o.args[0])) {
		diag_error(
			"top: %s is not a live target (a pid, unix:PATH, tcp:HOST:PORT, a serial "
			"device, a tracefs); `fathom profile` sums up a trace",
			o.args[0]);
		rc = EXIT_USAGE;
	} else {
		rc = top_target(o.args[0], (enum top_order)sort.at);
	}
	options_close(&o);
	return rc;
}
