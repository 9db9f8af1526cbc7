/* SPDX-License-Identifier: MIT */
/*
 * births.c -- threads that signals hit while they are born and get their ring: every event of both is recorded. With an
 * argument: a thread for which there is no ring, whose events are refused for less than a system call each. For births.sh.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
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

#define REFUSED 200000
#define PIECES	1000 /* and the fastest of them counts: whoever is put aside loses some, not all */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* What refused events cost beside as many system calls. */
static void *crowd(void *arg)
{
	double events = 1e9, calls = 1e9;

	(void)arg;
	for (uint32_t i = 0; i < PIECES; i++) {
		double start = now(), middle, end;

		for (uint32_t k = 0; k < REFUSED / PIECES; k++)
			trace_born(k);
		middle = now();
		for (uint32_t k = 0; k < REFUSED / PIECES; k++)
			syscall(SYS_gettid);
		end = now();
		events = middle - start < events ? middle - start : events;
		calls = end - middle < calls ? end - middle : calls;
	}
	printf("%d refused, each for %s than a system call\n", REFUSED,
	       events < calls ? "less" : "more");
	return NULL;
}

static int crowded(void)
{
	pthread_t t;

	trace_born(0); /* takes the only ring */
	return pthread_create(&t, NULL, crowd, NULL) || pthread_join(t, NULL);
}

int main(int argc, char **argv)
{
	struct sigaction sa = {.sa_handler = on_tick, .sa_flags = SA_RESTART};

	(void)argv;
	if (argc > 1)
		return crowded();
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
