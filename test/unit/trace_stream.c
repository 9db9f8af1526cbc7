/* SPDX-License-Identifier: MIT */
/* trace_stream.c -- the 16-bit stream recorder: words, blocks, loss, nesting under signals, LZ4 against liblz4. */
#include "harness.h"
#include "fathom/inside/errno.h"
#include "fathom/stream.h"
#include "ring/lz4.h"
#include "ring/stream.h"
#include "wire/crc32.h"

#include <lz4.h>

static uint64_t seed = 12345;

static uint32_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 20);
}

/* ---- LZ4 ---- */

static void fill(uint8_t *p, uint32_t n, unsigned kind)
{
	for (uint32_t i = 0; i < n; i++) {
		if (kind == 0)
			p[i] = (uint8_t)draw(); /* nothing repeats */
		else if (kind == 1)
			p[i] = 7; /* everything does */
		else if (kind == 2)
			p[i] = (uint8_t)(draw() % 4);
		else
			p[i] = i >= 40 && draw() % 16 ? p[i - 1 - draw() % 40] : (uint8_t)draw();
	}
}

/* The end rules, read from the block itself. */
static void check_rules(const uint8_t *b, uint32_t n, uint32_t raw)
{
	uint32_t at = 0, out = 0;

	while (at < n) {
		uint32_t token = b[at++], lit = token >> 4, match = token & 15, add;

		for (add = 255; lit >= 15 && add == 255; lit += add)
			add = b[at++];
		at += lit;
		out += lit;
		if (at >= n) {
			CHECK(raw < 5 || lit >= 5); /* the last five bytes are literals */
			break;
		}
		CHECK(out + 12 <= raw); /* no match begins in the last twelve */
		at += 2;
		for (add = 255; match >= 15 && add == 255; match += add)
			add = b[at++];
		out += match + 4;
	}
	CHECK_EQ(out, raw);
}

TEST(lz4_is_read_by_liblz4)
{
	static uint8_t raw[65535], packed[70000], back[65535];
	static uint16_t table[FATHOM_LZ4_SLOTS];

	for (unsigned i = 0; i < 2000; i++) {
		uint32_t n = i < 300 ? i : draw() % (i % 10 ? 3000 : 65535), len;

		fill(raw, n, i % 4);
		len = fathom_lz4_pack(raw, n, packed, fathom_lz4_bound(n), table);
		CHECK(len > 0);
		CHECK_EQ(LZ4_decompress_safe((char *)packed, (char *)back, (int)len, (int)n), n);
		CHECK(!memcmp(raw, back, n));
		check_rules(packed, len, n);
		memset(back, 0, n);
		CHECK_EQ(fathom_lz4_unpack(packed, len, back, n), n);
		CHECK(!memcmp(raw, back, n));
		/* One byte less than it takes is refused, and never overrun. */
		packed[len - 1] = 0xee;
		CHECK_EQ(fathom_lz4_pack(raw, n, packed, len - 1, table), 0);
		CHECK_EQ(packed[len - 1], 0xee);
		if (test_failures)
			return;
	}
}

TEST(lz4_reads_liblz4_and_survives_damage)
{
	static uint8_t raw[4096], packed[6000], back[4096];

	for (unsigned i = 0; i < 3000; i++) {
		uint32_t n = draw() % 4096;
		int len;

		fill(raw, n, i % 4);
		len = LZ4_compress_default((char *)raw, (char *)packed, (int)n, sizeof(packed));
		CHECK_EQ(fathom_lz4_unpack(packed, (uint32_t)len, back, 4096), n);
		CHECK(!memcmp(raw, back, n));
		for (unsigned k = 0; k < 4; k++)
			packed[draw() % (uint32_t)len] = (uint8_t)draw();
		fathom_lz4_unpack(packed, draw() % (uint32_t)(len + 1), back, n); /* under ASan */
	}
}

TEST(crc_is_the_usual_one)
{
	CHECK_EQ(fathom_crc32(0, "123456789", 9), 0xcbf43926);
	CHECK_EQ(fathom_crc32(fathom_crc32(0, "1234", 4), "56789", 5), 0xcbf43926);
}

/* ---- recording ---- */

static uint8_t *memory;
static uint16_t *out;
static uint32_t nr_out;

static void start(size_t bytes, uint32_t flags)
{
	struct fathom_stream_config c = {.memory_bytes = bytes, .nr_cpus = 1, .flags = flags};

	free(memory);
	memory = aligned_alloc(64, bytes);
	memset(memory, 0x5a, bytes);
	c.memory = memory;
	CHECK_EQ(fathom_stream_init(&c), 0);
	fathom_stream_reset();
	fathom_stream_start();
}

