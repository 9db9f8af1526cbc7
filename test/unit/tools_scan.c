/* SPDX-License-Identifier: MIT */
/* tools_scan.c -- a scan gives the events of its choice, whichever way it finds them. */
#include "harness.h"
#include "lib/make_trace.h"
#include "store/scan.h"

#include <sys/stat.h>

#define PATH	"build/test/tools_scan.dat"
#define NR	60000u
#define CPUS	3
#define TYPES	4
#define COMMON	(MADE_FIRST + 1)
#define RARE	(MADE_FIRST + 3)
#define START	1000000u /* time of the first event, ns */
#define STEP_NS 100u

/* Event i at START + 100 i; type 3 is one in 5000, in a few places; CPU 2 has few events. */
static void make(void)
{
	struct made_cpu cpus[CPUS] = {{0}};

	for (uint32_t i = 0; i < NR; i++) {
		struct made_event e = {.cpu = i % 50 ? i % 2 : 2, .n = i, .pid = (int32_t)(i % 7)};

		e.time = START + (uint64_t)i * STEP_NS;
		e.type = i % 5000 == 17 ? RARE : MADE_FIRST + i % 3;
		made_add(&cpus[e.cpu], &e);
	}
	made_save(PATH, cpus, CPUS, TYPES);
}

static struct source *opened(void)
{
	struct source *s = NULL;

	make();
	CHECK_EQ(source_open(PATH, NULL, &s), 0);
	return s;
}

static uint32_t number_in(const struct event *e)
{
	uint32_t n;

	memcpy(&n, e->data + 8, sizeof(n));
	return n;
}

/* What the choice must give, decided by what was written. */
static bool want(const struct scan_choice *c, uint32_t i)
{
	uint64_t time = START + (uint64_t)i * STEP_NS;
	uint32_t cpu = i % 50 ? i % 2 : 2, type = i % 5000 == 17 ? RARE : MADE_FIRST + i % 3;
	bool typed = !c->types;

	for (size_t k = 0; k < c->nr_types; k++)
		typed |= c->types[k] == type;
	return typed && scan_time(c, time) && scan_cpu(c, cpu);
}

static void compare(struct source *s, const struct scan_choice *c, const struct scan_options *o)
{
	struct scan *sc = scan_open(s, c, o);
	const struct event *e;
	uint32_t i = 0, bad = 0;
	uint64_t counted;

	CHECK(sc != NULL);
	while (sc && (e = scan_next(sc))) {
		uint64_t n = scan_number(sc);

		while (i < NR && !want(c, i))
			i++;
		bad += number_in(e) != i || (n != UINT64_MAX && n != i);
		if (o && o->numbered && !c->cpus)
			bad += n != i;
		i++;
	}
	while (i < NR && !want(c, i))
		i++;
	CHECK_EQ(i, NR);
	CHECK_EQ(bad, 0);
	scan_close(sc);
	CHECK(scan_count(s, c, o, &counted));
	for (i = 0; i < NR; i++)
		counted -= want(c, i);
	CHECK_EQ(counted, 0);
}

static const uint32_t rare_type[] = {RARE}, two_types[] = {RARE, COMMON};
static const uint64_t cpu_mask[SCAN_CPUS / 64] = {5};

static const struct scan_choice choices[] = {
	{.to = UINT64_MAX},
	{.from = START + 3000017, .to = START + 4000000},
	{.to = UINT64_MAX, .types = rare_type, .nr_types = 1},
	{.to = UINT64_MAX, .types = two_types, .nr_types = 2},
	{.to = UINT64_MAX, .types = two_types + 1, .nr_types = 1},
	{.from = START + 1000000, .to = START + 5000000, .types = rare_type, .nr_types = 1},
	{.to = UINT64_MAX, .types = rare_type, .nr_types = 1, .cpus = cpu_mask},
	{.from = START + 70, .to = START + 2000000, .cpus = cpu_mask},
	{.from = UINT64_MAX - 1, .to = UINT64_MAX},
};

TEST(every_plan_gives_the_same_events)
{
	struct source *s = opened();
	const struct scan_options numbered = {.numbered = true};

	unlink(PATH ".fidx");
	/* Without an index beside the trace, then with one: the second time types are found by lists. */
	for (int indexed = 0; s && indexed < 2; indexed++) {
		for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
			compare(s, &choices[i], NULL);
			compare(s, &choices[i], &numbered);
		}
		const struct store_options save = {.always_save = true};
		struct store *st;

		CHECK_EQ(store_open(s, &save, &st), 0);
		store_close(st);
	}
	source_close(s);
	unlink(PATH ".fidx");
}

