/* SPDX-License-Identifier: MIT */
/* tools_sel4.c -- the seL4 stream on the host: scanning, index, cursors and dumps, against a plain decoder. */
#include "harness.h"
#include "decode/sel4/sel4.h"
#include "decode/sel4/record.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define N 200000u

static uint64_t seed;

static uint32_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 20);
}

/* What the plain decoder says of one event. */
struct plain {
	uint64_t word;
	uint32_t type;
	int vmid;
};

static uint16_t *words;
static struct plain *events;
static size_t nr_words, nr_events;

/* A stream with `dense` specials in 1000; operands are drawn from everything, markers included. */
static void make(uint64_t s, unsigned dense, int stamps)
{
	static const int lens[] = {4, 2, 4, 4, 5, 5, 5, 8, 4, 2, 3, 5, 4, 5};
	int vmid = -1;

	seed = s * 77777 + 1;
	nr_words = nr_events = 0;
	while (nr_words + 9 < N) {
		struct plain *e = &events[nr_events++];

		e->word = nr_words;
		if (draw() % 1000 >= dense) {
			uint32_t odd = draw() & 1;

			words[nr_words++] = (uint16_t)((256 + draw() % 3000) << 1 | odd);
			e->type = odd ? 0 : 1;
		} else if (draw() % 8 == 0) {
			vmid = (int)(draw() % 256);
			words[nr_words++] = (uint16_t)(vmid << 1);
			e->type = 2;
		} else {
			uint32_t m = draw() % 14;

			words[nr_words++] = (uint16_t)(0xfffe - 2 * m);
			e->type = 3 + m;
			for (int i = 1; i < lens[m]; i++)
				words[nr_words++] =
					(uint16_t)(draw() % 3 ? draw() : 0xff00 + draw() % 256);
			if (m == 13) {
				words[e->word + 1] = stamps ? 0xffff : 7;
				e->type = stamps ? 17 : 16;
			}
		}
		e->vmid = vmid;
	}
}

static void setup(void)
{
	if (!words) {
		words = malloc(N * 2);
		events = malloc(N * sizeof(*events));
	}
}

TEST(simd_finds_the_same)
{
	uint32_t *a, *b;

	setup();
	a = malloc((N + 64) * sizeof(*a));
	b = malloc((N + 64) * sizeof(*b));
	for (unsigned round = 0; round < 40; round++) {
		uint64_t odd = 0, want = 0;
		size_t from = round % 7, n, expect = 0;

		make(round, round * 25, 0);
		for (size_t i = 0; i < 2000; i++) /* every value there is, somewhere */
			words[draw() % nr_words] = (uint16_t)draw();
		n = nr_words - from - round * 3;
		for (size_t i = 0; i < n; i++) {
			uint32_t w = words[from + i];

			want += w & 1;
			if (!(w & 1) && (w >= 0xff00 || w <= 0x1fe))
				a[expect++] = (uint32_t)i;
		}
		for (int k = SEL4_SIMD_SCALAR; k <= SEL4_SIMD_AVX512; k++) {
			sel4_scan_fn fn = sel4_scan_get((enum sel4_simd)k);

			if (!fn)
				continue;
			odd = 0;
			CHECK_EQ(fn(words + from, n, b, &odd), expect);
			CHECK_EQ(odd, want);
			CHECK(!memcmp(a, b, expect * sizeof(*a)));
		}
	}
	free(a);
	free(b);
}

static struct sel4_index *build(unsigned threads, uint32_t segment)
{
	struct sel4_input in = {.words = words,
				.fd = -1,
				.nr_words = nr_words,
				.nr_threads = threads,
				.segment_words = segment};
	struct sel4_index *ix = NULL;

	CHECK_EQ(sel4_index_build(&in, &ix), 0);
	return ix;
}

TEST(index_counts_and_lists)
{
	setup();
	for (unsigned dense = 0; dense < 1000; dense += 90) {
		uint64_t count[WIRE_SEL4_NR_TYPES] = {0}, got[WIRE_SEL4_NR_TYPES];
		struct sel4_index *ix;

		make(dense + 5, dense, 0);
		ix = build(1, 0);
		CHECK_EQ(ix->head->nr_events, nr_events);
		for (size_t i = 0; i < nr_events; i++) {
			const struct sel4_posting *p =
				sel4_index_posting(ix, events[i].type, count[events[i].type]++);

			if (events[i].type > 1 && ix->head->list[events[i].type].offset) {
				CHECK_EQ(p->event, i);
				CHECK_EQ(p->word, events[i].word);
				CHECK_EQ(p->vmid, events[i].vmid);
				CHECK(!memcmp(p->operand, words + p->word + 1,
					      2 * (wire_sel4_words(events[i].type) - 1)));
			}
			if (test_failures)
				break;
		}
		CHECK(!memcmp(count, ix->head->count, sizeof(count)));
		struct sel4_input in = {.words = words, .fd = -1, .nr_words = nr_words};

		CHECK_EQ(sel4_count(&in, got), 0);
		CHECK(!memcmp(count, got, sizeof(count)));
		sel4_index_free(ix);
	}
}

