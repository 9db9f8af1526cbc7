/* SPDX-License-Identifier: MIT */
/* tools_store.c -- the index finds what walking the whole trace finds; stale and damaged index files are not believed. */
#include "harness.h"
#include <fcntl.h>
#include "lib/fuzz_file.h"
#include "lib/make_trace.h"
#include "base/file.h"
#include "store/store.h"

#include <sys/stat.h>

#define TYPES 5
#define CPUS  3

static uint64_t seed;

static uint32_t rnd(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % n;
}

/* `back`: times of a CPU step back now and then. Type 4 is rare. */
static void make_times(const char *path, uint32_t nr, bool back, bool still)
{
	struct made_cpu cpus[CPUS] = {{0}};
	uint64_t time[CPUS] = {1000, 1000, 1000};

	for (uint32_t i = 0; i < nr; i++) {
		uint32_t cpu = rnd(10) < 7 ? 0 : rnd(CPUS);
		struct made_event e = {.cpu = cpu, .n = i, .pid = (int32_t)rnd(4)};

		if (!still)
			time[cpu] += rnd(3) ? rnd(50) : 0;
		else if (i % 3000 == 0) /* then all CPUs stand at one time again */
			time[0] = time[1] = time[2] = 1000 + i;
		if (!still && !rnd(2000))
			time[cpu] += 1ull << 28;
		if (back && !rnd(3000))
			time[cpu] -= rnd(20000) % time[cpu];
		e.time = time[cpu];
		e.type = MADE_FIRST + (rnd(3000) ? rnd(TYPES - 1) : TYPES - 1);
		made_add(&cpus[cpu], &e);
		if (!rnd(5000))
			made_new_page(&cpus[cpu], time[cpu]);
	}
	made_save(path, cpus, CPUS, TYPES);
}

static void make(const char *path, uint32_t nr, bool back)
{
	make_times(path, nr, back, false);
}

struct seen {
	uint64_t time;
	uint32_t n, type;
};

static struct seen *walk(struct source *s, uint64_t *nr)
{
	struct merge *m = merge_open(s, NULL, NULL);
	struct seen *all = malloc(1000000 * sizeof(*all));
	const struct event *e;

	*nr = 0;
	while ((e = merge_next(m)) && *nr < 1000000) {
		struct seen *v = &all[(*nr)++];

		v->time = e->time;
		v->type = e->type;
		memcpy(&v->n, e->data + 8, 4);
	}
	merge_close(m);
	return all;
}

static uint32_t next_n(struct merge *m)
{
	const struct event *e = merge_next(m);
	uint32_t n = UINT32_MAX;

	if (e)
		memcpy(&n, e->data + 8, 4);
	return n;
}

static void compare(struct store *st, struct source *s)
{
	uint64_t nr, by_type[TYPES] = {0};
	struct seen *all = walk(s, &nr);
	struct merge *m = merge_open(s, NULL, NULL);

	CHECK_EQ(st->nr_events, nr);
	for (int k = 0; k < 300; k++) {
		uint64_t n = k < 3 ? nr - 1 - (uint64_t)k : rnd((uint32_t)nr);

		CHECK_EQ(store_seek_number(st, m, n), 0);
		CHECK_EQ(m->number, n);
		CHECK_EQ(next_n(m), all[n].n);
		if (n + 1 < nr)
			CHECK_EQ(next_n(m), all[n + 1].n);
	}
	CHECK_EQ(store_seek_number(st, m, nr), -2);
	for (uint64_t i = 0; i < nr; i++) {
		uint32_t t = all[i].type - MADE_FIRST;

		if (by_type[t]++ % (t == TYPES - 1 ? 1 : 997) == 0) {
			CHECK_EQ(store_seek_type(st, m, all[i].type, by_type[t] - 1), 0);
			CHECK_EQ(next_n(m), all[i].n);
		}
	}
	for (uint32_t t = 0; t < TYPES; t++) {
		const struct store_type *have = store_type(st, MADE_FIRST + t);

		CHECK_EQ(have ? have->count : 0, by_type[t]);
		CHECK_EQ(store_seek_type(st, m, MADE_FIRST + t, by_type[t]), -2);
	}
	merge_close(m);
	free(all);
}

