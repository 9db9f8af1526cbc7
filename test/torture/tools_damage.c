/* SPDX-License-Identifier: MIT */
/* tools_damage.c -- damaged traces: no crash, no hang, what is whole still comes out, the damage is named by its offset. */
#include "harness.h"
#include "lib/fuzz_file.h"
#include "base/bytes.h"
#include "base/file.h"
#include "store/store.h"
#include "view/eventline.h"
#include "view/export.h"
#include "view/latency.h"
#include "view/profile.h"
#include "view/page/page.h"

#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <sys/time.h>

#define SECONDS 30 /* on a CPU */

static uint64_t seed;
static char running[300];

static uint32_t rnd(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return n ? (uint32_t)(seed >> 33) % n : 0;
}

static void hung(int sig)
{
	(void)sig;
	dprintf(1, "not ok damage: more than %d s for %s\n", SECONDS, running);
	_exit(1);
}

/* ---- mutations ---- */

static void flip_bits(uint8_t *p, size_t n)
{
	for (uint32_t i = rnd(8) + 1; i; i--)
		p[rnd((uint32_t)n)] ^= (uint8_t)(1 << rnd(8));
}

/* A size or an offset that cannot be. */
static void insane_number(uint8_t *p, size_t n)
{
	static const uint64_t odd[] = {0,	   1,	       0x7fffffff, 0xffffffff,
				       0x80000000, UINT64_MAX, 1ull << 63, 0x100000000,
				       0xfffffffc, 4095,       65536};
	uint64_t v = odd[rnd(sizeof(odd) / sizeof(odd[0]))];
	size_t width = rnd(2) ? 4 : 8, at;

	if (n < 8)
		return;
	/* Half of them near the start, where the headers are. */
	at = rnd(2) ? rnd((uint32_t)(n - 8)) : rnd((uint32_t)(n < 4096 ? n - 8 : 4096));
	memcpy(p + at, &v, width);
}

static void swap_blocks(uint8_t *p, size_t n)
{
	uint32_t size = rnd(3) ? 4096 : 16 + rnd(1000);
	uint8_t tmp[4096];
	uint32_t a, b;

	if (n < 2 * (size_t)size)
		return;
	a = rnd((uint32_t)(n / size)) * size;
	b = rnd((uint32_t)(n / size)) * size;
	if (a == b)
		return;
	memcpy(tmp, p + a, size);
	memcpy(p + a, p + b, size);
	memcpy(p + b, tmp, size);
}

static size_t mutate(uint8_t *p, size_t n)
{
	uint32_t len;

	switch (rnd(6)) {
	case 0: flip_bits(p, n); break;
	case 1: insane_number(p, n); break;
	case 2: swap_blocks(p, n); break;
	case 3:
		len = rnd(5000);
		if (len < n)
			memset(p + rnd((uint32_t)(n - len)), rnd(2) ? 0 : 0xff, len);
		break;
	case 4: return rnd((uint32_t)n);
	default:
		flip_bits(p, n);
		insane_number(p, n);
		swap_blocks(p, n);
	}
	return n;
}

/* ---- what is done with each ---- */

static void print_some(struct source *s)
{
	struct eventline *l = eventline_new(s);
	struct merge *m = merge_open(s, NULL, NULL);
	const struct event *e;
	size_t bytes;

	for (uint64_t n = 0; (e = merge_next(m)); n++)
		if (n % 37 == 0)
			eventline_info(l, e, &bytes);
	merge_close(m);
	eventline_free(l);
}

