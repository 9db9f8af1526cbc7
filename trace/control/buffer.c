/* SPDX-License-Identifier: MIT */
/* buffer.c -- the rings of an instance: on and off, cleared, resized, swapped with the snapshot's. */
#include "control/control.h"
#include "control/pool.h"
#include "fathom/snapshot.h"

static int buffer_may_record(const struct ctl_instance *tr, uint32_t cpu)
{
	return tr->cpu_mask >> cpu & 1;
}

/* Any context: triggers and probes call it. Both sets of rings follow, so a swap changes nothing. */
void fathom_ctl_recording(struct ctl_instance *tr, int on)
{
	__atomic_store_n(&tr->on, (uint32_t) !!on, __ATOMIC_RELAXED);
	if (!tr->index) {
		if (on)
			fathom_tracing_on();
		else
			fathom_tracing_off();
	}
	for (uint32_t cpu = 0; cpu < fathom_core.nr_cpus; cpu++) {
		int enable = on && buffer_may_record(tr, cpu);

		fathom_ring_enable(fathom_ctl_ring(tr, cpu), enable);
		if (__atomic_load_n(&tr->snapshot, __ATOMIC_ACQUIRE))
			fathom_ring_enable(__atomic_load_n(&tr->spare[cpu], __ATOMIC_ACQUIRE),
					   enable);
	}
}

int fathom_ctl_is_recording(const struct ctl_instance *tr)
{
	return tr->index ? (int)__atomic_load_n(&tr->on, __ATOMIC_RELAXED) : fathom_tracing_is_on();
}

void fathom_ctl_clear(struct ctl_instance *tr, struct fathom_ring **rings, uint32_t cpu)
{
	for (uint32_t i = 0; i < fathom_core.nr_cpus; i++)
		if (cpu == ~0u || cpu == i)
			fathom_ring_reset(rings[i]);
	if (cpu == ~0u && rings == tr->ring)
		tr->start = fathom_now();
}

#define BUFFER_PAGE 4096u

/* Pointers, then bookkeeping, then page-aligned memory for each CPU: one block. */
int fathom_ctl_rings_new(struct fathom_ring ***rings, void **memory, uint32_t pages)
{
	uint32_t n = fathom_core.nr_cpus;
	size_t each = (fathom_ring_bytes(pages) + BUFFER_PAGE - 1) & ~(size_t)(BUFFER_PAGE - 1);
	size_t head = n * (sizeof(struct fathom_ring *) + sizeof(struct fathom_ring)) +
		      _Alignof(struct fathom_ring);
	uint8_t *mem = fathom_pool_get(head + n * each + BUFFER_PAGE);
	struct fathom_ring *r, **table = (struct fathom_ring **)(void *)mem;
	uint8_t *at;

	if (!mem)
		return -FATHOM_ENOMEM;
	r = (struct fathom_ring *)(((uintptr_t)(table + n) + _Alignof(struct fathom_ring) - 1) &
				   ~(uintptr_t)(_Alignof(struct fathom_ring) - 1));
	at = (uint8_t *)(((uintptr_t)(r + n) + BUFFER_PAGE - 1) & ~(uintptr_t)(BUFFER_PAGE - 1));
	for (uint32_t i = 0; i < n; i++, at += each) {
		int err = fathom_ring_init(&r[i], at, each, i);

		if (err) {
			fathom_pool_put(mem);
			return err;
		}
		table[i] = &r[i];
	}
	*rings = table;
	*memory = mem;
	return 0;
}

/*
 * The top's snapshot is probe/'s, which the latency tracers use too; an instance's is made here, as large as its rings
 * or what the memory gives. Once made it is kept: freeing only hides it, for after an odd number of exchanges the live
 * rings lie in the snapshot's memory.
 */
int fathom_ctl_has_snapshot(const struct ctl_instance *tr)
{
	return tr->index ? tr->snapshot != 0 : fathom_snapshot_is_allocated();
}

struct fathom_ring **fathom_ctl_spares(const struct ctl_instance *tr)
{
	static struct fathom_ring *top[FATHOM_CPUS_MAX];

	if (tr->index)
		return tr->spare;
	for (uint32_t cpu = 0; cpu < fathom_core.nr_cpus; cpu++)
		top[cpu] = fathom_snapshot_ring(cpu);
	return top;
}

int fathom_ctl_snapshot_alloc(struct ctl_instance *tr)
{
	uint32_t pages = fathom_ring_pages(fathom_ctl_ring(tr, 0));
	int err = tr->spares ? 0 : -FATHOM_ENOMEM;

	if (!tr->index)
		return fathom_snapshot_alloc();
	if (tr->snapshot)
		return 0;
	for (; err == -FATHOM_ENOMEM && pages >= FATHOM_RING_PAGES_MIN; pages /= 2)
		err = fathom_ctl_rings_new(&tr->spare, &tr->spares, pages);
	if (err)
		return err;
	for (uint32_t cpu = 0; cpu < fathom_core.nr_cpus; cpu++) {
		fathom_ring_overwrite(tr->spare[cpu], fathom_ctl_option(tr, CTL_OPT_OVERWRITE));
		fathom_ring_enable(tr->spare[cpu],
				   fathom_ring_is_enabled(fathom_ctl_ring(tr, cpu)));
	}
	__atomic_store_n(&tr->snapshot, 1, __ATOMIC_RELEASE);
	return 0;
}

void fathom_ctl_snapshot_free(struct ctl_instance *tr)
{
	if (!tr->index) {
		fathom_snapshot_free();
	} else if (tr->snapshot) {
		__atomic_store_n(&tr->snapshot, 0, __ATOMIC_SEQ_CST);
		fathom_ctl_clear(tr, tr->spare, ~0u);
	}
}

/* Any context. If two CPUs ask at once, one exchange serves both. cpu ~0: all. */
void fathom_ctl_snapshot_take(struct ctl_instance *tr, uint32_t only)
{
	if (!tr->index) {
		fathom_snapshot_take(only == ~0u ? FATHOM_SNAPSHOT_ALL : only);
		return;
	}
	if (!__atomic_load_n(&tr->snapshot, __ATOMIC_ACQUIRE) ||
	    __atomic_exchange_n(&tr->swapping, 1, __ATOMIC_ACQUIRE))
		return;
	for (uint32_t cpu = 0; cpu < fathom_core.nr_cpus; cpu++)
		if (only == ~0u || only == cpu)
			fathom_ring_swap(&tr->ring[cpu], &tr->spare[cpu]);
	__atomic_store_n(&tr->swapping, 0, __ATOMIC_RELEASE);
}
