/* SPDX-License-Identifier: MIT */
/* l4re_sample.c -- what a sample costs in the user port, measured by the sampler itself, at a stack depth of 32. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "fathom/sampler.h"
#include "fathom_user.h"

#define DEPTH	32
#define SAMPLES 20000

/* Frames from here to the bottom: the compiler must not have made a loop of the recursion. */
static int depth(void)
{
	void *const *fp = __builtin_frame_address(0);
	int n = 0;

	for (void *const *up; fp && n < 2 * DEPTH; fp = up, n++) {
		up = fp[0];
		if (up <= fp || (uintptr_t)up - (uintptr_t)fp > 4096)
			break;
	}
	return n;
}

/* The timer's signal, sent by hand: the port's own handler takes the sample, and reads the stack as it always does. */
__attribute__((noinline)) static void take(void)
{
	struct fathom_sampler_stats st;
	pid_t pid = getpid(), tid = gettid();

	do {
		syscall(SYS_tgkill, pid, tid, SIGPROF);
		fathom_sampler_stats(&st);
	} while (st.samples < SAMPLES);
	printf("%.0f %lu %d\n", (double)st.cost_ns / (double)st.samples,
	       (unsigned long)st.cost_max_ns, depth());
}

__attribute__((noinline)) static int deeper(int n)
{
	volatile int below = 0;

	if (n)
		below = deeper(n - 1);
	else
		take();
	return below + 1;
}

int main(void)
{
	if (fathom_user_start("sample=10000000,out="))
		return 1;
	fathom_sampler_control(FATHOM_SAMPLER_STOP, 0);
	fathom_sampler_control(FATHOM_SAMPLER_SET_INTERVAL | FATHOM_SAMPLER_START, 1);
	return deeper(DEPTH) < 0;
}
