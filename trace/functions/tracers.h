/* SPDX-License-Identifier: MIT */
/* tracers.h -- what the tracers share: the running task's state, the recursion guard, records on the fast path. */
#ifndef PROBE_TRACERS_H
#define PROBE_TRACERS_H

#include <stddef.h>
#include <stdint.h>
#include "fathom/inside/internal.h"
#include "fathom/port_default.h"
#include "fathom/inside/ring.h"
#include "fathom/task.h"
#include "fathom/trace.h"
#include "functions/tracer.h"
#include "wire/record.h"

/*
 * The state of the running task. A kernel with tasks gives fathom_port_task_state(); one without has a state per CPU,
 * made by the first tracer. NULL: not traced.
 */
#ifndef fathom_port_task_state
extern struct fathom_task *fathom_cpu_task; /* [nr_cpus] */
static inline struct fathom_task *fathom_port_task_state(void)
{
	uint32_t cpu = fathom_port_cpu();

	return fathom_cpu_task && cpu < fathom_core.nr_cpus ? fathom_cpu_task + cpu : 0;
}
#define FATHOM_TASK_PER_CPU 1
#endif

/* Counters of fathom_tracer_stats(), per CPU to keep writers apart; the last one is for CPUs that do not exist. */
struct tracer_counts {
	uint64_t shadow_full;
	uint64_t earlier;
	uint64_t unmatched;
	uint64_t unwound;
	uint64_t recursion;
	uint64_t refused;
	uint64_t cut;
	uint64_t forks_lost;
} __attribute__((aligned(64)));
extern struct tracer_counts fathom_tracer_counts[FATHOM_CPUS_MAX + 1];

static inline struct tracer_counts *fathom_counts(void)
{
	uint32_t cpu = fathom_port_cpu();

	return &fathom_tracer_counts[cpu < FATHOM_CPUS_MAX ? cpu : FATHOM_CPUS_MAX];
}

/*
 * The recursion guard. task->busy is a stack of contexts (soft irq, hard irq, NMI) that are inside the tracer, a byte
 * each, the innermost lowest. A tracer that is entered again in the same context was called by its own port hooks, and
 * stays out. An interrupt that comes in between leaves `busy` as it found it, so plain loads and stores do.
 */
enum guard_bit {
	GUARD_LEVEL = WIRE_FLAG_NMI | WIRE_FLAG_HARDIRQ | WIRE_FLAG_SOFTIRQ | 1,
	/* the fast path of function_graph, in whatever context: it calls nothing that could be traced */
	GUARD_FAST = 0x80,
};

static inline uint32_t fathom_guard_level(uint32_t context)
{
	return (context & GUARD_LEVEL) | 1;
}

static inline int fathom_guard_is_held(const struct fathom_task *task, uint32_t context)
{
	return (task->busy & GUARD_LEVEL) == fathom_guard_level(context);
}

/* What fathom_guard_leave() wants back. */
static inline uint32_t fathom_guard_enter(struct fathom_task *task, uint32_t context)
{
	uint32_t outer = task->busy;

	task->busy = outer << 8 | fathom_guard_level(context);
	fathom_local_barrier();
	return outer;
}

/* Both at once, for whoever interrupts. */
static inline void fathom_task_move(struct fathom_task *task, uint64_t depth, uint32_t busy)
{
	fathom_local_barrier();
	fathom_store(&task->state, depth + ((uint64_t)busy << 32));
	fathom_local_barrier();
}

static inline void fathom_guard_leave(struct fathom_task *task, uint32_t outer)
{
	fathom_local_barrier();
	task->busy = outer;
}

/* fathom_differs() of an address. */
static inline int fathom_word_differs(const uintptr_t *at, uintptr_t v)
{
#if UINTPTR_MAX > 0xffffffffu
	return fathom_differs(at, v);
#else
	return fathom_load(at) != v;
#endif
}

/* The running task with the guard held, or NULL: it is not traced, or the tracer is at it in this context (counted). */
static inline struct fathom_task *fathom_guard_open(uint32_t context, uint32_t *outer)
{
	struct fathom_task *task = fathom_port_task_state();

	if (fathom_unlikely(!task))
		return 0;
	if (fathom_unlikely(fathom_guard_is_held(task, context))) {
		fathom_counts()->recursion++;
		return 0;
	}
	*outer = fathom_guard_enter(task, context);
	return task;
}

