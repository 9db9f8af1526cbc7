/* SPDX-License-Identifier: MIT */
/* tools_pagepack.c -- packed pages come out byte for byte: captured ones, made-up ones, noise; what is damaged is refused. */
#include "harness.h"
#include "wire/pagepack.h"
#include "wire/ringpage.h"

/* The same code as a big-endian target has it. Words of its memory are swapped for it: see swap_page(). */
#pragma push_macro("__BYTE_ORDER__")
#undef __BYTE_ORDER__
#define __BYTE_ORDER__	   __ORDER_BIG_ENDIAN__
#define fathom_page_pack   big_page_pack
#define fathom_page_unpack big_page_unpack
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include "../../wire/pagepack.c"
#pragma GCC diagnostic pop
#pragma pop_macro("__BYTE_ORDER__")
#undef fathom_page_pack
#undef fathom_page_unpack

static struct wire_packer packer;
static uint8_t page[4096], packed[WIRE_PACKED_HEAD + 4096 + 64], out[4096];

static uint32_t rnd(uint32_t n)
{
	static uint64_t s = 1;

	s = s * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(s >> 33) % n;
}

static uint32_t page_used(const uint8_t *p)
{
	uint32_t commit;

	memcpy(&commit, p + 8, 4);
	commit = 16 + (commit & WIRE_COMMIT_SIZE) + (commit & WIRE_COMMIT_STORED ? 8 : 0);
	return commit <= 4096 ? (commit + 3) & ~3u : 4096;
}

/* There and back; the bytes it took, 0 if it went wrong. */
static uint32_t there_and_back(uint32_t n)
{
	uint32_t used, took;
	int big;

	memset(packed, 0xa5, sizeof(packed));
	memset(out, 0xa5, sizeof(out));
	took = fathom_page_pack(&packer, page, n, packed);
	CHECK(took <= WIRE_PACKED_HEAD + n);
	for (uint32_t i = WIRE_PACKED_HEAD + n; i < sizeof(packed); i++)
		CHECK(packed[i] == 0xa5);	      /* not a byte beyond its room */
	memset(packed + took, rnd(2) ? 0xff : 0, 16); /* what follows it does not matter */
	CHECK_EQ(fathom_page_unpack(&packer, packed, took + 16, out, 4096, &used, &big), took);
	CHECK(used == n && !big);
	CHECK(!memcmp(page, out, n));
	for (uint32_t i = n; i < 4096; i++)
		CHECK(!out[i]);
	return took;
}

/* All pages of a file of them: bytes before, after. */
static void file_pages(const char *path, size_t skip, size_t *raw, size_t *after)
{
	char command[300];
	FILE *f;

	snprintf(command, sizeof(command), "gzip -dc %s", path);
	f = popen(command, "r");
	*raw = *after = 0;
	CHECK(f);
	while (f && fread(page, 1, skip ? skip : 4096, f) == (skip ? skip : 4096)) {
		if (!skip) {
			uint32_t n = page_used(page);

			*raw += n;
			*after += there_and_back(n);
		}
		skip = 0;
	}
	if (f)
		pclose(f);
}

TEST(captured_pages)
{
	static const struct {
		const char *path;
		unsigned int times; /* smaller, at least */
	} files[] = {
		{"test/data/linux/tracefs/04_graph_setgraph/cpu0.raw.gz", 3},
		{"test/data/tracedat/events_v6.dat.gz", 3}, /* its text, too, is read as pages */
		{"test/data/tracedat/lost_v6.dat.gz", 3},
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		size_t raw, after;

		file_pages(files[i].path, 0, &raw, &after);
		printf("  %s: %zu bytes, packed %zu\n", files[i].path, raw, after);
		CHECK(raw > 10000 && after * files[i].times < raw);
	}
}

TEST(noise_is_stored)
{
	for (int i = 0; i < 2000; i++) {
		uint32_t n = 16 + rnd(1021) * 4, kind = rnd(4);

		for (uint32_t k = 0; k < n; k++)
			page[k] = (uint8_t)(kind == 0	? rnd(256)
					    : kind == 1 ? rnd(2)
					    : kind == 2 ? k
							: (rnd(8) ? 0 : rnd(256)));
		there_and_back(n);
	}
	for (uint32_t k = 0; k < 4096; k++)
		page[k] = (uint8_t)rnd(256);
	CHECK_EQ(there_and_back(4096), WIRE_PACKED_HEAD + 4096);
	CHECK_EQ(packed[4], 0);
}

