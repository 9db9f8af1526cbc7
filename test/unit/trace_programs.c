/* SPDX-License-Identifier: MIT */
/* trace_programs.c -- programs in the library: maps under threads and signals, the ring. */
#include "harness.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include "fathom/fs.h"
#include "fathom/trace.h"
#include "fathom_port.h"
#include "programs/maps.h"

#define NR_THREADS 4
#define ROUNDS	   20000u

static int start(void)
{
	static uint8_t memory[8 << 20] __attribute__((aligned(4096)));
	struct fathom_config c = {.memory = memory,
				  .memory_bytes = sizeof(memory),
				  .nr_cpus = 8,
				  .pages_per_cpu = 8,
				  .programs = &fathom_programs};
	char buf[64];

	return fathom_init(&c) || fathom_get("tracing_on", buf, sizeof(buf)) < 0;
}

static struct program_map *make_map(struct bpf_image_map spec)
{
	static struct program_map map;

	map = (struct program_map){.spec = spec};
	fathom_lock();
	CHECK_EQ(fathom_map_init(&map), 0);
	fathom_unlock();
	return &map;
}

/* ---- many writers ---- */

static struct program_map *shared;
static volatile int signals_on;
static uint64_t signalled;

/* An interrupt in the middle of whatever the threads do to the map. */
static void on_signal(int sig)
{
	uint64_t key = 3;

	(void)sig;
	if (signals_on) {
		fathom_map_add(shared, &key, 1, 0);
		__atomic_fetch_add(&signalled, 1, __ATOMIC_RELAXED);
	}
}

static void *count(void *arg)
{
	(void)arg;
	for (uint64_t i = 0; i < ROUNDS; i++) {
		uint64_t key = i * 7 % 100;

		fathom_map_add(shared, &key, 1, 0);
		if (signals_on && i % 16 == 0)
			raise(SIGUSR1);
	}
	return NULL;
}

static void threads(void *(*fn)(void *))
{
	pthread_t t[NR_THREADS];

	for (long i = 0; i < NR_THREADS; i++)
		pthread_create(&t[i], NULL, fn, (void *)i);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(t[i], NULL);
}

/* Every LIVE slot's first value, added up. */
static uint64_t total(const struct program_map *m, uint32_t *slots)
{
	uint64_t sum = 0, v;

	*slots = 0;
	for (uint32_t i = 0; i < m->nr; i++)
		if ((m->state[i] & 3) == 3) {
			memcpy(&v, fathom_map_value(m, i, 0), 8);
			sum += v;
			++*slots;
		}
	return sum;
}

TEST(counts_of_threads_and_signals_are_exact)
{
	uint32_t slots;

	CHECK(!start());
	signal(SIGUSR1, on_signal);
	for (int with_signals = 0; with_signals < 2; with_signals++) {
		shared = make_map((struct bpf_image_map){
			.kind = BPF_MAP_COUNTS, .key_bytes = 8, .value_bytes = 8, .entries = 128});
		signals_on = with_signals;
		signalled = 0;
		threads(count);
		CHECK_EQ(total(shared, &slots), NR_THREADS * ROUNDS + signalled);
		/* A signal in the middle of making key 3 may make a second slot of it. */
		CHECK(slots >= 100 && slots <= 100 + (uint32_t)with_signals * 4);
		CHECK_EQ(shared->dropped, 0);
	}
	CHECK(signalled > 1000);
	signals_on = 0;
	fathom_exit();
}

/* Each thread has keys of its own, which it makes, changes and deletes: nobody else ever touches them. */
static void *own_keys(void *arg)
{
	long me = (long)arg;
	uintptr_t bad = 0;

	for (uint64_t i = 0; i < ROUNDS; i++) {
		uint64_t key[2] = {(uint64_t)me, i % 13}, value = i * 10 + (uint64_t)me, seen = 0;
		int32_t slot;

		bad += fathom_map_update(shared, key, &value, 0, 0) != 0;
		slot = fathom_map_find(shared, key);
		if (slot >= 0)
			memcpy(&seen, fathom_map_value(shared, (uint32_t)slot, 0), 8);
		bad += slot < 0 || seen != value;
		bad += fathom_map_delete(shared, key) != 0;
		bad += fathom_map_find(shared, key) >= 0;
	}
	return (void *)bad;
}

TEST(keys_that_come_and_go)
{
	pthread_t t[NR_THREADS];
	uint32_t slots;
	void *bad;

	CHECK(!start());
	shared = make_map((struct bpf_image_map){
		.kind = BPF_MAP_HASH, .key_bytes = 16, .value_bytes = 8, .entries = 64});
	for (long i = 0; i < NR_THREADS; i++)
		pthread_create(&t[i], NULL, own_keys, (void *)i);
	for (int i = 0; i < NR_THREADS; i++) {
		pthread_join(t[i], &bad);
		CHECK_EQ((uintptr_t)bad, 0);
	}
	CHECK_EQ(total(shared, &slots), 0);
	CHECK_EQ(slots, 0);
	fathom_exit();
}

