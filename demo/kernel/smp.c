/* SPDX-License-Identifier: MIT */
/* smp.c -- the other CPUs: waking them one by one, and running a function on all of them. */
#include "kernel.h"
#include "lock.h"
#include "task.h"
#include "vm.h"

extern uint8_t ap_trampoline[], ap_trampoline_end[];

/* boot.S reads these when the AP arrives; one AP at a time. It takes its number: who finds 0 came too late, and stops. */
uint64_t ap_stack;
uint32_t ap_number;

static int wake(uint32_t id)
{
	ap_stack = (uint64_t)task_idle(id)->kstack + KSTACK_SIZE;
	ap_number = id;
	apic_init_ipi(id);
	delay_us(10000);
	for (int tries = 0; tries < 2 && !cpus[id].online; tries++) {
		apic_startup_ipi(id, AP_START);
		for (int ms = 0; ms < 2000 && !cpus[id].online; ms++)
			delay_us(1000);
	}
	if (!cpus[id].online && __atomic_exchange_n(&ap_number, 0, __ATOMIC_SEQ_CST))
		return 0;
	while (!cpus[id].online) /* it has begun, and will come */
		cpu_pause();
	return 1;
}

/* How many there are, QEMU tells by its configuration device: item 5, a 16-bit number. */
uint32_t smp_count(void)
{
	outw(0x510, 5);
	uint32_t n = inb(0x511);

	n |= (uint32_t)inb(0x511) << 8;
	return n < 1 ? 1 : n > CPUS_MAX ? CPUS_MAX : n;
}

void smp_init(void)
{
	uint32_t n = LEVEL < 2 ? 1 : smp_count();

	memcpy(phys_to_virt(AP_START), ap_trampoline, (size_t)(ap_trampoline_end - ap_trampoline));
	for (uint32_t id = 1; id < n; id++) {
		if (!wake(id)) {
			kprintf("cpu %u does not answer\n", id);
			return; /* it may still come, through low memory */
		}
		nr_cpus = id + 1;
	}
	vm_forget_low();
}

void ap_main(uint32_t id)
{
	cpu_init(id);
	apic_init();
	sched_init(id);
	apic_timer_start();
	sched_idle();
}

/* One call at a time. The callers wait with interrupts on, so that they can serve each other's. */
static struct {
	uint32_t busy;
	uint32_t pending; /* CPUs that have not finished */
	uint32_t hold;	  /* they stay in the handler until it falls */
	void (*fn)(void);
} call;

static void call_begin(void (*fn)(void), uint32_t hold)
{
	preempt_disable();
	while (__atomic_exchange_n(&call.busy, 1, __ATOMIC_ACQUIRE))
		cpu_pause();
	call.fn = fn;
	call.hold = hold;
	__atomic_store_n(&call.pending, nr_cpus - 1, __ATOMIC_RELEASE);
	for_each_cpu (c)
		if (c != this_cpu())
			apic_ipi(c->id, VEC_CALL);
	while (__atomic_load_n(&call.pending, __ATOMIC_ACQUIRE))
		cpu_pause();
}

static void call_end(void)
{
	__atomic_store_n(&call.busy, 0, __ATOMIC_RELEASE);
	preempt_enable();
}

void smp_call_all(void (*fn)(void))
{
	call_begin(fn, 0);
	call_end();
}

/* For what never returns: nobody waits, and nobody calls again. */
void smp_call_forever(void (*fn)(void))
{
	call.fn = fn;
	for_each_cpu (c)
		if (c != this_cpu())
			apic_ipi(c->id, VEC_CALL);
	fn();
}

static void nothing(void)
{
}

/* Run fn here while every other CPU stands in its interrupt handler. */
void smp_stop_all(void (*fn)(void *), void *arg)
{
	call_begin(nothing, 1);
	uint64_t flags = irq_save();

	fn(arg);
	__atomic_store_n(&call.pending, nr_cpus - 1, __ATOMIC_RELAXED);
	__atomic_store_n(&call.hold, 0,
			 __ATOMIC_RELEASE); /* pairs with the load in smp_call_interrupt() */
	irq_restore(flags);
	while (__atomic_load_n(&call.pending, __ATOMIC_ACQUIRE))
		cpu_pause();
	call_end();
}

void smp_call_interrupt(void)
{
	uint32_t hold = call.hold;

	call.fn();
	__atomic_fetch_sub(&call.pending, 1, __ATOMIC_RELEASE);
	if (!hold)
		return;
	while (__atomic_load_n(&call.hold, __ATOMIC_ACQUIRE))
		cpu_pause();
	serialize();
	__atomic_fetch_sub(&call.pending, 1, __ATOMIC_RELEASE);
}
