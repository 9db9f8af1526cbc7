/* SPDX-License-Identifier: MIT */
/* sampler.h -- the sampler behind its tick, and for the stage that sends its buffer. Included by fathom/sampler.h. */
#ifndef FATHOM_INSIDE_SAMPLER_H
#define FATHOM_INSIDE_SAMPLER_H

#include <stdint.h>

struct fathom_sample;

extern uint32_t fathom_sampler_on;
void fathom_sampler_tick_slow(const struct fathom_sample *s);
/* Stop by itself after so long; 0: never. */
void fathom_sampler_stop_after(uint64_t ns);
/*
 * Words of a CPU that were not taken yet: whole entries, at most to the end of its buffer, so ask until the answer is 0.
 * They stay where they are until the next call for that CPU. One reader; samples may go on, a RESET may not.
 */
uint64_t fathom_sampler_take(uint32_t cpu, const uint64_t **words);

#endif