TEST(a_full_map_counts_what_it_drops)
{
	uint32_t slots;

	CHECK(!start());
	shared = make_map((struct bpf_image_map){
		.kind = BPF_MAP_COUNTS, .key_bytes = 8, .value_bytes = 8, .entries = 10});
	for (uint64_t key = 0; key < 40; key++)
		fathom_map_add(shared, &key, 1, 0);
	CHECK_EQ(total(shared, &slots), 16); /* 10 and a half more, as a power of two */
	CHECK_EQ(shared->dropped, 40 - 16);
	shared->state[3] = SLOT_TURN; /* nobody's yet */
	shared->state[4] = SLOT_TURN | SLOT_BUSY;
	fathom_map_reset(shared, 1);
	CHECK_EQ(total(shared, &slots), 0);
	CHECK_EQ(shared->state[3], SLOT_TURN);
	CHECK_EQ(shared->state[4], SLOT_TURN | SLOT_BUSY); /* its maker is still at it */
	shared->state[4] = SLOT_DEAD;
	for (uint64_t key = 100; key < 110; key++)
		fathom_map_add(shared, &key, 2, 0);
	CHECK_EQ(total(shared, &slots), 20);
	fathom_exit();
}

TEST(an_array_ends)
{
	static const uint32_t last = 3, behind = 4, far = UINT32_MAX;
	uint64_t value = 7;

	CHECK(!start());
	shared = make_map((struct bpf_image_map){
		.kind = BPF_MAP_ARRAY, .key_bytes = 4, .value_bytes = 8, .entries = 4});
	CHECK_EQ(fathom_map_find(shared, &last), 3);
	CHECK_EQ(fathom_map_find(shared, &behind), -1);
	CHECK_EQ(fathom_map_find(shared, &far), -1);
	CHECK_EQ(fathom_map_update(shared, &last, &value, 0, 0), 0);
	CHECK(fathom_map_update(shared, &behind, &value, 0, 0) < 0);
	fathom_exit();
}

/* M2: a state that was seen before the slot had another owner says nothing about the key that is there now. */
TEST(a_slot_that_was_given_away_is_not_what_was_seen)
{
	uint64_t key = 5, value = 1;
	struct map_walk w;
	int32_t slot;

	CHECK(!start());
	shared = make_map((struct bpf_image_map){
		.kind = BPF_MAP_HASH, .key_bytes = 8, .value_bytes = 8, .entries = 16});
	CHECK_EQ(fathom_map_update(shared, &key, &value, 0, 0), 0);
	slot = fathom_map_find(shared, &key);
	fathom_map_walk(shared, &key, &w);
	REQUIRE(fathom_map_next(shared, &w));
	CHECK_EQ(w.at, slot);
	CHECK(fathom_map_matches(shared, &w, &key));
	for (int round = 0; round < 3; round++) {
		CHECK_EQ(fathom_map_delete(shared, &key), 0);
		CHECK(!fathom_map_matches(shared, &w, &key));
		CHECK_EQ(fathom_map_update(shared, &key, &value, 0, 0), 0);
		CHECK_EQ(fathom_map_find(shared, &key), slot);
		CHECK(!fathom_map_matches(shared, &w, &key));
	}
	fathom_exit();
}

/* M3: while another context makes the same key in an earlier slot, ours is given back, but not for ever. */
TEST(two_makers_of_one_key)
{
	uint64_t key = 5, value = 1;
	struct map_walk w;
	uint32_t first, next;

	CHECK(!start());
	shared = make_map((struct bpf_image_map){
		.kind = BPF_MAP_HASH, .key_bytes = 8, .value_bytes = 8, .entries = 16});
	fathom_map_walk(shared, &key, &w);
	REQUIRE(fathom_map_next(shared, &w));
	first = w.at;
	shared->state[first] = SLOT_TURN | SLOT_BUSY | w.tag;
	CHECK_EQ(fathom_map_update(shared, &key, &value, 0, 0), 0);
	REQUIRE(fathom_map_next(shared, &w));
	next = w.at;
	CHECK_EQ(fathom_map_find(shared, &key), next);
	CHECK(shared->state[next] / SLOT_TURN > 100); /* so often it looked */
	/* The other one is done: the key is there, and no second slot is made. */
	CHECK_EQ(fathom_map_delete(shared, &key), 0);
	memcpy(shared->data + (size_t)first * shared->stride, &key, sizeof(key));
	shared->state[first] = SLOT_TURN | SLOT_LIVE | w.tag;
	CHECK_EQ(fathom_map_insert(shared, &key, &value), first);
	CHECK_EQ(shared->dropped, 0);
	fathom_exit();
}