/* Threads, segments and instruction sets change nothing in the index: same bytes. */
TEST(index_is_the_same_however_built)
{
	static const char *const simd[] = {"scalar", "avx2", "avx512"};

	setup();
	for (unsigned dense = 1; dense < 500; dense += 70) {
		struct sel4_index *one, *other;

		make(dense, dense, dense % 3 == 0);
		one = build(1, N * 2);
		for (unsigned k = 0; k < 9; k++) {
			setenv("FATHOM_SIMD", simd[k % 3], 1);
			other = build(1 + k % 3, k < 3 ? 0 : 70000 + 5000 * k);
			/* Checkpoints fall where segments begin: compare what they do not decide. */
			CHECK(!memcmp(one->head->count, other->head->count,
				      sizeof(one->head->count)));
			for (uint32_t t = 2; t < WIRE_SEL4_NR_TYPES; t++) {
				if (!one->head->list[t].nr)
					continue;
				CHECK_EQ(other->head->list[t].nr, one->head->list[t].nr);
				CHECK(!memcmp(sel4_index_posting(one, t, 0),
					      sel4_index_posting(other, t, 0),
					      one->head->list[t].nr * sel4_posting_bytes(t)));
			}
			if (k < 3)
				CHECK(one->bytes == other->bytes &&
				      !memcmp(one->image, other->image, one->bytes));
			sel4_index_free(other);
		}
		unsetenv("FATHOM_SIMD");
		sel4_index_free(one);
	}
}

static void write_file(const char *path, const void *data, size_t bytes)
{
	FILE *f = fopen(path, "wb");

	CHECK(f && fwrite(data, 1, bytes, f) == bytes);
	fclose(f);
}

static uint64_t record_number(const struct event *e)
{
	uint64_t n;

	memcpy(&n, e->data + (e->type == 11 ? 24 : e->type == 10 ? 40 : 16), 8);
	return n;
}

static void check_event(const struct event *e, uint64_t i)
{
	CHECK_EQ(record_number(e), i);
	CHECK_EQ(sel4_type_of_id(e->type), events[i].type);
	CHECK_EQ(e->offset, events[i].word * 2);
}

TEST(cursor_walks_and_seeks)
{
	const struct source_options as = {.as = "sel4"};
	char path[] = "/tmp/sel4-unit-XXXXXX";
	int fd = mkstemp(path);
	struct source *s;

	setup();
	close(fd);
	for (unsigned dense = 0; dense < 600; dense += 200) {
		struct cursor *c;
		struct event e;
		uint64_t i = 0;

		make(dense + 3, dense, dense == 200);
		write_file(path, words, nr_words * 2);
		CHECK_EQ(source_open(path, &as, &s), 0);
		c = cursor_open(s, 0);
		while (cursor_next(c, &e) && !test_failures)
			check_event(&e, i++);
		CHECK_EQ(i, nr_events);
		for (unsigned k = 0; k < 200 && !test_failures; k++) {
			struct position at;

			i = k < 5 ? k : k < 10 ? nr_events - k + 4 : draw() % nr_events;
			CHECK_EQ(source_index(s)->seek_number(s, &c, i), 0);
			CHECK(cursor_next(c, &e));
			check_event(&e, i);
			at = e.at;
			cursor_seek(c, at);
			CHECK(cursor_next(c, &e));
			check_event(&e, i);
		}
		CHECK_EQ(source_index(s)->seek_number(s, &c, nr_events), -2);
		cursor_close(c);
		source_close(s);
	}
	unlink(path);
}

TEST(scan_agrees_with_walking)
{
	const struct source_options as = {.as = "sel4"};
	char path[] = "/tmp/sel4-unit-XXXXXX";
	int fd = mkstemp(path);
	uint64_t *a = calloc(SOURCE_ID_FAST, 8), *b = calloc(SOURCE_ID_FAST, 8);
	struct source *s;
	struct cursor *c;
	struct event e;

	setup();
	close(fd);
	make(99, 150, 1);
	write_file(path, words, nr_words * 2);
	CHECK_EQ(source_open(path, &as, &s), 0);
	c = cursor_open(s, 0);
	while (cursor_next(c, &e))
		a[e.type]++;
	struct tally out = {.by_type = b, .pids = pid_counts_new(), .losses = losses_new()};

	for (uint64_t k = 0; k < s->streams[0].nr_blocks; k++)
		cursor_tally(c, k, &out);
	CHECK_EQ(out.nr_events, nr_events);
	CHECK(!memcmp(a, b, SOURCE_ID_FAST * 8));
	pid_counts_free(out.pids);
	losses_free(out.losses);
	cursor_close(c);
	source_close(s);
	unlink(path);
	free(a);
	free(b);
}