/* Every time that occurs, and those beside it: a seek by time finds the first event that is not before it. */
static void compare_times(struct store *st, struct source *s)
{
	uint64_t nr, before = 0;
	struct seen *all = walk(s, &nr);
	struct merge *m = merge_open(s, NULL, NULL);

	for (uint64_t i = 0; i < nr; i++) {
		if (i && all[i].time == before)
			continue;
		before = all[i].time;
		CHECK_EQ(store_seek_time(st, m, before), i);
		CHECK_EQ(next_n(m), all[i].n);
	}
	merge_close(m);
	free(all);
}

static void check_trace(uint32_t nr, bool back)
{
	char path[] = "/tmp/fathom-test-XXXXXX", index[64];
	struct store_options o = {.always_save = true};
	struct source *s;
	struct store *st;

	close(mkstemp(path));
	snprintf(index, sizeof(index), "%s.fidx", path);
	make(path, nr, back);
	CHECK_EQ(source_open(path, NULL, &s), 0);
	CHECK_EQ(store_open(s, &o, &st), 0);
	CHECK(st->written && !st->from_file);
	compare(st, s);
	store_close(st);
	CHECK_EQ(store_open(s, &o, &st), 0);
	CHECK(st->from_file);
	compare(st, s);
	store_close(st);
	source_close(s);
	unlink(path);
	unlink(index);
}

TEST(store_finds_every_event)
{
	seed = 1;
	check_trace(60000, false);
}

TEST(store_finds_them_when_times_step_back)
{
	seed = 2;
	check_trace(60000, true);
}

TEST(store_of_few_events)
{
	seed = 3;
	check_trace(3000, false);
}

/* Many events of one time, more than a step of the index has, on all CPUs. */
TEST(store_finds_events_of_equal_times)
{
	char path[] = "/tmp/fathom-test-XXXXXX";
	struct store_options o = {.no_file = true};
	struct source *s;
	struct store *st;

	close(mkstemp(path));
	seed = 5;
	make_times(path, 60000, false, true);
	CHECK_EQ(source_open(path, NULL, &s), 0);
	CHECK_EQ(store_open(s, &o, &st), 0);
	CHECK(st->nr_steps > 20);
	compare(st, s);
	compare_times(st, s);
	store_close(st);
	source_close(s);
	unlink(path);
}

static void flip(const char *path, long at)
{
	FILE *f = fopen(path, "r+");
	int c;

	fseek(f, at, SEEK_SET);
	c = fgetc(f);
	fseek(f, at, SEEK_SET);
	fputc(c ^ 1, f);
	fclose(f);
}

static bool believed(const char *path)
{
	struct source *s;
	struct store *st;
	bool yes;

	CHECK_EQ(source_open(path, NULL, &s), 0);
	CHECK_EQ(store_open(s, NULL, &st), 0);
	yes = st->from_file;
	store_close(st);
	source_close(s);
	return yes;
}

static void build(const char *path)
{
	struct store_options o = {.always_save = true, .rebuild = true};
	struct source *s;
	struct store *st;

	CHECK_EQ(source_open(path, NULL, &s), 0);
	CHECK_EQ(store_open(s, &o, &st), 0);
	CHECK(st->written);
	store_close(st);
	source_close(s);
}

TEST(store_does_not_believe_a_wrong_index)
{
	char path[] = "/tmp/fathom-test-XXXXXX", index[64];
	struct stat sb;

	close(mkstemp(path));
	snprintf(index, sizeof(index), "%s.fidx", path);
	seed = 4;
	make(path, 5000, false);
	build(path);
	CHECK(believed(path));
	stat(index, &sb);
	for (long at = 0; at < sb.st_size; at += 1 + sb.st_size / 200) {
		flip(index, at);
		CHECK(!believed(path));
		flip(index, at);
	}
	CHECK(believed(path));
	CHECK_EQ(truncate(index, sb.st_size - 8), 0);
	CHECK(!believed(path));
	build(path);
	/* The same size, another content: the sample or the time of change tells. */
	flip(path, 9000);
	CHECK(!believed(path));
	/* And the same time of change: the sample alone must tell. */
	build(path);
	CHECK_EQ(stat(path, &sb), 0);
	flip(path, 0x90);
	CHECK_EQ(utimensat(AT_FDCWD, path, (struct timespec[2]){sb.st_atim, sb.st_mtim}, 0), 0);
	CHECK(!believed(path));
	unlink(path);
	unlink(index);
}

