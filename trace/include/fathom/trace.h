/* SPDX-License-Identifier: MIT */
/* trace.h -- set-up and run-time switches of the tracer. */
#ifndef FATHOM_TRACE_H
#define FATHOM_TRACE_H

#include <stddef.h>
#include <stdint.h>
#include "fathom/ring.h"
#include "fathom/event.h"

typedef void (*fathom_write_fn)(void *arg, const char *text, size_t bytes);

/*
 * The cold half of a port. Every member may be zero unless it says required; zero means what is written.
 */
struct fathom_config {
	void *memory;	     /* required, 4096-aligned: all that tracing will ever use */
	size_t memory_bytes; /* required; -ENOMEM says so if it is too small */
	uint32_t nr_cpus;    /* required: 1 .. FATHOM_CPUS_MAX */
	/* ring pages per CPU; 0: three eighths of the memory; as much again is for the snapshot, the rest for control */
	uint32_t pages_per_cpu;
	uint64_t clock_hz; /* ticks of fathom_port_clock() per second; 0: it counts nanoseconds */
	/* what trace_clock calls the bare ticks ("x86-tsc"); 0: not offered */
	const char *clock_name;
	/* another clock, of nanoseconds: `mono` of trace_clock; 0: none */
	uint64_t (*mono_ns)(void);
	const char *release; /* the kernel's name and version, for headers; 0: "fathom" */

	fathom_write_fn sink; /* console for fathom_dump(); 0: dumps go nowhere */
	void *sink_arg;
	/*
	 * The kernel's panic, with a line that says why; must not return. Called in any context if tracing has lost what the
	 * kernel cannot go on without (a return address, because the port broke its contract). 0: the line goes to the sink and
	 * the CPU traps.
	 */
	void (*fatal)(const char *why);

	/*
	 * Where `bytes` (1 to 8) of text at `at` can be written: an alias with the same offset in its page, or `at` itself
	 * once it is writable. NULL: it cannot be; nothing of it changes then. The library makes the stores, one an instruction,
	 * and the cache maintenance. x86_64: the bytes may lie in two pages; elsewhere they are an aligned word. Not traced,
	 * task context or inside stop_cpus, one call at a time. 0: text cannot be written.
	 */
	void *(*text_map)(void *at, size_t bytes);
	/* The library is done with what text_map returned. 0: there is nothing to undo. */
	void (*text_unmap)(void *alias, size_t bytes);
	/*
	 * Return once every CPU, this one too, has synchronised its fetching: x86_64 a serialising instruction (cpuid, iret),
	 * aarch64 isb, riscv64 fence.i. Interrupts are on. Not traced. x86_64: the breakpoint handler must call
	 * fathom_arch_breakpoint(). 0: sites change under stop_cpus.
	 */
	void (*sync)(void);
	/*
	 * Run fn(arg) on this CPU while all others stand in untraced code with interrupts off, and let them synchronise as
	 * above before they go on. 0: there is one CPU, or sync.
	 */
	void (*stop_cpus)(void (*fn)(void *), void *arg);

	/*
	 * Text that is given away after boot: no function in [init_text, init_text_end) is traced. For more than one range, or
	 * later, fathom_function_forget(). 0: none.
	 */
	uintptr_t init_text, init_text_end;
	/* 1: other CPUs (a process: threads) may run traced functions during fathom_init(); text then changes with sync */
	uint8_t init_live;
	/*
	 * The library's one lock, which it takes itself around everything that reads rings, patches or steers, and never in an
	 * event. Held for as long as a file is read, so a mutex where tasks sleep; text_map, sync and stop_cpus are called with
	 * it. It may let its holder in again: then the port may call library functions between fathom_lock() and
	 * fathom_unlock(). 0: a spinlock, for kernels in which its holder is not preempted.
	 */
	void (*lock)(void *lock_arg);
	void (*unlock)(void *lock_arg);
	void *lock_arg;

	/* Name of the function that holds `at`, with the offset into it and its size; NULL if unknown. 0: no symbols. */
	const char *(*symbol)(uintptr_t at, uintptr_t *offset, uintptr_t *size);
	uintptr_t (*lookup)(const char *name);
	/* Name of a task, at most 15 characters, into buf; 0: names come from sched events. */
	int (*task_name)(int32_t pid, char buf[16]);
	int32_t (*task_group)(int32_t pid); /* thread-group id; 0: unknown */

	/* room for so many functions of modules that come later, and twice as many returns; 0: those are not traced */
	uint32_t module_functions;
	/* room in the control tree for so many events of objects that come later (object.h) */
	uint32_t module_events;

	/* The functions that interrupts enter by lie in [irq_text, irq_text_end): function_graph draws arrows. 0: none. */
	uintptr_t irq_text, irq_text_end;
};

