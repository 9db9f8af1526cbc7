/* SPDX-License-Identifier: MIT */
/* tools_decode.c -- the parts all formats share: merge, names, numbers of a hostile file, ring pages in a directory. */
#include "harness.h"
#include "lib/make_trace.h"
#include "base/bytes.h"
#include "decode/source.h"

#include <sys/stat.h>

/* Three CPUs with the same times: the lowest comes first, each time. */
TEST(merge_gives_ties_to_the_lowest_cpu)
{
	char path[] = "/tmp/fathom-test-XXXXXX";
	struct made_cpu cpus[3] = {{0}};
	const struct event *e;
	struct source *s;
	struct merge *m;

	close(mkstemp(path));
	for (uint32_t i = 0; i < 50; i++)
		for (uint32_t c = 0; c < 3; c++) {
			struct made_event v = {
				.time = 1000 + i / 2 * 10, .type = MADE_FIRST, .n = i};

			made_add(&cpus[c], &v);
		}
	made_save(path, cpus, 3, 1);
	CHECK_EQ(source_open(path, NULL, &s), 0);
	m = merge_open(s, NULL, NULL);
	for (uint32_t i = 0; (e = merge_next(m)); i++) {
		/* Two events of each CPU have one time: 0 0 1 1 2 2. */
		CHECK_EQ(e->cpu, i % 6 / 2);
		CHECK_EQ(e->time, 1000 + i / 6 * 10);
		CHECK_EQ(m->number, i + 1);
	}
	merge_seek_time(m, 1010);
	e = merge_next(m);
	CHECK(e && e->time == 1010 && e->cpu == 0);
	merge_unget(m);
	CHECK(merge_next(m) == e && e->at.skip == 2);
	merge_close(m);
	source_close(s);
	unlink(path);
}

TEST(symbols_of_kallsyms)
{
	static const char text[] = "0000000000001000 T first\n0000000000002000 t alias_a\n"
				   "0000000000002000 T alias_b\n0000000000003000 A absolute\n"
				   "0000000000000500 t early\t[mod_x]\nnot a line\n"
				   "0000000000004000 T last\n";
	struct symbols *t = symbols_new();
	struct symbol s;

	CHECK_EQ(symbols_add_kallsyms(t, text, sizeof(text) - 1), 6);
	CHECK(symbols_find(t, 0x1004, ALIAS_FIRST, &s));
	CHECK_STR(s.name, "first");
	CHECK_EQ(s.offset, 4);
	CHECK_EQ(s.size, 0x1000);
	CHECK(symbols_find(t, 0x2fff, ALIAS_FIRST, &s));
	CHECK_STR(s.name, "alias_a");
	CHECK(symbols_find(t, 0x600, ALIAS_FIRST, &s));
	CHECK_STR(s.name, "early");
	CHECK_STR(s.module, "mod_x");
	CHECK(!symbols_find(t, 0x100, ALIAS_FIRST, &s));
	/* trace-cmd leaves absolute symbols out, and has no end for the last one. */
	CHECK(symbols_find(t, 0x3004, ALIAS_TRACE_CMD, &s));
	CHECK(strncmp(s.name, "alias_", 6) == 0);
	CHECK(!symbols_find(t, 0x4004, ALIAS_TRACE_CMD, &s));
	CHECK(symbols_find(t, 0x4000, ALIAS_TRACE_CMD, &s));
	symbols_free(t);
}

TEST(symbols_packed_and_borrowed)
{
	static const char text[] = "1000 T first\n2000 T second\t[m]\n3000 T third\t[m]\n";
	struct symbols *a = symbols_new(), *b = symbols_new();
	struct symbols_packed p;
	struct symbol s;

	symbols_add_kallsyms(a, text, sizeof(text) - 1);
	CHECK_EQ(symbols_pack(a, &p), 0);
	CHECK_EQ(symbols_borrow(b, &p, NULL, 0), 0);
	CHECK(symbols_find(b, 0x3001, ALIAS_FIRST, &s));
	CHECK_STR(s.name, "third");
	CHECK_STR(s.module, "m");
	p.pool_bytes = 3; /* names now lie outside */
	symbols_free(a);
	a = symbols_new();
	CHECK_EQ(symbols_borrow(a, &p, NULL, 0), -22);
	symbols_free(a);
	symbols_free(b);
}