TEST(a_map_of_64_MiB_is_the_largest)
{
	struct program_map m = {.spec = {.kind = BPF_MAP_ARRAY,
					 .key_bytes = 4,
					 .value_bytes = 65536,
					 .entries = 1025}};

	CHECK(!start());
	fathom_lock();
	CHECK_EQ(fathom_map_init(&m), -FATHOM_E2BIG);
	m.spec.entries = 1024;
	CHECK_EQ(fathom_map_init(&m), -FATHOM_ENOMEM); /* the pool of this test is smaller */
	m.spec.entries = 1u << 16;		       /* 2^32 bytes: nothing in 32 bits */
	CHECK_EQ(fathom_map_init(&m), -FATHOM_E2BIG);
	fathom_unlock();
	fathom_exit();
}

/* Every CPU has its own value, and none of them lies in the next slot. */
TEST(values_of_each_CPU)
{
	uint64_t v;

	CHECK(!start());
	for (int array = 0; array < 2; array++) {
		shared = make_map((struct bpf_image_map){.kind = array ? BPF_MAP_PERCPU_ARRAY
								       : BPF_MAP_PERCPU_HASH,
							 .key_bytes = 4,
							 .value_bytes = 12,
							 .entries = 4});
		CHECK(shared->copies > 1);
		for (uint32_t key = 0; key < 4; key++)
			for (uint32_t cpu = 0; cpu < shared->copies; cpu++)
				fathom_map_add(shared, &key, key * 100 + cpu + 1, cpu);
		for (uint32_t key = 0; key < 4; key++)
			for (uint32_t cpu = 0; cpu < shared->copies; cpu++) {
				int32_t slot = fathom_map_find(shared, &key);

				REQUIRE(slot >= 0);
				memcpy(&v, fathom_map_value(shared, (uint32_t)slot, cpu), 8);
				CHECK_EQ(v, key * 100 + cpu + 1);
			}
	}
	fathom_exit();
}

TEST(an_update_asks_whether_it_is_there)
{
	uint64_t key = 1, value = 2;

	CHECK(!start());
	shared = make_map((struct bpf_image_map){
		.kind = BPF_MAP_HASH, .key_bytes = 8, .value_bytes = 8, .entries = 16});
	CHECK_EQ(fathom_map_update(shared, &key, &value, 2, 0), -FATHOM_ENOENT);
	CHECK_EQ(fathom_map_find(shared, &key), -1);
	CHECK_EQ(fathom_map_update(shared, &key, &value, 1, 0), 0);
	value = 3;
	CHECK_EQ(fathom_map_update(shared, &key, &value, 1, 0), -FATHOM_EEXIST);
	memcpy(&value, fathom_map_value(shared, (uint32_t)fathom_map_find(shared, &key), 0), 8);
	CHECK_EQ(value, 2);
	CHECK_EQ(fathom_map_update(shared, &key, &value, 2, 0), 0);
	CHECK_EQ(fathom_map_update(shared, &key, &value, 3, 0), -FATHOM_EINVAL);
	CHECK_EQ(fathom_map_delete(shared, &key), 0);
	CHECK_EQ(fathom_map_delete(shared, &key), -FATHOM_ENOENT);
	fathom_exit();
}

TEST(numbers_that_are_noted)
{
	static const int64_t numbers[] = {5, -3, 100, 0, INT64_MIN, INT64_MAX};
	struct bpf_noted n;
	int32_t slot;

	CHECK(!start());
	for (int is_signed = 0; is_signed < 2; is_signed++) {
		shared = make_map((struct bpf_image_map){.kind = BPF_MAP_NOTES,
							 .is_signed = (uint8_t)is_signed,
							 .value_bytes = sizeof(n),
							 .entries = 1});
		for (uint32_t i = 0; i < 4; i++)
			fathom_map_note(shared, "", numbers[i]);
		slot = fathom_map_find(shared, "");
		CHECK(slot >= 0);
		memcpy(&n, fathom_map_value(shared, (uint32_t)slot, 0), sizeof(n));
		CHECK_EQ(n.count, 4);
		CHECK_EQ(n.total, 102);
		CHECK_EQ(n.min, is_signed ? -3 : 0);
		CHECK_EQ(n.max, is_signed ? 100 : -3);
		fathom_map_reset(shared, 0);
		fathom_map_note(shared, "", 50);
		memcpy(&n, fathom_map_value(shared, (uint32_t)slot, 0), sizeof(n));
		CHECK_EQ(n.count, 1);
		CHECK_EQ(n.min, 50);
		CHECK_EQ(n.max, 50);
	}
	for (uint32_t i = 0; i < 64; i++) {
		CHECK_EQ(bpf_log2_bucket((int64_t)(1ull << i)), i == 63 ? 0 : i + 2);
		CHECK_EQ(bpf_log2_bucket((int64_t)((1ull << i) - 1)), i ? i + 1 : 1);
	}
	CHECK_EQ(bpf_linear_bucket(-10, 10, 3, INT64_MIN), 0);
	CHECK_EQ(bpf_linear_bucket(-10, 10, 3, -10), 1);
	CHECK_EQ(bpf_linear_bucket(-10, 10, 3, 9), 7);
	CHECK_EQ(bpf_linear_bucket(-10, 10, 3, INT64_MAX), bpf_linear_buckets(-10, 10, 3) - 1);
	fathom_exit();
}

