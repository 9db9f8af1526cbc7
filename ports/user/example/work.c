/* SPDX-License-Identifier: MIT */
/* work.c -- a small program to trace: threads pass jobs through a queue. FATHOM_TRACE switches tracing on. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fathom/trace.h"
#define CREATE_TRACE_POINTS
#include "fathom/events/ipc.h"
#include "fathom/events/irq.h"
#include "fathom/events/kmem.h"
#include "fathom/events/sched.h"

TRACE_DEFINE(work, job_begin, "job=%u size=%u by=%s", (U32, job), (U32, size), (STR, worker))
TRACE_DEFINE(work, job_end, "job=%u result=%llx", (U32, job), (U64, result))

#define NR_WORKERS 3
#define NR_JOBS	   200

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned next_job;

static void on_alarm(int sig)
{
	trace_irq_handler_entry(sig, "alarm");
	trace_irq_handler_exit(sig, 1);
}

/* Something to spend time on: a hash over numbers. */
static uint64_t compute(unsigned job, unsigned size)
{
	uint64_t h = job;

	for (unsigned i = 0; i < size * 100; i++)
		h = (h ^ i) * 0x100000001b3ull;
	return h;
}

static void *worker(void *arg)
{
	const char *name = arg;

	pthread_setname_np(pthread_self(), name);
	for (;;) {
		unsigned job, size;

		pthread_mutex_lock(&lock);
		job = next_job++;
		pthread_mutex_unlock(&lock);
		if (job >= NR_JOBS)
			return NULL;
		size = 1 + job % 7;
		trace_job_begin(job, size, name);
		trace_frame_alloc(0x1000ull * job, size, __builtin_return_address(0));
		if (job % 50 == 0)
			trace_printk("job %u of %d, %s has it\n", job, NR_JOBS, name);
		trace_job_end(job, compute(job, size));
	}
}

int main(int argc, char **argv)
{
	static char names[NR_WORKERS][16] = {"worker-0", "worker-1", "worker-2"};
	pthread_t threads[NR_WORKERS];

	signal(SIGALRM, on_alarm);
	ualarm(200, 200);
	trace_puts("begin\n");
	for (int i = 0; i < NR_WORKERS; i++)
		pthread_create(&threads[i], NULL, worker, names[i]);
	for (int i = 0; i < NR_WORKERS; i++)
		pthread_join(threads[i], NULL);
	ualarm(0, 0);
	trace_sched_process_exit("work", getpid(), 120);
	if (argc > 1 && !strcmp(argv[1], "--segv"))
		*(volatile int *)(uintptr_t)argc = 1; /* no page is there */
	if (argc > 1 && !strcmp(argv[1], "--abort"))
		abort();
	puts("done");
	return 0;
}
