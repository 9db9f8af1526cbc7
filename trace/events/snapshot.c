/* SPDX-License-Identifier: MIT */
/* snapshot.c -- a second ring per CPU that is exchanged with the live one to keep a moment. */
#include "fathom/inside/errno.h"
#include "fathom/inside/snapshot.h"
#include "fathom/trace.h"

static struct {
	struct fathom_ring *spare[FATHOM_CPUS_MAX];
	uint32_t allocated;
	uint32_t swap; /* enum fathom_swap_state */
} snapshot;

#define SNAPSHOT_HEAD \
	((sizeof(struct fathom_ring) + WIRE_PAGE_BYTES - 1) & ~(size_t)(WIRE_PAGE_BYTES - 1))

/* As many pages as the live ring can have, or as `share` bytes give: after an exchange it is the live one. */
static uint32_t snapshot_pages(uint32_t cpu, size_t share)
{
	uint32_t pages = fathom_ring_pages_max(fathom_hot.ring[cpu]);

	if (pages > share / WIRE_PAGE_BYTES)
		pages = (uint32_t)(share / WIRE_PAGE_BYTES);
	while (pages && SNAPSHOT_HEAD + fathom_ring_bytes(pages) > share)
		pages--;
	return pages;
}

static int snapshot_make(uint32_t cpu, size_t share)
{
	uint32_t pages = snapshot_pages(cpu, share);
	size_t bytes = fathom_ring_bytes(pages);
	uint8_t *mem = pages < FATHOM_RING_PAGES_MIN ? 0 : fathom_memory_cut(SNAPSHOT_HEAD + bytes);
	struct fathom_ring *ring = (struct fathom_ring *)(void *)mem;
	int err;

	if (!mem)
		return -FATHOM_ENOMEM;
	err = fathom_ring_init(ring, mem + SNAPSHOT_HEAD, bytes, cpu);
	if (!err)
		snapshot.spare[cpu] = ring;
	return err;
}

/* The live ring may have been resized while there was no snapshot. */
static int snapshot_fit(uint32_t cpu)
{
	uint32_t pages = fathom_ring_pages(fathom_hot.ring[cpu]),
		 most = fathom_ring_pages_max(snapshot.spare[cpu]);

	return fathom_ring_resize(snapshot.spare[cpu], pages < most ? pages : most);
}

int fathom_snapshot_alloc(void)
{
	size_t share;

	if (snapshot.allocated)
		return 0;
	share = fathom_memory_left() / (fathom_core.nr_cpus + 1); /* one share stays for others */
	for (uint32_t cpu = 0; cpu < fathom_core.nr_cpus; cpu++) {
		int err = snapshot.spare[cpu] ? 0 : snapshot_make(cpu, share);

		if (!err)
			err = snapshot_fit(cpu);
		if (err)
			return err;
	}
	fathom_snapshot_clear();
	__atomic_store_n(&snapshot.allocated, 1, __ATOMIC_RELEASE);
	return 0;
}

void fathom_snapshot_free(void)
{
	__atomic_store_n(&snapshot.allocated, 0, __ATOMIC_RELEASE);
	fathom_snapshot_clear();
}

int fathom_snapshot_is_allocated(void)
{
	return __atomic_load_n(&snapshot.allocated, __ATOMIC_ACQUIRE) != 0;
}

int fathom_swap_try(uint32_t *state)
{
	uint32_t was = FATHOM_SWAP_FREE;

	if (__atomic_compare_exchange_n(state, &was, FATHOM_SWAP_BUSY, 0, __ATOMIC_SEQ_CST,
					__ATOMIC_SEQ_CST))
		return 0;
	return was == FATHOM_SWAP_HELD ? -FATHOM_EAGAIN : -FATHOM_EBUSY;
}

/* Waits for at most one exchange on each other CPU: those of this CPU nest inside or end before. */
void fathom_swap_hold(uint32_t *state)
{
	uint32_t was;

	do {
		was = FATHOM_SWAP_FREE;
	} while (!__atomic_compare_exchange_n(state, &was, FATHOM_SWAP_HELD, 0, __ATOMIC_SEQ_CST,
					      __ATOMIC_RELAXED));
}

void fathom_swap_release(uint32_t *state)
{
	__atomic_store_n(state, FATHOM_SWAP_FREE, __ATOMIC_SEQ_CST);
}

void fathom_snapshot_hold(void)
{
	fathom_swap_hold(&snapshot.swap);
}

void fathom_snapshot_release(void)
{
	fathom_swap_release(&snapshot.swap);
}

/* Who switched tracing meanwhile may have met the ring that is now the spare: look again. */
static void snapshot_exchange(uint32_t only)
{
	for (uint32_t cpu = 0; cpu < fathom_core.nr_cpus; cpu++)
		if (only == FATHOM_SNAPSHOT_ALL || only == cpu)
			fathom_ring_exchange(&fathom_hot.ring[cpu], &snapshot.spare[cpu]);
	fathom_rings_follow(fathom_hot.ring, &fathom_core.off);
}

static int snapshot_check(uint32_t cpu)
{
	if (cpu != FATHOM_SNAPSHOT_ALL && cpu >= fathom_core.nr_cpus)
		return -FATHOM_EINVAL;
	return fathom_snapshot_is_allocated() ? 0 : -FATHOM_ENODEV;
}

int fathom_snapshot_take_held(uint32_t cpu)
{
	int err = snapshot_check(cpu);

	if (!err)
		snapshot_exchange(cpu);
	return err;
}

int fathom_snapshot_take(uint32_t cpu)
{
	int err = fathom_swap_try(&snapshot.swap);

	if (err)
		return err;
	err = fathom_snapshot_take_held(cpu);
	fathom_snapshot_release();
	return err;
}

int fathom_snapshot_take_alone(uint32_t cpu)
{
	int err = fathom_swap_try(&snapshot.swap);

	if (err)
		return err;
	err = fathom_snapshot_take_held(cpu);
	for (uint32_t i = 0; i < fathom_core.nr_cpus && !err; i++)
		if (i != cpu)
			fathom_ring_reset(snapshot.spare[i]);
	fathom_snapshot_release();
	return err;
}

void fathom_snapshot_clear(void)
{
	for (uint32_t cpu = 0; cpu < FATHOM_CPUS_MAX; cpu++)
		if (snapshot.spare[cpu])
			fathom_ring_reset(snapshot.spare[cpu]);
}

struct fathom_ring *fathom_snapshot_ring(uint32_t cpu)
{
	return cpu < fathom_core.nr_cpus && fathom_snapshot_is_allocated() ? snapshot.spare[cpu]
									   : 0;
}

void fathom_snapshot_exit(void)
{
	snapshot.allocated = 0;
	snapshot.swap = FATHOM_SWAP_FREE;
	for (uint32_t cpu = 0; cpu < FATHOM_CPUS_MAX; cpu++)
		snapshot.spare[cpu] = 0;
}
