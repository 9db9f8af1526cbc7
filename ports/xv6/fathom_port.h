/* SPDX-License-Identifier: MIT */
/* fathom_port.h -- the hot half of the port to xv6. Includes nothing of xv6: its headers have no include guards. */
#ifndef FATHOM_PORT_H
#define FATHOM_PORT_H

#include <stdint.h>

#define XV6_CPUS  8  /* NCPU of param.h; fathom_xv6.c compares them */
#define XV6_PROCS 64 /* NPROC */
#define XV6_SLOTS (XV6_PROCS + XV6_CPUS + 1)

#define FATHOM_CPUS_MAX	   XV6_CPUS
#define FATHOM_STACK_BYTES 4096
#define FATHOM_PATCH	   1

/* What an event asks: by stack, so that it changes with the stack; by hart. */
extern int32_t xv6_pid[XV6_SLOTS];
extern struct fathom_task *xv6_task[XV6_SLOTS];
extern uint8_t xv6_in_irq[XV6_CPUS];
extern char stack0[4096 * XV6_CPUS];

/* Whose stack we are on: a process's page right under the trampoline, a scheduler's in stack0, or the trace line's. */
#define XV6_TRAMPOLINE ((1UL << 38) - 4096)
static inline __attribute__((no_instrument_function)) uint32_t xv6_slot(void)
{
	uintptr_t sp, below;

	__asm__ volatile("mv %0, sp" : "=r"(sp));
	below = (XV6_TRAMPOLINE - sp) / 8192;
	if (below < XV6_PROCS)
		return (uint32_t)below;
	below = (sp - 1 - (uintptr_t)stack0) / 4096;
	return below < XV6_CPUS ? XV6_PROCS + (uint32_t)below : XV6_SLOTS - 1;
}

/* tp holds the hart's number; it is only true while interrupts are off, that is, pinned. */
#define fathom_port_cpu fathom_port_cpu
static inline uint32_t fathom_port_cpu(void)
{
	uint64_t id;

	__asm__ volatile("mv %0, tp" : "=r"(id));
	return (uint32_t)id;
}

#define fathom_port_clock fathom_port_clock
static inline uint64_t fathom_port_clock(void)
{
	uint64_t ticks;

	__asm__ volatile("rdtime %0" : "=r"(ticks));
	return ticks;
}

/* The timer makes kernel code yield(), and it goes on on another hart: pinned is interrupts off. */
#define fathom_port_pin fathom_port_pin
static inline uintptr_t fathom_port_pin(void)
{
	uintptr_t sstatus;

	__asm__ volatile("csrrci %0, sstatus, 2" : "=r"(sstatus) : : "memory");
	return sstatus & 2;
}
#define fathom_port_unpin fathom_port_unpin
static inline void fathom_port_unpin(uintptr_t pin)
{
	__asm__ volatile("csrs sstatus, %0" : : "r"(pin) : "memory");
}

#define fathom_port_context fathom_port_context
static inline uint32_t fathom_port_context(uintptr_t pin)
{
	return (pin ? 0 : 0x01) | (xv6_in_irq[fathom_port_cpu()] ? 0x08 : 0);
}

#define fathom_port_task()	 (xv6_pid[xv6_slot()])
#define fathom_port_task_state() (xv6_task[xv6_slot()])
#define fathom_port_stack	 xv6_stack
void xv6_stack(uintptr_t at, uintptr_t *lo, uintptr_t *hi);

#endif
