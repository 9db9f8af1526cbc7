/* SPDX-License-Identifier: MIT */
/* port_default.h -- the hot half of the port contract: every hook and every size, and what holds if a port says nothing. */
#ifndef FATHOM_PORT_DEFAULT_H
#define FATHOM_PORT_DEFAULT_H

#include <stddef.h>
#include <stdint.h>

/*
 * A kernel writes fathom_port.h. A hook is a macro, or a static inline function that is announced by a macro of its name:
 *
 *	#define fathom_port_cpu fathom_port_cpu
 *	static inline uint32_t fathom_port_cpu(void) { return my_cpu()->number; }
 *
 * A size is a macro with a number that the preprocessor can read. The cold half is struct fathom_config (trace.h). All files
 * that include this one, the library's and the kernel's, must be compiled with the same fathom_port.h.
 *
 * Each entry says what it means, what it must keep, its default, and from which level (docs/PORTING.md) on it matters.
 * Hooks run with every record, in any context, NMI included: they take no lock, wait for nothing, and are not traced.
 * fathom_port_check() tests what can be tested.
 */

/*
 * FATHOM_NOTRACE: what must not be traced, though the file that it stands in is compiled for tracing: a port's own hooks, what
 * these headers define inline, what events define. With -finstrument-functions gcc traces what it inlines too: add
 * -finstrument-functions-exclude-file-list=fathom,wire/.
 */
#if defined(__has_attribute)
#if __has_attribute(patchable_function_entry)
#define FATHOM_NOTRACE __attribute__((__no_instrument_function__, __patchable_function_entry__(0)))
#endif
#endif
#ifndef FATHOM_NOTRACE
#define FATHOM_NOTRACE __attribute__((__no_instrument_function__))
#endif

/*
 * For fathom_port_clock() where the hardware counts 32 bits. `c` is zeroed storage, one per counter: one for a counter that
 * all CPUs read, one per CPU for a counter of the CPU's own. `read` reads the counter, which counts up (negate one that counts
 * down). The time never goes back, whatever nests and whichever CPUs call at once, if
 *  - it is called at least once in each half period of the counter, by anyone: a periodic timer will do (a 25 MHz counter
 *    wraps after 171 s, DWT's CYCCNT at 168 MHz after 25 s);
 *  - CPUs that share `c` see counters that differ by less than a quarter of the period.
 * 62 bits are counted. Context: any. Cost: two loads beside the counter's.
 */
struct fathom_clock32 {
	unsigned long quarters; /* periods of the counter so far, and the two upper bits of it */
};
static inline FATHOM_NOTRACE uint64_t fathom_clock32(struct fathom_clock32 *c,
						     uint32_t (*read)(void))
{
	unsigned long seen = __atomic_load_n(&c->quarters, __ATOMIC_ACQUIRE), at;
	uint32_t now = read(), step;

	/* Again if others counted on meanwhile: this one may have stood still for long. It ends: they cannot always. */
	for (int i = 0; i < 8; i++) {
		at = __atomic_load_n(&c->quarters, __ATOMIC_ACQUIRE);
		if (at == seen)
			break;
		seen = at;
		now = read();
	}
	step = ((now >> 30) - (uint32_t)seen) & 3;
	at = seen + step;
	if (!seen)
		at = 4 | now >> 30; /* the first call; so that there is room for who is behind */
	else if (step == 3)
		at = seen - 1; /* another CPU's counter is ahead of this one */
	if (!seen || at - seen - 1 < 2)
		__atomic_compare_exchange_n(&c->quarters, &seen, at, 0, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED);
	return (uint64_t)(at >> 2) << 32 | now;
}

#include "fathom_port.h"

/* ---- hooks, level 0 ---- */

/*
 * uint32_t fathom_port_cpu(void): the number of the running CPU, 0 .. config.nr_cpus - 1. It does not change between
 * fathom_port_pin() and fathom_port_unpin(). A number from there to FATHOM_CPUS_MAX: the event is refused, and counted. Larger
 * ones only debug builds survive. Required.
 */
#ifndef fathom_port_cpu
#error "fathom_port.h must define fathom_port_cpu(): the number of the running CPU, 0 .. nr_cpus-1"
#endif

/*
 * uint32_t fathom_port_cpu_quick(void): the same where the fast paths ask. For a port whose fathom_port_cpu() may call
 * something: FATHOM_CPUS_MAX sends the event to the general path, which asks fathom_port_cpu(). Default: that one.
 */
