/* SPDX-License-Identifier: MIT */
/* sampler.h -- look at the running stacks from the timer: into the ring, and into a backtrace buffer of its own. */
#ifndef FATHOM_SAMPLER_H
#define FATHOM_SAMPLER_H

#include <stddef.h>
#include <stdint.h>
#include "fathom/inside/btb.h"
#include "fathom/port_default.h"
#include "fathom/sampler_request.h"

#define FATHOM_SAMPLE_BINS 16u /* of the cost by depth */
#define FATHOM_SAMPLE_BIN  8u

/*
 * What the timer's interrupt handler saw. A handler that interrupted the kernel fills in the user part too, where the
 * task has one: it is the frame saved at its entry.
 */
struct fathom_sample {
	uintptr_t ip; /* kernel code that was interrupted; 0: user code was */
	uintptr_t fp;
	uintptr_t user_ip; /* where user code is; 0: the task has none */
	uintptr_t user_fp;
	/* return address of a function there that has no frame; 0: it has one */
	uintptr_t user_caller;
	uintptr_t user_lo, user_hi; /* its stack; 0, 0: anywhere that read_user can read */
	/* two words of it, 0 or -EFAULT; must not fault itself */
	int (*read_user)(uintptr_t at, uintptr_t out[2]);
	uint64_t task;
};

enum fathom_sampler_out {
	FATHOM_SAMPLE_RING = 1,	  /* kernel_stack and user_stack events */
	FATHOM_SAMPLE_BUFFER = 2, /* the backtrace buffer */
};

struct fathom_sampler_stats {
	uint64_t samples;
	uint64_t cost_ns;     /* of all samples, measured by the sampler itself */
	uint64_t cost_max_ns; /* of the dearest */
	uint64_t cut;	      /* stacks deeper than FATHOM_SAMPLE_FRAMES */
	uint64_t
		endless; /* of these, deeper than FATHOM_SAMPLE_WALK: without their outermost frames */
	uint64_t nested; /* not taken: the sampler itself was interrupted */
	uint64_t full;	 /* not taken into the buffer: no room */
	uint64_t words;	 /* in the buffer */
	uint64_t capacity;
};

/*
 * `memory` (8-aligned) holds the backtrace buffers of all CPUs; with FATHOM_SAMPLE_RING alone none is needed. Call after fathom_init(). `announce`, or NULL, is called
 * from a task whenever the buffer begins anew, and tells of every live mapping by fathom_sampler_map(). Without it all
 * mappings since boot are kept in the buffer, and are gone after a RESET. 0, -EINVAL, -ENOMEM, -EBUSY. Context: init.
 */
int fathom_sampler_init(void *memory, size_t bytes, uint32_t out, void (*announce)(void));

#include "fathom/inside/sampler.h"

/* From the timer interrupt (or an NMI): takes a sample if one is due. Off: one load and a branch. */
static inline void fathom_sampler_tick(const struct fathom_sample *s)
{
	if (__builtin_expect(__atomic_load_n(&fathom_sampler_on, __ATOMIC_RELAXED) != 0, 0))
		fathom_sampler_tick_slow(s);
}

/*
 * Steer it, by one flag or several; the answer of GET_INTERVAL or IS_RUNNING is the return value, else the words in the
 * buffer, or a negative errno. Context: task.
 */
int64_t fathom_sampler_control(uint32_t flags, uint64_t arg);
/* A binary was mapped into, or unmapped from, a task's address space. Context: task. */
void fathom_sampler_map(uint64_t task, uintptr_t base, const char *name, int gone);

void fathom_sampler_stats(struct fathom_sampler_stats *out);
/* All that is there through an export; again and again while samples come, then the end of the export. Context: task. */
void fathom_sampler_export(struct fathom_btb_export *e);
void fathom_sampler_export_end(struct fathom_btb_export *e);

#endif
