/* SPDX-License-Identifier: MIT */
/* buffer.c -- the rings of an instance: on and off, cleared, resized, swapped with the snapshot's. */
#include "control/control.h"
#include "control/pool.h"
#include "fathom/inside/snapshot.h"

void fathom_ctl_recording(struct ctl_instance *tr, int on)
{
	if (!tr->index) {
		if (on)
			fathom_tracing_on();
		else
			fathom_tracing_off();
		return;
	}
	__atomic_store_n(&tr->off, (uint32_t)!on, __ATOMIC_SEQ_CST);
	fathom_rings_follow(tr->ring, &tr->off);
}

int fathom_ctl_is_recording(const struct ctl_instance *tr)
{
	return tr->index ? !__atomic_load_n(&tr->off, __ATOMIC_RELAXED) : fathom_tracing_is_on();
}

void fathom_ctl_hold_update(struct ctl_instance *tr)
{
	for (uint32_t cpu = 0; cpu < fathom_core.nr_cpus; cpu++) {
		int may_record = tr->cpu_mask >> cpu & 1;

		fathom_ring_hold(fathom_ctl_ring(tr, cpu), tr->paused || !may_record);
	}
}

void fathom_ctl_clear(struct ctl_instance *tr, struct fathom_ring **rings, uint32_t cpu)
{
	for (uint32_t i = 0; i < fathom_core.nr_cpus; i++)
		if (cpu == ~0u || cpu == i)
			fathom_ring_reset(rings[i]);
	if (cpu == ~0u && rings == tr->ring)
		tr->start = fathom_now();
}

void fathom_ctl_last_boot_end(struct ctl_instance *tr)
{
	if (!tr->last_boot)
		return;
	fathom_ctl_clear(tr, tr->ring, ~0u);
	tr->last_boot = 0;
	tr->paused--;
	fathom_ctl_hold_update(tr);
}

#define BUFFER_PAGE WIRE_PAGE_BYTES

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
	uint32_t pages = fathom_ring_pages_max(fathom_ctl_ring(tr, 0));
	int err = tr->spares ? 0 : -FATHOM_ENOMEM;

	if (!tr->index)
		return fathom_snapshot_alloc();
	if (tr->survives) /* the spare's memory does not */
		return -FATHOM_EINVAL;
	if (tr->snapshot)
		return 0;
	for (; err == -FATHOM_ENOMEM && pages >= FATHOM_RING_PAGES_MIN; pages /= 2)
		err = fathom_ctl_rings_new(&tr->spare, &tr->spares, pages);
	if (err)
		return err;
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

static void buffer_exchange(struct ctl_instance *tr, uint32_t only)
{
	if (!__atomic_load_n(&tr->snapshot, __ATOMIC_ACQUIRE))
		return;
	for (uint32_t cpu = 0; cpu < fathom_core.nr_cpus; cpu++)
		if (only == ~0u || only == cpu)
			fathom_ring_exchange(&tr->ring[cpu], &tr->spare[cpu]);
	fathom_rings_follow(tr->ring, &tr->off);
}

int fathom_ctl_snapshot_take(struct ctl_instance *tr, uint32_t cpu)
{
	if (!tr->index)
		return fathom_snapshot_take_held(cpu == ~0u ? FATHOM_SNAPSHOT_ALL : cpu);
	buffer_exchange(tr, cpu);
	return 0;
}

static int buffer_exchange_try(struct ctl_instance *tr)
{
	int err;

	if (!tr->index)
		return fathom_snapshot_take(FATHOM_SNAPSHOT_ALL);
	err = fathom_swap_try(&tr->swap);
	if (err)
		return err;
	buffer_exchange(tr, ~0u);
	fathom_swap_release(&tr->swap);
	return 0;
}

int fathom_ctl_keep(struct fathom_listener *l, uint32_t cpu)
{
	struct ctl_instance *tr = l->owner;
	int err = fathom_swap_try(&tr->swap);

	if (err)
		return err;
	buffer_exchange(tr, cpu);
	for (uint32_t i = 0; i < fathom_core.nr_cpus && cpu != FATHOM_SNAPSHOT_ALL; i++)
		if (i != cpu)
			fathom_ring_reset(tr->spare[i]);
	fathom_swap_release(&tr->swap);
	return 0;
}

/*
 * If two CPUs ask at once, one exchange serves both. If the tree's lock is held, its holder makes up for it when it lets
 * go; the second try is for a holder that let go between the first one and the note.
 */
void fathom_ctl_snapshot_ask(struct ctl_instance *tr)
{
	if (buffer_exchange_try(tr) != -FATHOM_EAGAIN)
		return;
	__atomic_store_n(&tr->wanted, 1, __ATOMIC_SEQ_CST);
	if (buffer_exchange_try(tr) != -FATHOM_EAGAIN)
		__atomic_store_n(&tr->wanted, 0, __ATOMIC_SEQ_CST);
}

/* Instances of before fathom_exit() are gone with its memory. */
static int buffer_has_instances(void)
{
	return fathom_core.nr_cpus && fathom_ctl.ready && fathom_ctl.boot == fathom_core.boot;
}

void fathom_ctl_snapshots_hold(void)
{
	fathom_snapshot_hold();
	for (uint32_t i = 1; i <= FATHOM_INSTANCES_MAX && buffer_has_instances(); i++)
		if (fathom_ctl.instance[i])
			fathom_swap_hold(&fathom_ctl.instance[i]->swap);
}

void fathom_ctl_snapshots_release(void)
{
	fathom_snapshot_release();
	for (uint32_t i = 0; i <= FATHOM_INSTANCES_MAX && buffer_has_instances(); i++) {
		struct ctl_instance *tr = fathom_ctl.instance[i];

		if (i && tr)
			fathom_swap_release(&tr->swap);
		/* First free, then look: who notes it later finds it free. */
		if (tr && __atomic_exchange_n(&tr->wanted, 0, __ATOMIC_SEQ_CST))
			buffer_exchange_try(tr);
	}
}
