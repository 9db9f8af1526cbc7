/* SPDX-License-Identifier: MIT */
/* stop.c -- a recording is asked to end: by signals. */
#include "capture/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t first, count, child;
static int wake[2] = {-1, -1};

static const int ends[] = {SIGINT, SIGTERM, SIGHUP};

static void on_signal(int sig)
{
	int err = errno;

	if (sig == SIGCHLD) {
		child = 1;
	} else {
		if (!first)
			first = sig;
		count++;
	}
	(void)!write(wake[1], "", 1);
	errno = err;
}

void stop_watch(void)
{
	struct sigaction sa = {.sa_handler = on_signal}, old;

	if (wake[0] < 0 && pipe2(wake, O_CLOEXEC | O_NONBLOCK))
		wake[0] = wake[1] = -1;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (!sigaction(ends[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(ends[i], &sa, NULL);
	sigaction(SIGCHLD, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

int stop_signal(void)
{
	return first;
}

bool stop_came(void)
{
	return first;
}

bool stop_at_once(void)
{
	return count > 1;
}

bool stop_child(void)
{
	bool was = child;

	child = 0;
	return was;
}

int stop_fd(void)
{
	return wake[0];
}

void stop_take(void)
{
	char bytes[64];

	while (read(wake[0], bytes, sizeof(bytes)) > 0)
		;
}
