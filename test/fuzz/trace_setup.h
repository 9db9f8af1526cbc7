/* SPDX-License-Identifier: MIT */
/* trace_setup.h -- the library set up for a fuzz target of the control stage, with sched's events. */
#ifndef TEST_FUZZ_TRACE_SETUP_H
#define TEST_FUZZ_TRACE_SETUP_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#define CREATE_TRACE_POINTS
#include "fathom/events/sched.h"
#include "fathom/fs.h"
#include "fathom/trace.h"

#ifndef FUZZ_MEMORY
#define FUZZ_MEMORY (256 << 10) /* it is cleared for each input */
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Anew for each input, so that one input alone shows what it found. */
static inline void setup(void)
{
	static char memory[FUZZ_MEMORY] __attribute__((aligned(4096)));
	struct fathom_config config = {
		.memory = memory, .memory_bytes = sizeof(memory), .nr_cpus = 1, .pages_per_cpu = 4};

	fathom_exit();
	if (fathom_init(&config))
		abort();
}

/* Write to a file as `>` does, or `>>`; the answer. */
static inline int put(const char *path, const uint8_t *data, size_t size, uint32_t how)
{
	struct fathom_node node;
	struct fathom_file f;
	int ret = fathom_fs_lookup(path, &node);

	if (ret)
		abort();
	ret = fathom_fs_open(&f, &node, FATHOM_O_WRONLY | how);
	if (ret)
		return ret;
	ret = fathom_fs_write(&f, data, size);
	fathom_fs_close(&f);
	return ret;
}

/* Read all of it. */
static inline void read_all(const char *path)
{
	struct fathom_node node;
	struct fathom_file f;
	char buf[512];
	int n = 0;

	if (fathom_fs_lookup(path, &node) || fathom_fs_open(&f, &node, FATHOM_O_RDONLY))
		abort();
	do {
		n = fathom_fs_read(&f, buf, sizeof(buf));
	} while (n > 0);
	fathom_fs_close(&f);
}

static inline void fire(void)
{
	trace_sched_switch("prev", 7, 120, 0, "next", 8, 100);
	trace_sched_wakeup("next", 8, 100, 0);
}

#endif