#ifndef fathom_port_cpu_quick
#define fathom_port_cpu_quick fathom_port_cpu
#endif

/*
 * uint64_t fathom_port_clock(void): ticks of config.clock_hz. Never goes back on one CPU, nor from one file to another (so no
 * static variable in the header); traces of several CPUs are merged by it, so it is the same on all, or nearly. Required.
 */
#ifndef fathom_port_clock
#error "fathom_port.h must define fathom_port_clock(): a clock that is monotonic on each CPU, in ticks of config.clock_hz"
#endif

/*
 * uintptr_t fathom_port_pin(void), void fathom_port_unpin(uintptr_t pin): between them the task is not preempted, nor moved to
 * another CPU. Interrupts may come, and record. They nest; unpin gets what its pin returned. A kernel that preempts tasks in
 * the kernel disables preemption, or the scheduler's interrupt. Default: the kernel does not.
 */
#ifndef fathom_port_pin
#define fathom_port_pin	  fathom_port_pin
#define fathom_port_unpin fathom_port_unpin
static inline FATHOM_NOTRACE uintptr_t fathom_port_pin(void)
{
	return 0;
}
static inline FATHOM_NOTRACE void fathom_port_unpin(uintptr_t pin)
{
	(void)pin;
}
#endif

/* ---- hooks, level 3 ---- */

/*
 * int32_t fathom_port_task(void): the running task as the pid that traces show; 0 is an idle task. Default: there are no tasks.
 */
#ifndef fathom_port_task
#define fathom_port_task fathom_port_task
static inline FATHOM_NOTRACE int32_t fathom_port_task(void)
{
	return 0;
}
#endif

/*
 * uint32_t fathom_port_context(uintptr_t pin): the context of the event. Low byte, enum wire_flags: interrupts off 0x01,
 * rescheduling is due 0x04, in an interrupt 0x08, in a soft interrupt 0x10, in an NMI 0x40. Second byte: preempt depth, at
 * most 15. It is asked after fathom_port_pin(), and `pin` is what that returned: a kernel that pins by turning interrupts off
 * says what was before. An interrupt handler and an NMI differ from what they interrupted, or their records are taken for the
 * tracer's own and are dropped. Default: unknown (Linux prints `X`), for a kernel whose interrupts trace nothing.
 */
#ifndef fathom_port_context
#define fathom_port_context fathom_port_context
static inline FATHOM_NOTRACE uint32_t fathom_port_context(uintptr_t pin)
{
	(void)pin;
	return 0x02;
}
#endif

/* ---- hooks, level 4 ---- */

/*
 * struct fathom_task *fathom_port_task_state(void): what the function tracers keep of the running task (task.h); NULL: its
 * calls are not traced. It changes with the stack, not before and not after: return addresses are kept in it. A scheduler that
 * announces a switch before it happens changes it where the stack changes, and no traced function is entered under one state
 * and left under another. Default: one state per CPU, for kernels with one stack per CPU; made by the first tracer.
 *
 * void fathom_port_stack(uintptr_t at, uintptr_t *lo, uintptr_t *hi): the stack that address `at` is on, [*lo, *hi), all of it
 * readable. Untouched if `at` is on none. Default: nothing is known, and stacks in the trace end with the page they are on.
 *
 * Both defaults are in the library (functions/tracers.h, unwind.c): a port defines the macro of the name, or does not.
 */

/* ---- choices ---- */

/*
 * FATHOM_PATCH, level 5: what an event is that is off. 1: a NOP that is patched; needs config.text_map and x86_64, aarch64 or
 * riscv64. 0: one relaxed load and a branch. Default 0.
 */
#ifndef FATHOM_PATCH
#define FATHOM_PATCH 0
#endif

/*
 * FATHOM_FUNCTIONS, level 4. 0: fathom_init() looks for no functions, and a linker that collects sections drops the tracers.
 * Default 1.
 */
#ifndef FATHOM_FUNCTIONS
#define FATHOM_FUNCTIONS 1
#endif

/*
 * FATHOM_ATTACH, level 0. 0: nothing can be attached to an event, no filter, trigger, stack, instance or function of
 * register_trace_<event>(): events are on or off, and cost less. The tree (level 6) needs 1. Default 1.
 */
#ifndef FATHOM_ATTACH
#define FATHOM_ATTACH 1
#endif

