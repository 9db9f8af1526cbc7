/* SPDX-License-Identifier: MIT */
/* births.c -- threads that signals hit while they are born and get their ring: every event of both is recorded. For births.sh. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/time.h>
#define CREATE_TRACE_POINTS
#include "fathom/tracepoint.h"
#include "fathom/trace.h"

TRACE_DEFINE(births, tick, "n=%u", (U32, n))
TRACE_DEFINE(births, born, "n=%u", (U32, n))

#define THREADS 600

static uint32_t ticks;

static void on_tick(int sig)
{
	(void)sig;
	trace_tick(__atomic_fetch_add(&ticks, 1, __ATOMIC_RELAXED));
}

static void *life(void *n)
{
	trace_born((uint32_t)(uintptr_t)n);
	return NULL;
}

static void ticking(int us)
{
	struct itimerval every = {{0, us}, {0, us}};

	setitimer(ITIMER_REAL, &every, NULL);
}

int main(void)
{
	struct sigaction sa = {.sa_handler = on_tick, .sa_flags = SA_RESTART};

	sigaction(SIGALRM, &sa, NULL);
	ticking(50);
	for (uintptr_t i = 0; i < THREADS; i++) {
		pthread_t t;

		if (pthread_create(&t, NULL, life, (void *)i))
			return 1;
		for (int k = 0; k < 3; k++)
			pthread_kill(t, SIGALRM);
		pthread_join(t, NULL);
	}
	ticking(0);
	printf("%u\n", ticks + THREADS);
	return 0;
}