/* The caller holds the guard: is an interrupted context in the middle of something? */
static inline int fathom_guard_is_nested(const struct fathom_task *task)
{
	return task->busy > 0xff;
}

/* The eight bytes every record begins with, from a context that is already known. */
static inline uint64_t fathom_common_word(uint16_t id, uint32_t context)
{
	return id | (context & 0xffffu) << 16 | (uint64_t)(uint32_t)fathom_port_task() << 32;
}

/* Members of a record, which is aligned as the ring's payloads are; so are these in it. */
static inline void fathom_put64(void *at, uint64_t v)
{
	__builtin_memcpy(__builtin_assume_aligned(at, FATHOM_RING_ALIGN), &v, sizeof(v));
}

static inline void fathom_put32(void *at, uint32_t v)
{
	__builtin_memcpy(__builtin_assume_aligned(at, 4), &v, sizeof(v));
}

/* What every record begins with. */
static inline void fathom_put_common(void *at, uint16_t id, uint32_t context)
{
#ifdef __x86_64__
	uint16_t flags = (uint16_t)context;
	int32_t pid = fathom_port_task();

	/* By stores of their own: to put it together first is more work. */
	fathom_put32(at, id);
	__builtin_memcpy((uint8_t *)at + 2, &flags, sizeof(flags));
	__builtin_memcpy((uint8_t *)at + 4, &pid, sizeof(pid));
#else
	fathom_common_put(at, id, context, fathom_port_task());
#endif
}

static inline void fathom_put_word(void *at, uintptr_t v)
{
	__builtin_memcpy(at, &v, sizeof(v));
}

/*
 * fathom_ticks_to_ns(), to within 1 ns and without a branch: ns per tick as a whole number and a 64-bit fraction. Set
 * with the clock's rate (core.c).
 */
static inline uint64_t fathom_to_ns(uint64_t ticks)
{
#ifdef __x86_64__
	uint64_t ns, low;

	/* The factors stay in memory. */
	__asm__("mulq %3"
		: "=&d"(ns), "=a"(low)
		: "1"(ticks), "m"(fathom_hot.clock_fraction)
		: "cc");
	__asm__("imulq %1, %0" : "+r"(ticks) : "m"(fathom_hot.clock_whole) : "cc");
	return ns + ticks;
#elif defined(__SIZEOF_INT128__)
	return (uint64_t)((unsigned __int128)ticks * fathom_hot.clock_fraction >> 64) +
	       ticks * fathom_hot.clock_whole;
#else
	return fathom_ticks_to_ns(ticks);
#endif
}

/* The ring of the running CPU, NULL if it has none. The caller is pinned. */
static inline struct fathom_ring *fathom_tracer_ring(void)
{
	uint32_t cpu = fathom_port_cpu();

	return fathom_likely(cpu < fathom_core.nr_cpus) ? fathom_load(&fathom_hot.ring[cpu]) : 0;
}

/* ---- tracer.c ---- */

/* Ask every user of sites anew and patch: after any change of sets, pids, options, limits. 0 or -errno. */
int fathom_tracer_refresh(void);
extern uint32_t fathom_tracer_option_bits;
/* More is recorded of a call and its return than the fast paths do. */
#define FATHOM_OPT_GRAPH_MORE \
	(FATHOM_OPT_GRAPH_ARGS | FATHOM_OPT_GRAPH_RETVAL | FATHOM_OPT_GRAPH_RETADDR)
void fathom_want_change(uint32_t set, uint32_t clear);
void fathom_want_switches(void);
/* fathom_port_check() watches task switches for a while. NULL: nobody does. */
extern void (*fathom_switch_watch)(void);

/* What the current tracer wants of the function sites; tracers set it in start() and refresh. */
struct tracer_wants {
	uint8_t function; /* calls are recorded by fathom_function_record() */
	uint8_t graph;
	/* Asked per call on the slow path; 0: not this one. NULL: always. */
	int (*gate)(void);
};
extern struct tracer_wants fathom_tracer_wants;
/* Whether functions can be traced; makes the tasks' states on first use. 0, -ENOSYS, -ENOMEM, ... */
int fathom_functions_check(void);
/* Set them and patch. 0 or an error as above. */
int fathom_tracer_want_sites(uint8_t function, uint8_t graph, int (*gate)(void));
/* Everything off; fathom_exit() calls it. */
void fathom_tracer_exit(void);

