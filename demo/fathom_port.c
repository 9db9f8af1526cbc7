/* SPDX-License-Identifier: MIT */
/* fathom_port.c -- the cold half of the demo kernel's port, level by level (docs/PORTING.md). */
#include "hooks.h"
#include "kernel.h"
#include "lock.h"
#include "machine.h"
#include "task.h"
#include "port.h"
#include "stream.h"
#include "fathom/trace.h"
#include "fathom/save.h"
#include "fathom/link.h"
#include "fathom/p9.h"

#define LINE_TICK_NS 10000000 /* how long a waiting read of the host may go unnoticed */

#if LEVEL >= 1 /* export: a task answers the host on the trace line */
static void line_send(void *port, const void *data, size_t bytes)
{
	serial_write((int)(uintptr_t)port, data, bytes);
}

static void line_task(void *port)
{
	static struct fathom_link link;
#if LEVEL >= 6 /* tracefs for `fathom mount`: both servers listen, each to what is meant for it */
	static struct fathom_p9 p9;

	fathom_p9_init(&p9, line_send, port);
#endif
	fathom_link_init(&link, line_send, port);
	for (;;) {
		uint64_t wait = FOREVER;
		uint8_t buf[64];

#if LEVEL >= 6
		wait = fathom_p9_tick(&p9) ? LINE_TICK_NS : FOREVER;
#endif
		size_t n = serial_read((int)(uintptr_t)port, buf, sizeof(buf), wait);

		fathom_link_input(&link, buf, n);
#if LEVEL >= 6
		fathom_p9_input(&p9, buf, n);
#endif
	}
}
#endif

#if LEVEL >= 3 /* tasks have names; a panic shows the last events */
static int name_of(int32_t pid, char buf[16])
{
	const char *name = task_name(pid);

	return name ? copy_name(buf, name, 16), 0 : -ESRCH;
}

static int32_t group_of(int32_t pid)
{
	return pid; /* a task has one thread: its group is itself */
}
#endif

#if LEVEL >= 4 /* calls are patched into text: its alias in the direct map can be written */
NOTRACE static void *text_map(void *at, size_t bytes)
{
	return bytes ? phys_to_virt(virt_to_phys(at)) : NULL; /* the alias is contiguous */
}
#endif

#if LEVEL >= 5 /* under running CPUs: a breakpoint goes first, which trap.c asks about */
NOTRACE static void sync(void)
{
	smp_call_all(serialize);
}
#endif

void port_init(uint32_t cpus)
{
	char mib[8];
	size_t bytes = boot_option("trace_mib", mib, sizeof(mib)) ? parse_u64(mib) << 20 : 16 << 20;
	static uint32_t held;
	struct fathom_config config = {
		.memory = frame_early(bytes),
		.memory_bytes = bytes,
		.nr_cpus = LEVEL >= 2 ? cpus : 1,
		.clock_hz = clock_hz,
		.clock_name = CLOCK_NAME,
		.release = "demo",
		.lock = mutex_lock, /* tasks may be preempted in the kernel */
		.unlock = mutex_unlock,
		.lock_arg = &held,
#if LEVEL >= 3
		.sink = console_sink,
		.fatal = panic_text,
		.task_name = name_of,
		.task_group = group_of,
#endif
#if LEVEL >= 4
		.programs = &fathom_programs,
		.dynamic = &fathom_dynamic,
		.blk = &fathom_blk,
		.noise = &noise_port,
		.peek = vm_read,
		.last_boot = &fathom_last_boot, /* a trace that survives a warm reset */
		.last_boot_memory = kept.memory,
		.last_boot_bytes = kept.bytes,
		.symbol = ksym_name,
		.lookup = ksym_lookup,
		.text_map = text_map,
		.stop_cpus = smp_stop_all,
		.irq_text = (uintptr_t)__irqentry_text_start,
		.irq_text_end = (uintptr_t)__irqentry_text_end,
#endif
#if LEVEL >= 5
		.sync = sync,
#endif
	};
	/* The beacon: a memory image of a dead kernel can be read. */
	int err = fathom_init(&config) ?: fathom_beacon(0);

	if (err)
		panic("tracing does not start: %d", err);
#if LEVEL >= 6 /* tracing from the command line: it runs before the first task does */
	fathom_boot(machine.cmdline);
#endif
	stream_init(cpus);
}

void port_start(void)
{
#if LEVEL >= 1
	struct spawn s = {.name = "traceline", .fn = line_task, .arg = 1, .detached = 1};

	task_spawn(&s);
#endif
}