/*
 * FATHOM_EVENT_TEXT, level 0. 0: events bring no code that prints them, for a target whose traces the host prints. A dump then
 * shows their fields as name=value. Default 1.
 */
#ifndef FATHOM_EVENT_TEXT
#define FATHOM_EVENT_TEXT 1
#endif

/*
 * FATHOM_PORT_LEAF, level 4, aarch64 and riscv64 compiled by gcc. 1: the hot hooks (cpu, clock, pin, unpin, context, task,
 * task_state) are inline and call no function, and use no vector register. The entries of traced functions then save next to
 * nothing: half the instructions. fathom_port_check() finds a port that says so and is not. trace/functions/hot*.c are not for
 * link-time optimization, which cannot keep registers for one file alone: -fno-lto. Default 0.
 */
#ifndef FATHOM_PORT_LEAF
#define FATHOM_PORT_LEAF 0
#endif

/*
 * FATHOM_SAVE_FP, level 4, riscv64. 1: the entries of traced functions save and restore fa0..fa7, for a port whose traced code
 * calculates in floating point and whose hooks or callbacks may use FP registers too (a process). The FP unit must be on
 * wherever a traced function runs. aarch64 goes by the compiler's -mgeneral-regs-only instead. Default 0.
 */
#ifndef FATHOM_SAVE_FP
#define FATHOM_SAVE_FP 0
#endif

/*
 * FATHOM_DEBUG, any level. 1: the library checks that its lock is held where it must be; a violation ends in
 * config.fatal. Default 0.
 */
#ifndef FATHOM_DEBUG
#define FATHOM_DEBUG 0
#endif

/* FATHOM_PARANOID, any level, if defined: every page is checked as it is closed, and broken ones are counted. */

/*
 * FATHOM_LOCAL_GENERIC, any level, if defined: the compiler's atomics everywhere, not those that are atomic against interrupts of
 * one CPU only. For a port whose "CPU" is not one instruction stream, and for ThreadSanitizer.
 */

/* ---- sizes, level 0 ---- */

/*
 * FATHOM_CPUS_MAX: the most that config.nr_cpus may be, 1 .. 64. Tables have so many entries: about 400 bytes of .bss each with
 * rings and events only, 2 KiB with everything. A machine with one CPU says 1. Default 64.
 */
#ifndef FATHOM_CPUS_MAX
#define FATHOM_CPUS_MAX 64
#endif

/*
 * FATHOM_PAGE_BYTES: a page of a ring, a power of two, 512 .. 4096; config.memory is aligned to it. A ring has at least three. No
 * record is longer than a page, and what a reader takes from a running ring is a page. Default 4096.
 */
#ifndef FATHOM_PAGE_BYTES
#define FATHOM_PAGE_BYTES 4096
#endif

/*
 * FATHOM_SCRATCH_BYTES: where the records of events with filters or triggers are built, per CPU, in config.memory; a multiple of
 * 16. Nested events share it; one that finds no room is built in the ring and taken out again. Default: a page, or 0 if
 * FATHOM_ATTACH is 0.
 */
#ifndef FATHOM_SCRATCH_BYTES
#define FATHOM_SCRATCH_BYTES (FATHOM_ATTACH ? FATHOM_PAGE_BYTES : 0)
#endif

/*
 * FATHOM_DUMP_BYTES: what fathom_dump() and fathom_save() work in, in config.memory; fathom_dump() takes what it needs if that is
 * more (about 3 KiB, a page, and a page per CPU). fathom_save() refuses format files that are longer (-E2BIG): Linux's longest
 * have 7 KiB, most one. 1024 or more; or 0: both do nothing, and need nothing. Default 8192.
 */
#ifndef FATHOM_DUMP_BYTES
#define FATHOM_DUMP_BYTES 8192
#endif

/* FATHOM_DUMP_LINE: the longest line of fathom_dump(), 128 or more; longer ones are cut. In .bss. Default 2048. */
#ifndef FATHOM_DUMP_LINE
#define FATHOM_DUMP_LINE 2048
#endif

/*
 * FATHOM_MARKER_MAX: the longest text of trace_marker, trace_puts() and trace_printk()'s packed arguments, 64 .. 1024; the rest is
 * cut, or comes as another record. Default 1024, or less if a page is smaller.
 */
