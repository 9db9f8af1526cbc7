/* SPDX-License-Identifier: MIT */
/* snapshot.c -- a second ring per CPU that is exchanged with the live one to keep a moment. */
#include "fathom/errno.h"
#include "fathom/snapshot.h"
#include "fathom/trace.h"

static struct {
	struct fathom_ring *spare[FATHOM_CPUS_MAX];
	uint32_t allocated;
	uint32_t lock; /* held by the one who exchanges; others give up */
} snapshot;

#define SNAPSHOT_HEAD \
	((sizeof(struct fathom_ring) + WIRE_PAGE_BYTES - 1) & ~(size_t)(WIRE_PAGE_BYTES - 1))

/* As many pages as the live ring has, or as `share` bytes give. */
static uint32_t snapshot_pages(uint32_t cpu, size_t share)
{
	uint32_t pages = fathom_ring_pages(fathom_core.ring[cpu]);

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
	uint8_t *mem =
		pages < FATHOM_RING_PAGES_MIN ? 0 : fathom_memory_take(SNAPSHOT_HEAD + bytes);
	struct fathom_ring *ring = (struct fathom_ring *)(void *)mem;
	int err;

	if (!mem)
		return -FATHOM_ENOMEM;
	err = fathom_ring_init(ring, mem + SNAPSHOT_HEAD, bytes, cpu);
	if (!err)
		snapshot.spare[cpu] = ring;
	return err;
}

int fathom_snapshot_alloc(void)
{
	size_t share;

	if (snapshot.allocated)
		return 0;
	share = fathom_memory_left() / (fathom_core.nr_cpus + 1); /* one share stays for others */
	for (uint32_t cpu = 0; cpu < fathom_core.nr_cpus; cpu++) {
		int err = snapshot.spare[cpu] ? 0 : snapshot_make(cpu, share);

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

/* The spare goes on as the live one was: switched on or off, overwriting or not. */
static void snapshot_exchange(uint32_t cpu)
{
	struct fathom_ring *spare = snapshot.spare[cpu];

	fathom_ring_reset(spare);
	fathom_ring_overwrite(spare, (int)fathom_core.ring[cpu]->overwrite);
	fathom_ring_enable(spare, fathom_ring_is_enabled(fathom_core.ring[cpu]));
	fathom_ring_swap(&fathom_core.ring[cpu], &snapshot.spare[cpu]);
}

int fathom_snapshot_take(uint32_t cpu)
{
	if (cpu != FATHOM_SNAPSHOT_ALL && cpu >= fathom_core.nr_cpus)
		return -FATHOM_EINVAL;
	if (!fathom_snapshot_is_allocated())
		return -FATHOM_ENODEV;
	if (__atomic_exchange_n(&snapshot.lock, 1, __ATOMIC_ACQUIRE))
		return -FATHOM_EBUSY;
	for (uint32_t i = 0; i < fathom_core.nr_cpus; i++)
		if (cpu == FATHOM_SNAPSHOT_ALL || cpu == i)
			snapshot_exchange(i);
	__atomic_store_n(&snapshot.lock, 0, __ATOMIC_RELEASE);
	return 0;
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
	for (uint32_t cpu = 0; cpu < FATHOM_CPUS_MAX; cpu++)
		snapshot.spare[cpu] = 0;
}