/* Records of all kinds, of sizes that end anywhere. */
static uint32_t made_up(void)
{
	uint32_t n = 16, words[1024] = {rnd(1u << 31), rnd(4)}, room = 16 + rnd(1021) * 4;

	while (n < room) {
		uint32_t type = rnd(8) ? 1 + rnd(28) : rnd(4) ? 28 + rnd(4) : 0;
		uint32_t payload = type >= 1 && type <= 28 ? type : 1 + rnd(12);

		words[n / 4] = wire_header(type, rnd(1u << (1 + rnd(27))));
		n += 4;
		for (uint32_t i = 0; i < payload && n < room; i++, n += 4)
			words[n / 4] = i == 0 && !type ? 4 * payload - rnd(4)
				       : i == 0	       ? 300 + rnd(6)
						       : rnd(1u << (1 + rnd(30)));
	}
	words[2] = n - 16;
	if (!rnd(8))
		words[2] |= WIRE_COMMIT_MISSED;
	memcpy(page, words, n);
	return n;
}

TEST(made_up_pages)
{
	for (int i = 0; i < 2000; i++)
		there_and_back(made_up());
}

/* Of a page with the bytes of a big-endian machine: what that machine's loads would see. */
static void swap_page(uint8_t *p)
{
	for (uint32_t i = 0; i < 4096; i += 4) {
		uint8_t b[4] = {p[i + 3], p[i + 2], p[i + 1], p[i]};

		memcpy(p + i, b, 4);
	}
}

TEST(the_other_byte_order)
{
	static const uint8_t record[] = {0x10, 0, 2, 0,	   /* type 2, delta 512 */
					 1,    2, 0, 0,	   /* id 258 */
					 0,    0, 0, 0x21, /* pid 33 */
					 0x10, 0, 3, 0,	   1, 2, 0, 0, 0, 0, 0, 0x21};
	uint32_t used, took;
	int big;

	memset(page, 0, sizeof(page));
	page[15] = (uint8_t)(24 * 40);
	page[14] = (24 * 40) >> 8;
	for (uint32_t i = 0; i < 40; i++)
		memcpy(page + 16 + 24 * i, record, 24);
	swap_page(page);
	took = big_page_pack(&packer, page, 16 + 24 * 40, packed);
	swap_page(page);
	CHECK(took < 150); /* it is understood, not only carried */
	CHECK_EQ(fathom_page_unpack(&packer, packed, took, out, 4096, &used, &big), took);
	CHECK(big && used == 16 + 24 * 40 && !memcmp(page, out, 4096));
}

TEST(damage_is_refused_or_harmless)
{
	uint32_t n, took, used;
	uint8_t *exact;
	int big;

	for (int i = 0; i < 300; i++) {
		n = made_up();
		took = there_and_back(n);
		for (uint32_t k = 0; k < took; k += 1 + rnd(40)) {
			exact = malloc(k ? k : 1);
			memcpy(exact, packed, k);
			CHECK_EQ(fathom_page_unpack(&packer, exact, k, out, 4096, &used, &big), -1);
			free(exact);
		}
		CHECK_EQ(fathom_page_unpack(&packer, packed, took, out, n - 4, &used, &big), -1);
		for (int k = 0; k < 20; k++) {
			uint32_t at = rnd(took);

			packed[at] ^= (uint8_t)(1u << rnd(8));
			fathom_page_unpack(&packer, packed, took, out, 4096, &used, &big);
		}
	}
	n = made_up();
	took = there_and_back(n);
	CHECK(packed[4]);
	for (uint32_t more = 1; more < 8; more++) { /* code that goes on after the page */
		uint32_t coded = took - WIRE_PACKED_HEAD + more;

		packed[0] = (uint8_t)coded;
		packed[1] = (uint8_t)(coded >> 8);
		CHECK_EQ(fathom_page_unpack(&packer, packed, took + more, out, 4096, &used, &big),
			 -1);
	}
}

TEST_MAIN
