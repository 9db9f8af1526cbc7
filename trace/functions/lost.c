/* SPDX-License-Identifier: MIT */
/* lost.c -- calls that never return, and a replaced return that has no call. */
#include "functions/tracers.h"

/*
 * Nobody pushes or pops below us: the caller is no part of the tracer, and interrupts are off or leave the stack as they
 * found it (G2). Keeps G1.
 */
void fathom_kernel_left_slow(void)
{
	uintptr_t pin = fathom_port_pin();
	struct fathom_task *task = fathom_port_task_state();

	if (task && !task->busy) {
		uint32_t depth = task->depth;

		for (uint32_t i = 0; i < depth && i < FATHOM_SHADOW_DEPTH; i++)
			task->shadow[i].slot = task->shadow[i].ret = 0;
		fathom_local_barrier();
		task->depth = 0;
		task->inside = task->quiet = task->left_out = 0;
		fathom_counts()->unwound += depth;
	}
	fathom_port_unpin(pin);
}

/* The port's own panic, or the console and a trap: to go on would be to jump to an unknown address. */
void fathom_return_lost(uintptr_t slot)
{
	char buf[256];
	struct fathom_text t;

	fathom_text_init(&t, buf, sizeof(buf));
	fathom_text_str(&t, "fathom: the return address at 0x");
	fathom_text_hex(&t, slot, 0, '0');
	fathom_text_str(&t, " of task ");
	fathom_text_s64(&t, fathom_port_task(), 0, ' ');
	fathom_text_str(&t, " is lost: fathom_port_task_state() changed inside a traced function. "
			    "Do not trace what changes the current task.\n");
	fathom_tracing_off();
	if (fathom_core.config.fatal)
		fathom_core.config.fatal(buf);
	else if (fathom_core.config.sink)
		fathom_core.config.sink(fathom_core.config.sink_arg, buf, t.len);
	__builtin_trap();
}
