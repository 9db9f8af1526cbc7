/* SPDX-License-Identifier: MIT */
/* trace_programs.c -- programs in the library: maps under threads and signals, the ring, images that are wrong. */
#include "harness.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include "fathom/fs.h"
#include "fathom/trace.h"
#include "fathom_port.h"
#include "programs/programs.h"

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
	fathom_map_reset(shared, 1);
	CHECK_EQ(total(shared, &slots), 0);
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

		for (int at = 0; at < n;) {
			struct bpf_emitted e;

			memcpy(&e, buf + at, sizeof(e));
			at += (int)sizeof(e);
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
			at += (int)sizeof(e) + (int)((e.bytes + 7) & ~7u);
		}
	CHECK_EQ(got, sent);
	CHECK_EQ(sent + ring.lost, NR_THREADS * ROUNDS);
	CHECK_EQ(fathom_program_emit(&ring, 0, 0, buf, 5000), -FATHOM_E2BIG);
}

/* ---- images ---- */

struct image {
	struct bpf_image head;
	struct bpf_image_map map;
	struct bpf_image_part part;
	struct bpf_insn code[4];
};

static const struct image good = {
	.head = {.magic = BPF_IMAGE_MAGIC,
		 .version = 1,
		 .nr_maps = 1,
		 .nr_parts = 1,
		 .ring_bytes = 256,
		 .nr_code = 4},
	.map = {.name = "m",
		.kind = BPF_MAP_COUNTS,
		.key_bytes = 8,
		.value_bytes = 8,
		.entries = 16},
	.part = {0, 2, 0, 8},
	.code = {{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0}, {BPF_JMP | BPF_EXIT, 0, 0, 0}},
};

static int load(const struct image *image, size_t bytes, size_t step)
{
	struct fathom_node node;
	struct fathom_file f;
	int err;

	CHECK_EQ(fathom_fs_lookup("programs", &node), 0);
	CHECK_EQ(fathom_fs_mkdir(&node, "p", 1), 0);
	CHECK_EQ(fathom_fs_lookup("programs/p/load", &node), 0);
	err = fathom_fs_open(&f, &node, FATHOM_O_WRONLY);
	for (size_t at = 0; at < bytes && err >= 0; at += step)
		err = fathom_fs_write(&f, (const uint8_t *)image + at,
				      bytes - at < step ? bytes - at : step);
	fathom_fs_close(&f);
	return err < 0 ? err : 0;
}

static void discard(void)
{
	struct fathom_node node;

	CHECK_EQ(fathom_fs_lookup("programs/p", &node), 0);
	CHECK_EQ(fathom_fs_rmdir(&node), 0);
}

#define WRONG(want, change)                                     \
	do {                                                    \
		struct image i = good;                          \
		change;                                         \
		CHECK_EQ(load(&i, sizeof(i), sizeof(i)), want); \
		discard();                                      \
	} while (0)

TEST(images)
{
	char text[4096];

	CHECK(!start());
	for (size_t step = 1; step < sizeof(good); step += 13) {
		CHECK_EQ(load(&good, sizeof(good), step), 0);
		CHECK_EQ(fathom_set("programs/p/run", "0"), 0);
		CHECK(fathom_get("programs/p/stats", text, sizeof(text)) > 0);
		CHECK(strstr(text, "loaded: 1\nruns: 1\n") != NULL);
		CHECK_EQ(fathom_get("programs/p/maps/m", text, sizeof(text)), 0);
		CHECK_EQ(fathom_set("programs/p/maps/m", "zero"), 0);
		CHECK_EQ(fathom_set("programs/p/maps/m", "nothing"), -FATHOM_EINVAL);
		discard();
	}
	CHECK_EQ(load(&good, sizeof(good) - 1, sizeof(good)), 0); /* more has to come */
	CHECK_EQ(fathom_set("programs/p/run", "0"), -FATHOM_EINVAL);
	discard();
	WRONG(-FATHOM_EINVAL, i.head.magic = __builtin_bswap32(i.head.magic));
	WRONG(-FATHOM_EINVAL, i.head.version = 2);
	WRONG(-FATHOM_EINVAL, i.head.nr_maps = 33);
	WRONG(-FATHOM_EINVAL, i.head.nr_parts = 0);
	WRONG(-FATHOM_EINVAL, i.head.nr_code = 1u << 20);
	WRONG(-FATHOM_EINVAL, i.head.nr_code = 3);
	WRONG(-FATHOM_EINVAL, i.head.ring_bytes = 100);
	WRONG(-FATHOM_EINVAL, i.head.ring_bytes = 32);
	WRONG(-FATHOM_EINVAL, i.map.name[0] = 0);
	WRONG(-FATHOM_EINVAL, i.map.name[0] = '/');
	WRONG(-FATHOM_EINVAL, memset(i.map.name, 'x', sizeof(i.map.name)));
	WRONG(-FATHOM_EINVAL, i.map.kind = BPF_MAP_KINDS);
	WRONG(-FATHOM_EINVAL, i.map.kind = BPF_MAP_LOG2);
	WRONG(-FATHOM_EINVAL, i.map.kind = BPF_MAP_ARRAY);
	WRONG(-FATHOM_EINVAL, (i.map.kind = BPF_MAP_LINEAR, i.map.max = INT64_MAX,
			       i.map.min = INT64_MIN, i.map.step = 1));
	WRONG(-FATHOM_EINVAL, i.map.value_bytes = 0);
	WRONG(-FATHOM_EINVAL, i.map.entries = 0);
	WRONG(-FATHOM_E2BIG, i.map.entries = 1u << 20);
	WRONG(-FATHOM_E2BIG, (i.map.key_bytes = 0x80000000, i.map.entries = 0x40000000));
	WRONG(-FATHOM_EINVAL, i.part.first = 4);
	WRONG(-FATHOM_EINVAL, i.part.nr = 0xffffffff);
	WRONG(-FATHOM_EINVAL, i.part.nr = 1);
	CHECK(fathom_get("error_log", text, sizeof(text)) > 0);
	CHECK(strstr(text, "part 0, instruction 1") != NULL);
	CHECK_EQ(fathom_get("programs", text, sizeof(text)), -FATHOM_EISDIR);
	fathom_exit();
}

TEST_MAIN
