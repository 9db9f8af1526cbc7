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

void progress_start(struct progress *p, const char *what, uint64_t total)
{
	*p = (struct progress){.what = what, .total = total ? total : 1, .on = isatty(2)};
	if (p->on)
		p->started_ns = p->shown_ns = now_ns();
}

void progress_at(struct progress *p, uint64_t done)
{
	uint64_t now, filled;
	char bar[WIDTH + 1];

	if (!p->on || done - p->done < p->total / 1000)
		return;
	p->done = done;
	now = now_ns();
	if (now - p->started_ns < SECOND || now - p->shown_ns < SECOND / 10)
		return;
	p->shown_ns = now;
	p->shown = true;
	filled = done >= p->total ? WIDTH : done * WIDTH / p->total;
	for (uint64_t i = 0; i < WIDTH; i++)
		bar[i] = i < filled ? '#' : '.';
	bar[WIDTH] = 0;
	/* Write to the descriptor: stderr itself escapes control characters. */
	dprintf(STDERR_FILENO, "\r%s [%s] %3d %%", p->what, bar,
		done >= p->total ? 100 : (int)(done * 100 / p->total));
}

void progress_show(void *arg, uint64_t done, uint64_t total)
{
	struct progress *p = arg;

	p->total = total ? total : 1;
	progress_at(p, done);
}

void progress_scan(void *arg, const char *what, uint64_t done, uint64_t total)
{
	((struct progress *)arg)->what = what;
	progress_show(arg, done, total);
}

void progress_end(struct progress *p)
{
	if (p->shown)
		dprintf(STDERR_FILENO, "\r\033[K");
	p->on = false;
}
