/* SPDX-License-Identifier: MIT */
/* flood.c -- a process to watch: so many events a second, of tasks of which so many are new each second, and interrupts of a second. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#define CREATE_TRACE_POINTS
#include "fathom/events/irq.h"
#include "fathom/events/sched.h"
#include "fathom/trace.h"
#include "fathom_port.h"
#include "fathom_serve.h"
#include "fathom_user.h"

#define FIRST_PID 1000
#define OLD_TASKS 8
#define EXIT_DEAD 0x10

static volatile sig_atomic_t quiet;

static void be_quiet(int sig)
{
	(void)sig;
	quiet = 1;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* One switch, from the task before to one of the old tasks, or to one that is new and ends with the next switch. */
static void switch_to(int32_t prev, int32_t next)
{
	char from[16], to[16];

	snprintf(from, sizeof(from), "t%d", prev);
	snprintf(to, sizeof(to), "t%d", next);
	trace_sched_switch(from, prev, 120, prev < FIRST_PID + OLD_TASKS ? 1 : EXIT_DEAD, to, next,
			   120);
}

/* flood EVENTS TASKS: each second; prints its pid when it can be traced, and ends its events with SIGUSR1. */
int main(int argc, char **argv)
{
	double events = argc > 1 ? atof(argv[1]) : 1000, tasks = argc > 2 ? atof(argv[2]) : 0;
	int32_t prev = FIRST_PID, fresh = FIRST_PID + OLD_TASKS;
	uint64_t sent = 0;
	double since, ends = 0;

	signal(SIGUSR1, be_quiet);
	if (fathom_user_start("buffer_kb=65536,cpus=1,out=") || fathom_user_serve())
		return 1;
	fathom_set("events/enable", "0");
	printf("%d\n", (int)getpid());
	fflush(stdout);
	since = now();
	while (!quiet) {
		double due = (now() - since) * events;

		/* one that was put aside goes on at its rate, and does not make up for it */
		if (due - (double)sent > events / 10)
			since = now() - ((double)sent + events / 10) / events;
		if (now() > ends) { /* an interrupt is always open */
			trace_irq_handler_exit(7, 1);
			trace_irq_handler_entry(7, "disk");
			ends = now() + 1;
		}
		for (; (double)sent < due && !quiet; sent++) {
			bool new = tasks > 0 && (double)(fresh - FIRST_PID - OLD_TASKS) <
							(double)sent *tasks / events;
			int32_t next = new ? fresh++ : FIRST_PID + (int32_t)(sent % OLD_TASKS);

			switch_to(prev, next);
			prev = next;
		}
		usleep(2000);
	}
	for (;;)
		pause();
}
