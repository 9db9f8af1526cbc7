/* SPDX-License-Identifier: MIT */
/* l4re_sample.c -- what a sample costs, measured by the sampler itself, at a stack depth of 32. */
#include "fathom/sampler.h"
#include "fathom/errno.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH	32
#define SAMPLES 20000

static int read_stack(uintptr_t at, uintptr_t out[2])
{
	memcpy(out, (void *)at, 16);
	return 0;
}

static void take(void)
{
	struct fathom_sample s = {.user_ip = (uintptr_t)take, .read_user = read_stack, .task = 1};
	struct fathom_sampler_stats st;

	s.user_fp = (uintptr_t)__builtin_frame_address(0);
	s.user_lo = s.user_fp;
	s.user_hi = s.user_fp + (1 << 20);
	do {
		fathom_sampler_tick(&s);
		fathom_sampler_stats(&st);
	} while (st.samples < SAMPLES);
	printf("%.0f %lu %lu\n", (double)st.cost_ns / (double)st.samples,
	       (unsigned long)st.cost_max_ns, (unsigned long)st.cut);
}

__attribute__((noinline)) static int deeper(int n)
{
	if (n == 0) {
		take();
		return 0;
	}
	return deeper(n - 1) + 1;
}

int main(void)
{
	struct fathom_config config = {.memory_bytes = 4 << 20, .nr_cpus = 1, .pages_per_cpu = 16};
	size_t bytes = (size_t)SAMPLES * 8 * 64;
	void *buffer = aligned_alloc(4096, bytes);

	config.memory = aligned_alloc(4096, config.memory_bytes);
	memset(buffer, 1, bytes); /* the pages are there before the clock runs */
	if (fathom_init(&config) || fathom_sampler_init(buffer, bytes, FATHOM_SAMPLE_BUFFER, NULL))
		return 1;
	fathom_sampler_control(FATHOM_SAMPLER_SET_INTERVAL | FATHOM_SAMPLER_START, 1);
	return deeper(DEPTH - 4) < 0;
}