#ifndef FATHOM_MARKER_MAX
#define FATHOM_MARKER_MAX (FATHOM_PAGE_BYTES >= 2048 ? 1024 : FATHOM_PAGE_BYTES / 2)
#endif

/* FATHOM_HOOKS_MAX: functions attached by register_trace_<event>() at a time, 1 .. 65535; 32 bytes of .bss each. Default 32. */
#ifndef FATHOM_HOOKS_MAX
#define FATHOM_HOOKS_MAX 32
#endif

/*
 * FATHOM_LINK_BYTES: the longest answer of the link, 512 .. 4352, and 16 more than a page has: where struct fathom_link (link.h)
 * lays it out. Events whose format file is longer are refused (-E2BIG). Default 4352.
 */
#ifndef FATHOM_LINK_BYTES
#define FATHOM_LINK_BYTES 4352
#endif
/*
 * FATHOM_LINK_PACKED: 1: the link packs its pages, so that an event takes a fifth of the line or less, for 1.5 to 3 KiB of code and
 * 7.5 KiB in struct fathom_link. Default 1, and 0 where FATHOM_LINK_BYTES is smaller than its default.
 */
#ifndef FATHOM_LINK_PACKED
#define FATHOM_LINK_PACKED (FATHOM_LINK_BYTES >= 4352)
#endif

/*
 * FATHOM_RING_RETRIES: how often in a row an interrupt may write inside a window of ten instructions before a writer gives in and
 * leaves publishing to the next, 1 or more. Default 16.
 */
#ifndef FATHOM_RING_RETRIES
#define FATHOM_RING_RETRIES 16
#endif

/* ---- sizes, level 4 ---- */

/*
 * FATHOM_SHADOW_DEPTH: calls that function_graph follows per task, a power of two, 4 .. 1024; deeper ones run untraced and are
 * counted. 48 bytes per call and task (36 on 32 bits). Default 64.
 */
#ifndef FATHOM_SHADOW_DEPTH
#define FATHOM_SHADOW_DEPTH 64
#endif

/*
 * FATHOM_STACK_BYTES: the largest stack that a task runs on. Frames further apart are taken to be on different stacks. Default
 * 16384.
 */
#ifndef FATHOM_STACK_BYTES
#define FATHOM_STACK_BYTES 16384
#endif

/* FATHOM_PIDS_MAX: tasks in set_ftrace_pid, and in each list like it, 1 .. 65535; 4 bytes each. Default 256. */
#ifndef FATHOM_PIDS_MAX
#define FATHOM_PIDS_MAX 256
#endif

/* FATHOM_PROBES_MAX: functions with a command (`schedule:traceoff`), 2 or more; about 40 bytes of .bss each. Default 512. */
#ifndef FATHOM_PROBES_MAX
#define FATHOM_PROBES_MAX 512
#endif

/* FATHOM_MODULES_MAX: modules at a time that bring functions (object.h), 1 .. 255. Default 64. */
#ifndef FATHOM_MODULES_MAX
#define FATHOM_MODULES_MAX 64
#endif

/* FATHOM_STACK_FRAMES: frames of a stack in a record, 2 .. 512. Default 64, or 32 if a page has 512 bytes. */
#ifndef FATHOM_STACK_FRAMES
#define FATHOM_STACK_FRAMES (FATHOM_PAGE_BYTES > 512 ? 64 : 32)
#endif

/* FATHOM_STACK_SEEN_MAX: frames of the deepest stack, which the stack tracer keeps, 2 or more; 16 bytes of .bss each. Default 128. */
#ifndef FATHOM_STACK_SEEN_MAX
#define FATHOM_STACK_SEEN_MAX 128
#endif

/* ---- sizes, level 6: the tree ---- */

/* FATHOM_INSTANCES_MAX: instances beside the top, 1 .. 30, as far as config.memory goes. Default 8. */
#ifndef FATHOM_INSTANCES_MAX
#define FATHOM_INSTANCES_MAX 8
#endif

/* FATHOM_TASK_NAMES: names of tasks that are remembered after their end, a multiple of 8; 24 bytes of .bss each. Default 512. */
#ifndef FATHOM_TASK_NAMES
#define FATHOM_TASK_NAMES 512
#endif

/* FATHOM_ERRORS_MAX: refused commands that error_log shows, 1 or more; 288 bytes of config.memory each. Default 8. */
#ifndef FATHOM_ERRORS_MAX
#define FATHOM_ERRORS_MAX 8
#endif

