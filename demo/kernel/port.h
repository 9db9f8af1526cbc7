/* SPDX-License-Identifier: MIT */
/* port.h -- the two calls by which the kernel starts its tracer; fathom_port.c has them. */
#ifndef DEMO_PORT_H
#define DEMO_PORT_H

#include <stdint.h>

void port_init(uint32_t cpus); /* at boot, before other CPUs and frames */
void port_start(void);	       /* when tasks can run */

/* noise.c: for osnoise, timerlat and hwlat. */
extern const struct fathom_noise noise_port;

/* kernel.lds: the functions that interrupts enter by. */
extern const uint8_t __irqentry_text_start[], __irqentry_text_end[];

#endif