/* A place is a sure boundary only if it is one: whatever the operands look like. */
TEST(boundary_is_a_boundary)
{
	setup();
	for (unsigned dense = 0; dense < 1000; dense += 100) {
		uint8_t *begins = calloc(N, 1);

		make(dense, dense, 0);
		for (size_t i = 0; i < nr_events; i++)
			begins[events[i].word] = 1;
		for (size_t from = 1; from < nr_words; from += 997) {
			size_t at = sel4_boundary(words, nr_words, from);

			CHECK(at == nr_words || begins[at]);
		}
		free(begins);
	}
}

TEST(unknown_marker_is_stepped_over)
{
	static const uint16_t w[] = {513, 0xffe2, 0x1234, 0xff10, 9,   513,
				     512, 0x00ee, 512,	  513,	  512, 512};
	struct sel4_dict *d = calloc(1, sizeof(*d));
	uint32_t type;

	/* Without a dictionary anything even is a function: the marker alone is skipped as far as it makes no sense. */
	d->addr[0] = 0x1000;
	d->nr = 1;
	CHECK_EQ(sel4_step(w, 12, true, d, &type), 1);
	CHECK_EQ(type, WIRE_SEL4_FUNC_ENTER);
	CHECK_EQ(sel4_step(w + 1, 11, true, d, &type), 4);
	CHECK_EQ(type, WIRE_SEL4_UNKNOWN);
	CHECK_EQ(sel4_step(w + 1, 11, false, d, &type), 0);
	free(d);
}

TEST(cut_event_is_named)
{
	static const uint16_t w[] = {513, 0xffee, 0x8e};
	struct sel4_input in = {.words = w, .fd = -1, .nr_words = 3};
	struct sel4_index *ix = NULL;

	CHECK_EQ(sel4_index_build(&in, &ix), 0);
	CHECK_EQ(ix->head->nr_events, 2);
	CHECK_EQ(ix->head->count[WIRE_SEL4_CUT], 1);
	CHECK_EQ(sel4_index_posting(ix, WIRE_SEL4_CUT, 0)->word, 1);
	sel4_index_free(ix);
}

TEST(index_file_is_checked)
{
	char path[] = "/tmp/sel4-unit-XXXXXX";
	int fd = mkstemp(path);
	struct sel4_index *ix, *back;
	uint8_t *image;

	setup();
	close(fd);
	make(4, 100, 0);
	ix = build(1, 0);
	CHECK_EQ(sel4_index_write(ix, path), 0);
	CHECK_EQ(sel4_index_open(path, 1, 0, &back), -ESTALE);
	for (size_t i = 0; i < 3000; i++) {
		image = malloc(ix->bytes);
		memcpy(image, ix->image, ix->bytes);
		image[i * 7 % ix->head->threads.offset] ^= (uint8_t)(1 << i % 8);
		back = sel4_index_adopt(image, ix->bytes,
					false); /* no crash; a broken head is refused */
		CHECK(i * 7 >= sizeof(*ix->head) || !back);
		sel4_index_free(back);
	}
	sel4_index_free(ix);
	unlink(path);
}

/* ---- the note's examples ---- */

TEST(printed_forms)
{
	static const uint16_t w[] = {0x020a, 0xffee, 0x008e, 42,    0,	    0xffea, 0x2345, 1,
				     0xffec, 27,     0xfffc, 1,	    0xfffa, 0x2000, 0xac00, 0,
				     0xfff8, 0x3800, 0xafeb, 0x80,  0xfff0, 0x2000, 0xac1d, 0,
				     0x2000, 0xac1e, 0,	     2,	    0xffe8, 1,	    0x7890, 0x3456,
				     0x7f12, 0x000a, 0xffee, 0x1016};
	static const char *const want[] = {
		"?:[0] EXIT #261",
		"?:[1] KENTRY Syscall Call cap=1 tag=42",
		"?:[2] KEXIT duration=74565",
		"?:[3] IRQ 27",
		"?:[4] SYSCALL 1",
		"?:[5] VSPACE paddr=0xac002000",
		"?:[6] THREAD tcb=0x80afeb3800",
		"?:[7] PT_MAP pt=0xac1d2000 parent=0xac1e2000 slot=2",
		"?:[8] VM_FAULT type=1 addr=0x7f1234567890",
		"5:[9] VMID 5",
		"5:[10] CUT word=0xffee",
	};
	const struct source_options as = {.as = "sel4"};
	char path[] = "/tmp/sel4-unit-XXXXXX", line[200];
	int fd = mkstemp(path), n;
	struct source *s;
	struct cursor *c;
	struct event e;
	size_t i = 0;

	close(fd);
	write_file(path, w, sizeof(w));
	CHECK_EQ(source_open(path, &as, &s), 0);
	c = cursor_open(s, 0);
	while (cursor_next(c, &e) && i < 11) {
		n = source_index(s)->print(s, &e, line, sizeof(line) - 1);
		line[n > 0 ? n : 0] = '\0';
		CHECK_STR(line, want[i++]);
	}
	CHECK_EQ(i, 11);
	CHECK_EQ(s->nr_damage, 1);
	cursor_close(c);
	source_close(s);
	unlink(path);
}

TEST_MAIN
