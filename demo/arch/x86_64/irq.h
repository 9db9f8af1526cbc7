/* SPDX-License-Identifier: MIT */
/* irq.h -- x86_64: what irq.c has for machine.c, which starts CPUs. */
#ifndef DEMO_IRQ_H
#define DEMO_IRQ_H

#include <stdint.h>

#define PIT_HZ 1193182u /* its rate, on every PC */

void apic_wake(uint32_t cpu);		    /* INIT */
void apic_start(uint32_t cpu, uint32_t at); /* STARTUP, at a page of low memory */

#endif
