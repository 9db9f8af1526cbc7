/* SPDX-License-Identifier: MIT */
/* crashes.c -- a program that traces and then ends in the way it is told: what of its trace is left? */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define CREATE_TRACE_POINTS
#include "fathom/tracepoint.h"
#include "fathom/trace.h"
TRACE_DEFINE(crash, step, "n=%u", (U32, n))
TRACE_DEFINE(crash, named, "name=%s", (STR, name))

static void steps(void)
{
	for (uint32_t i = 1; i <= 1000; i++)
		trace_step(i);
}

__attribute__((noinline)) static int deeper(int n)
{
	volatile char frame[4096];

	frame[0] = (char)n;
	return n < 0 ? 0 : deeper(n + 1) + frame[0];
}

static void on_usr1(int sig)
{
	(void)sig;
	steps();
	*(volatile int *)1 = 0; /* a crash in a handler, in the middle of whatever it interrupted */
}

static void *in_thread(void *how)
{
	steps();
	if (!strcmp(how, "thread-overflow"))
		deeper(0);
	*(volatile int *)1 = 0;
	return NULL;
}

static int forks(void)
{
	int status = 0;
	pid_t child = fork();

	if (!child) {
		steps(); /* not traced, and its exit leaves the parent's file alone */
		exit(7);
	}
	waitpid(child, &status, 0);
	steps();
	return WEXITSTATUS(status) != 7;
}

static int ends(const char *how)
{
	pthread_t thread;

	steps();
	if (!strcmp(how, "in-trace"))
		trace_named((const char *)1);
	if (!strcmp(how, "overflow"))
		return deeper(0);
	if (!strcmp(how, "handler")) {
		signal(SIGUSR1, on_usr1);
		raise(SIGUSR1);
	}
	if (!strncmp(how, "thread", 6)) {
		pthread_create(&thread, NULL, in_thread, (void *)how);
		pthread_join(thread, NULL);
	}
	if (!strcmp(how, "fork"))
		return forks();
	if (!strcmp(how, "quit"))
		_exit(0);
	if (!strcmp(how, "dump-in-handler")) {
		fathom_dump(3);
		abort();
	}
	return 0;
}

int main(int argc, char **argv)
{
	return argc > 1 ? ends(argv[1]) : 2;
}