TEST(store_keeps_losses_with_their_times)
{
	char path[] = "/tmp/fathom-test-XXXXXX";
	struct made_cpu cpu = {0};
	struct store_options o = {.no_file = true};
	struct source *s;
	struct store *st;

	close(mkstemp(path));
	for (uint32_t i = 0; i < 1200; i++) {
		struct made_event e = {.time = 1000 + i * 10 + (i >= 1000) * 5000,
				       .type = MADE_FIRST,
				       .n = i,
				       .pid = 1};

		if (i == 1000)
			made_new_page(&cpu, e.time);
		made_add(&cpu, &e);
	}
	made_lost(&cpu, 77);
	made_save(path, &cpu, 1, 1);
	CHECK_EQ(source_open(path, NULL, &s), 0);
	CHECK_EQ(store_open(s, &o, &st), 0);
	CHECK_EQ(st->nr_losses, 1);
	CHECK_EQ(st->losses[0].lost, 77);
	CHECK_EQ(st->losses[0].from, 1000 + 999 * 10);
	CHECK_EQ(st->losses[0].to, 1000 + 1000 * 10 + 5000);
	store_close(st);
	source_close(s);
	unlink(path);
}

static struct store *built(struct source *s, unsigned threads)
{
	struct store_options o = {.no_file = true, .threads = threads};
	struct store *st = NULL;

	CHECK_EQ(store_open(s, &o, &st), 0);
	return st;
}

static bool same_losses(const struct store *a, const struct store *b)
{
	bool same = a->nr_losses == b->nr_losses;

	for (uint64_t i = 0; same && i < a->nr_losses; i++)
		same = a->losses[i].stream == b->losses[i].stream &&
		       a->losses[i].from == b->losses[i].from &&
		       a->losses[i].to == b->losses[i].to && a->losses[i].lost == b->losses[i].lost;
	return same;
}

#define SAME(a, b, list, nr) \
	((a)->nr == (b)->nr && !memcmp((a)->list, (b)->list, (a)->nr * sizeof(*(a)->list)))

static void compare_threads(const uint8_t *data, size_t bytes)
{
	struct source *s = fuzz_open(data, bytes, NULL);
	struct store *one = s ? built(s, 1) : NULL;

	CHECK(one != NULL);
	for (unsigned threads = 2; one && threads <= 8; threads += 3) {
		struct store *many = built(s, threads);

		CHECK(SAME(one, many, streams, nr_streams));
		CHECK(SAME(one, many, steps, nr_steps));
		CHECK(SAME(one, many, types, nr_types));
		CHECK(SAME(one, many, postings, nr_postings));
		CHECK(SAME(one, many, pids, nr_pids));
		CHECK(same_losses(one, many));
		store_close(many);
	}
	store_close(one);
	source_close(s);
}

/* However many threads share the blocks, and wherever their parts meet: the same tables. */
TEST(store_of_any_number_of_threads)
{
	static const char *const traces[] = {"lost_v6", "events_v7_zstd", "graph_v7_zstd"};

	for (unsigned i = 0; i < 3; i++) {
		char path[80];
		size_t bytes;
		uint8_t *data;

		snprintf(path, sizeof(path), "test/data/tracedat/%s.dat.gz", traces[i]);
		data = (uint8_t *)file_load(path, 64u << 20, &bytes);
		CHECK(data != NULL);
		if (data)
			compare_threads(data, bytes);
		free(data);
	}
}

TEST_MAIN
