/* SPDX-License-Identifier: MIT */
/* show.h -- a trace in a browser: its server, the browser, and the end of both. */
#ifndef VIEW_PAGE_SHOW_H
#define VIEW_PAGE_SHOW_H

#include "view/page/server.h"

struct show_options {
	const char *title;
	uint16_t port; /* 0: any free one */
	bool no_browser, no_index;
};

/* The server, its address on stdout, and a browser if there is a screen. NULL with a message. */
struct server *show_start(struct asks *a, const struct show_options *o);
/* A trace, until a signal comes. 0, or -1 with a message. */
int show_trace(struct source *s, const struct lanes_options *lo, const struct show_options *o);

#endif
