/* SPDX-License-Identifier: MIT */
/* frame.c -- physical memory in frames of 4 KiB: one pool, and a cache on each CPU so that most calls take no lock. */
#include "kernel.h"
#include "lock.h"
#include "vm.h"
#include "trace_points.h"

/*
 * A free frame in the pool holds the address of the next one, seen through the direct map. A cache is an array that only
 * its CPU touches, with interrupts off. Half a cache moves at a time, so a task that frees and allocates at the edge does
 * not take the lock each time.
 */
static struct {
	struct spinlock lock;
	uint64_t first;
	uint64_t count;
	uint64_t start, end; /* what is left of boot's memory, not yet in the list */
} pool;

#define MOVE (FRAME_CACHE / 2)

void frame_init(uint64_t start, uint64_t end)
{
	pool.start = (start + PAGE_SIZE - 1) & ~(uint64_t)(PAGE_SIZE - 1);
	pool.end = end & ~(uint64_t)(PAGE_SIZE - 1);
}

/* Boot only: one CPU, no frame given out yet. */
void *frame_early(size_t bytes)
{
	uint64_t at = pool.start;

	pool.start += (bytes + PAGE_SIZE - 1) & ~(uint64_t)(PAGE_SIZE - 1);
	if (pool.start > pool.end)
		panic("no memory for %lu bytes at boot", bytes);
	return phys_to_virt(at);
}

static uint64_t pool_take(void)
{
	uint64_t f = pool.first;

	if (f) {
		pool.first = *(uint64_t *)phys_to_virt(f);
		pool.count--;
	} else if (pool.start < pool.end) {
		f = pool.start;
		pool.start += PAGE_SIZE;
	}
	return f;
}

static void refill(struct cpu *c)
{
	raw_lock(&pool.lock);
	while (c->nr_frames < MOVE) {
		uint64_t f = pool_take();

		if (!f)
			break;
		c->frames[c->nr_frames++] = f;
	}
	raw_unlock(&pool.lock);
}

static void drain(struct cpu *c)
{
	raw_lock(&pool.lock);
	while (c->nr_frames > MOVE) {
		uint64_t f = c->frames[--c->nr_frames];

		*(uint64_t *)phys_to_virt(f) = pool.first;
		pool.first = f;
		pool.count++;
	}
	raw_unlock(&pool.lock);
}

uint64_t frame_alloc(void)
{
	uint64_t flags = irq_save(), f = 0;
	struct cpu *c = this_cpu();

	if (!c->nr_frames)
		refill(c);
	if (c->nr_frames)
		f = c->frames[--c->nr_frames];
	if (f)
		trace_frame_alloc(f, 0, __builtin_return_address(0));
	irq_restore(flags);
	return f;
}

void frame_free(uint64_t frame)
{
	uint64_t flags = irq_save();
	struct cpu *c = this_cpu();

	trace_frame_free(frame, 0);
	if (c->nr_frames == FRAME_CACHE)
		drain(c);
	c->frames[c->nr_frames++] = frame;
	irq_restore(flags);
}

uint64_t frames_free(void)
{
	uint64_t flags = lock(&pool.lock);
	uint64_t n = pool.count + (pool.end - pool.start) / PAGE_SIZE;

	unlock(&pool.lock, flags);
	for_each_cpu (c)
		n += c->nr_frames;
	return n;
}
