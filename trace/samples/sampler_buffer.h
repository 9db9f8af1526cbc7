/* SPDX-License-Identifier: MIT */
/* sampler_buffer.h -- the sampler's words: a round of them a CPU, and the entries that go in. Inside the sampler only. */
#ifndef FATHOM_PROBE_SAMPLER_BUFFER_H
#define FATHOM_PROBE_SAMPLER_BUFFER_H

#include <stdint.h>
#include "fathom/sampler.h"

/*
 * Each CPU has a stretch of words that entries are appended to, round and round, behind what one reader frees.
 *
 *	M1  Only the owner moves head and end; an entry is whole before head passes it (release), so that a reader on
 *	    another CPU takes it at any time (acquire). Only the reader moves tail, and taken is its own.
 *	M2  Entries lie in [tail, head), or, once the owner went back to 0, in [tail, end) and [0, head). The owner goes
 *	    back only where head stays below tail, so head < tail says which of the two it is, and end is stored before
 *	    the head that makes it count.
 *	M3  busy keeps one writer at a time: what interrupts a sample or a mapping finds it set and only counts. A context
 *	    that comes between the test and the set has ended before the set, so plain accesses do.
 *	M4  All go back to 0 on RESET alone, while the sampler is off and nobody reads.
 */
struct sampler_cpu {
	uint64_t *words;
	uint64_t head, end;
	uint64_t tail, taken;
	uint32_t busy;
	uint64_t due; /* ns */
	uint64_t step;
	uint64_t samples, cost, cost_max, cut, endless, nested, full;
	uint64_t bin_count[FATHOM_SAMPLE_BINS], bin_cost[FATHOM_SAMPLE_BINS];
};

struct sampler {
	struct sampler_cpu cpu[FATHOM_CPUS_MAX];
	void (*announce)(void);
	uint64_t capacity; /* words a CPU */
	uint64_t interval; /* ns */
	uint64_t stop_at;  /* ns; 0: never */
	uint64_t stop_after;
	uint32_t out;
	uint8_t ready;
	uint8_t described; /* the words that the reader did not take yet begin with INFO and all mappings */
};

extern struct sampler fathom_sampler;

/* Attributes of a STACK entry, in front of its frames. */
enum {
	SAMPLER_STACK_TASK = 5,
	SAMPLER_STACK_STEP,
	SAMPLER_STACK_DEPTH,
	SAMPLER_STACK_KERNEL,
	SAMPLER_STACK_HEAD
};

uint64_t fathom_sampler_now(void);
uint64_t fathom_sampler_words(void); /* in all buffers */

/* One writer a CPU: 0 if another context of this CPU is at it. */
int fathom_sampler_enter(struct sampler_cpu *c);
void fathom_sampler_leave(struct sampler_cpu *c);

/* An entry of at most n words, its head filled in; NULL: no room, counted. Then publish it, with the words it has. */
uint64_t *fathom_sampler_begin(struct sampler_cpu *c, uint32_t type, uint64_t n, uint64_t time,
			       uint32_t cpu);
void fathom_sampler_publish(struct sampler_cpu *c, uint64_t *w, uint64_t n);

/* An entry for the request, and the statistics if it asks for them. Context: task. */
void fathom_sampler_log(uint32_t flags, uint64_t arg);
/* INFO and all mappings, if what a reader takes next would lack them. Context: task. */
void fathom_sampler_describe(void);

#endif
