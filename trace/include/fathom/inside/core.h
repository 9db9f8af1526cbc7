/* SPDX-License-Identifier: MIT */
/* core.h -- what fathom_init() made, and what trace_printk() and the library's own files call. Included by fathom/trace.h. */
#ifndef FATHOM_INSIDE_CORE_H
#define FATHOM_INSIDE_CORE_H

/* What every record reads; together, so that one register finds all of it. */
struct fathom_hot {
	/* First: indexing it needs no addition. Where there is no CPU stands a ring that refuses. */
	struct fathom_ring *ring[FATHOM_CPUS_MAX + 1];
	uintptr_t graph_plain;		      /* functions/shadow.h */
	uint64_t clock_whole, clock_fraction; /* ns per tick: functions/tracers.h */
};
extern struct fathom_hot fathom_hot;

/* What fathom_init() made of it; read by the event path, written at init only. */
struct fathom_core {
	uint32_t nr_cpus;			/* 0 before init: every event is refused */
	uint8_t *scratch[FATHOM_CPUS_MAX];	/* records under a gate are built here */
	uint32_t scratch_used[FATHOM_CPUS_MAX]; /* by nested events; own CPU only */
	uint8_t *dump;				/* memory of fathom_dump() */
	size_t dump_bytes;
	uint32_t ns_mult, ns_shift;	 /* ns = ticks * mult >> shift */
	uint64_t boot;			 /* the clock at init */
	uint32_t off;			 /* fathom_tracing_off() */
	unsigned long no_cpu;		 /* events refused: the CPU number was out of range */
	uint8_t synced[FATHOM_CPUS_MAX]; /* FATHOM_SYNCED() was called there */
	struct fathom_config config;
	uint8_t *spare; /* what is left of the memory block, for fathom_memory_take() */
	size_t spare_bytes;
};
extern struct fathom_core fathom_core;

/*
 * The lock of config.lock, for a port that changes what the library asks it for (symbols, names of tasks) while others trace.
 * Everything else takes it by itself. Context: task, not in an event.
 */
void fathom_lock(void);
void fathom_unlock(void);

/* Ticks of the clock to nanoseconds; the same arithmetic as trace-cmd's, so both print the same time. */
uint64_t fathom_ticks_to_ns(uint64_t ticks);
uint64_t fathom_now(void); /* the clock */

/* Bring rings, one per CPU, in line with a word that any context switches; the last one to switch wins. Any context. */
void fathom_rings_follow(struct fathom_ring *const *rings, const uint32_t *off);

/* fathom_memory_take() without the zeros: of much memory, most is never used, and a process has only the pages that were touched. */
void *fathom_memory_cut(size_t bytes);

struct fathom_ring *fathom_ring_of(uint32_t cpu); /* NULL if there is no such CPU */

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
/* The ip of text that came from outside: shown as tracing_mark_write. */
uintptr_t fathom_marker_ip(void);
/* Formats that trace_printk() uses, by index; NULL past the end. */
const char *fathom_printk_format(uint32_t index);
/* Line `index` of printk_formats: `0xaddress : "text"`; 0 behind the last. */
int fathom_printk_format_line(uint32_t index, struct fathom_text *out);
void fathom_dump_cpu(int32_t cpu, uint32_t count); /* of one CPU; -1: all */

#endif
