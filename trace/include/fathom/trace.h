/* SPDX-License-Identifier: MIT */
/* trace.h -- set-up and run-time switches of the tracer. */
#ifndef FATHOM_TRACE_H
#define FATHOM_TRACE_H

#include <stddef.h>
#include <stdint.h>
#include "fathom/inside/errno.h"
#include "fathom/inside/ring.h"
#include "fathom/inside/event.h"

typedef void (*fathom_write_fn)(void *arg, const char *text, size_t bytes);

/* eBPF programs inside the kernel, for fathom_config.programs. */
struct fathom_programs;
extern const struct fathom_programs fathom_programs;
/* Events made while it runs, for fathom_config.dynamic. */
struct fathom_dynamic;
extern const struct fathom_dynamic fathom_dynamic;
/* A trace that survives a warm reset, for fathom_config.last_boot. */
struct fathom_last_boot;
extern const struct fathom_last_boot fathom_last_boot;
/* Further tracers, for the member of fathom_config that has the name. */
struct fathom_extra;
extern const struct fathom_extra fathom_blk, fathom_noise_tracers;

/* What the tracers osnoise, timerlat and hwlat ask of a port, for fathom_config.noise. */
struct fathom_noise {
	const struct fathom_extra *tracers; /* &fathom_noise_tracers. Required. */
	/*
	 * thread: start a task of this name that runs fn(arg) on `cpu` and nowhere else, and ends when fn returns; `realtime`: before all
	 * ordinary ones. 0 or more, or -errno. Called with the library's lock. Required.
	 */
	int (*thread)(const char *name, uint32_t cpu, int realtime, void (*fn)(void *arg),
		      void *arg);
	/*
	 * wait: the calling task, one of these, sleeps for `ns`. The timer's interrupt that ends it calls tick(arg) on this CPU, if it is not 0,
	 * before anything that it wakes runs. Required.
	 */
	void (*wait)(uint64_t ns, void (*tick)(void *arg), void *arg);
	/* quiet: run fn(arg) with interrupts off on this CPU. 0: hwlat does not start. */
	void (*quiet)(void (*fn)(void *arg), void *arg);
};

/*
 * The cold half of the port contract; the hot half, and all sizes, are in port_default.h. Zero the struct and fill in what the
 * kernel has: every member but those called required may be 0. Each says what it means, what it must keep, what 0 means, and
 * from which level (docs/PORTING.md) on it matters. fathom_init() copies the struct; what it points to stays the port's.
 * Callbacks are called in task context, one at a time, with interrupts as the caller had them, unless they say otherwise.
 * fathom_port_check() tests what can be tested.
 */
struct fathom_config {
	/* ---- level 0 ---- */

	/*
	 * memory, memory_bytes: all that tracing will ever use, aligned to FATHOM_PAGE_BYTES, readable and writable by every
	 * CPU, never paged out. fathom_memory_need() says how much; -ENOMEM if it is too little. Required.
	 */
	void *memory;
	size_t memory_bytes;
	/* nr_cpus: 1 .. FATHOM_CPUS_MAX; fathom_port_cpu() is below it for ever. Required. */
	uint32_t nr_cpus;
	/*
	 * pages_per_cpu: pages of each ring, FATHOM_RING_PAGES_MIN .. FATHOM_RING_PAGES_MAX. 0: three eighths of the memory; as
	 * much again is for the snapshot, the rest for control.
	 */
	uint32_t pages_per_cpu;
	/* clock_hz: ticks of fathom_port_clock() per second; fathom_clock_hz_set() corrects it. 0: it counts nanoseconds. */
	uint64_t clock_hz;
	/* clock_name: what trace_clock calls the bare ticks ("x86-tsc"). 0: they are not offered. */
	const char *clock_name;
	/* mono_ns: another clock, of nanoseconds, any context: `mono` of trace_clock. 0: not offered. */
	uint64_t (*mono_ns)(void);
	/* tai_ns: International Atomic Time, in nanoseconds since 1970, any context: `tai` of trace_clock. 0: not offered. */
	uint64_t (*tai_ns)(void);
	/* release: the kernel's name and version, for headers. 0: "fathom". */
	const char *release;
	/*
	 * lock, unlock, lock_arg: the library's one lock, which it takes itself around everything that reads rings, patches or
	 * steers, and never in an event. Held for as long as a file is read, so a mutex where tasks sleep; text_map, sync and
	 * stop_cpus are called with it. It excludes every other CPU and task. It may let its holder in again: then the port may
	 * call library functions between fathom_lock() and fathom_unlock(). 0, both: a spinlock, for kernels in which its holder
	 * is not preempted.
	 */
	void (*lock)(void *lock_arg);
	void (*unlock)(void *lock_arg);
	void *lock_arg;