/* All words of CPU 0, unpacked. */
static void collect(void)
{
	struct stream_cpu *c = &fathom_stream.cpu[0];
	uint32_t at = c->oldest;

	fathom_stream_stop();
	fathom_stream_settle(c);
	free(out);
	out = malloc((c->stats.block_words + c->nr) * 2 + 2);
	nr_out = 0;
	for (uint32_t i = 0; i < c->stats.blocks; i++) {
		const struct stream_block *b = fathom_stream_next(c, &at);

		CHECK_EQ(LZ4_decompress_safe((const char *)(b + 1), (char *)(out + nr_out),
					     (int)b->packed, (int)b->words * 2),
			 b->words * 2);
		nr_out += b->words;
	}
	CHECK_EQ(nr_out, c->stats.block_words);
	memcpy(out + nr_out, c->work, c->nr * 2);
	nr_out += c->nr;
}

TEST(markers_are_as_specified)
{
	static const uint16_t want[] = {
		0x000a, 0xffee, 0x008e, 42,	0,	0xfffc, 1,	0xfffa, 0x2000, 0xac00,
		0,	0xfff8, 0x3800, 0xafeb, 0x80,	0xffec, 27,	0xfff0, 0x2000, 0xac1d,
		0,	0x2000, 0xac1e, 0,	2,	0xffe8, 1,	0x7890, 0x3456, 0x7f12,
		0xffe6, 3,	0x5678, 0x1234, 0xffe4, 9,	0x1111, 0x2222, 0x3333, 0xfffe,
		0x4444, 0x5555, 0x6666, 0xfff6, 1,	0,	0,	5,	0xfff4, 1,
		0,	0,	3,	0xfff2, 1,	0,	0,	9,	0xffea};
	struct wire_sel4_entry e = {.path = 6, .syscall = 1, .cap = 1, .tag = 42};
	struct fathom_stream_stats st;

	start(1 << 20, 0);
	fathom_stream_vmid(5);
	fathom_stream_vmid(5); /* no change, no word */
	fathom_stream_kernel_entry(&e, 0);
	fathom_stream_syscall(1);
	fathom_stream_vspace(0xac002000);
	fathom_stream_thread(0x80afeb3800);
	fathom_stream_thread(0x80afeb3800);
	fathom_stream_interrupt(27);
	fathom_stream_memory(FATHOM_STREAM_PT_MAP, 0xac1d2000, 0xac1e2000, 2);
	fathom_stream_vm_fault(1, 0x7f1234567890);
	fathom_stream_user_fault(3, 0x12345678);
	fathom_stream_tracepoint(9, 0x333322221111);
	fathom_stream_memory(FATHOM_STREAM_SAFE_PTE, 0x666655554444, 0, 0);
	fathom_stream_memory(FATHOM_STREAM_RETYPE, 1, 5, 0);
	fathom_stream_memory(FATHOM_STREAM_INIT_PT, 1, 3, 0);
	fathom_stream_memory(FATHOM_STREAM_CREATE_OBJ, 1, 9, 0);
	fathom_stream_kernel_exit();
	fathom_stream_kernel_exit(); /* no entry: nothing */
	collect();
	CHECK_EQ(nr_out, 61);
	CHECK(!memcmp(out, want, sizeof(want)));
	CHECK(wire_sel4_get32(out + 59) > 0); /* the duration is true */
	fathom_stream_stats(0, &st);
	CHECK_EQ(st.words, nr_out);
	CHECK_EQ(st.events, 15);
}

TEST(functions_through_the_dictionary)
{
	start(1 << 20, 0);
	for (uintptr_t f = 1; f <= 3000; f++)
		fathom_stream_enter(f * 16);
	for (uintptr_t f = 3000; f; f--)
		fathom_stream_leave(f * 16);
	collect();
	CHECK_EQ(nr_out, 6000);
	for (uint32_t i = 0; i < 3000; i++) {
		uint32_t id = out[i] >> 1;

		CHECK_EQ(out[i] & 1, 1);
		CHECK(id >= WIRE_SEL4_FUNC_FIRST && id <= WIRE_SEL4_FUNC_LAST);
		CHECK_EQ(fathom_stream.dict[id - WIRE_SEL4_FUNC_FIRST], (i + 1) * 16);
		CHECK_EQ(out[5999 - i], id << 1);
	}
}

