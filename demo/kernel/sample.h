/* SPDX-License-Identifier: MIT */
/* sample.h -- where the kernel meets the sampler. */
#ifndef DEMO_SAMPLE_H
#define DEMO_SAMPLE_H

#include <stdint.h>

struct trapframe;

void sample_init(void);
void sample_tick(const struct trapframe *f);	      /* from the timer interrupt */
void sample_nmi(const struct trapframe *f);	      /* from an NMI */
int64_t sample_control(uint32_t flags, uint64_t arg); /* for programs: what the shell can do too */
void sample_map(int32_t pid, const char *program, int gone); /* a program begins or ends */

#endif
