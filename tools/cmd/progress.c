/* SPDX-License-Identifier: MIT */
/* progress.c -- a bar on stderr when a terminal waits more than a second. */
#include "cmd/options.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000ull
#define WIDTH  40

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

void progress_start(struct progress *p)
{
	*p = (struct progress){.on = isatty(2)};
	if (p->on)
		p->started_ns = p->shown_ns = now_ns();
}

static void clear(struct progress *p)
{
	if (p->shown)
		dprintf(STDERR_FILENO, "\r\033[K");
	p->shown = false;
}

void progress_show(void *arg, const char *what, uint64_t done, uint64_t total)
{
	struct progress *p = arg;
	uint64_t now, filled;
	char bar[WIDTH + 1];

	if (done >= total)
		clear(p);
	if (!p->on || done >= total || done - p->done < total / 1000)
		return;
	p->done = done;
	now = now_ns();
	if (now - p->started_ns < SECOND || now - p->shown_ns < SECOND / 10)
		return;
	p->shown_ns = now;
	p->shown = true;
	filled = done * WIDTH / total;
	for (uint64_t i = 0; i < WIDTH; i++)
		bar[i] = i < filled ? '#' : '.';
	bar[WIDTH] = 0;
	/* Write to the descriptor: stderr itself escapes control characters. */
	dprintf(STDERR_FILENO, "\r%s [%s] %3d %%", what, bar, (int)(done * 100 / total));
}

void progress_end(struct progress *p)
{
	clear(p);
	p->on = false;
}
