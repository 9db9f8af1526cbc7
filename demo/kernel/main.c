/* SPDX-License-Identifier: MIT */
/* main.c -- the boot order, as a list. */
#include "block.h"
#include "kernel.h"
#include "lock.h"
#include "machine.h"
#include "task.h"
#include "port.h"
#include "sample.h"

extern uint8_t kernel_end[];

/* Words of the command line are NAME=VALUE; the value of the last one, `sh`, runs to the end of the line. */
const char *boot_option(const char *name, char *buf, size_t bytes)
{
	size_t n = strlen(name);

	for (const char *p = machine.cmdline; *p; p++) {
		if ((p != machine.cmdline && p[-1] != ' ') || strncmp(p, name, n) || p[n] != '=')
			continue;
		size_t i = 0;

		for (p += n + 1; *p && (*p != ' ' || !strcmp(name, "sh")) && i + 1 < bytes; p++)
			buf[i++] = *p;
		buf[i] = 0;
		return buf;
	}
	return NULL;
}

void kernel_main(uint64_t handed_over);
void kernel_main(uint64_t handed_over)
{
	static char script[512];

	sched_init(0);		   /*  1. this CPU; we are its idle task */
	uart_init();		   /*  2. now kprintf works */
	machine_init(handed_over); /*  3. command line, memory, number of CPUs */
	frame_init(virt_to_phys(kernel_end), machine.memory_end); /*  4. free memory */
	kept_init();	    /*     and what a warm reset leaves as it is */
	clock_init();	    /*  5. time */
	irq_init();	    /*  6. interrupts of this CPU */
	cpu_guard_stacks(); /*     and stacks that end in a fault */
	task_init();	    /*  7. task slots */
	ksym_name_parts();
	port_init(machine.nr_cpus); /*  8. the tracer: events may fire from here on */
	smp_init();		    /*  9. the other CPUs idle too */
	vm_protect_kernel();	    /* 10. text is read-only from here on */
	virtio_init();		    /* 11. the trace line's device */
	irq_init_devices();	    /*     and devices may interrupt */
	serial_interrupt(1);	    /*     one that did so before is heard now */
	irq_timer_start();	    /* 12. time slices */
	port_start();		    /* 13. the trace line */
	sample_init();		    /*     and the sampler */
	block_init();		    /*     the RAM disk */
	kprintf("demo kernel: level %d, %u CPUs, %lu MiB free\n", LEVEL, nr_cpus,
		frames_free() / 256);
	shell_start(boot_option("sh", script, sizeof(script)) ? script : "");
	sched_idle(); /* 14. the shell runs, we idle */
}
