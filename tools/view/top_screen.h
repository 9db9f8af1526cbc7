/* SPDX-License-Identifier: MIT */
/* top_screen.h -- the figures of top on a terminal, and its keys. */
#ifndef VIEW_TOP_SCREEN_H
#define VIEW_TOP_SCREEN_H

#include "view/top.h"

#include <stdbool.h>

struct top_screen {
	void *window; /* of ncurses; NULL: lines to stdout */
	enum top_order order;
	bool paused;
	char last_words[256]; /* messages meanwhile */
};

/* Where input and output are a terminal; elsewhere nothing is opened, and show() prints lines. False with a message. */
bool top_screen_open(struct top_screen *s);
void top_screen_close(struct top_screen *s);
void top_screen_show(struct top_screen *s, struct top *t, const char *state);
/* Of a window: handle keys, waiting this long for one. False: a person ends it. */
bool top_screen_keys(struct top_screen *s, int ms);

#endif
