/* SPDX-License-Identifier: MIT */
/* lock.c -- the slow halves of the locks. */
#include "lock.h"

void spin_on_lock(const struct spinlock *l)
{
	while (__atomic_load_n(&l->held, __ATOMIC_RELAXED))
		cpu_pause();
}

int spin_trylock(struct spinlock *l)
{
	preempt_disable();
	if (!__atomic_exchange_n(&l->held, 1, __ATOMIC_ACQUIRE)) /* pairs with raw_unlock() */
		return 1;
	preempt_enable_no_resched();
	return 0;
}

void mutex_lock(void *held)
{
	preempt_disable();
	while (__atomic_exchange_n((uint32_t *)held, 1,
				   __ATOMIC_ACQUIRE)) /* pairs with mutex_unlock() */
		cpu_pause();
}

void mutex_unlock(void *held)
{
	__atomic_store_n((uint32_t *)held, 0, __ATOMIC_RELEASE);
	preempt_enable();
}
