/* SPDX-License-Identifier: MIT */
/* irq.c -- riscv64: the firmware's timer and interrupts between CPUs, and the PLIC for the serial ports' lines. */
#include "kernel.h"
#include "irq.h"
#include "machine.h"
#include "sbi.h"
#include "task.h"

/*
 * All interrupts between CPUs are one to the hardware. What a sender means is a bit in the receiver's `ipis`, set before
 * the interrupt is sent. The receiver takes one bit at a time, and sends itself another interrupt if there are more: so
 * each has its own way through trap(), which may switch tasks at its end.
 */
#define IRQ_SOFT  1u
#define IRQ_TIMER 5u
#define IRQ_LINE  9u
#define BIT(n)	  (1ull << (n))

#define PLIC		    ((volatile uint32_t *)(PHYS_BASE + DEV_PLIC))
#define PLIC_CONTEXT(hart)  (2 * (hart) + 1) /* S-mode of a hart */
#define PLIC_PRIORITY(line) PLIC[line]
#define PLIC_ENABLE(c, n)   PLIC[(0x2000 + (c)*0x80) / 4 + (n)]
#define PLIC_THRESHOLD(c)   PLIC[(0x200000 + (c)*0x1000) / 4]
#define PLIC_CLAIM(c)	    PLIC[(0x200004 + (c)*0x1000) / 4]

static NOTRACE uint64_t context(void)
{
	return PLIC_CONTEXT(this_cpu()->arch.hart);
}

void irq_init(void)
{
	PLIC_THRESHOLD(context()) = 0;
	csr_write(sie, BIT(IRQ_SOFT) | BIT(IRQ_LINE));
}

void irq_init_devices(void)
{
	static const uint32_t lines[] = {LINE_UART, LINE_PCI_SERIAL};

	for (int i = 0; i < 2; i++) {
		PLIC_PRIORITY(lines[i]) = 1;
		PLIC_ENABLE(context(), lines[i] / 32) |= 1u << lines[i] % 32;
	}
}

void irq_timer_start(void)
{
	this_cpu()->arch.next_tick = clock_counter();
	irq_timer_next();
	csr_set(sie, BIT(IRQ_TIMER));
}

/* Ticks that were missed are not made up for. */
void irq_timer_next(void)
{
	struct arch_cpu *a = &this_cpu()->arch;
	uint64_t now = clock_counter();

	a->next_tick += clock_hz / TICK_HZ;
	if (a->next_tick <= now)
		a->next_tick = now + clock_hz / TICK_HZ;
	sbi_call(SBI_TIME, a->next_tick, 0, 0);
}

static NOTRACE uint32_t take_ipi(struct arch_cpu *a)
{
	csr_clear(
		sip,
		BIT(IRQ_SOFT)); /* before the bits are looked at: who sets one later sends again */
	uint32_t bits = __atomic_load_n(&a->ipis, __ATOMIC_ACQUIRE); /* pairs with irq_send() */

	if (!bits)
		return VEC_SPURIOUS;
	uint32_t n = 0;

	while (!(bits >> n & 1))
		n++;

	if (__atomic_fetch_and(&a->ipis, ~(1u << n), __ATOMIC_ACQ_REL) & ~(1u << n))
		csr_set(sip, BIT(IRQ_SOFT));
	return VEC_TIMER + n;
}

static NOTRACE uint32_t take_line(void)
{
	uint32_t line = PLIC_CLAIM(context());

	if (line == LINE_UART)
		return VEC_SERIAL0;
	if (line == LINE_PCI_SERIAL)
		return VEC_SERIAL1;
	if (line)
		PLIC_CLAIM(context()) = line;
	return VEC_SPURIOUS;
}

NOTRACE uint32_t irq_taken(uint32_t cause)
{
	switch (cause) {
	case IRQ_TIMER: return VEC_TIMER;
	case IRQ_SOFT: return take_ipi(&this_cpu()->arch);
	case IRQ_LINE: return take_line();
	default: return VEC_SPURIOUS;
	}
}

void irq_end(uint32_t vector)
{
	if (vector == VEC_SERIAL0)
		PLIC_CLAIM(context()) = LINE_UART;
	else if (vector == VEC_SERIAL1)
		PLIC_CLAIM(context()) = LINE_PCI_SERIAL;
}

void irq_send(uint32_t cpu, uint32_t vector)
{
	struct arch_cpu *a = &cpus[cpu].arch;

	__atomic_fetch_or(&a->ipis, 1u << (vector - VEC_TIMER), __ATOMIC_SEQ_CST);
	sbi_call(SBI_IPI, 1, a->hart, 0);
}

/* S-mode has no interrupt that cannot be held off. */
int irq_send_nmi(uint32_t cpu)
{
	(void)cpu;
	return -ENOSYS;
}

int irq_nmi_timer(uint32_t us)
{
	return us ? -ENOSYS : 0;
}
