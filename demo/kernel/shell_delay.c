/* SPDX-License-Identifier: MIT */
/* shell_delay.c -- the shell's delay: a section of known length and place, for the latency tracers to find. */
#include "kernel.h"
#include "lock.h"
#include "shell.h"

#define DELAY_MAX_US 1000000 /* other CPUs wait for this one when they change the kernel's text */

static __attribute__((noinline)) void delay_irqs_off(uint32_t us)
{
	uint64_t flags = irq_save();

	delay_us(us);
	irq_restore(flags);
}

static __attribute__((noinline)) void delay_preempt_off(uint32_t us)
{
	preempt_disable();
	delay_us(us);
	preempt_enable();
}

/* delay irqs|preempt MICROSECONDS */
int cmd_delay(int argc, char **argv)
{
	uint64_t us = argc == 3 ? parse_u64(argv[2]) : 0;
	int irqs = argc == 3 && !strcmp(argv[1], "irqs");

	if (!us || us > DELAY_MAX_US || (!irqs && strcmp(argv[1], "preempt"))) {
		kprintf("delay irqs|preempt MICROSECONDS, at most %u\n", DELAY_MAX_US);
		return -EINVAL;
	}
	(irqs ? delay_irqs_off : delay_preempt_off)((uint32_t)us);
	return 0;
}
