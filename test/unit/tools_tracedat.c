/* SPDX-License-Identifier: MIT */
/* tools_tracedat.c -- what the trace.dat writer writes, the reader reads: both byte orders, both long sizes. */
#include "harness.h"
#include "decode/source.h"
#include "wire/ringpage.h"
#include "wire/tracedat_write.h"

#include <fcntl.h>
#include <unistd.h>

static const char format_tick[] =
	"name: tick\nID: 100\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:u32 n;\toffset:8;\tsize:4;\tsigned:0;\n\nprint fmt: \"n=%u\", REC->n\n";

struct sink {
	int fd;
	uint64_t bytes;
};

static int put(void *arg, const void *bytes, size_t n)
{
	struct sink *s = arg;

	s->bytes += n;
	return write(s->fd, bytes, n) == (ssize_t)n ? 0 : -5;
}

static void store(uint8_t *p, uint64_t v, unsigned n, int big)
{
	for (unsigned i = 0; i < n; i++)
		p[big ? n - 1 - i : i] = (uint8_t)(v >> (8 * i));
}

/* A page of `nr` ticks, `step` apart from `time`; the first has the number `from`. */
static void make_page(uint8_t *page, uint64_t time, uint64_t step, uint32_t from, uint32_t nr,
		      int big, int longs)
{
	unsigned data = 8 + (unsigned)longs;
	uint8_t *p = page + data;

	memset(page, 0, 4096);
	store(page, time, 8, big);
	for (uint32_t i = 0; i < nr; i++, p += 16) {
		uint32_t delta = i ? (uint32_t)step : 0;

		store(p, big ? 3u << 27 | delta : 3u | delta << 5, 4, big);
		store(p + 4, 100, 2, big);
		store(p + 8, 7 + i % 2, 4, big);
		store(p + 12, from + i, 4, big);
	}
	store(page + 8, (uint64_t)(p - page) - data, (unsigned)longs, big);
}

static const char page32[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
			     "\tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;\n"
			     "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
			     "\tfield: char data;\toffset:12;\tsize:4084;\tsigned:1;\n";

/* Two CPUs, two pages of 100 events each, interleaved in time, and an instance with one CPU. */
static void write_file(const char *path, int big, int longs)
{
	struct sink sink = {open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), 0};
	uint64_t bytes[2] = {8192, 8192};
	struct fathom_dat d;
	uint8_t page[4096];

	fathom_dat_begin(&d, put, &sink, 4096, big, longs);
	fathom_dat_header(&d, page32, longs == 8 ? 0 : strlen(page32), NULL, 0);
	fathom_dat_ftrace(&d, 0);
	fathom_dat_systems(&d, 1);
	fathom_dat_system(&d, "demo", 1);
	fathom_dat_format(&d, format_tick, strlen(format_tick));
	fathom_dat_kallsyms(&d, "1000 T first\n2000 T second\n2000 T alias\n", 39);
	fathom_dat_printk(&d, "0x10 : \"hi\\n\"\n", 14);
	fathom_dat_cmdlines(&d, "7 seven\n8 the eighth\n", 21);
	fathom_dat_cpus(&d, 2);
	fathom_dat_option(&d, FATHOM_DAT_UNAME, "Test", 5);
	fathom_dat_data(&d, "mono", bytes, 2);
	for (uint32_t cpu = 0; cpu < 2; cpu++)
		for (uint32_t k = 0; k < 2; k++) {
			make_page(page, 1000 + cpu + 20000 * k, 100, cpu * 1000 + k * 100, 100, big,
				  longs);
			fathom_dat_bytes(&d, page, sizeof(page));
		}
	CHECK_EQ(d.err, 0);
	CHECK_EQ(d.at, sink.bytes);
	close(sink.fd);
}

static void read_file(const char *path, int big, int longs)
{
	const struct event *e;
	struct source *s;
	struct merge *m;
	struct symbol sym;
	uint64_t n = 0, last = 0;

	CHECK_EQ(source_open(path, NULL, &s), 0);
	if (!s)
		return;
	CHECK_EQ(s->big_endian, big);
	CHECK_EQ(s->long_bytes, longs);
	CHECK_EQ(s->nr_streams, 2);
	CHECK_EQ(s->nr_damage, 0);
	CHECK_STR(s->buffers[0].clock, "mono");
	CHECK_STR(s->info.uname, "Test");
	CHECK_STR(source_comm(s, 8), "the eighth");
	CHECK_STR(source_comm(s, 0), "<idle>");
	CHECK_STR(source_comm(s, 9), "<...>");
	CHECK_STR(source_printk(s, 0x10), "hi\n");
	CHECK(source_symbol(s, 0x2004, &sym));
	CHECK_STR(sym.name, "second");
	CHECK_EQ(sym.offset, 4);
	m = merge_open(s, NULL, NULL);
	while ((e = merge_next(m))) {
		CHECK(e->time >= last);
		last = e->time;
		CHECK_EQ(e->cpu, n % 2);
		CHECK_EQ(e->type, 100);
		CHECK_EQ(e->size, 12);
		CHECK_STR(source_event_name(s, e->type), "tick");
		n++;
	}
	CHECK_EQ(n, 400);
	merge_seek_time(m, 21500);
	e = merge_next(m);
	CHECK(e && e->time == 21500 && e->cpu == 0);
	CHECK(e && e->at.block == 1 && e->at.skip == 5);
	merge_close(m);
	source_close(s);
}