TEST(dictionary_full_is_counted)
{
	struct fathom_stream_stats st;

	start(1 << 20, 0);
	for (uintptr_t f = 1; f <= 6000; f++)
		fathom_stream_enter(f * 16);
	fathom_stream_stats(0, &st);
	CHECK(st.no_index > 1000);
	CHECK_EQ(st.events + st.no_index, 6000);
}

/* Storage full: what was before is kept, what comes later is counted. */
TEST(full_storage_keeps_the_oldest)
{
	struct fathom_stream_stats st;
	uint32_t n = 400000;

	start(200 << 10, 0);
	for (uint32_t i = 0; i < n; i++)
		fathom_stream_interrupt(i);
	fathom_stream_stats(0, &st);
	CHECK_EQ(st.storage_full, 1);
	CHECK(st.full > 0);
	CHECK_EQ(st.events + st.full, n);
	collect();
	CHECK_EQ(nr_out, st.events * 2);
	for (uint32_t i = 0; i < nr_out / 2; i++)
		CHECK(out[2 * i] == 0xffec && out[2 * i + 1] == (uint16_t)i);
}

/* Overwriting: the newest are kept, in order, to the last one. */
TEST(overwrite_keeps_the_newest)
{
	struct fathom_stream_stats st;
	uint32_t n = 400000;

	start(200 << 10, FATHOM_STREAM_OVERWRITE);
	for (uint32_t i = 0; i < n; i++)
		fathom_stream_interrupt(i);
	fathom_stream_stats(0, &st);
	CHECK_EQ(st.storage_full, 0);
	CHECK_EQ(st.events, n);
	CHECK(st.overwritten > 0);
	collect();
	CHECK_EQ(nr_out + st.overwritten, n * 2);
	for (uint32_t i = 0; i < nr_out / 2; i++)
		CHECK(out[nr_out - 2 - 2 * i] == 0xffec &&
		      out[nr_out - 1 - 2 * i] == (uint16_t)(n - 1 - i));
}

TEST(stamps_stand_before_entries_and_blocks)
{
	struct wire_sel4_entry e = {.path = 6, .syscall = 1};
	uint64_t last = 0;
	uint32_t stamps = 0, entries = 0, at = 0;

	start(1 << 20, FATHOM_STREAM_STAMPS);
	for (int i = 0; i < 3000; i++) {
		fathom_stream_kernel_entry(&e, 0);
		fathom_stream_enter(0x1000);
		fathom_stream_leave(0x1000);
		fathom_stream_kernel_exit();
	}
	collect();
	while (at < nr_out) {
		if (out[at] == 0xffe4) {
			uint64_t now = wire_sel4_get48(out + at + 2);

			CHECK_EQ(out[at + 1], WIRE_SEL4_TIMESTAMP_ID);
			CHECK(now > last);
			last = now;
			stamps++;
		}
		if (out[at] == 0xffee) {
			entries++;
			CHECK_EQ(out[at - 5], 0xffe4);
		}
		at += wire_sel4_is_marker(out[at]) ? wire_sel4_words(wire_sel4_marker_type(out[at]))
						   : 1;
	}
	CHECK_EQ(entries, 3000);
	CHECK(stamps > entries && stamps <= entries + 1 + fathom_stream.cpu[0].stats.blocks);
}

/* ---- nesting: see also stream_nest.c ---- */

TEST(side_overflow_is_counted)
{
	struct fathom_stream_stats st;

	start(1 << 20, 0);
	fathom_stream.cpu[0].busy = 1; /* as an interrupt in the middle of an event finds it */
	for (int i = 0; i < 1000; i++)
		fathom_stream_interrupt(1);
	fathom_stream.cpu[0].busy = 0;
	fathom_stream_interrupt(1);
	fathom_stream_stats(0, &st);
	CHECK_EQ(st.events, STREAM_SIDE_WORDS / 2 + 1);
	CHECK_EQ(st.nested, 1000 - STREAM_SIDE_WORDS / 2);
}

TEST(bad_set_up_is_refused)
{
	static uint8_t m[1 << 16] __attribute__((aligned(64)));
	struct fathom_stream_config c = {.memory = m, .memory_bytes = 4096, .nr_cpus = 1};

	fathom_stream_exit();
	CHECK_EQ(fathom_stream_init(&c), -FATHOM_ENOMEM);
	c.memory = m + 1;
	CHECK_EQ(fathom_stream_init(&c), -FATHOM_EINVAL);
	c.memory = m;
	c.functions = 1000;
	CHECK_EQ(fathom_stream_init(&c), -FATHOM_EINVAL);
	fathom_stream_enter(0x1000); /* not set up: nothing happens */
	free(memory);
	free(out);
	memory = NULL;
}

TEST_MAIN