	/* ---- level 3 ---- */

	/*
	 * sink, sink_arg: the console. Takes `bytes` of text, which end in no 0. Any context: fathom_dump() calls it in a panic,
	 * so it takes no lock that the CPU may hold. 0: dumps go nowhere.
	 */
	fathom_write_fn sink;
	void *sink_arg;
	/*
	 * fatal: the kernel's panic, with a line that says why; must not return. Any context. Called if tracing has lost what
	 * the kernel cannot go on without (a return address, because the port broke its contract). 0: the line goes to the sink
	 * and the CPU traps.
	 */
	void (*fatal)(const char *why);
	/*
	 * task_name: the name of a task, at most 15 characters and a 0, into buf; 0, or negative if there is no such task. Any
	 * context: fathom_dump() asks it. 0: names come from sched events.
	 */
	int (*task_name)(int32_t pid, char buf[16]);
	/* task_group: the thread group of a task, for record-tgid. 0: unknown. */
	int32_t (*task_group)(int32_t pid);

	/* ---- level 4 ---- */

	/*
	 * text_map: where `bytes` (1 to 8) of text at `at` can be written: an alias with the same offset in its page, or `at`
	 * itself once it is writable. NULL: it cannot be; nothing of it changes then. The library makes the stores, one an
	 * instruction, and the cache maintenance. x86_64: the bytes may lie in two pages; elsewhere they are an aligned word.
	 * Not traced; task context or inside stop_cpus. 0: text cannot be written.
	 */
	void *(*text_map)(void *at, size_t bytes);
	/* text_unmap: the library is done with what text_map returned. 0: there is nothing to undo. */
	void (*text_unmap)(void *alias, size_t bytes);
	/*
	 * stop_cpus: run fn(arg) on this CPU while all others stand in untraced code with interrupts off, and let them
	 * synchronise as below before they go on. 0: there is one CPU, or sync.
	 */
	void (*stop_cpus)(void (*fn)(void *), void *arg);
	/*
	 * symbol: the name of the function that holds `at`, which lives for ever, and if it knows it the offset into it and its
	 * size; NULL if there is none. Any context. 0: no symbols.
	 */
	const char *(*symbol)(uintptr_t at, uintptr_t *offset, uintptr_t *size);
	/* lookup: the address of a function or object of that name, 0 if there is none. 0: names are not looked up. */
	uintptr_t (*lookup)(const char *name);
	/*
	 * init_text, init_text_end: text that is given away after boot: no function in [init_text, init_text_end) is traced. For
	 * more than one range, or later, fathom_function_forget(). 0: none.
	 */
	uintptr_t init_text, init_text_end;
	/* irq_text, irq_text_end: the functions that interrupts enter by: function_graph draws arrows. 0: none. */
	uintptr_t irq_text, irq_text_end;
	/* module_functions: room for so many functions of modules that come later, and twice as many returns. 0: none is traced. */
	uint32_t module_functions;
	/* module_events: room in the control tree for so many events of objects that come later (object.h). 0: none is there. */
	uint32_t module_events;

	/* ---- level 5 ---- */

