/* SPDX-License-Identifier: MIT */
/* irq.h -- aarch64: what irq.c has for vectors.c. */
#ifndef DEMO_IRQ_H
#define DEMO_IRQ_H

#include <stdint.h>

uint32_t irq_taken(
	void); /* the vector of the interrupt that has come: VEC_NMI, VEC_SPURIOUS or another */

#endif
