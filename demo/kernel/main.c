/* SPDX-License-Identifier: MIT */
/* main.c -- the boot order, as a list. */
#include "kernel.h"
#include "lock.h"
#include "task.h"
#include "port.h"
#include "sample.h"

/* What QEMU's PVH loader hands over. */
struct pvh_info {
	uint32_t magic, version, flags, nr_modules;
	uint64_t modules, cmdline, rsdp, memmap;
	uint32_t nr_memmap, unused;
};

struct pvh_range {
	uint64_t start, bytes;
	uint32_t type, unused;
};

#define PVH_MAGIC 0x336ec578u
#define PVH_RAM	  1
#define MAPPED	  (1ull << 30) /* as far as boot.S maps physical memory */

extern uint8_t kernel_end[];

static char cmdline[512];

/* The end of the RAM that the kernel lies in. */
static uint64_t memory_end(const struct pvh_info *info)
{
	const struct pvh_range *r = phys_to_virt(info->memmap);
	uint64_t here = virt_to_phys(kernel_end);

	for (uint32_t i = 0; i < info->nr_memmap; i++) {
		uint64_t end = r[i].start + r[i].bytes;

		if (r[i].type == PVH_RAM && r[i].start <= here && here < end)
			return end < MAPPED ? end : MAPPED;
	}
	panic("no memory at the kernel's end");
}

/* Words of the command line are NAME=VALUE; the value of the last one, `sh`, runs to the end of the line. */
const char *boot_option(const char *name, char *buf, size_t bytes)
{
	size_t n = strlen(name);

	for (const char *p = cmdline; *p; p++) {
		if ((p != cmdline && p[-1] != ' ') || strncmp(p, name, n) || p[n] != '=')
			continue;
		size_t i = 0;

		for (p += n + 1; *p && (*p != ' ' || !strcmp(name, "sh")) && i + 1 < bytes; p++)
			buf[i++] = *p;
		buf[i] = 0;
		return buf;
	}
	return NULL;
}

static void memory_init(uint64_t info_phys)
{
	const struct pvh_info *info = phys_to_virt(info_phys);

	if (info->magic != PVH_MAGIC)
		panic("not booted by PVH");
	if (info->cmdline)
		copy_name(cmdline, phys_to_virt(info->cmdline), sizeof(cmdline));
	frame_init(virt_to_phys(kernel_end), memory_end(info));
}

void kernel_main(uint64_t info);
void kernel_main(uint64_t info)
{
	static char script[512];

	serial_init();	    /*  1. now kprintf works */
	trap_init();	    /*  2. the interrupt table */
	cpu_init(0);	    /*  3. this CPU: segments, %gs, syscall */
	memory_init(info);  /*  4. command line, free memory */
	clock_init();	    /*  5. time */
	apic_init();	    /*  6. interrupts of this CPU */
	cpu_guard_stacks(); /*     and stacks that end in a fault */
	task_init();	    /*  7. task slots */
	sched_init(0);	    /*  8. we are CPU 0's idle task now */
	ksym_name_parts();
	port_init(smp_count()); /*  9. the tracer: events may fire from here on */
	smp_init();		/* 10. the other CPUs idle too */
	vm_protect_kernel();	/* 11. text is read-only from here on */
	ioapic_init();		/* 12. devices may interrupt */
	apic_timer_start();	/* 13. time slices */
	port_start();		/* 14. the trace line */
	sample_init();		/*     and the sampler */
	kprintf("demo kernel: level %d, %u CPUs, %lu MiB free\n", LEVEL, nr_cpus,
		frames_free() / 256);
	shell_start(boot_option("sh", script, sizeof(script)) ? script : "");
	sched_idle(); /* 15. the shell runs, we idle */
}
