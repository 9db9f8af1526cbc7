/* SPDX-License-Identifier: MIT */
/* lock.h -- the spin lock: interrupts and preemption are off while one is held; and one for what takes long. */
#ifndef DEMO_LOCK_H
#define DEMO_LOCK_H

#include "cpu.h"

/* Until it looks free: a call, so that a function tracer sees locks that were fought for, and only those. */
void spin_on_lock(const struct spinlock *l);

/* raw_lock leaves interrupts to the caller, who has them off already. */
static inline void raw_lock(struct spinlock *l)
{
	preempt_disable();
	while (__atomic_exchange_n(&l->held, 1, __ATOMIC_ACQUIRE)) /* pairs with raw_unlock() */
		spin_on_lock(l);
}

/* raw_lock, but 0 at once if it is held. */
int spin_trylock(struct spinlock *l);

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
	if (irq_flags_on(flags) && this_cpu()->need_resched && !preempt_count())
		schedule();
}

/* For what takes long: interrupts stay on. Preemption is off, so that who spins does not keep the holder from its CPU. */
void mutex_lock(void *held);
void mutex_unlock(void *held);

#endif
