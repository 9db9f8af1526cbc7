/* SPDX-License-Identifier: MIT */
/* stepping.c -- an interrupt after every single instruction of the ring: the trap flag, and a handler that writes or reads. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include "fathom/inside/ring.h"

/*
 * Signals are too rare to hit a window of one instruction. With the trap flag set the CPU traps after each one, and the
 * handler, which the kernel runs with the flag off, is the interrupt. A sweep does one operation again and again from
 * the same state and interrupts it after its 1st, 2nd, 3rd ... instruction, until it ends before the interrupt comes:
 * every instruction boundary of that operation (the first 1000), page ends and refusals included. The random rounds then interrupt
 * anywhere, any number of times. x86_64 only.
 */
enum {
	RECORDS_MAX = 1 << 17,
	SIZE = 24,
};

struct wrote {
	unsigned long at;
	uint64_t time;
	uint8_t gone, seen;
};

enum action {
	WRITE,
	WRITE_TWICE,
	DISCARD,
	READ,
	READ_PAGE,
};

uint64_t ringport_now, ringport_tick = 1;

static struct fathom_ring ring, ring_saved;
static uint8_t *block, *block_saved;
static size_t block_bytes;
static struct wrote wrote[RECORDS_MAX];
static uint32_t nr_wrote, nr_offered;
static uint64_t nr_read, lost_told, last_time;
static uint64_t traps, nr_interrupts;
static uint64_t rng = 88172645463325252ull;

static volatile long trap_at; /* the trap that acts; < 0: random */
static volatile long trap_nr;
static enum action trap_action;
static volatile int stepped_done;

static char failure[200];
#define FAIL(...)                                                        \
	do {                                                             \
		if (!failure[0])                                         \
			snprintf(failure, sizeof(failure), __VA_ARGS__); \
	} while (0)

static uint32_t roll(uint32_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)(rng >> 33) % n;
}

static void write_one(uint32_t size, int gone)
{
	struct fathom_slot slot;
	uint32_t id;
	uint8_t *p;

	__atomic_fetch_add(&nr_offered, 1, __ATOMIC_RELAXED);
	p = fathom_ring_reserve(&ring, size, &slot);
	if (!p)
		return;
	id = __atomic_fetch_add(&nr_wrote, 1,
				__ATOMIC_RELAXED); /* unique, not in order of position */
	wrote[id] = (struct wrote){slot.at, slot.time, (uint8_t)gone, 0};
	for (uint32_t i = 0; i < size / 4; i++)
		((uint32_t *)(void *)p)[i] = id * 3;
	((uint32_t *)(void *)p)[0] = id;
	if (gone)
		fathom_ring_discard(&ring, &slot);
	else
		fathom_ring_commit(&ring, &slot);
}

static void check_record(const uint8_t *data, uint32_t bytes, uint64_t time, uint64_t lost)
{
	uint32_t id;

	nr_read++;
	lost_told += lost;
	memcpy(&id, data, 4);
	if (id >= nr_wrote || bytes % 4 || bytes < SIZE) {
		FAIL("a record that nobody wrote");
		return;
	}
	for (uint32_t i = 4; i < bytes; i += 4)
		if (*(const uint32_t *)(const void *)(data + i) != id * 3)
			FAIL("record %u torn at byte %u", id, i);
	if (wrote[id].gone || wrote[id].seen++)
		FAIL("record %u given back, or read twice", id);
	if (time != wrote[id].time)
		FAIL("record %u: time %llu, written at %llu", id, (unsigned long long)time,
		     (unsigned long long)wrote[id].time);
	if (time < last_time)
		FAIL("time goes back at record %u", id);
	last_time = time;
}

static void read_one(void)
{
	struct fathom_record rec;

	if (fathom_ring_consume(&ring, &rec))
		check_record(rec.data, rec.bytes, rec.time, rec.lost);
}

/* The same in two parts: only the first is worth stepping through. */
static struct fathom_record stepped_rec;
static volatile int stepped_got;

static void read_page(void)
{
	static struct wire_page page;
	int bytes = fathom_ring_read_page(&ring, &page, 1);
	uint64_t time = page.time, lost = 0;
	struct wire_item item;

	if (bytes > 0 && (page.commit & WIRE_COMMIT_STORED))
		memcpy(&lost, page.data + bytes, sizeof(lost));
	for (uint32_t at = 0; bytes > 0 && at < (uint32_t)bytes; at = item.next) {
		if (wire_page_step(page.data, at, (uint32_t)bytes, &time, &item) < 0) {
			FAIL("damaged page");
			return;
		}
		if (item.data) {
			check_record(item.data, item.bytes, time, lost);
			lost = 0;
		}
	}
}