/*
 * FATHOM_TREE_BYTES: where the tree lays out one piece of text, in config.memory; the longest line of any file. 8192 or more,
 * since a format file is one piece; a multiple of 16. Default 16384.
 */
#ifndef FATHOM_TREE_BYTES
#define FATHOM_TREE_BYTES 16384
#endif

/* FATHOM_HIST_ENTRIES: rows of a histogram whose size is not given, a power of two, 128 .. 131072. Default 2048. */
#ifndef FATHOM_HIST_ENTRIES
#define FATHOM_HIST_ENTRIES 2048
#endif

/*
 * FATHOM_P9_FIDS: files that a 9P client has open or walks, 4 or more; about 330 bytes each. Default 128.
 * FATHOM_P9_WAITS: its reads and polls that wait at the same time, 1 or more. Default 64.
 * FATHOM_P9_MSIZE: the largest message, 256 .. 65536, twice. Default 8192. All are in struct fathom_p9 (p9.h).
 */
#ifndef FATHOM_P9_FIDS
#define FATHOM_P9_FIDS 128
#endif
#ifndef FATHOM_P9_WAITS
#define FATHOM_P9_WAITS 64
#endif
#ifndef FATHOM_P9_MSIZE
#define FATHOM_P9_MSIZE 8192
#endif

/* ---- sizes, the sampler ---- */

/*
 * FATHOM_SAMPLE_FRAMES: frames kept of a stack, even, 4 .. 512, on the interrupt's stack while it is taken. Of a deeper one the
 * innermost and the outermost half are kept, with a 0 between them. Default 128.
 * FATHOM_SAMPLE_WALK: frames that are walked, FATHOM_SAMPLE_FRAMES or more: a program chooses how deep its stack is, and must not
 * choose how long the interrupt takes. Of a stack that goes on after them the outermost frames are not known: its innermost
 * half is kept, and the 0 is its end. Default 1024.
 */
#ifndef FATHOM_SAMPLE_FRAMES
#define FATHOM_SAMPLE_FRAMES 128
#endif
#ifndef FATHOM_SAMPLE_WALK
#define FATHOM_SAMPLE_WALK 1024
#endif

/* ---- sizes, programs ---- */

/*
 * FATHOM_PROGRAMS_MAX: programs at a time (config.programs), 1 .. 255. Default 16. FATHOM_PROGRAM_BYTES: what the maps of one may
 * take of config.memory. Default 1 MiB. FATHOM_PROGRAM_BUDGET: instructions of one run, 1 or more, of one to ten nanoseconds each.
 * Default 20000.
 */
#ifndef FATHOM_PROGRAMS_MAX
#define FATHOM_PROGRAMS_MAX 16
#endif
#ifndef FATHOM_PROGRAM_BYTES
#define FATHOM_PROGRAM_BYTES (1u << 20)
#endif
#ifndef FATHOM_PROGRAM_BUDGET
#define FATHOM_PROGRAM_BUDGET 20000
#endif

/* ---- sizes, dynamic events ---- */

/* FATHOM_DYNAMIC_MAX: events that exist at a time by config.dynamic, 1 .. 1024, each about 3 KiB of config.memory. Default 32. */
#ifndef FATHOM_DYNAMIC_MAX
#define FATHOM_DYNAMIC_MAX 32
#endif

/* ---- what is not kept above is refused here ---- */

#define FATHOM_PORT_POWER(n) (((n) & ((n)-1)) == 0)
#if FATHOM_CPUS_MAX < 1 || FATHOM_CPUS_MAX > 64
#error "FATHOM_CPUS_MAX: 1 .. 64"
#endif
#if FATHOM_PAGE_BYTES < 512 || FATHOM_PAGE_BYTES > 4096 || !FATHOM_PORT_POWER(FATHOM_PAGE_BYTES)
#error "FATHOM_PAGE_BYTES: a power of two, 512 .. 4096"
#endif
#if FATHOM_SCRATCH_BYTES % 16
#error "FATHOM_SCRATCH_BYTES: a multiple of 16"
#endif
#if FATHOM_DUMP_BYTES && FATHOM_DUMP_BYTES < 1024
#error "FATHOM_DUMP_BYTES: 0, or 1024 or more"
#endif
#if FATHOM_DUMP_LINE < 128
#error "FATHOM_DUMP_LINE: 128 or more"
#endif
#if FATHOM_MARKER_MAX < 64 || FATHOM_MARKER_MAX > 1024 || FATHOM_MARKER_MAX > FATHOM_PAGE_BYTES / 2
#error "FATHOM_MARKER_MAX: 64 .. 1024, and at most half a page"
#endif
#if FATHOM_HOOKS_MAX < 1 || FATHOM_HOOKS_MAX > 65535
#error "FATHOM_HOOKS_MAX: 1 .. 65535"
#endif
#if FATHOM_LINK_BYTES < 512 || FATHOM_LINK_BYTES < FATHOM_PAGE_BYTES + 16 || \
	FATHOM_LINK_BYTES > 4352
