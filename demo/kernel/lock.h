/* SPDX-License-Identifier: MIT */
/* lock.h -- the spin lock: interrupts and preemption are off while one is held. */
#ifndef DEMO_LOCK_H
#define DEMO_LOCK_H

#include "cpu.h"

/* raw_lock leaves interrupts to the caller, who has them off already. */
static inline void raw_lock(struct spinlock *l)
{
	preempt_disable();
	while (__atomic_exchange_n(&l->held, 1, __ATOMIC_ACQUIRE)) /* pairs with raw_unlock() */
		while (__atomic_load_n(&l->held, __ATOMIC_RELAXED))
			cpu_pause();
}

static inline void raw_unlock(struct spinlock *l)
{
	__atomic_store_n(&l->held, 0, __ATOMIC_RELEASE);
	preempt_enable_no_resched();
}

/* Returns the flags that unlock() wants back. */
static inline uint64_t lock(struct spinlock *l)
{
	uint64_t flags = irq_save();

	raw_lock(l);
	return flags;
}

static inline void unlock(struct spinlock *l, uint64_t flags)
{
	raw_unlock(l);
	irq_restore(flags);
	if ((flags & FLAGS_IF) && this_cpu()->need_resched && !preempt_count())
		schedule();
}

/* For what takes long: interrupts stay on. Preemption is off, so that who spins does not keep the holder from its CPU. */
static inline void long_lock(void *held)
{
	preempt_disable();
	while (__atomic_exchange_n((uint32_t *)held, 1,
				   __ATOMIC_ACQUIRE)) /* pairs with long_unlock() */
		cpu_pause();
}

static inline void long_unlock(void *held)
{
	__atomic_store_n((uint32_t *)held, 0, __ATOMIC_RELEASE);
	preempt_enable();
}

#endif