/* A list reads only blocks that hold the type: that is seen by what it skips. */
TEST(a_list_skips_blocks)
{
	struct source *s = opened();
	const struct store_options save = {.always_save = true};
	struct scan *sc;
	struct store *st;
	bool wanted;
	uint64_t looked = 0;

	CHECK_EQ(store_open(s, &save, &st), 0);
	store_close(st);
	sc = scan_open(s, &choices[2], NULL);
	while (scan_next_any(sc, &wanted))
		looked++;
	CHECK(looked >= NR / 5000 && looked < NR * 3 / 4);
	scan_close(sc);
	source_close(s);
	unlink(PATH ".fidx");
}

TEST(streams_one_after_another)
{
	struct source *s = opened();
	const struct scan_options by_stream = {.order = SCAN_BY_STREAM};
	struct scan *sc = scan_open(s, &choices[7], &by_stream);
	const struct event *e;
	uint32_t last = 0, stream = 0, nr = 0, bad = 0, wanted = 0;

	while ((e = scan_next(sc))) {
		bad += e->stream < stream || (e->stream == stream && nr && number_in(e) <= last);
		stream = e->stream;
		last = number_in(e);
		nr++;
	}
	for (uint32_t i = 0; i < NR; i++)
		wanted += want(&choices[7], i);
	CHECK_EQ(nr, wanted);
	CHECK_EQ(bad, 0);
	scan_rewind(sc);
	CHECK((e = scan_next(sc)) && number_in(e) == 2);
	scan_close(sc);
	/* Each stream begins at the time asked for, in the middle of a page. */
	sc = scan_open(s, &choices[1], &by_stream);
	for (nr = bad = 0; (e = scan_next(sc)); nr++)
		bad += e->time < choices[1].from;
	for (uint32_t i = wanted = 0; i < NR; i++)
		wanted += want(&choices[1], i);
	CHECK_EQ(nr, wanted);
	CHECK_EQ(bad, 0);
	scan_close(sc);
	source_close(s);
}

TEST(seek_and_skip)
{
	struct source *s = opened();
	const struct scan_options numbered = {.numbered = true};
	struct scan *sc = scan_open(s, &choices[0], &numbered);
	const struct event *e;
	uint64_t nr;

	CHECK_EQ(scan_seek(sc, 31234, &nr), 0);
	CHECK_EQ(nr, NR);
	CHECK((e = scan_next(sc)) && number_in(e) == 31234 && scan_number(sc) == 31234);
	CHECK(scan_seek(sc, NR, &nr) < 0);
	scan_close(sc);
	for (size_t i = 2; i < 5; i++) {
		uint32_t k = 0, skipped = 0;

		sc = scan_open(s, &choices[i], &numbered);
		scan_skip(sc, 5);
		while (skipped < 5 || !want(&choices[i], k))
			skipped += want(&choices[i], k++);
		CHECK((e = scan_next(sc)) && number_in(e) == k && scan_number(sc) == k);
		scan_close(sc);
	}
	source_close(s);
}

static uint32_t pages_left;

static bool is_enough(void)
{
	return !pages_left--;
}

/* A scan that nobody waits for any more ends with the page it is in, in either order. */
TEST(a_scan_is_stopped)
{
	struct source *s = opened();
	struct scan_choice c = SCAN_ALL;

	c.stop = is_enough;
	for (int order = SCAN_BY_TIME; order <= SCAN_BY_STREAM; order++) {
		struct scan *sc =
			scan_open(s, &c, &(struct scan_options){.order = (enum scan_order)order});
		uint32_t n = 0;

		pages_left = 5;
		while (scan_next(sc))
			n++;
		CHECK(n > 0 && n < NR / 10);
		scan_close(sc);
	}
	source_close(s);
}

/* From the start and from the end of the trace; what was copied from a line includes the line. */
TEST(times_as_people_write_them)
{
	struct source *s = opened();
	const uint64_t last = START + (uint64_t)(NR - 1) * STEP_NS;
	static const struct {
		const char *from, *to;
		uint64_t first, second;
	} cases[] = {
		{"+5us", "-1ms", START + 5000, START + (NR - 1) * STEP_NS - 1000000},
		{"+0", NULL, START, UINT64_MAX},
		{"-99s", "+99s", 0, START + 99000000000ull},
		{"1.5ms", "0.002", 1500000, 2000000},
		{"0.001200", "0.001200", 1199500, 1200499},
	};
	struct scan_choice c;
	uint64_t a, b;

	CHECK(scan_span(s, &a, &b) && a == START && b == last);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		scan_window(s, cases[i].from, cases[i].to, &c);
		CHECK_EQ(c.from, cases[i].first);
		CHECK_EQ(c.to, cases[i].second);
	}
	CHECK(scan_time_is("12.5") && scan_time_is("+5ms") && scan_time_is("-1s"));
	CHECK(!scan_time_is("") && !scan_time_is("+") && !scan_time_is("--1s") &&
	      !scan_time_is("5 ms") && !scan_time_is("1h"));
	source_close(s);
}

TEST_MAIN
