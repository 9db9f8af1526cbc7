/* SPDX-License-Identifier: MIT */
/* sel4_target.c -- what the 16-bit stream costs on the target: words, bytes and time per event, against the ring. */
#include "fathom/inside/ring.h"
#include "fathom/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MIB	(1u << 20)
#define DEPTH	12
#define ROUNDS	5
#define NR_FUNC 300u

static uint64_t seed = 1;

static uint32_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 16);
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/*
 * Kernel entries as a microkernel makes them: a few kinds, each with its sequence of calls and a branch now and then.
 * A sequence is a row of functions; the same one is entered and left.
 */
static uintptr_t kinds[24][40];

static void make_kinds(void)
{
	for (unsigned k = 0; k < 24; k++)
		for (unsigned i = 0; i < 40; i++)
			kinds[k][i] = 0x8080010000u + 64u * (draw() % NR_FUNC);
}

static uint64_t entry(void)
{
	struct wire_sel4_entry e = {.path = 6, .syscall = 1, .cap = 4};
	unsigned k = draw() % 24, len = 6 + draw() % 4 * 8;

	fathom_stream_kernel_entry(&e, 0);
	for (unsigned i = 0; i + 1 < len; i += 2) {
		fathom_stream_enter(kinds[k][i]);
		fathom_stream_enter(draw() % 16 ? kinds[k][i + 1] : kinds[0][i]);
		fathom_stream_leave(kinds[k][i + 1]);
		fathom_stream_leave(kinds[k][i]);
	}
	fathom_stream_kernel_exit();
	return 2 + len / 2 * 4;
}

static uint64_t stream_events(uint32_t flags, struct fathom_stream_stats *st, double *ns)
{
	static uint8_t *memory;
	struct fathom_stream_config c = {
		.memory_bytes = MIB + 80 * 1024, .nr_cpus = 1, .flags = flags};
	uint64_t offered = 0;
	double start;

	if (!memory)
		memory = aligned_alloc(64, c.memory_bytes);
	c.memory = memory;
	if (fathom_stream_init(&c))
		exit(1);
	fathom_stream_reset();
	fathom_stream_start();
	start = now_ns();
	do {
		offered += entry();
		fathom_stream_stats(0, st);
	} while (!st->storage_full);
	*ns = (now_ns() - start) / (double)offered;
	fathom_stream_stop();
	return st->events;
}

/* The same calls as function_graph records: 20 bytes for a call, 40 for a return. */
static uint64_t ring_events(void)
{
	static struct fathom_ring ring;
	size_t bytes = fathom_ring_bytes(MIB / WIRE_PAGE_BYTES);
	void *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
	struct fathom_ring_stats st;

	if (fathom_ring_init(&ring, memory, bytes, 0))
		exit(1);
	fathom_ring_overwrite(&ring, 0);
	fathom_ring_enable(&ring, 1);
	do {
		struct fathom_slot slot;

		for (uint32_t n = 20; n <= 40; n += 20)
			if (fathom_ring_reserve(&ring, n, &slot))
				fathom_ring_commit(&ring, &slot);
		fathom_ring_stats(&ring, &st);
	} while (!st.full);
	free(memory);
	return st.written;
}

int main(void)
{
	struct fathom_stream_stats st;
	uint64_t ring = ring_events(), plain = 0, stamped = 0;
	double ns = 1e9, stamped_ns = 1e9, t;
	double words, bytes;

	make_kinds();
	for (int i = 0; i < ROUNDS; i++) {
		stamped = stream_events(FATHOM_STREAM_STAMPS, &st, &t);
		stamped_ns = t < stamped_ns ? t : stamped_ns;
	}
	for (int i = 0; i < ROUNDS; i++) {
		plain = stream_events(0, &st, &t);
		ns = t < ns ? t : ns;
	}
	words = (double)st.words / (double)st.events;
	bytes = (double)st.packed_bytes / (double)st.block_words * words;
	printf("%-40s %8.2f words, %.2f bytes compressed\n", "an event of the stream", words,
	       bytes);
	printf("%-40s %8.2f ns\n", "recording it, compression included", ns);
	printf("%-40s %8.2f ns\n", "with timestamps", stamped_ns);
	printf("%-40s %8llu events\n", "1 MiB of ring, function_graph", (unsigned long long)ring);
	printf("%-40s %8llu events\n", "1 MiB of stream, timestamps", (unsigned long long)stamped);
	printf("%-40s %8llu events\n", "1 MiB of stream", (unsigned long long)plain);
	printf("bar sel4-events-per-mib-vs-ring %.2f 4.00 %s\n", (double)plain / (double)ring,
	       plain >= 4 * ring ? "ok" : "SHORT");
	return plain < 4 * ring;
}