	/*
	 * sync: return once every CPU, this one too, has synchronised its fetching since the call: x86_64 a serialising instruction
	 * (cpuid, iret), aarch64 isb, riscv64 fence.i; each may then say FATHOM_SYNCED(). Interrupts are on. Not traced. x86_64: the breakpoint handler must call
	 * fathom_arch_breakpoint(). 0: sites change under stop_cpus.
	 */
	void (*sync)(void);
	/* init_live: 1: other CPUs (a process: threads) may run traced functions during fathom_init(); text then changes with sync. */
	uint8_t init_live;

	/* ---- level 6 ---- */

	/* programs: &fathom_programs gives the control tree programs/ (docs/PROGRAMS.md). 0: no programs, and none of their code. */
	const struct fathom_programs *programs;
	/*
	 * dynamic: &fathom_dynamic gives the control tree synthetic_events, kprobe_events and dynamic_events (docs/TRACEFS.md). 0: no
	 * such events, and none of their code.
	 */
	const struct fathom_dynamic *dynamic;
	/*
	 * peek: copy `bytes` of memory from any address to `to`: 0, or negative if not all of it can be read. Any context, NMI
	 * included; does not fault, takes no lock. 0: probes do not follow pointers.
	 */
	int (*peek)(void *to, uintptr_t from, size_t bytes);
	/*
	 * last_boot, last_boot_memory, last_boot_bytes: &fathom_last_boot gives the control tree instances/boot_map, whose rings lie in
	 * this memory: aligned to FATHOM_PAGE_BYTES, the same in every boot, neither cleared nor loaded over by what runs before the
	 * kernel, its caches written back by a reset. It holds 3 pages for each CPU and more, or there is no such instance. Its
	 * contents are checked when the tree is first used. A new build of the kernel should have other events, functions
	 * or `release`: by these its traces are told from an old one's. 0: no such instance, and none of its code.
	 */
	const struct fathom_last_boot *last_boot;
	void *last_boot_memory;
	size_t last_boot_bytes;
	/*
	 * blk: &fathom_blk gives current_tracer `blk`, for a block layer that has the events of fathom/events/block.h (docs/TRACERS.md).
	 * 0: no such tracer, and none of its code.
	 */
	const struct fathom_extra *blk;
	/*
	 * noise: current_tracer has osnoise, timerlat and hwlat, the tree has osnoise/, hwlat_detector/ and events/osnoise (docs/TRACERS.md).
	 * What interrupts the threads is seen by the events irq_handler_entry and _exit, softirq_entry and _exit, sched_switch of
	 * fathom/events/, where the kernel has them. 0: no such tracers, and none of their code.
	 */
	const struct fathom_noise *noise;
};

/*
 * 0, -EINVAL (a member out of range, memory or a call site unaligned), -ENOMEM, -EBUSY (initialised already). Function sites
 * are found and made NOPs of one instruction here, so: once symbols and text_map work, before other CPUs run and before tasks
 * are preempted. Context: init, one CPU.
 */
int fathom_init(const struct fathom_config *config);
/* Undo init: events off, probes unpatched; the memory is the caller's again. Context: task, no writer runs. */
void fathom_exit(void);
/*
 * The port's breakpoint handler asks this first. `*ip` is the saved instruction pointer, behind the breakpoint on
 * x86_64. 1: it was ours and *ip is where to go on; 0: not ours. Any context, NMI included.
 * A port that sets config.sync must call it.
 */
int fathom_arch_breakpoint(uintptr_t *ip);

/*
 * Test the port's contract: CPU number, clock, pin and context, text_map, stop_cpus, sync, names, stack, and for 20 ms how the
 * task state follows the stack. A line to `write` for each thing that is broken, which begins with its name; how many there were.
 * Debug builds (FATHOM_DEBUG) also show what they saw before: events that interrupted others in the same context, the lock
 * taken in an interrupt; and test what one CPU can see in fathom_init(), with lines to the sink. Not seen: a sync whose CPUs do not
 * call FATHOM_SYNCED(), a task state without fathom_port_stack(). Context: task, interrupts on, preemption allowed.
 */