TEST(tasks_by_pid)
{
	struct tasks *t = tasks_new();

	tasks_add_cmdlines(t, "1 init\n4194304 a b c\nx y\n7 old\n7 new", 36);
	tasks_add_tgids(t, "7 5", 3);
	CHECK_STR(tasks_comm(t, 1), "init");
	CHECK_STR(tasks_comm(t, 4194304), "a b c");
	CHECK_STR(tasks_comm(t, 7), "new");
	CHECK(tasks_comm(t, 2) == NULL);
	CHECK_EQ(tasks_tgid(t, 7), 5);
	CHECK_EQ(tasks_tgid(t, 1), -1);
	tasks_free(t);
}

TEST(reader_never_goes_past_the_end)
{
	static const uint8_t bytes[] = {1, 2, 3, 4, 5, 'a', 0, 'b'};
	struct reader r;

	reader_init(&r, bytes, sizeof(bytes), true);
	CHECK_EQ(reader_u32(&r), 0x01020304);
	CHECK_EQ(reader_u8(&r), 5);
	CHECK_STR(reader_str(&r), "a");
	CHECK(reader_str(&r) == NULL && r.failed);
	CHECK_EQ(reader_u8(&r), 0);
	reader_init(&r, bytes, sizeof(bytes), false);
	CHECK(reader_bytes(&r, UINT64_MAX) == NULL);
	CHECK_EQ(reader_left(&r), 0);
}

/* cpu1.raw and cpu0.raw in a folder, formats and names beside them. */
TEST(rawpages_in_a_directory)
{
	char dir[] = "/tmp/fathom-test-XXXXXX", path[100];
	const struct event *e;
	struct source *s;
	struct merge *m;
	FILE *f;
	int n = 0;

	CHECK(mkdtemp(dir) != NULL);
	for (uint32_t c = 0; c < 2; c++) {
		struct made_cpu cpu = {0};

		for (uint32_t i = 0; i < 300; i++) {
			struct made_event v = {.time = 100 + i * 10 + c, .type = 77, .pid = 5};

			made_add(&cpu, &v);
		}
		snprintf(path, sizeof(path), "%s/cpu%u.raw", dir, c);
		f = fopen(path, "w");
		fwrite(cpu.pages, WIRE_PAGE_BYTES, cpu.nr_pages, f);
		fclose(f);
		free(cpu.pages);
	}
	snprintf(path, sizeof(path), "%s/formats", dir);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/formats/sys-thing.format", dir);
	f = fopen(path, "w");
	fprintf(f, SOURCE_COMMON "print fmt: \"x\"\n", "thing", 77u);
	fclose(f);
	snprintf(path, sizeof(path), "%s/saved_cmdlines", dir);
	f = fopen(path, "w");
	fputs("5 five\n", f);
	fclose(f);
	CHECK_EQ(source_open(dir, NULL, &s), 0);
	CHECK_EQ(s->nr_streams, 2);
	m = merge_open(s, NULL, NULL);
	while ((e = merge_next(m))) {
		CHECK_EQ(e->cpu, n % 2);
		CHECK_STR(source_event_name(s, e->type), "thing");
		CHECK_STR(source_comm(s, e->pid), "five");
		n++;
	}
	CHECK_EQ(n, 600);
	merge_close(m);
	source_close(s);
	snprintf(path, sizeof(path), "rm -r %s", dir);
	CHECK_EQ(system(path), 0);
}

TEST_MAIN