/*
 * Later stages that watch functions: trace/programs and trace/dynamic. Sites lead there while `wants` says so; it is asked
 * with the lock held, the others in any context, by a caller that is pinned and holds the guard: also for sites that another
 * of them wants.
 */
struct fathom_left { /* a call that returned; times in ticks */
	uintptr_t func;
	uint32_t depth, overrun;
	uint64_t calltime, rettime;
	uintptr_t ret; /* where it goes on; 0: not known */
	const uintptr_t *
		slot; /* of its return address, beside which registers are (arch/regs.h); NULL: not known */
	int replaced; /* the return address was */
};
struct fathom_call { /* one that begins */
	uint32_t site;
	uintptr_t ip, parent_ip, fp;
	uint64_t time;
	const uintptr_t *slot; /* as above */
};
struct fathom_watch {
	uint32_t (*wants)(uint32_t site); /* SITE_PROGRAM, SITE_PROGRAM_RETURN */
	void (*enter)(const struct fathom_call *call, uint32_t context);
	void (*leave)(const struct fathom_left *left, uint32_t context);
	uint8_t returns; /* some are wanted: task switches are told, as for function_graph */
};
enum fathom_watcher {
	FATHOM_WATCH_PROGRAMS,
	FATHOM_WATCH_DYNAMIC,
	FATHOM_WATCHERS
};
extern struct fathom_watch
	*fathom_watch[FATHOM_WATCHERS]; /* once it is there it stays: calls may be on their way */
/* Some watcher asks for returns. Lock held. */
int fathom_watch_returns(void);

/* ---- function.c: the caller is pinned; what is exported to the arch pins itself ---- */

void fathom_function_record(uintptr_t ip, uintptr_t parent_ip, uint32_t context);
/* A function tells of its call from inside, through something whose frame is `fp`. */
void fathom_function_named(uintptr_t ip, uintptr_t parent_ip, uintptr_t fp);
/* With the arguments that are beside `regs`, which is a slot; NULL: without. */
void fathom_function_record_in(struct fathom_ring *ring, uintptr_t ip, uintptr_t parent_ip,
			       const uintptr_t *regs, uint32_t context);

/* ---- args.c: the registers of a call; `slot` is that of one that came by fathom_function_any(). The caller is pinned. ---- */

void fathom_args_function(struct fathom_ring *ring, uintptr_t ip, uintptr_t parent_ip,
			  const uintptr_t *slot, uint32_t context);
/* Its record has so many bytes; then what comes after its head. `flags`: GRAPH_ARGS, GRAPH_RETADDR. */
uint32_t fathom_args_entry_bytes(uint32_t flags);
void fathom_args_entry(uint8_t *record, const uintptr_t *slot, uintptr_t from, uint32_t flags);

/* ---- graph.c ---- */

enum graph_flag {
	GRAPH_RECORD = 1,
	GRAPH_PROFILE = 2,
	GRAPH_THRESH = 4,  /* only the return is recorded, and only if it took long */
	GRAPH_QUIET = 8,   /* set_graph_notrace: followed to know where it ends */
	GRAPH_INSIDE = 16, /* set_graph_function: this call begins it */
	GRAPH_STREAM = 32, /* recorded as a word of the 16-bit stream */
	/* with GRAPH_INSIDE: it began in an interrupt, which funcgraph-irqs then does not hide */
	GRAPH_IN_IRQ = 64,
	GRAPH_PROGRAM = 128, /* fathom_watch */
	/* args.c: options of function_graph; the first two are the entry's alone, and not kept */
	GRAPH_ARGS = 256,
	GRAPH_RETADDR = 512,
	GRAPH_RETVAL = 1024,
};
#define GRAPH_ENTRY_ONLY	   (GRAPH_ARGS | GRAPH_RETADDR)
#define GRAPH_FLAG_BITS		   11
#define GRAPH_FLAGS		   ((1u << GRAPH_FLAG_BITS) - 1) /* above them: the number of the tracing */
/* The flags of a call that is simply recorded. */
#define FATHOM_GRAPH_PLAIN(number) ((uintptr_t)(number) << GRAPH_FLAG_BITS | GRAPH_RECORD)
/* What the sets, the depth limit and the threshold make of this call: flags, 0 if it is not followed. */
uint32_t fathom_graph_wanted(uint32_t index, uint32_t context);
/* Follow a call with these flags; `hijack` is put in place of its return address if its function has no return sites, else 0. */
void fathom_graph_push(uintptr_t ip, uintptr_t *slot, uint32_t flags, uintptr_t hijack,
		       uint32_t context);
