/* SPDX-License-Identifier: MIT */
/* shell_toggle.c -- the shell's toggle: tracers go on and off while everything runs. */
#include "kernel.h"
#include "shell.h"
#include "task.h"
#include "fathom/trace.h"
#include "fathom/task.h"

/* What runs beside it, again and again. */
static struct {
	char program[NAME_MAX];
	volatile int stop;
	uint64_t runs, failed;
} beside;

static void run_beside(void *unused)
{
	(void)unused;
	while (!beside.stop) {
		struct spawn s = {.name = beside.program, .arg = 1};
		int code = -1, pid = task_spawn(&s);

		if (pid > 0)
			task_wait(pid, &code);
		beside.runs++;
		beside.failed += code != 0;
	}
}

static int start_beside(const char *program)
{
	struct spawn s = {.name = "beside", .fn = run_beside};

	beside.stop = 0;
	beside.runs = beside.failed = 0;
	copy_name(beside.program, program, sizeof(beside.program));
	return task_spawn(&s);
}

/* Calls and returns that found no partner are no fault here: sites are turned in the middle of calls. */
static void print_stats(void)
{
	struct fathom_tracer_stats st;

	fathom_tracer_stats(&st);
	kprintf("returns of earlier calls %lu, without a call %lu, calls without a return %lu, too "
		"deep %lu, recursion %lu\n",
		st.earlier, st.unmatched, st.unwound, st.shadow_full, st.recursion);
}

/* toggle COUNT [PROGRAM]: so many times function_graph, then function, each on all functions and off again. */
int cmd_toggle(int argc, char **argv)
{
	uint64_t count = argc > 1 ? parse_u64(argv[1]) : 100, done = 0;
	int err = 0, code, worker = argc > 2 ? start_beside(argv[2]) : 0;

	for (; done < count && !err; done++) {
		err = fathom_set("current_tracer", done & 1 ? "function" : "function_graph");
		if (!err)
			err = fathom_set("current_tracer", "nop");
	}
	if (worker > 0) {
		beside.stop = 1;
		task_wait(worker, &code);
		kprintf("%lu runs of %s beside it, %lu failed\n", beside.runs, beside.program,
			beside.failed);
	}
	print_stats();
	kprintf("toggled %lu times, error %d\n", done, -err);
	return err;
}