static void act(enum action a)
{
	switch (a) {
	case WRITE: write_one(SIZE, 0); break;
	case WRITE_TWICE:
		write_one(SIZE, 0);
		write_one(SIZE + 100, 0);
		break;
	case DISCARD: write_one(SIZE, 1); break;
	case READ: read_one(); break;
	case READ_PAGE: read_page(); break;
	}
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	(void)info;
	traps++;
	if (stepped_done)
		return;
	trap_nr++;
	if (trap_at < 0 ? roll((uint32_t)-trap_at) == 0 : trap_nr == trap_at) {
		nr_interrupts++;
		act(trap_action);
		if (trap_at > 0)
			uc->uc_mcontext.gregs[REG_EFL] &= ~0x100ll;
	}
}

/* Run one action under the trap flag. noinline: the flag is set before and cleared behind it, whatever it is. */
__attribute__((noinline)) static void stepped(enum action a)
{
	stepped_done = 0;
	trap_nr = 0;
	__asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
	if (a == READ)
		stepped_got = fathom_ring_consume(&ring, &stepped_rec);
	else
		act(a);
	__asm__ volatile("movl $1, %0" : "=m"(stepped_done)::"memory");
	__asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
	if (a == READ && stepped_got)
		check_record(stepped_rec.data, stepped_rec.bytes, stepped_rec.time,
			     stepped_rec.lost);
}

static void check_end(const char *what)
{
	struct fathom_ring_stats st;
	uint64_t gone = 0, read = 0, refused, before = nr_read + 1;

	if (ring.commit != ring.tail)
		FAIL("%s: commit is not at the tail", what);
	while (before != nr_read) {
		before = nr_read;
		read_one();
	}
	for (uint32_t i = 0; i < nr_wrote; i++) {
		gone += wrote[i].gone;
		read += wrote[i].seen;
	}
	fathom_ring_stats(&ring, &st);
	refused = st.full + st.nested;
	if (st.corrupt || st.entries || st.read != read || st.written != nr_wrote - gone ||
	    st.written != read + st.overwritten || nr_offered != nr_wrote + refused)
		FAIL("%s: offered %u granted %u back %llu written %llu read %llu (%llu) "
		     "overwritten %llu refused %llu corrupt %llu",
		     what, nr_offered, nr_wrote, (unsigned long long)gone,
		     (unsigned long long)st.written, (unsigned long long)read,
		     (unsigned long long)st.read, (unsigned long long)st.overwritten,
		     (unsigned long long)refused, (unsigned long long)st.corrupt);
	if (lost_told < st.overwritten || lost_told > st.overwritten + refused)
		FAIL("%s: overwritten %llu refused %llu told %llu", what,
		     (unsigned long long)st.overwritten, (unsigned long long)refused,
		     (unsigned long long)lost_told);
}

static void fresh(uint32_t pages, int overwrite)
{
	free(block);
	free(block_saved);
	block_bytes = fathom_ring_bytes(pages);
	block = aligned_alloc(4096, block_bytes);
	block_saved = aligned_alloc(4096, block_bytes);
	memset(block, 0xee, block_bytes);
	nr_wrote = nr_offered = 0;
	nr_read = lost_told = last_time = 0;
	if (fathom_ring_init(&ring, block, block_bytes, 0) < 0)
		abort();
	fathom_ring_overwrite(&ring, overwrite);
}

/* Every boundary of `a`, interrupted by `b`, from a ring with `prefill` records of which `eaten` were read. */
static long sweep(const char *name, uint32_t pages, int overwrite, uint32_t prefill, uint32_t eaten,
		  enum action a, enum action b)
{
	uint32_t saved_wrote, saved_offered;
	uint64_t saved_read, saved_lost, saved_time, saved_now;
	long k = 0, boundaries = 0;

	fresh(pages, overwrite);
	for (uint32_t i = 0; i < prefill; i++)
		write_one(SIZE, 0);
	for (uint32_t i = 0; i < eaten; i++)
		read_one();
	ring_saved = ring;
	memcpy(block_saved, block, block_bytes);
	saved_wrote = nr_wrote;
	saved_offered = nr_offered;
	saved_read = nr_read;
	saved_lost = lost_told;
	saved_time = last_time;
	saved_now = ringport_now;
	trap_action = b;
	do {
		uint8_t seen[4096];

		for (uint32_t i = 0; i < saved_wrote; i++)
			seen[i] = wrote[i].seen;
		k += k < 1000 ? 1 : k / 40; /* long ones are copies and walks */
		boundaries++;
		trap_at = k;
		stepped(a);
		check_end(name);
		ring = ring_saved;
		memcpy(block, block_saved, block_bytes);
		nr_wrote = saved_wrote;
		nr_offered = saved_offered;
		nr_read = saved_read;
		lost_told = saved_lost;
		last_time = saved_time;
		ringport_now = saved_now;
		for (uint32_t i = 0; i < saved_wrote; i++)
			wrote[i].seen = seen[i];
	} while (trap_nr >= k && !failure[0]);
	return boundaries - 1;
}

