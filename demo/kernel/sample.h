/* SPDX-License-Identifier: MIT */
/* sample.h -- where the kernel meets the sampler. */
#ifndef DEMO_SAMPLE_H
#define DEMO_SAMPLE_H

#include <stdint.h>

struct trapframe;

void sample_init(void);
void sample_tick(const struct trapframe *f);		     /* from the timer interrupt */
void sample_map(int32_t pid, const char *program, int gone); /* a program begins or ends */

#endif
