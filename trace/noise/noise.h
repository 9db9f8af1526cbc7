/* SPDX-License-Identifier: MIT */
/* noise.h -- what the files of this folder share: the settings, a measuring thread per CPU, the records. */
#ifndef NOISE_NOISE_H
#define NOISE_NOISE_H

#include "fathom/inside/internal.h"
#include "fathom/object.h"
#include "functions/extra.h"
#include "functions/tracers.h"

/*
 * A tracer that runs has a thread on each CPU that is chosen, made by the port. Stopping does not wait for them: they look at
 * the run they belong to, and end by themselves.
 *
 * Z1  A thread belongs to one run, whose number it keeps, and writes only into its CPU's half of `cpus` for that run (odd or
 *     even). The half may be used again while a thread of the run before the last still sleeps: it ends when it wakes. Each half has
 *     one thread: one that had not begun by then is the new run's, or finds that this has one.
 * Z2  Settings are read once per sample; those who write them are in task context, with the lock.
 */
struct noise_settings {
	uint64_t period_us, runtime_us;		   /* osnoise */
	uint64_t stop_us, stop_total_us, stack_us; /* 0: off */
	uint64_t timerlat_period_us;
	uint64_t width_us, window_us; /* hwlat */
	uint32_t mode;		      /* enum noise_mode */
	uint64_t cpus;		      /* a bit each */
};
extern struct noise_settings fathom_noise_set;

/* A CPU's bit; CPUs beyond 63 have none. By halves: a shift of 64 bits by a variable is a library call on some 32-bit CPUs. */
static inline uint64_t noise_cpu_bit(uint32_t cpu)
{
	uint32_t bit = 1u << (cpu & 31);

	return cpu < 32 ? bit : cpu < 64 ? (uint64_t)bit << 32 : 0;
}

enum noise_mode {
	NOISE_MODE_NONE,
	NOISE_MODE_ROUND_ROBIN,
	NOISE_MODE_PER_CPU,
};

#define NOISE_NEST 8 /* interruptions on top of each other that are told apart */

/* What interrupts the measuring thread: 0 for another thread, which is below all others. */
enum noise_kind {
	NOISE_THREAD,
	NOISE_SOFTIRQ,
	NOISE_IRQ,
	NOISE_KINDS,
};

struct fathom_rec_hwlat {
	struct wire_common ent;
	uint64_t duration, outer_duration, nmi_total_ts;
	int64_t tv_sec;
	intptr_t tv_nsec;
	uint32_t nmi_count, seqnum, count;
} FATHOM_RECORD;
struct fathom_rec_osnoise {
	struct wire_common ent;
	uint64_t noise, runtime, max_sample;
	uint32_t hw_count, nmi_count, irq_count, softirq_count, thread_count;
} FATHOM_RECORD;
struct fathom_rec_timerlat {
	struct wire_common ent;
	uint32_t seqnum;
	int32_t context;
	uint64_t timer_latency;
} FATHOM_RECORD;

struct noise_open {
	uint8_t kind;
	int32_t number;
	uint64_t start, nested; /* ns; nested: what others took in between */
	char name[16];
};

struct noise_cpu {
	uint32_t run, cpu;
	uint32_t taken; /* by its thread */
	int32_t pid;	/* of it; 0: it has not begun */
	uint32_t interruptions, count[NOISE_KINDS];
	uint32_t sampling; /* interruptions count */
	uint32_t depth;
	struct noise_open open[NOISE_NEST];
	/* timerlat */
	uint64_t deadline;
	uint32_t seq;
	uint32_t ticked; /* the interrupt came */
};

/* noise.c. The CPU's state while it samples; NULL: it does not. Own CPU only. */
struct noise_cpu *fathom_noise_here(void);
uint64_t fathom_noise_now(void); /* ns of the trace's clock */
/* `run`: the thread's; of one that is over nothing is done. */
void fathom_noise_sampling(struct noise_cpu *c, uint32_t run, int on);
int fathom_noise_is_on(uint32_t run);
void fathom_noise_stop_tracing(const struct noise_cpu *c, const char *why);
int fathom_noise_begin(const char *name, int realtime,
		       void (*loop)(struct noise_cpu *c, uint32_t run));
void fathom_noise_end(void);
/* A record of the ftrace system: `bytes` with the common fields, NULL: there is no room. */
struct noise_record {
	struct fathom_slot slot;
	struct fathom_ring *ring;
	uintptr_t pin;
};
void *fathom_noise_reserve(struct noise_record *r, uint16_t id, uint32_t bytes);
void fathom_noise_commit(struct noise_record *r);

/* interference.c: hooks on what interrupts; the events osnoise:* */
int fathom_noise_hooks(int on);
void fathom_noise_sample(uint64_t start, uint64_t duration, uint32_t interference);
extern struct fathom_object fathom_noise_events;

/* files.c */
extern const struct fathom_extra_folder fathom_noise_folders[];

/* osnoise.c, timerlat.c, hwlat.c */
int fathom_osnoise_start(void);
void fathom_osnoise_stop(void);
int fathom_timerlat_start(void);
int fathom_hwlat_start(void);
void fathom_hwlat_stop(void);
int fathom_noise_body(struct fathom_view *v, struct fathom_text *out);

#endif
