/* SPDX-License-Identifier: MIT */
/* user_edges.c -- a program for user_edges.py: N events, or markers, and an end of its own kind. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define CREATE_TRACE_POINTS
#include "fathom/fs.h"
#include "fathom/tracepoint.h"
#include "fathom/trace.h"

TRACE_DEFINE(edge, step, "n=%u", (U32, n))

static void *mark(void *name)
{
	pthread_setname_np(pthread_self(), name);
	fathom_set("trace_marker", name);
	return NULL;
}

/* user_edges N [mark|kill|fork|outlive]: with mark, two threads whose first record is a marker. */
int main(int argc, char **argv)
{
	unsigned n = (unsigned)atoi(argv[1]);
	const char *end = argc > 2 ? argv[2] : "";
	pid_t parent = getpid(); /* not asked after the fork: by then it may be gone */
	pthread_t t[2];

	for (unsigned i = 0; i < n; i++)
		trace_step(i);
	if (!strcmp(end, "mark")) {
		for (int i = 0; i < 2; i++) {
			pthread_create(&t[i], NULL, mark, i ? "second" : "first");
			pthread_join(t[i], NULL);
		}
	}
	if (!strcmp(end, "fork")) { /* the child's events are nobody's, the parent goes on */
		if (!fork()) {
			trace_step(n);
			_exit(0);
		}
		wait(NULL);
		for (unsigned i = 0; i < n; i++)
			trace_step(n + i);
	}
	if (!strcmp(end, "outlive") &&
	    !fork()) { /* the child ends as a program does, after its parent */
		while (getppid() == parent)
			usleep(1000);
		for (unsigned i = 0; i < n; i++)
			trace_step(n + i);
		return 0;
	}
	puts("done");
	fflush(stdout);
	if (!strcmp(end, "kill"))
		kill(getpid(), SIGKILL);
	return 0;
}
