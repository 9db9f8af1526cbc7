/* SPDX-License-Identifier: MIT */
/* tools_textlog.c -- a text of many CPUs: each stream has its lines, all of them, in order, with what was lost before. */
#include "harness.h"
#include "lib/fuzz_file.h"

#define CPUS   37u
#define EVENTS 4000u /* in several blocks */

/* Event i is on CPU i * 5 % CPUS; every 100th follows a loss there, every 7th has a line that goes on. CPU 3 is quiet. */
static char *make_text(size_t *bytes)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, bytes);

	fprintf(f, "# tracer: nop\n#\n");
	for (unsigned i = 0; i < EVENTS; i++) {
		unsigned cpu = i * 5 % CPUS;

		if (cpu == 3)
			cpu = 4;
		if (i % 100 == 99)
			fprintf(f, "CPU:%u [LOST %u EVENTS]\n", cpu, i);
		fprintf(f, "            task-%-5u [%03u] d..2. %5u.%06u: tick: n=%u\n", cpu + 1,
			cpu, 10 + i / 1000, i % 1000, i);
		if (i % 7 == 0)
			fprintf(f, " => more of it\n");
	}
	fclose(f);
	return text;
}

static unsigned losses(struct source *s, const struct event *e)
{
	uint64_t n;

	CHECK(source_field(s, e, "n", &n));
	CHECK_EQ(e->lost, n % 100 == 99 ? n : 0);
	return e->lost != 0;
}

TEST(many_cpus)
{
	size_t bytes;
	char *text = make_text(&bytes);
	struct source *s = fuzz_open((uint8_t *)text, bytes, NULL);
	struct merge *m = s ? merge_open(s, NULL, NULL) : NULL;
	const struct event *e;
	unsigned nr = 0, lost = 0;

	CHECK(bytes > 3 * 65536);
	CHECK(m != NULL);
	if (!m)
		return;
	CHECK_EQ(s->nr_streams, CPUS - 1);
	for (; (e = merge_next(m)); nr++) {
		uint64_t n = 0;

		source_field(s, e, "n", &n);
		CHECK_EQ(n, nr);
		CHECK_EQ(e->cpu, nr * 5 % CPUS == 3 ? 4 : nr * 5 % CPUS);
		lost += losses(s, e);
	}
	CHECK_EQ(nr, EVENTS);
	CHECK_EQ(lost, EVENTS / 100);
	merge_seek_time(m, 12000500000ull);
	for (nr = 0; merge_next(m); nr++)
		;
	CHECK_EQ(nr, EVENTS - 2500);
	merge_close(m);
	source_close(s);
	free(text);
}

/* Block by block, as counting does, no line is missed or counted twice. */
TEST(scanned_in_blocks)
{
	size_t bytes;
	char *text = make_text(&bytes);
	struct source *s = fuzz_open((uint8_t *)text, bytes, NULL);
	uint64_t *by_type = calloc(SOURCE_ID_FAST, sizeof(*by_type)), nr = 0;

	CHECK(s != NULL);
	for (uint32_t i = 0; s && i < s->nr_streams; i++) {
		struct tally scan = {.by_type = by_type, .losses = losses_new()};
		struct cursor *c = cursor_open(s, i);

		for (uint64_t k = s->streams[i].nr_blocks; k-- > 0;)
			cursor_tally(c, k, &scan);
		nr += scan.nr_events;
		cursor_close(c);
		losses_free(scan.losses);
	}
	CHECK_EQ(nr, EVENTS);
	source_close(s);
	free(by_type);
	free(text);
}

TEST_MAIN
