/* SPDX-License-Identifier: MIT */
/* kmalloc.c -- small objects in powers of two, from a heap of fixed size; what is freed waits for the next of its size. */
#include "kernel.h"
#include "lock.h"
#include "vm.h"
#include "trace_points.h"

#define SMALLEST 64u
#define CLASSES	 6u /* 64 ... 2048 bytes */

struct free_object {
	struct free_object *next;
};

static struct {
	struct spinlock lock;
	struct free_object *free[CLASSES];
	size_t used;
	uint8_t memory[512 << 10] __attribute__((aligned(64)));
} heap;

static uint32_t class_of(size_t bytes)
{
	uint32_t class = 0;

	while (class < CLASSES && (size_t)SMALLEST << class < bytes)
		class ++;
	return class;
}

static void *take(uint32_t class)
{
	size_t bytes = (size_t)SMALLEST << class;
	struct free_object *o = heap.free[class];

	if (o) {
		heap.free[class] = o->next;
		return o;
	}
	if (sizeof(heap.memory) - heap.used < bytes)
		return NULL;
	heap.used += bytes;
	return heap.memory + heap.used - bytes;
}

void *kmalloc(size_t bytes)
{
	uint32_t class = class_of(bytes);
	void *object = NULL;

	if (class < CLASSES) {
		uint64_t flags = lock(&heap.lock);

		object = take(class);
		unlock(&heap.lock, flags);
	}
	trace_kmalloc(__builtin_return_address(0), (uintptr_t)object, bytes,
		      class < CLASSES ? (size_t)SMALLEST << class : 0);
	return object;
}

void kfree(void *object, size_t bytes)
{
	uint32_t class = class_of(bytes);
	struct free_object *o = object;

	if (!o)
		return;
	trace_kfree(__builtin_return_address(0), (uintptr_t)object);
	uint64_t flags = lock(&heap.lock);

	o->next = heap.free[class];
	heap.free[class] = o;
	unlock(&heap.lock, flags);
}