/* The model, and all that print it: whatever the events say, nothing breaks and tasks' times add up. */
static void answer(struct source *s)
{
	struct scan_choice all = SCAN_ALL;
	struct model_walk walk = {.choice = &all, .no_index = true};
	struct latency_options l = {.walk = walk,
				    .kinds = LATENCY_KINDS,
				    .worst = 3,
				    .by = LATENCY_BY_TASK,
				    .bold = "",
				    .plain = ""};
	struct profile_options p = {.walk = walk, .bold = "", .plain = "", .function = "schedule"};
	struct lanes_options lo = {.choice = &all, .no_file = true};
	struct page_options t = {.title = "x", .choice = &all, .max_bytes = 5 << 20};
	struct page_result r;
	struct lanes *lanes;
	FILE *nowhere = fopen("/dev/null", "w");

	CHECK(latency_print(s, &l, nowhere) != -ENOMEM);
	CHECK(profile_print(s, &p, nowhere) != -ENOMEM);
	if (!lanes_open(s, &lo, &lanes)) {
		CHECK(page_write(s, lanes, &t, nowhere, &r) != -ENOMEM);
		lanes_close(lanes);
	}
	export_chrome(s, &all, nowhere);
	fclose(nowhere);
}

static void try(const uint8_t *p, size_t n)
{
	struct source_options o = {.as = "trace.dat", .quiet = true};
	struct store_options so = {.no_file = true};
	struct source *s = fuzz_open(p, n, &o);
	struct store *st;
	uint64_t events;

	if (!s)
		return;
	events = fuzz_walk(s);
	print_some(s);
	if (rnd(25) == 0) /* it takes longer than all the rest */
		answer(s);
	if (!store_open(s, &so, &st)) {
		struct merge *m = merge_open(s, NULL, NULL);

		CHECK_EQ(st->nr_events, events);
		for (uint32_t k = 0; k < 4 && events; k++) {
			uint64_t want = rnd((uint32_t)events);

			CHECK_EQ(store_seek_number(st, m, want), 0);
			CHECK(merge_next(m) != NULL);
		}
		merge_close(m);
		store_close(st);
	}
	source_close(s);
}

static void each_trace(void (*fn)(const char *path, const uint8_t *p, size_t n))
{
	glob_t g;

	CHECK_EQ(glob("test/data/tracedat/*.dat.gz", 0, NULL, &g), 0);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		size_t n;
		char *p = file_load(g.gl_pathv[i], 64u << 20, &n);

		CHECK(p != NULL);
		if (p)
			fn(g.gl_pathv[i], (uint8_t *)p, n);
		free(p);
	}
	globfree(&g);
}

static void mutations(const char *path, const uint8_t *p, size_t n)
{
	static const struct itimerval limit = {.it_value.tv_sec = SECONDS}, off;
	uint8_t *copy = malloc(n);

	for (uint32_t k = 0; k < MUTATIONS; k++) {
		size_t m;

		seed = k * 7919 + n;
		snprintf(running, sizeof(running), "%s, mutation %u", path, k);
		memcpy(copy, p, n);
		m = mutate(copy, n);
		setitimer(ITIMER_PROF, &limit, NULL);
		try(copy, m);
		setitimer(ITIMER_PROF, &off, NULL);
	}
	free(copy);
}

TEST(damage_mutations)
{
	signal(SIGPROF, hung);
	each_trace(mutations);
}

/* ---- one page damaged: its events are missing, all others are as before ---- */

struct row {
	uint64_t time, block;
	uint32_t stream, type;
};

static struct row *rows(struct source *s, size_t *nr)
{
	struct row *all = malloc(100000 * sizeof(*all));

	*nr = 0;
	for (uint32_t i = 0; i < s->nr_streams; i++) {
		struct cursor *c = cursor_open(s, i);
		struct event e;

		while (cursor_next(c, &e) && *nr < 100000)
			all[(*nr)++] = (struct row){e.time, e.at.block, i, e.type};
		cursor_close(c);
	}
	return all;
}

