/* SPDX-License-Identifier: MIT */
/* shell_toggle.c -- the shell's toggle: tracers go on and off while everything runs. */
#include "kernel.h"
#include "shell.h"
#include "fathom/trace.h"

/* toggle COUNT: so many times function_graph, then function, each on all functions and off again. */
int cmd_toggle(int argc, char **argv)
{
	uint64_t count = argc > 1 ? parse_u64(argv[1]) : 100, done = 0;
	int err = 0;

	for (; done < count && !err; done++) {
		err = fathom_set("current_tracer", done & 1 ? "function" : "function_graph");
		if (!err)
			err = fathom_set("current_tracer", "nop");
	}
	kprintf("toggled %lu times, error %d\n", done, -err);
	return err;
}
