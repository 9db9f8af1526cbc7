/* SPDX-License-Identifier: MIT */
/* irq.c -- x86_64: the local APIC (timer, interrupts between CPUs) and the I/O APIC (the serial ports' lines). */
#include "kernel.h"
#include "irq.h"
#include "lock.h"
#include "machine.h"
#include "vm.h"

#define LAPIC  ((volatile uint32_t *)(PHYS_BASE + 0xfee00000))
#define IOAPIC ((volatile uint32_t *)(PHYS_BASE + 0xfec00000))

/* Registers, as indices of 32-bit words. */
enum {
	LAPIC_TPR = 0x80 / 4,
	LAPIC_EOI = 0xb0 / 4,
	LAPIC_SPURIOUS = 0xf0 / 4,
	LAPIC_ICR = 0x300 / 4,
	LAPIC_ICR_TO = 0x310 / 4,
	LAPIC_TIMER = 0x320 / 4,
	LAPIC_LINT0 = 0x350 / 4,
	LAPIC_LINT1 = 0x360 / 4,
	LAPIC_TIMER_FROM = 0x380 / 4,
	LAPIC_TIMER_NOW = 0x390 / 4,
	LAPIC_TIMER_DIVIDE = 0x3e0 / 4,
};

#define ICR_NMI	    0x400u
#define ICR_INIT    0x500u
#define ICR_STARTUP 0x600u
#define ICR_PENDING 0x1000u
#define ICR_ASSERT  0x4000u
#define PERIODIC    0x20000u
#define MASKED	    0x10000u
#define LEVEL_IRQ   0x8000u

static uint32_t timer_ticks; /* timer counts in one tick of ours; measured once by CPU 0 */

static void timer_measure(void)
{
	LAPIC[LAPIC_TIMER] = MASKED;
	LAPIC[LAPIC_TIMER_FROM] = 0xffffffff;
	delay_us(10000);
	timer_ticks = (uint32_t)((uint64_t)(0xffffffff - LAPIC[LAPIC_TIMER_NOW]) * 100 / TICK_HZ);
}

/* The old interrupt controllers, before LINT0 stops listening to them: what they had pending must go first. */
static void pic_silence(void)
{
	outb(0x21, 0xff);
	outb(0xa1, 0xff);
}

void irq_init(void)
{
	pic_silence();
	LAPIC[LAPIC_SPURIOUS] = 0x100 | VEC_SPURIOUS; /* on */
	LAPIC[LAPIC_TPR] = 0;
	LAPIC[LAPIC_LINT0] = MASKED;
	LAPIC[LAPIC_LINT1] = ICR_NMI;	 /* QEMU's `nmi` command arrives here */
	LAPIC[LAPIC_TIMER_DIVIDE] = 0x3; /* by 16 */
	if (!timer_ticks)
		timer_measure();
}

void irq_timer_start(void)
{
	LAPIC[LAPIC_TIMER] = PERIODIC | VEC_TIMER;
	LAPIC[LAPIC_TIMER_FROM] = timer_ticks;
}

/* The timer goes on by itself. */
void irq_timer_next(void)
{
}

void irq_end(uint32_t vector)
{
	if (vector != VEC_SPURIOUS)
		LAPIC[LAPIC_EOI] = 0;
}

/* The command register is two words: nothing may come between them on this CPU. */
static void icr(uint32_t cpu, uint32_t command)
{
	uint64_t flags = irq_save();

	while (LAPIC[LAPIC_ICR] & ICR_PENDING)
		cpu_pause();
	LAPIC[LAPIC_ICR_TO] = cpu << 24;
	LAPIC[LAPIC_ICR] = command;
	irq_restore(flags);
}

void irq_send(uint32_t cpu, uint32_t vector)
{
	icr(cpu, ICR_ASSERT | vector);
}

int irq_send_nmi(uint32_t cpu)
{
	icr(cpu, ICR_ASSERT | ICR_NMI);
	return 0;
}

void apic_wake(uint32_t cpu)
{
	icr(cpu, ICR_ASSERT | ICR_INIT);
}

void apic_start(uint32_t cpu, uint32_t at)
{
	icr(cpu, ICR_ASSERT | ICR_STARTUP | at >> 12);
}

/* `how`: the vector for an ordinary interrupt, or ICR_NMI; edge, active high, `cpu` by its number, 255: all. */
static void ioapic_route(uint32_t line, uint32_t how, uint32_t cpu)
{
	IOAPIC[0] = 0x11 + line * 2;
	IOAPIC[4] = cpu << 24;
	IOAPIC[0] = 0x10 + line * 2;
	IOAPIC[4] = how;
}

void irq_init_devices(void)
{
	if (virtio_is_line())
		ioapic_route(virtio_irq(), VEC_SERIAL1 | LEVEL_IRQ, 0);
	else
		ioapic_route(3, VEC_SERIAL1, 0);
	ioapic_route(4, VEC_SERIAL0, 0);
}

/* Channel 0 of the PIT, which nobody else uses: its line reaches the I/O APIC as number 2. */
int irq_nmi_timer(uint32_t us)
{
	uint64_t count = (uint64_t)us * PIT_HZ / 1000000;

	ioapic_route(2, MASKED, 0);
	if (!us)
		return 0;
	if (us < 100)
		return -EINVAL;
	while (count >
	       0xffff) /* slower than it can count: more often then, and some NMIs are not due */
		count /= 2;
	outb(0x43, 0x34); /* channel 0, both bytes, mode 2: again and again */
	outb(0x40, (uint8_t)count);
	outb(0x40, (uint8_t)(count >> 8));
	ioapic_route(2, ICR_NMI, 255);
	return 0;
}