static void report(const char *name, long boundaries)
{
	if (failure[0])
		printf("not ok stepping_%s: after instruction %ld: %s\n", name, boundaries,
		       failure);
	else
		printf("ok stepping_%s (%ld instruction boundaries)\n", name, boundaries);
}

static int sweeps(void)
{
	/* 145 records of 28 bytes fill a page: 145 is a page end. */
	static const struct {
		const char *name;
		uint32_t pages;
		int overwrite;
		uint32_t prefill, eaten;
		enum action a, b;
	} all[] = {
		{"write_write", 3, 1, 3, 0, WRITE, WRITE},
		{"write_discard", 3, 1, 3, 0, WRITE, DISCARD},
		{"write_read", 3, 1, 3, 0, WRITE, READ},
		{"discard_write", 3, 1, 3, 0, DISCARD, WRITE},
		{"discard_read", 3, 1, 3, 0, DISCARD, READ_PAGE},
		{"page_end_write", 3, 1, 145, 0, WRITE, WRITE_TWICE},
		{"page_end_discard", 3, 1, 145, 0, WRITE, DISCARD},
		{"page_end_read", 3, 1, 145, 20, WRITE, READ_PAGE},
		{"overwrite_write", 2, 1, 145 * 6, 0, WRITE, WRITE_TWICE},
		{"overwrite_read", 2, 1, 145 * 6, 0, WRITE, READ_PAGE},
		{"overwrite_read_one", 2, 1, 145 * 4, 200, WRITE, READ},
		{"full_write", 2, 0, 145 * 2, 0, WRITE, WRITE},
		{"full_read", 2, 0, 145 * 2, 0, WRITE, READ_PAGE},
		{"read_write", 3, 1, 3, 0, READ, WRITE},
		{"read_page_write", 2, 1, 145 * 2, 0, READ, WRITE_TWICE},
		{"read_overwritten", 2, 1, 145 * 6, 0, READ, WRITE},
		{"read_part_overwritten", 2, 1, 145 * 5 + 3, 145, READ, WRITE_TWICE},
	};
	int failed = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		long n = sweep(all[i].name, all[i].pages, all[i].overwrite, all[i].prefill,
			       all[i].eaten, all[i].a, all[i].b);

		report(all[i].name, n);
		failed |= failure[0] != 0;
		failure[0] = 0;
	}
	return failed;
}

/* Writers interrupted anywhere, on average at every `one_in`-th instruction; read in between, so nothing may be lost track of. */
static int random_rounds(uint32_t events, long one_in, int overwrite)
{
	char name[64];

	traps = nr_interrupts = 0;
	fresh(3, overwrite);
	snprintf(name, sizeof(name), "random_%ld_%s", one_in, overwrite ? "overwrite" : "full");
	for (uint32_t i = 0; i < events && !failure[0] && nr_wrote < RECORDS_MAX - 1000; i++) {
		trap_action = roll(8) ? WRITE : DISCARD;
		trap_at = -one_in;
		stepped(roll(8) ? WRITE : DISCARD);
		if (roll(100) == 0)
			read_page();
		if (roll(10) == 0)
			read_one();
	}
	check_end(name);
	if (failure[0])
		printf("not ok stepping_%s: %s\n", name, failure);
	else
		printf("ok stepping_%s (%llu traps, %llu interrupts, %u records, %lu refused)\n",
		       name, (unsigned long long)traps, (unsigned long long)nr_interrupts, nr_wrote,
		       ring.nested + ring.full);
	return failure[0] != 0;
}

int main(int argc, char **argv)
{
	uint32_t events = argc > 1 ? (uint32_t)atoi(argv[1]) : 400;
	struct sigaction sa = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
	int failed;

	setvbuf(stdout, NULL, _IOLBF, 0);
	sigaction(SIGTRAP, &sa, NULL);
	failed = sweeps();
	failure[0] = 0;
	failed |= random_rounds(events / 4, 100, 1);
	failure[0] = 0;
	failed |= random_rounds(events / 16, 15, 1);
	failure[0] = 0;
	failed |= random_rounds(events / 4, 100, 0);
	failure[0] = 0;
	failed |= random_rounds(events / 32, 1, 1);
	return failed;
}
