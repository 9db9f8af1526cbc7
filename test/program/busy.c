/* SPDX-License-Identifier: MIT */
/* busy.c -- a process to run programs in: four threads, events, functions with entries that can be patched, and a signal. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#include "fathom/trace.h"
#define CREATE_TRACE_POINTS
#include "fathom/events/irq.h"
#include "fathom/events/raw_syscalls.h"
#include "fathom/events/sched.h"

TRACE_DEFINE(busy, turn, "turn=%u name=%s value=%lld", (U32, turn), (STR, name), (S64, value))

#define NR_THREADS 4
#define TRACED	   __attribute__((noinline, noclone))

static atomic_uint turns;
static unsigned pause_us = 200, nr_turns = 5000; /* of each thread */
static pthread_barrier_t rest;

static void on_alarm(int sig)
{
	trace_irq_handler_entry(sig, "alarm");
	trace_irq_handler_exit(sig, 1);
}

/* Their time and their number are what the programs of the test look at. */
TRACED static unsigned long step(unsigned n)
{
	unsigned long h = n;

	for (unsigned i = 0; i < (n % 8) * 50; i++)
		h = (h ^ i) * 0x100000001b3ul;
	__asm__ volatile("" : "+r"(h));
	return h;
}

TRACED static unsigned long turn(unsigned n)
{
	unsigned long h = step(n);

	__asm__ volatile("" : "+r"(h));
	return h + step(n + 1);
}

/* A scheduler and system calls, as far as their events go. */
static void *work(void *arg)
{
	static const char *const names[] = {"one", "two", "three"};
	int me = (int)(long)arg;
	char name[16];

	snprintf(name, sizeof(name), "busy-%d", me);
	pthread_setname_np(pthread_self(), name);
	for (unsigned i = 0;; i++) {
		unsigned n;

		if (i % nr_turns == 0) { /* a round is over, and the next one has not begun */
			pthread_barrier_wait(&rest);
			pthread_barrier_wait(&rest);
		}
		n = atomic_fetch_add(&turns, 1);
		trace_sys_enter((long)(n % 5), (unsigned long[6]){n});
		trace_sched_wakeup(name, 100 + me, 120, 0);
		turn(n);
		trace_turn(n, names[n % 3], (int64_t)n * (n % 2 ? 1 : -1));
		trace_sched_switch("idle", 0, 120, 0, name, 100 + me, 120);
		trace_sys_exit((long)(n % 5), 0);
		usleep(pause_us);
	}
	return NULL;
}

static void timer(long us)
{
	struct itimerval every = {{0, us}, {0, us}};

	setitimer(ITIMER_REAL, &every, NULL);
}

/* busy [MICROSECONDS [TURNS]]: each line of the input is a round, and is answered when it is over. */
int main(int argc, char **argv)
{
	char line[16];
	pthread_t t;

	if (argc > 1)
		pause_us = (unsigned)atoi(argv[1]);
	if (argc > 2)
		nr_turns = (unsigned)atoi(argv[2]);
	pthread_barrier_init(&rest, NULL, NR_THREADS + 1);
	signal(SIGALRM, on_alarm);
	for (long i = 0; i < NR_THREADS; i++)
		pthread_create(&t, NULL, work, (void *)i);
	pthread_barrier_wait(&rest);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		timer(3000);
		pthread_barrier_wait(&rest);
		pthread_barrier_wait(&rest);
		timer(0);
		printf("done\n");
		fflush(stdout);
	}
	return 0;
}