/* What fathom_init() made of it; read by the event path, written at init only. */
struct fathom_core {
	struct fathom_ring *ring[FATHOM_CPUS_MAX]; /* first: indexing it needs no addition */
	uint32_t nr_cpus;			   /* 0 before init: every event is refused */
	uint8_t *scratch[FATHOM_CPUS_MAX];	   /* records under a gate are built here */
	uint32_t scratch_used[FATHOM_CPUS_MAX];	   /* by nested events; own CPU only */
	uint8_t *dump;				   /* memory of fathom_dump() */
	size_t dump_bytes;
	uint32_t ns_mult, ns_shift; /* ns = ticks * mult >> shift */
	uint64_t boot;		    /* the clock at init */
	uint32_t off;		    /* fathom_tracing_off() */
	unsigned long no_cpu;	    /* events refused: the CPU number was out of range */
	struct fathom_config config;
	uint8_t *spare; /* what is left of the memory block, for fathom_memory_take() */
	size_t spare_bytes;
};
extern struct fathom_core fathom_core;

/*
 * 0, -EINVAL (a member out of range, memory or a call site unaligned), -ENOMEM, -EBUSY (initialised already). Function sites
 * are found and made NOPs of one instruction here, so: once symbols and text_map work, before other CPUs run and before tasks
 * are preempted. Context: init, one CPU.
 */
int fathom_init(const struct fathom_config *config);
/* Undo init: events off, probes unpatched; the memory is the caller's again. Context: task, no writer runs. */
void fathom_exit(void);
/*
 * The lock of config.lock, for a port that changes what the library asks it for (symbols, names of tasks) while others trace.
 * Everything else takes it by itself. Context: task, not in an event.
 */
void fathom_lock(void);
void fathom_unlock(void);
/* Bytes that fathom_init() needs for this many CPUs and pages per CPU, nothing spare. */
size_t fathom_memory_need(uint32_t nr_cpus, uint32_t pages_per_cpu);

/*
 * Take from the block given to init what the rings left over (snapshot, instances, histograms): 4096-aligned, zeroed,
 * never given back before fathom_exit(). NULL if it is used up. Context: task, with the lock or before others run.
 */
void *fathom_memory_take(size_t bytes);
size_t fathom_memory_left(void);

/* Ticks of the clock to nanoseconds; the same arithmetic as trace-cmd's, so both print the same time. */
uint64_t fathom_ticks_to_ns(uint64_t ticks);
uint64_t fathom_now(void); /* the clock */
/* The clock's rate is known better now than at init; what is in the rings is shown with the new one. 0: ns. */
void fathom_clock_hz_set(uint64_t hz);

/* Switch recording: any context. */
void fathom_tracing_on(void);
void fathom_tracing_off(void);
int fathom_tracing_is_on(void);
/* Bring rings, one per CPU, in line with a word that any context switches; the last one to switch wins. Any context. */
void fathom_rings_follow(struct fathom_ring *const *rings, const uint32_t *off);
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
#define FATHOM_HERE()                \
	({                           \
		__label__ here;      \
	here:                        \
		(uintptr_t) && here; \
	})
/* Bare-metal arm compilers know the word but ignore it, with a warning; fathom.lds keeps the sections there. */
#if defined(__has_attribute) && !(defined(__arm__) && !defined(__linux__))
#if __has_attribute(retain)
#define FATHOM_RETAIN __retain__
#endif
#endif
#ifndef FATHOM_RETAIN
#define FATHOM_RETAIN __used__
#endif
size_t fathom_strlen(const char *s);
void fathom_printk(uint32_t *plan, uintptr_t ip, const char *fmt, ...)
	__attribute__((__format__(printf, 3, 4)));
int fathom_bputs(uintptr_t ip, const char *text);
/* Text into the ring (`print`): bytes taken, 0 if recording is off. At most FATHOM_MARKER_MAX are. */
#define FATHOM_MARKER_MAX 1024
int fathom_marker(uintptr_t ip, const char *text, size_t bytes);
/* trace_marker_raw: the first 4 bytes are an id. */
uintptr_t fathom_marker_ip(
	void); /* the ip of text that came from outside: shown as tracing_mark_write */
int fathom_marker_raw(const void *data, size_t bytes);
/* Formats that trace_printk() uses, by index; NULL past the end. */
const char *fathom_printk_format(uint32_t index);
/* Line `index` of printk_formats: `0xaddress : "text"`; 0 behind the last. */
int fathom_printk_format_line(uint32_t index, struct fathom_text *out);

/*
 * The most recent `count` events of every CPU (0: all), merged by time, to the sink; any context, panic included. Recording
 * goes off and stays off, as in Linux: what the console does while it prints is not what was looked for.
 */
void fathom_dump(uint32_t count);
void fathom_dump_cpu(int32_t cpu, uint32_t count); /* of one CPU; -1: all */

/* The control tree by path: "events/sched/enable", "1". 0 or -errno. Context: task. (control/) */
int fathom_set(const char *path, const char *value);
int fathom_get(const char *path, char *buf, size_t bytes);

struct fathom_ring *fathom_ring_of(uint32_t cpu); /* NULL if there is no such CPU */

#endif