/* ---- the ring ---- */

static uint64_t ring_words[512];
static struct program_ring ring = {.bytes = sizeof(ring_words), .words = ring_words};

static void *emit(void *arg)
{
	uintptr_t done = 0;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint8_t data[40];
		uint32_t n = i % sizeof(data);

		memset(data, (int)(i & 0xff), sizeof(data));
		done += fathom_program_emit(&ring, i & 0xff, (uint64_t)(long)arg, data, n) == 0;
	}
	return (void *)done;
}

/* Until all of the ring was used many times: each record finds its room empty, and nothing goes over what nobody has read. */
TEST(the_ring_refuses_what_does_not_fit)
{
	static const uint8_t data[11] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
	uint8_t buf[sizeof(struct bpf_emitted) + 16]; /* the last one ends where the ring does */
	const uint32_t most = sizeof(ring_words) / (sizeof(buf));
	struct program_ring r = {.bytes = sizeof(ring_words), .words = ring_words};
	struct bpf_emitted e;

	memset(ring_words, 0, sizeof(ring_words));
	for (uint32_t round = 1; round <= 20; round++) {
		for (uint32_t i = 0; i < most; i++)
			CHECK_EQ(fathom_program_emit(&r, i, round, data, sizeof(data)), 0);
		CHECK_EQ(fathom_program_emit(&r, 99, round, data, sizeof(data)), -FATHOM_ENOSPC);
		CHECK_EQ(r.lost, round);
		for (uint32_t i = 0; i < most; i++) {
			REQUIRE(fathom_program_take(&r, buf, sizeof(buf)) == (int)sizeof(buf));
			memcpy(&e, buf, sizeof(e));
			CHECK_EQ(e.bytes, sizeof(data));
			CHECK_EQ(e.action, i);
			CHECK_EQ(e.time, round);
			CHECK(!memcmp(buf + sizeof(e), data, sizeof(data)));
		}
		CHECK_EQ(fathom_program_take(&r, buf, sizeof(buf)), 0);
		for (uint32_t i = 0; i < sizeof(ring_words) / 8; i++)
			CHECK_EQ(ring_words[i], 0); /* E2 */
	}
	CHECK_EQ(fathom_program_emit(&r, 0, 0, data, sizeof(data)), 0);
	CHECK_EQ(fathom_program_take(&r, buf, sizeof(buf) - 1), -FATHOM_EINVAL);
	CHECK_EQ(fathom_program_take(&r, buf, sizeof(buf)), sizeof(buf));
}

TEST(what_is_emitted_arrives_whole)
{
	static uint8_t buf[4096];
	pthread_t t[NR_THREADS];
	uint64_t got = 0, sent = 0, left = NR_THREADS;
	void *done;

	for (long i = 0; i < NR_THREADS; i++)
		pthread_create(&t[i], NULL, emit, (void *)i);
	while (left) {
		int n = fathom_program_take(&ring, buf, sizeof(buf));

		REQUIRE(n >= 0);
		for (int at = 0; at < n;) {
			struct bpf_emitted e;

			memcpy(&e, buf + at, sizeof(e));
			at += (int)sizeof(e);
			REQUIRE(e.bytes < 40);
			for (uint32_t k = 0; k < e.bytes; k++)
				CHECK_EQ(buf[at + (int)k], e.action);
			at += (int)((e.bytes + 7) & ~7u);
			got++;
		}
		if (!n && pthread_tryjoin_np(t[left - 1], &done) == 0) {
			sent += (uintptr_t)done;
			left--;
		}
	}
	for (int n; (n = fathom_program_take(&ring, buf, sizeof(buf))) > 0;)
		for (int at = 0; at < n; got++) {
			struct bpf_emitted e;

			memcpy(&e, buf + at, sizeof(e));
			REQUIRE(e.bytes < 40);
			at += (int)sizeof(e) + (int)((e.bytes + 7) & ~7u);
		}
	CHECK_EQ(got, sent);
	CHECK_EQ(sent + ring.lost, NR_THREADS * ROUNDS);
	CHECK_EQ(fathom_program_emit(&ring, 0, 0, buf, 5000), -FATHOM_E2BIG);
}

TEST_MAIN