static void round_trip(int big, int longs)
{
	char path[] = "/tmp/fathom-test-XXXXXX";
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	close(fd);
	write_file(path, big, longs);
	read_file(path, big, longs);
	unlink(path);
}

TEST(tracedat_little_64)
{
	round_trip(0, 8);
}

TEST(tracedat_big_64)
{
	round_trip(1, 8);
}

TEST(tracedat_little_32)
{
	round_trip(0, 4);
}

TEST(tracedat_big_32)
{
	round_trip(1, 4);
}

static int drop(void *arg, const void *bytes, size_t n)
{
	(void)arg, (void)bytes, (void)n;
	return 0;
}

/* The list says where the first page is before the clock and the padding are written: at every length of the clock's name. */
TEST(list_ends_where_it_says)
{
	uint64_t bytes[2] = {4096, 4096}, mask = 4095;
	char clock[4200] = "";

	for (unsigned n = 1; n < 4150; n++) {
		struct fathom_dat d;
		uint64_t at;

		clock[n - 1] = 'c';
		clock[n] = 0;
		fathom_dat_begin(&d, drop, NULL, 4096, 0, 8);
		at = (d.at + fathom_dat_list_bytes(clock, 2) + mask) & ~mask;
		fathom_dat_instance(&d, clock, bytes, 2);
		CHECK_EQ(d.at, at);
	}
}

/* A trace of one CPU with these pages, opened; the file is gone. */
static struct source *of_pages(const uint8_t *pages, uint32_t nr)
{
	char path[] = "/tmp/fathom-test-XXXXXX";
	struct sink sink = {mkstemp(path), 0};
	uint64_t bytes[1] = {nr * 4096ull};
	struct source *s = NULL;
	struct fathom_dat d;

	fathom_dat_begin(&d, put, &sink, 4096, 0, 8);
	fathom_dat_header(&d, NULL, 0, NULL, 0);
	fathom_dat_ftrace(&d, 0);
	fathom_dat_systems(&d, 1);
	fathom_dat_system(&d, "demo", 1);
	fathom_dat_format(&d, format_tick, strlen(format_tick));
	fathom_dat_kallsyms(&d, "", 0);
	fathom_dat_printk(&d, "", 0);
	fathom_dat_cmdlines(&d, "", 0);
	fathom_dat_cpus(&d, 1);
	fathom_dat_data(&d, "mono", bytes, 1);
	fathom_dat_bytes(&d, pages, bytes[0]);
	CHECK_EQ(d.err, 0);
	close(sink.fd);
	CHECK_EQ(source_open(path, NULL, &s), 0);
	unlink(path);
	return s;
}

/* A full page has no room for the number of events lost before it, whatever its flags say; the next page is not read for it. */
TEST(a_count_outside_the_page_is_not_known)
{
	static uint8_t pages[2 * 4096];
	const uint32_t flags = WIRE_COMMIT_MISSED | WIRE_COMMIT_STORED;
	struct source *s;
	struct cursor *c;
	struct event e = {0};

	make_page(pages, 1000, 1, 0, 255, 0, 8);
	make_page(pages + 4096, 5000, 1, 255, 254, 0, 8);
	store(pages + 8, 4080 | flags, 8, 0);
	store(pages + 4096 + 8, (4080 - 16) | flags, 8, 0);
	store(pages + 8192 - 16, 77, 8, 0);
	s = of_pages(pages, 2);
	c = cursor_open(s, 0);
	CHECK(cursor_next(c, &e));
	CHECK_EQ(e.lost, LOST_UNKNOWN);
	for (int i = 1; i < 255; i++)
		CHECK(cursor_next(c, &e) && !e.lost);
	CHECK(cursor_next(c, &e));
	CHECK_EQ(e.lost, 77);
	cursor_close(c);
	source_close(s);
}

/* An absolute stamp has 59 bits: one below the time before it is of the next round. */
TEST(stamps_go_round)
{
	static uint8_t page[4096];
	const uint64_t round = 1ull << 59, before = 2 * round - 10;
	uint8_t *p = page + 16;
	struct source *s;
	struct cursor *c;
	struct event e = {0};

	memset(page, 0, sizeof(page));
	store(page, before, 8, 0);
	for (uint32_t i = 0; i < 2; i++, p += 24) {
		uint64_t stamp = i ? 5 : round - 8;

		store(p, 31u | (uint32_t)(stamp & 0x7ffffff) << 5, 4, 0);
		store(p + 4, stamp >> 27, 4, 0);
		store(p + 8, 3, 4, 0);
		store(p + 12, 100, 2, 0);
		store(p + 20, i, 4, 0);
	}
	store(page + 8, 48, 8, 0);
	s = of_pages(page, 1);
	c = cursor_open(s, 0);
	CHECK(cursor_next(c, &e));
	CHECK(e.time == 2 * round - 8);
	CHECK(cursor_next(c, &e));
	CHECK(e.time == 2 * round + 5);
	cursor_close(c);
	source_close(s);
}

TEST_MAIN