#error "FATHOM_LINK_BYTES: 512 .. 4352, and 16 more than a page has"
#endif
#if FATHOM_RING_RETRIES < 1
#error "FATHOM_RING_RETRIES: 1 or more"
#endif
#if FATHOM_SHADOW_DEPTH < 4 || FATHOM_SHADOW_DEPTH > 1024 || !FATHOM_PORT_POWER(FATHOM_SHADOW_DEPTH)
#error "FATHOM_SHADOW_DEPTH: a power of two, 4 .. 1024"
#endif
#if FATHOM_PIDS_MAX < 1 || FATHOM_PIDS_MAX > 65535
#error "FATHOM_PIDS_MAX: 1 .. 65535"
#endif
#if FATHOM_PROBES_MAX < 2
#error "FATHOM_PROBES_MAX: 2 or more"
#endif
#if FATHOM_MODULES_MAX < 1 || FATHOM_MODULES_MAX > 255
#error "FATHOM_MODULES_MAX: 1 .. 255"
#endif
#if FATHOM_STACK_FRAMES < 2 || FATHOM_STACK_FRAMES > 512 || \
	FATHOM_STACK_FRAMES * 8 + 32 > FATHOM_PAGE_BYTES
#error "FATHOM_STACK_FRAMES: 2 .. 512, and what fits into a page"
#endif
#if FATHOM_STACK_SEEN_MAX < 2
#error "FATHOM_STACK_SEEN_MAX: 2 or more"
#endif
#if FATHOM_DYNAMIC_MAX < 1 || FATHOM_DYNAMIC_MAX > 1024
#error "FATHOM_DYNAMIC_MAX: 1 .. 1024"
#endif
#if FATHOM_INSTANCES_MAX < 1 || FATHOM_INSTANCES_MAX > 30
#error "FATHOM_INSTANCES_MAX: 1 .. 30"
#endif
#if FATHOM_TASK_NAMES < 8 || FATHOM_TASK_NAMES % 8
#error "FATHOM_TASK_NAMES: a multiple of 8"
#endif
#if FATHOM_ERRORS_MAX < 1
#error "FATHOM_ERRORS_MAX: 1 or more"
#endif
#if FATHOM_TREE_BYTES < 8192 || FATHOM_TREE_BYTES % 16
#error "FATHOM_TREE_BYTES: 8192 or more, a multiple of 16"
#endif
#if FATHOM_HIST_ENTRIES < 128 || FATHOM_HIST_ENTRIES > 131072 || \
	!FATHOM_PORT_POWER(FATHOM_HIST_ENTRIES)
#error "FATHOM_HIST_ENTRIES: a power of two, 128 .. 131072"
#endif
#if FATHOM_P9_FIDS < 4 || FATHOM_P9_WAITS < 1 || FATHOM_P9_MSIZE < 256 || FATHOM_P9_MSIZE > 65536
#error "FATHOM_P9_FIDS: 4 or more; FATHOM_P9_WAITS: 1 or more; FATHOM_P9_MSIZE: 256 .. 65536"
#endif
#if FATHOM_SAMPLE_FRAMES < 4 || FATHOM_SAMPLE_FRAMES > 512 || FATHOM_SAMPLE_FRAMES % 2 || \
	FATHOM_SAMPLE_WALK < FATHOM_SAMPLE_FRAMES
#error "FATHOM_SAMPLE_FRAMES: even, 4 .. 512; FATHOM_SAMPLE_WALK: no less"
#endif
#if FATHOM_PROGRAMS_MAX < 1 || FATHOM_PROGRAMS_MAX > 255 || FATHOM_PROGRAM_BUDGET < 1
#error "FATHOM_PROGRAMS_MAX: 1 .. 255; FATHOM_PROGRAM_BUDGET: 1 or more"
#endif

#endif