int fathom_port_check(fathom_write_fn write, void *arg);
/* What config.sync runs on each CPU may say so, after it has synchronised: fathom_port_check() then finds a CPU that is missed. */
#define FATHOM_SYNCED() fathom_store(&fathom_core.synced[fathom_port_cpu() % FATHOM_CPUS_MAX], 1)

/* Bytes that fathom_init() needs for this many CPUs and pages per CPU, nothing spare. */
size_t fathom_memory_need(uint32_t nr_cpus, uint32_t pages_per_cpu);

/*
 * Take from the block given to init what the rings left over (snapshot, instances, histograms): 4096-aligned, zeroed,
 * never given back before fathom_exit(). NULL if it is used up. Context: task, with the lock or before others run.
 */
void *fathom_memory_take(size_t bytes);
size_t fathom_memory_left(void);

/* The clock's rate is known better now than at init; what is in the rings is shown with the new one. 0: ns. */
void fathom_clock_hz_set(uint64_t hz);

/* Switch recording: any context. */
void fathom_tracing_on(void);
void fathom_tracing_off(void);
int fathom_tracing_is_on(void);
#define tracing_on()  fathom_tracing_on()
#define tracing_off() fathom_tracing_off()

/*
 * trace_printk(fmt, ...): stores the address of fmt and the arguments, formats when it is read. fmt is a literal.
 * trace_puts(s): a literal is stored as its address, other text is copied.
 */
#define trace_printk(fmt, ...)                                                                    \
	do {                                                                                      \
		static const char *const fathom_fmt                                               \
			__attribute__((__section__("fathom_formats"), __used__, FATHOM_RETAIN)) = \
				fmt;                                                              \
		static uint32_t fathom_plan; /* what fmt asks for, parsed once */                 \
		fathom_printk(&fathom_plan, FATHOM_HERE(), fathom_fmt, ##__VA_ARGS__);            \
	} while (0)
#define trace_puts(s)                                                                             \
	({                                                                                        \
		static const char *const fathom_text                                              \
			__attribute__((__section__("fathom_formats"), __used__, FATHOM_RETAIN)) = \
				__builtin_constant_p(s) ? (s) : "";                               \
		*fathom_text ? fathom_bputs(FATHOM_HERE(), fathom_text)                           \
			     : fathom_marker(FATHOM_HERE(), (s), fathom_strlen(s));               \
	})
/* Text into the ring (`print`): bytes taken, 0 if recording is off. At most FATHOM_MARKER_MAX are. */
int fathom_marker(uintptr_t ip, const char *text, size_t bytes);
/* trace_marker_raw: the first 4 bytes are an id. */
int fathom_marker_raw(const void *data, size_t bytes);

/*
 * The most recent `count` events of every CPU (0: all), merged by time, to the sink; any context, panic included. Recording
 * goes off and stays off, as in Linux: what the console does while it prints is not what was looked for.
 */
void fathom_dump(uint32_t count);

/* The control tree by path: "events/sched/enable", "1". 0 or -errno. Context: task. (control/) */
int fathom_set(const char *path, const char *value);
int fathom_get(const char *path, char *buf, size_t bytes);

/*
 * Tracing from the command line, before the first task: trace_event= ftrace= trace_buf_size= trace_instance= trace_options=
 * trace_clock= ftrace_filter= ftrace_notrace= ftrace_graph_filter= ftrace_graph_notrace= tp_printk, as Linux has them (docs/TRACEFS.md).
 * Other words of the line are not ours. How many could not be done; the sink gets a line for each. Context: init, after
 * fathom_init(). (control/)
 */
int fathom_boot(const char *line);

/*
 * Switch events on or off by "system:event", "system:*", "system:", "*:event", "event", "system" or "*"; parts may hold `*` and
 * `?`. Number of events matched; -EINVAL if none. Context: task.
 */
int fathom_event_enable(const char *pattern, int on);

/* What the ring of a CPU took and lost, by cause (struct fathom_ring_stats, inside/ring.h). 0, -EINVAL: no such CPU. Any context. */
int fathom_cpu_stats(uint32_t cpu, struct fathom_ring_stats *out);

#include "fathom/inside/core.h"

#endif
