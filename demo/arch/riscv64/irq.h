/* SPDX-License-Identifier: MIT */
/* irq.h -- riscv64: what irq.c has for vectors.c. */
#ifndef DEMO_IRQ_H
#define DEMO_IRQ_H

#include <stdint.h>

uint32_t irq_taken(uint32_t cause); /* the vector of an interrupt that has come */

#endif
