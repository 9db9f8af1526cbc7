/* SPDX-License-Identifier: MIT */
/* noise.h -- what Linux prints of its tracers osnoise, timerlat and hwlat: the text of a record, and the heads. */
#ifndef WIRE_NOISE_H
#define WIRE_NOISE_H

#include <stdint.h>

#include "wire/text.h"

/* Times in us, as the record has them. */
struct fathom_text_osnoise {
	uint64_t noise, runtime, max_sample;
	uint32_t hw, nmi, irq, softirq, thread; /* how many of them interfered */
};

enum fathom_timerlat_context {
	FATHOM_TIMERLAT_IRQ,
	FATHOM_TIMERLAT_THREAD,
	FATHOM_TIMERLAT_USER,
};

struct fathom_text_hwlat {
	uint64_t inner, outer; /* us */
	int64_t sec;
	int32_t nsec;
	uint32_t seq, count;
	uint64_t nmi_total; /* ns */
	uint32_t nmi_count;
};

/* The text after the columns, with the line's end. */
void fathom_text_osnoise(struct fathom_text *t, const struct fathom_text_osnoise *o);
void fathom_text_timerlat(struct fathom_text *t, uint32_t seq, int context, uint64_t latency_ns);
void fathom_text_hwlat(struct fathom_text *t, const struct fathom_text_hwlat *h);

/* What follows "# tracer: NAME" and "#"; hwlat has the ordinary head. */
extern const char fathom_osnoise_head[], fathom_osnoise_head_rt[], fathom_timerlat_head[];

#endif