/* What the fast entry could not do. The caller is pinned. */
void fathom_graph_enter_general(uintptr_t ip, uintptr_t *slot, uintptr_t hijack, uintptr_t pin);
/* The same, and the unpin: a call at the end of a function needs no frame. */
void fathom_graph_enter_rest(uintptr_t ip, uintptr_t *slot, uintptr_t hijack, uintptr_t pin);
/* hot.c: and whether a call that is traced there keeps its registers */
int fathom_hot_keeps(void);
void fathom_graph_hijack_rest(uintptr_t ip, uintptr_t *slot, uintptr_t pin);
/* A call that took no time, as a record of its own. The caller is pinned. */
void fathom_graph_record(uintptr_t ip, uint32_t context);
/*
 * For calls that are told from inside the function (instrument.c): one that was called from `from` tells so by something
 * whose frame is at `told`. Calls that were left for it are forgotten, if it is on the task's own stack; what names it then.
 */
uintptr_t fathom_graph_come_named(uintptr_t told, uintptr_t from, int own_stack);
void fathom_graph_push_named(uintptr_t ip, uintptr_t named, uint32_t flags, uint32_t context);
void fathom_graph_leave_named(uintptr_t ip);
/* New tracing: what tasks still hold from before is forgotten, but for returns that must be given back. */
void fathom_graph_reset(void);
/* Return sites went off: calls made from now on have another number, the next one, and can be told from those before. */
uint32_t fathom_graph_next(void);
void fathom_graph_advance(void);
extern uint32_t fathom_graph_depth_max;
extern uint64_t fathom_thresh_ns;
/* lost.c: a replaced return has no call. The kernel ends here, with a message. */
void fathom_return_lost(uintptr_t slot) __attribute__((noreturn));

/* ---- instrument.c: 0, or -ENOSYS if the kernel is not compiled that way ---- */

int fathom_instrument_set(uint8_t function, uint8_t graph);
/* Functions tell of themselves, one way or another. */
int fathom_instrument_is_ready(void);
/* Every function calls, so sites that cannot be patched can be used; whether anybody wants one. */
int fathom_instrument_has_sites(void);
/* Text cannot be patched, but its functions call and config.symbol names them: 1, and where it is. */
int fathom_instrument_text(uintptr_t *from, uintptr_t *to);
void fathom_instrument_sites(int wanted);
/* enum site_user of a function that is in no table. */
uint32_t fathom_instrument_users(void);

/* ---- latency.c ---- */

int fathom_irqsoff_start(void);
int fathom_preemptoff_start(void);
int fathom_preemptirqsoff_start(void);
void fathom_critical_stop(void);
int fathom_wakeup_start(void);
int fathom_wakeup_rt_start(void);
int fathom_wakeup_dl_start(void);
void fathom_wakeup_stop(void);
int fathom_latency_changed(uint32_t bit);
/* It, or another one that cannot run beside it, does already. */
int fathom_latency_is_busy(const struct fathom_tracer *t);
void fathom_latency_exit(void);

/* ---- unwind.c: whether the port knows the stack that `at` is on; [*lo, *hi) of it ---- */

int fathom_stack_known(uintptr_t at, uintptr_t *lo, uintptr_t *hi);

/* ---- stack.c, profile.c ---- */

void fathom_stack_check(uintptr_t ip, uintptr_t *slot, uintptr_t fp, uint32_t context);
void fathom_profile_enter(uint32_t site);
void fathom_profile_leave(uintptr_t func, uint64_t ticks, uint64_t self_ticks);
void fathom_profile_exit(void);

/* The caller is pinned. A kernel_stack record: `ip` and `parent_ip` first if not 0, then the frames from `fp`. */
void fathom_stack_record(struct fathom_ring *ring, uintptr_t ip, uintptr_t parent_ip, uintptr_t fp,
			 uint32_t context);
/* The stack of an event, in the running CPU's ring or in that of an instance. The caller is pinned; `context` is the event's. */
void fathom_stack_event(uint32_t context);
void fathom_stack_event_in(struct fathom_ring *ring, uint32_t context);
/* The frame of the function that holds the tracepoint, of a walk that begins at `fp`. */
uintptr_t fathom_stack_event_frame(uintptr_t fp);

#endif
