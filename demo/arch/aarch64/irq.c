/* SPDX-License-Identifier: MIT */
/* irq.c -- aarch64: GICv3, the generic timers, and NMIs by priority. */
#include "kernel.h"
#include "irq.h"
#include "machine.h"
#include "task.h"

/*
 * Software-generated interrupt n is vector VEC_TIMER + n, and number 7 the NMI. The virtual timer is the tick, the
 * physical one the NMIs' own timer. Both kinds of NMI have a priority that the mask of irq_mask() lets through.
 */
#define SGI_NMI	   7u
#define SGIS	   0xffffu
#define SPURIOUS   1020u /* and above: nothing to handle */
#define TIMER_ON   1u
#define NMI_MIN_US 100

#define GICD	    (PHYS_BASE + DEV_GICD)
#define GICR(cpu)   (PHYS_BASE + DEV_GICR + (cpu)*0x20000ull)
#define GICR_SGI(c) (GICR(c) + 0x10000)
#define REG32(at)   (*(volatile uint32_t *)(at))
#define REG8(at)    (*(volatile uint8_t *)(at))

/* Registers, the same in the distributor and, for the first 32 interrupts, in a redistributor. */
#define GIC_CTLR      0x0
#define GIC_GROUP     0x80
#define GIC_ENABLE    0x100
#define GIC_PRIORITY  0x400
#define GIC_ROUTER    0x6000
#define GICR_WAKER    0x14
#define WAKER_SLEEP   2u
#define WAKER_ASLEEP  4u
#define CTLR_GROUP1   2u
#define CTLR_AFFINITY 0x10u

static volatile uint32_t nmi_us; /* how often the physical timer interrupts; 0: not at all */

static void redistributor_init(uint32_t cpu)
{
	REG32(GICR(cpu) + GICR_WAKER) &= ~WAKER_SLEEP;
	while (REG32(GICR(cpu) + GICR_WAKER) & WAKER_ASLEEP)
		cpu_pause();
	REG32(GICR_SGI(cpu) + GIC_GROUP) = ~0u;
	for (uint32_t id = 0; id < 32; id++)
		REG8(GICR_SGI(cpu) + GIC_PRIORITY + id) =
			id == SGI_NMI || id == INTID_PHYSICAL_TIMER ? PRIORITY_NMI
								    : PRIORITY_NORMAL;
	REG32(GICR_SGI(cpu) + GIC_ENABLE) =
		SGIS | 1u << INTID_VIRTUAL_TIMER | 1u << INTID_PHYSICAL_TIMER;
}

/* From here on NMIs come; other interrupts when irq_unmask() lets them. */
void irq_init(void)
{
	if (!cpu_id())
		REG32(GICD + GIC_CTLR) = CTLR_GROUP1 | CTLR_AFFINITY;
	redistributor_init(cpu_id());
	reg_write(ICC_BPR1, 0);
	reg_write(ICC_CTLR, 0);
	reg_write(ICC_IGRPEN1, 1);
	serialize();
	nmi_unmask();
}

void irq_init_devices(void)
{
	static const uint32_t ids[] = {INTID_UART, INTID_PCI_SERIAL};

	for (int i = 0; i < 2; i++) {
		uint32_t id = ids[i];

		REG32(GICD + GIC_GROUP + id / 32 * 4) |= 1u << id % 32;
		REG8(GICD + GIC_PRIORITY + id) = PRIORITY_NORMAL;
		*(volatile uint64_t *)(GICD + GIC_ROUTER + id * 8) = cpus[0].arch.mpidr;
		REG32(GICD + GIC_ENABLE + id / 32 * 4) = 1u << id % 32;
	}
}

void irq_timer_start(void)
{
	this_cpu()->arch.next_tick = clock_counter();
	irq_timer_next();
	reg_write(cntv_ctl_el0, TIMER_ON);
}

/* Ticks that were missed are not made up for. */
void irq_timer_next(void)
{
	struct arch_cpu *a = &this_cpu()->arch;
	uint64_t now = clock_counter();

	a->next_tick += clock_hz / TICK_HZ;
	if (a->next_tick <= now)
		a->next_tick = now + clock_hz / TICK_HZ;
	reg_write(cntv_cval_el0, a->next_tick);
}

/* The next NMI of this CPU's timer, from the NMI itself; one that was missed does not shift those after it. */
static NOTRACE void nmi_timer_next(void)
{
	struct arch_cpu *a = &this_cpu()->arch;
	uint64_t period = nmi_us * clock_hz / 1000000, now = reg_read(cntpct_el0);

	do
		a->next_nmi += period;
	while (period && a->next_nmi <= now);
	reg_write(cntp_cval_el0, a->next_nmi);
	reg_write(cntp_ctl_el0, nmi_us ? TIMER_ON : 0);
}

/* Asked with all interrupts held off, before the mask is set: what the mask holds back would not be reported. */
NOTRACE uint32_t irq_taken(void)
{
	uint32_t id = (uint32_t)reg_read(ICC_IAR1);

	if (id >= SPURIOUS)
		return VEC_SPURIOUS;
	if (id == SGI_NMI || id == INTID_PHYSICAL_TIMER) {
		if (id == INTID_PHYSICAL_TIMER)
			nmi_timer_next();
		reg_write(ICC_EOIR1,
			  id); /* PSTATE.I keeps the next one out until this one is done */
		return VEC_NMI;
	}
	this_cpu()->arch.intid = id;
	switch (id) {
	case INTID_VIRTUAL_TIMER: return VEC_TIMER;
	case INTID_UART: return VEC_SERIAL0;
	case INTID_PCI_SERIAL: return VEC_SERIAL1;
	default: return VEC_TIMER + id;
	}
}

/* One at a time: only NMIs nest, and they end themselves. */
void irq_end(uint32_t vector)
{
	(void)vector;
	reg_write(ICC_EOIR1, this_cpu()->arch.intid);
}

/* To one CPU of the first cluster: bit n is CPU n. */
static void send(uint32_t cpu, uint64_t sgi)
{
	__asm__ volatile("dsb ishst" ::: "memory");
	reg_write(ICC_SGI1R, sgi << 24 | 1ull << (cpus[cpu].arch.mpidr & 15));
	serialize();
}

void irq_send(uint32_t cpu, uint32_t vector)
{
	send(cpu, vector - VEC_TIMER);
}

int irq_send_nmi(uint32_t cpu)
{
	send(cpu, SGI_NMI);
	return 0;
}

static void nmi_timer_here(void)
{
	this_cpu()->arch.next_nmi = reg_read(cntpct_el0);
	nmi_timer_next();
}

int irq_nmi_timer(uint32_t us)
{
	if (us && us < NMI_MIN_US)
		return -EINVAL;
	if (us == nmi_us)
		return 0;
	nmi_us = us;
	smp_call_all(nmi_timer_here);
	nmi_timer_here();
	return 0;
}