static void one_page(const char *path, const uint8_t *p, size_t n)
{
	struct source_options o = {.quiet = true};
	struct source *whole = fuzz_open(p, n, &o), *hurt;
	uint8_t *copy = malloc(n);
	uint64_t block, at, crazy = 0xffff0;
	size_t nr, left, expected = 0;
	struct row *before, *after;
	uint32_t stream = 0;

	if (whole->info.file_version != 6)
		goto out;
	while (stream + 1 < whole->nr_streams && !whole->streams[stream].nr_blocks)
		stream++;
	seed = n;
	block = rnd((uint32_t)whole->streams[stream].nr_blocks);
	at = whole->streams[stream].offset + block * 4096;
	memcpy(copy, p, n);
	memcpy(copy + at + 8, &crazy, 8);
	hurt = fuzz_open(copy, n, &o);
	before = rows(whole, &nr);
	after = rows(hurt, &left);
	for (size_t i = 0; i < nr; i++) {
		if (before[i].stream == stream && before[i].block == block)
			continue;
		if (expected < left)
			CHECK(!memcmp(&before[i], &after[expected], sizeof(*before)));
		expected++;
	}
	CHECK_EQ(left, expected);
	CHECK_EQ(hurt->nr_damage, 1);
	CHECK_EQ(hurt->damage[0].offset, at);
	if (left != expected)
		printf("  %s: page %llu of stream %u\n", path, (unsigned long long)block, stream);
	free(before);
	free(after);
	source_close(hurt);
out:
	source_close(whole);
	free(copy);
}

TEST(damage_of_one_page_leaves_the_others)
{
	each_trace(one_page);
}

/* A compressed chunk damaged: the other chunks come out, and the offset is the chunk's. */
static void one_chunk(const char *path, const uint8_t *p, size_t n)
{
	struct source_options o = {.quiet = true};
	struct source *whole = fuzz_open(p, n, &o), *hurt;
	uint8_t *copy = malloc(n);
	struct cursor *c;
	struct event e;
	uint64_t chunk = 0;
	size_t nr, left, lost = 0;
	struct row *before, *after;

	if (strcmp(whole->info.compression, "zstd") != 0)
		goto out;
	c = cursor_open(whole, 0);
	if (cursor_next(c, &e))
		chunk = e.offset;
	cursor_seek(c, (struct position){0, 0});
	while (cursor_next(c, &e))
		lost += e.offset == chunk;
	cursor_close(c);
	memcpy(copy, p, n);
	memset(copy + chunk, 0x5a, 8);
	hurt = fuzz_open(copy, n, &o);
	before = rows(whole, &nr);
	after = rows(hurt, &left);
	CHECK(lost > 0);
	CHECK_EQ(left, nr - lost);
	CHECK(!left || !memcmp(after + left - 1, before + nr - 1, sizeof(*before)));
	CHECK_EQ(hurt->nr_damage, 1);
	CHECK_EQ(hurt->damage[0].offset, chunk);
	free(before);
	free(after);
	source_close(hurt);
	if (test_failures)
		printf("  %s\n", path);
out:
	source_close(whole);
	free(copy);
}

TEST(damage_of_one_chunk_leaves_the_others)
{
	each_trace(one_chunk);
}

/* Damaged metadata of version 6: the pages are found by their mark. */
static void lost_metadata(const char *path, const uint8_t *p, size_t n)
{
	struct source_options o = {.quiet = true};
	struct source *whole = fuzz_open(p, n, &o), *hurt;
	uint8_t *copy = malloc(n);
	size_t nr, left;

	if (whole->info.file_version == 6) {
		memcpy(copy, p, n);
		memset(copy + 40, 0xff, 100); /* the size of header_page, and what follows */
		hurt = fuzz_open(copy, n, &o);
		CHECK(hurt != NULL);
		free(rows(whole, &nr));
		if (hurt) {
			free(rows(hurt, &left));
			CHECK_EQ(left, nr);
			CHECK(hurt->nr_damage > 0);
		}
		source_close(hurt);
	}
	if (test_failures)
		printf("  %s\n", path);
	source_close(whole);
	free(copy);
}

TEST(damage_of_metadata_leaves_the_events)
{
	each_trace(lost_metadata);
}

int main(int argc, char **argv)
{
	/* Thousands of messages about damage: not wanted here. */
	if (!freopen("build/test/tools_damage.stderr", "w", stderr))
		return 1;
	return test_main(argc, argv);
}
