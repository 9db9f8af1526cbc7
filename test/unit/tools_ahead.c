/* SPDX-License-Identifier: MIT */
/* tools_ahead.c -- a merge gives the same events whether or not other threads unpack ahead of it, and whatever is damaged. */
#include "harness.h"
#include "lib/fuzz_file.h"
#include "base/file.h"

#include <pthread.h>

#define HELPERS 3

static const char *const traces[] = {
	"test/data/tracedat/events_v7_zstd.dat.gz",
	"test/data/tracedat/graph_v7_zstd.dat.gz",
	"test/data/tracedat/lost_v6.dat.gz",
};

struct helped {
	struct merge *merge;
	bool stop;
};

static void *help(void *arg)
{
	struct helped *h = arg;

	while (!__atomic_load_n(&h->stop, __ATOMIC_RELAXED))
		if (!merge_prepare(h->merge))
			merge_help(h->merge);
	return NULL;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	return (h ^ v) * 0x100000001b3u;
}

/* A number that depends on every byte of every event, and on their order. */
static uint64_t digest(struct merge *m, uint64_t *nr)
{
	const struct event *e;
	uint64_t h = 0xcbf29ce484222325u;

	for (*nr = 0; (e = merge_next(m)); (*nr)++) {
		h = mix(mix(mix(h, e->time), e->stream), e->lost);
		for (uint32_t i = 0; i < e->size; i++)
			h = mix(h, e->data[i]);
	}
	return h;
}

static bool can_help(struct source *s)
{
	struct merge *m = merge_open(s, NULL, NULL);
	bool helped;

	CHECK(!merge_help(m));
	merge_share(m, 2);
	helped = merge_help(m);
	merge_close(m);
	return helped;
}

/* A time in the middle of the first stream. */
static uint64_t half_time(struct source *s)
{
	return s->ops->block_time(s, 0, s->streams[0].nr_blocks / 2);
}

/* Walk all, go back to the middle of the time and walk the rest: as one thread, then with helpers. */
static void walk(struct source *s, bool helped, uint64_t digests[2], uint64_t *nr)
{
	struct helped h = {.merge = merge_open(s, NULL, NULL)};
	pthread_t ids[HELPERS];
	uint64_t rest;

	if (helped)
		merge_share(h.merge, 2);
	for (unsigned i = 0; helped && i < HELPERS; i++)
		pthread_create(&ids[i], NULL, help, &h);
	digests[0] = digest(h.merge, nr);
	merge_seek_time(h.merge, half_time(s));
	digests[1] = digest(h.merge, &rest);
	__atomic_store_n(&h.stop, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; helped && i < HELPERS; i++)
		pthread_join(ids[i], NULL);
	CHECK(rest && rest < *nr);
	merge_close(h.merge);
}

static void compare(uint8_t *data, size_t bytes, bool compressed)
{
	struct source *s = fuzz_open(data, bytes, NULL);
	uint64_t alone[2], together[2], nr = 0, nr_together = 0;

	CHECK(s != NULL);
	if (!s)
		return;
	CHECK_EQ(can_help(s), compressed);
	walk(s, false, alone, &nr);
	walk(s, true, together, &nr_together);
	CHECK_EQ(nr_together, nr);
	CHECK(together[0] == alone[0] && together[1] == alone[1]);
	source_close(s);
}

TEST(helpers_change_nothing)
{
	for (unsigned i = 0; i < sizeof(traces) / sizeof(traces[0]); i++) {
		size_t bytes;
		uint8_t *data = (uint8_t *)file_load(traces[i], 64u << 20, &bytes);

		CHECK(data != NULL);
		if (data)
			compare(data, bytes, strstr(traces[i], "zstd") != NULL);
		free(data);
	}
}

/* A chunk that cannot be unpacked reads as empty pages, whoever met it first. */
TEST(helpers_and_damage)
{
	size_t bytes;
	uint8_t *data = (uint8_t *)file_load(traces[1], 64u << 20, &bytes);

	CHECK(data != NULL);
	if (!data)
		return;
	memset(data + bytes - 20000, 0x5a, 3000);
	compare(data, bytes, true);
	free(data);
}

static uint64_t count_from(struct merge *m, uint64_t t)
{
	const struct event *e;
	uint64_t n = 0;

	while ((e = merge_next(m)))
		n += e->time >= t;
	return n;
}

/* Whatever the time, also one inside of a chunk, no event behind it is missed. */
static void seek_everywhere(struct source *s)
{
	struct merge *m = merge_open(s, NULL, NULL);
	uint64_t first = merge_next(m)->time, last = first;
	const struct event *e;

	while ((e = merge_next(m)))
		last = e->time;
	for (unsigned k = 0; k <= 20; k++) {
		uint64_t t = first + (last - first) * k / 20, want;

		merge_seek_start(m);
		want = count_from(m, t);
		merge_seek_time(m, t);
		CHECK_EQ(count_from(m, 0), want);
	}
	merge_close(m);
}

TEST(seeking_a_time_misses_nothing)
{
	for (unsigned i = 0; i < sizeof(traces) / sizeof(traces[0]); i++) {
		size_t bytes;
		uint8_t *data = (uint8_t *)file_load(traces[i], 64u << 20, &bytes);
		struct source *s = data ? fuzz_open(data, bytes, NULL) : NULL;

		CHECK(s != NULL);
		if (s)
			seek_everywhere(s);
		source_close(s);
		free(data);
	}
}

TEST_MAIN
