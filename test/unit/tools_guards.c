/* SPDX-License-Identifier: MIT */
/* tools_guards.c -- guards of the host program that only an odd case reaches: hostile targets, short writes, clocks that go round. */
#include "harness.h"
#include "base/json.h"
#include "base/spool.h"
#include "capture/image.h"
#include "capture/p9.h"
#include "decode/names/names.h"
#include "decode/sel4/stream.h"
#include "decode/source.h"
#include "lib/p9_target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

/* ---- a target that answers what it was not asked ---- */

static uint8_t answers[4096];
static size_t nr_answers;

static void put(const void *bytes, size_t n)
{
	if (n)
		memcpy(answers + nr_answers, bytes, n);
	nr_answers += n;
}

/* size[4] type[1] tag[2] body */
static void answer(uint8_t type, uint16_t tag, const void *body, size_t n)
{
	uint8_t head[7];

	wire_p9_put(head, (uint32_t)(7 + n), 4);
	head[4] = type;
	wire_p9_put(head + 5, tag, 2);
	put(head, 7);
	put(body, n);
}

static void greet(void)
{
	static const uint8_t version[] = {0, 0, 1, 0, 6, 0, '9', 'P', '2', '0', '0', '0'};
	static const uint8_t qid[13] = {0x80};

	nr_answers = 0;
	answer(101, 0xffff, version, sizeof(version));
	answer(105, 0, qid, sizeof(qid));
}

/* Rwalk to one name, of a file. */
static void walked(void)
{
	static const uint8_t body[15] = {1};

	answer(111, 0, body, sizeof(body));
}

/* Rstat of a name that claims to have `says` bytes. */
static void stat_of(const char *name, uint32_t says)
{
	uint8_t body[512] = {0};
	uint32_t n = (uint32_t)strlen(name), size = 2 + 4 + 13 + 4 + 8 + 8 + 2 + n + 6;

	wire_p9_put(body, size + 2, 2);
	wire_p9_put(body + 2, size, 2);
	wire_p9_put(body + 4 + 39, says, 2);
	memcpy(body + 4 + 41, name, n);
	answer(125, 0, body, 4 + size);
}

static int stat_answered(const char *name, uint32_t says)
{
	struct p9_target t;
	struct p9_stat st;
	struct p9 *c;
	int ret;

	greet();
	walked();
	stat_of(name, says);
	answer(121, 0, NULL, 0);
	p9_target_start(&t, answers, nr_answers, 60000);
	c = p9_attach(t.pair[0], "test");
	REQUIRE(c != NULL);
	ret = p9_stat(c, "trace", &st);
	p9_close(c);
	p9_target_end(&t);
	return ret;
}

TEST(names_of_a_target)
{
	CHECK_EQ(stat_answered("trace", 5), 0);
	CHECK_EQ(stat_answered("trace", 200), -EPROTO); /* beyond its stat */
	CHECK_EQ(stat_answered("../x", 4), -EPROTO);
	CHECK_EQ(stat_answered("/", 1), 0);
}

/* Asked for 8 bytes, it sends 64: no more than the 8 are for the caller's buffer. */
TEST(more_than_was_asked_for)
{
	static const uint8_t qid[17];
	uint8_t body[4 + 64], buf[8];
	struct p9_target t;
	struct p9_stat st;
	uint32_t fid;
	struct p9 *c;

	memset(body, 'x', sizeof(body));
	wire_p9_put(body, 64, 4);
	greet();
	walked();
	answer(113, 0, qid, sizeof(qid));
	answer(117, 0, body, sizeof(body));
	answer(121, 0, NULL, 0);
	p9_target_start(&t, answers, nr_answers, 60000);
	c = p9_attach(t.pair[0], "test");
	REQUIRE(c != NULL);
	CHECK_EQ(p9_open(c, "trace", O_RDONLY, &fid, &st), 0);
	CHECK_EQ(p9_read(c, fid, buf, sizeof(buf), 0, true), -EPROTO);
	p9_clunk(c, fid);
	p9_close(c);
	p9_target_end(&t);
}

/* ---- files ---- */

/* An ELF core whose second segment reaches beyond the file: that one is not there, the first is. */
TEST(segments_beyond_the_file)
{
	char path[] = "/tmp/fathom-test-XXXXXX";
	struct {
		Elf64_Ehdr e;
		Elf64_Phdr p[2];
		uint8_t data[64];
	} core = {.e = {.e_type = ET_CORE,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_phoff = sizeof(Elf64_Ehdr),
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 2},
		  .p = {{.p_type = PT_LOAD, .p_filesz = 64, .p_memsz = 64, .p_paddr = 0x1000},
			{.p_type = PT_LOAD, .p_filesz = 65, .p_memsz = 65, .p_paddr = 0x2000}}};
	const uint8_t ident[EI_NIDENT] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT};
	int fd = mkstemp(path);
	struct image im;

	memcpy(core.e.e_ident, ident, sizeof(ident));
	core.p[0].p_offset = core.p[1].p_offset = offsetof(__typeof__(core), data);
	CHECK_EQ(write(fd, &core, sizeof(core)), sizeof(core));
	close(fd);
	REQUIRE(image_open(&im, path, 0) == 0);
	CHECK(image_at(&im, 0x1000, 64) != NULL);
	CHECK(image_at(&im, 0x1000, 65) == NULL);
	CHECK(image_at(&im, 0x2000, 65) == NULL);
	image_close(&im);
	unlink(path);
}

