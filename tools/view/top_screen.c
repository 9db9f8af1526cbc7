/* SPDX-License-Identifier: MIT */
/* top_screen.c -- the figures of top on a terminal, and its keys. */
#include "view/top_screen.h"
#include "base/diag.h"

#define NCURSES_NOMACROS
#include <curses.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char order_keys[] = "crbsp"; /* by enum top_order */

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

static void show_line(const struct top_screen *s, unsigned y, const char *line, size_t n)
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

void top_screen_show(struct top_screen *s, struct top *t, const char *state)
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

bool top_screen_keys(struct top_screen *s, int ms)
{
	const char *order;
	int key;

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
	return true;
}

bool top_screen_open(struct top_screen *s)
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

void top_screen_close(struct top_screen *s)
{
	if (!s->window)
		return;
	nc.endwin();
	diag_keep(NULL, 0);
	if (s->last_words[0])
		diag_warn("%s", s->last_words);
}
