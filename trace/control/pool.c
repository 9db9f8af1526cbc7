/* SPDX-License-Identifier: MIT */
/* pool.c -- memory for filters, triggers, histograms and instances, and when it may be used again. */
#include "control/pool.h"
#include "fathom/trace.h"

#define POOL_ALIGN 16u

/*
 * The heap is a chain of blocks without gaps: the next one begins `bytes` behind this one. Sizes count the head.
 */
struct pool_block {
	uint32_t bytes;
	uint32_t used;
	struct pool_block *limbo; /* the next retired block */
	uint64_t waits_for;	  /* CPUs not yet seen outside the handlers since it was retired */
} __attribute__((aligned(16)));

static struct {
	uint8_t *base;
	size_t bytes;
	struct pool_block *limbo;
} pool;

/* Handlers begun and ended on each CPU, written by that CPU only, but also by its interrupts: hence atomic. */
static struct {
	unsigned long in;
	unsigned long out;
} gate[FATHOM_CPUS_MAX];

void fathom_pool_enter(uint32_t cpu)
{
	if (cpu < FATHOM_CPUS_MAX)
		fathom_local_add(&gate[cpu].in, 1);
	/* Before the load of any pointer, however it is loaded; pairs with the fence in pool_quiet(). */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void fathom_pool_leave(uint32_t cpu)
{
	/* What was pointed to was read before; pairs with the acquire in pool_quiet(). */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	if (cpu < FATHOM_CPUS_MAX)
		fathom_local_add(&gate[cpu].out, 1);
}

/* `out` is read first: if all that had begun by the second read had ended by the first, none was inside between. */
static int pool_quiet(uint32_t cpu)
{
	unsigned long out = __atomic_load_n(&gate[cpu].out, __ATOMIC_ACQUIRE);

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&gate[cpu].in, __ATOMIC_ACQUIRE) == out;
}

void fathom_pool_init(void *mem, size_t bytes)
{
	size_t skip = -(uintptr_t)mem & (POOL_ALIGN - 1);
	struct pool_block *b;

	pool.base = 0;
	pool.limbo = 0;
	if (!mem || bytes < skip + 2 * sizeof(*b))
		return;
	bytes = (bytes - skip) & ~(size_t)(POOL_ALIGN - 1);
	if (bytes > 0x7ffffff0u)
		bytes = 0x7ffffff0u;
	pool.base = (uint8_t *)mem + skip;
	pool.bytes = bytes;
	b = (struct pool_block *)(void *)pool.base;
	*b = (struct pool_block){.bytes = (uint32_t)bytes};
}

static struct pool_block *pool_next(struct pool_block *b)
{
	uint8_t *at = (uint8_t *)b + b->bytes;

	return at < pool.base + pool.bytes ? (struct pool_block *)(void *)at : 0;
}

/* Free neighbours become one; done on the way through the chain, so giving back is O(1). */
static void pool_join(struct pool_block *b)
{
	struct pool_block *n;

	while ((n = pool_next(b)) && !n->used)
		b->bytes += n->bytes;
}

static void pool_reap(void)
{
	struct pool_block **at = &pool.limbo, *b;

	while ((b = *at)) {
		for (uint32_t cpu = 0; cpu < FATHOM_CPUS_MAX; cpu++)
			if (b->waits_for >> cpu & 1 && pool_quiet(cpu))
				b->waits_for &= ~((uint64_t)1 << cpu);
		if (b->waits_for) {
			at = &b->limbo;
		} else {
			*at = b->limbo;
			b->used = 0;
		}
	}
}

size_t fathom_pool_room(void)
{
	struct pool_block *b = (struct pool_block *)(void *)pool.base;
	size_t most = 0;

	if (b)
		pool_reap();
	for (; b; b = pool_next(b)) {
		if (b->used)
			continue;
		pool_join(b);
		most = b->bytes > most ? b->bytes : most;
	}
	return most > sizeof(*b) ? most - sizeof(*b) : 0;
}

void *fathom_pool_get(size_t bytes)
{
	struct pool_block *b = (struct pool_block *)(void *)pool.base;
	uint32_t need;

	if (!b || bytes > pool.bytes)
		return 0;
	pool_reap();
	need = (uint32_t)((bytes + sizeof(*b) + POOL_ALIGN - 1) & ~(size_t)(POOL_ALIGN - 1));
	for (; b; b = pool_next(b)) {
		if (b->used)
			continue;
		pool_join(b);
		if (b->bytes < need)
			continue;
		if (b->bytes - need > sizeof(*b)) {
			struct pool_block *rest =
				(struct pool_block *)(void *)((uint8_t *)b + need);

			*rest = (struct pool_block){.bytes = b->bytes - need};
			b->bytes = need;
		}
		b->used = 1;
		__builtin_memset(b + 1, 0, b->bytes - sizeof(*b));
		return b + 1;
	}
	return 0;
}

void fathom_pool_put(void *block)
{
	if (block)
		((struct pool_block *)block - 1)->used = 0;
}

void fathom_pool_retire(void *block)
{
	struct pool_block *b;

	if (!block)
		return;
	b = (struct pool_block *)block - 1;
	b->waits_for = ~(uint64_t)0 >> (64 - FATHOM_CPUS_MAX);
	b->limbo = pool.limbo;
	pool.limbo = b;
}