/* A disk that takes half of a write says so at the next one: nothing is taken for stored that is not. */
TEST(spool_of_short_writes)
{
	static uint8_t piece[50000];
	const struct rlimit small = {(1 << 20) + 12345, RLIM_INFINITY};
	struct rlimit before;
	struct spool s = {0};
	int err = 0;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	setrlimit(RLIMIT_FSIZE, &small);
	for (int i = 0; i < 10000 && !err; i++) {
		uint64_t at;

		err = spool_append(&s, piece, sizeof(piece), &at);
	}
	setrlimit(RLIMIT_FSIZE, &before);
	CHECK_EQ(err, -EFBIG);
	CHECK(s.stored <= small.rlim_cur);
	spool_free(&s);
}

/* ---- clocks and names ---- */

static void stamp(struct sel4_state *st, uint64_t raw)
{
	uint16_t w[5] = {0xfffe, 0xffff};

	for (int i = 0; i < 3; i++)
		w[2 + i] = (uint16_t)(raw >> 16 * i);
	sel4_state_special(st, WIRE_SEL4_TIMESTAMP, w);
}

/* 48 bits go round: a stamp far below the last one is later. One a little below is not. */
TEST(sel4_clock_goes_round)
{
	const uint64_t round = 1ull << 48;
	struct sel4_state st;

	sel4_state_init(&st);
	stamp(&st, round - 10);
	CHECK_EQ(st.time, round - 10);
	stamp(&st, round - 20);
	CHECK_EQ(st.time, round - 10);
	stamp(&st, 5);
	CHECK_EQ(st.time, round + 5);
	stamp(&st, round - 1);
	stamp(&st, 7);
	CHECK_EQ(st.time, 2 * round + 7);
}

/* Marks of the assembler (aarch64, riscv64) are no functions: what follows one is its function's. */
TEST(mapping_symbols_are_skipped)
{
	static const char text[] = "0000000000001000 t $x\n0000000000001000 T first\n"
				   "0000000000001010 t $d\n0000000000002000 T second\n";
	struct symbols *t = symbols_new();
	struct symbol s;

	symbols_add_kallsyms(t, text, sizeof(text) - 1);
	CHECK(symbols_find(t, 0x1000, ALIAS_TRACE_CMD, &s));
	CHECK_STR(s.name, "first");
	CHECK(symbols_find(t, 0x1014, ALIAS_TRACE_CMD, &s));
	CHECK_STR(s.name, "first");
	CHECK(symbols_find(t, 0x1014, ALIAS_FIRST, &s));
	CHECK_STR(s.name, "first");
	symbols_free(t);
}

/* Two CPUs that count exactly, gaps in both, and a loss of the whole trace whose place is not known. */
TEST(account_of_all_cpus)
{
	struct stream streams[2] = {{.counted = true}, {.counted = true}};
	struct loss stated[] = {{.stream = 0, .cause = LOSS_OVERWRITTEN, .lost = 5},
				{.stream = 1, .cause = LOSS_FULL, .lost = 7},
				{.stream = LOSS_ALL, .cause = LOSS_OMITTED, .lost = 11}};
	struct loss gaps[] = {{.stream = 0, .from = 100, .to = 110, .lost = 5},
			      {.stream = 1, .from = 200, .to = 230, .lost = 3},
			      {.stream = 1, .from = 300, .to = 305, .lost = 4}};
	struct source s = {.nr_streams = 2, .streams = streams, .stated = stated, .nr_stated = 3};
	struct account a;

	CHECK_EQ(account_make(&a, &s, gaps, 3, true, NULL, NULL), 0);
	CHECK_EQ(a.gaps, 3);
	CHECK_EQ(a.gap_time, 45);
	CHECK_EQ(a.lost.n, 23);
	CHECK(!a.lost.more);
	CHECK_EQ(a.unplaced, 11);
	account_free(&a);
	/* In a window the eleven may be outside or not: what is known is the least. */
	CHECK_EQ(account_make(&a, &s, gaps, 3, false, NULL, NULL), 0);
	CHECK_EQ(a.lost.n, 12);
	CHECK(a.lost.more);
	account_free(&a);
}

TEST(json_has_no_raw_quotes)
{
	char text[64] = {0};
	FILE *f = fmemopen(text, sizeof(text), "w");

	json_escape(f, "a\"b\\c\nd\x01", 8);
	fclose(f);
	CHECK_STR(text, "a\\\"b\\\\c\\nd\\u0001");
}

TEST_MAIN
