/* SPDX-License-Identifier: MIT */
/* ticker.c -- a process to record: threads that count, each event one further, so that nothing can be missing unseen. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#define CREATE_TRACE_POINTS
#include "fathom/trace.h"
#include "fathom_port.h"
#include "fathom_serve.h"
#include "fathom_user.h"

#define BURST 40

TRACE_DEFINE(tick, tick, "n=%lu", (U64, n))
TRACE_DEFINE(tick, tock, "n=%lu", (U64, n))

static void *count(void *arg)
{
	struct timespec pause = {0, 1000000};

	(void)arg;
	for (uint64_t n = 0;;) {
		for (int i = 0; i < BURST; i++)
			trace_tick(n++);
		trace_tock(n);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

/* ticker THREADS: prints its pid when it can be traced. */
int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2;
	pthread_t t;

	if (fathom_user_start("buffer_kb=1024,cpus=4,out=") || fathom_user_serve())
		return 1;
	fathom_set("events/enable", "0");
	while (threads--)
		pthread_create(&t, NULL, count, NULL);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	pause();
	return 0;
}
