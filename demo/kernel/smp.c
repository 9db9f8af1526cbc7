/* SPDX-License-Identifier: MIT */
/* smp.c -- the other CPUs: waking them one by one, and running a function on all of them. */
#include "kernel.h"
#include "lock.h"
#include "machine.h"
#include "task.h"
#include "vm.h"

struct cpu cpus[CPUS_MAX];
uint32_t nr_cpus = 1;

/* boot.S reads these when the CPU arrives; one at a time. */
uint64_t ap_stack;
uint32_t ap_number;

static int wake(uint32_t id)
{
	ap_stack = (uint64_t)task_idle(id)->kstack + KSTACK_SIZE;
	__atomic_store_n(&ap_number, id, __ATOMIC_SEQ_CST);
	if (machine_start_cpu(id))
		return 0;
	while (!__atomic_load_n(&cpus[id].online,
				__ATOMIC_ACQUIRE)) /* it has begun, and will come */
		cpu_pause();
	return 1;
}

void smp_init(void)
{
	uint32_t n = LEVEL < 2 ? 1 : machine.nr_cpus;

	cpus[0].online = 1;
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
	sched_init(id);
	irq_init();
	__atomic_store_n(&cpus[id].online, 1, __ATOMIC_RELEASE); /* tasks may be put here */
	irq_timer_start();
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
			irq_send(c->id, VEC_CALL);
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
			irq_send(c->id, VEC_CALL);
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
