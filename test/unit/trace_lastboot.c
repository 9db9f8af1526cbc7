/* SPDX-License-Identifier: MIT */
/* trace_lastboot.c -- memory that survives a reset: what was whole is offered, whatever the memory holds. */
#include <stdint.h>
#include <stdlib.h>
#include "harness.h"
#define CREATE_TRACE_POINTS
#include "fathom/tracepoint.h"
#include "fathom/fs.h"
#include "fathom/trace.h"
#include "wire/crc32.h"

TRACE_DEFINE(keep, number, "n=%u", (U32, n))
TRACE_DEFINE(keep, word, "word=%s", (STR, word))

#define MAP "instances/boot_map/"

static char memory[8 << 20] __attribute__((aligned(4096)));
static uint8_t kept[128 << 10] __attribute__((aligned(4096)));
static uint8_t image[sizeof(kept)]; /* of `kept` at the moment of the reset */
static char text[4 << 20];
static uint32_t numbers[65536], before[65536];

static struct fathom_config config = {.memory = memory,
				      .memory_bytes = sizeof(memory),
				      .nr_cpus = 1,
				      .release = "one",
				      .last_boot = &fathom_last_boot,
				      .last_boot_memory = kept,
				      .last_boot_bytes = sizeof(kept)};

static void boot(void)
{
	CHECK_EQ(fathom_init(&config), 0);
}

/* The machine stops here: what is in memory then is what the next boot finds. */
static void stop(void)
{
	memcpy(image, kept, sizeof(kept));
	fathom_exit();
	memcpy(kept, image, sizeof(kept));
}

static void reset(void)
{
	stop();
	boot();
}

/* A first boot: nothing in the memory. */
static void cold(void)
{
	fathom_exit();
	memset(kept, 0, sizeof(kept));
	boot();
	CHECK_EQ(fathom_set(MAP "events/keep/enable", "1"), 0);
}

static void write_numbers(uint32_t from, uint32_t to)
{
	for (; from < to; from++)
		trace_number(from);
}

static int info_has(const char *line)
{
	char buf[512];

	return fathom_get(MAP "last_boot_info", buf, sizeof(buf)) > 0 && strstr(buf, line) != NULL;
}

static uint32_t info_number(const char *name)
{
	char buf[512], *at;

	if (fathom_get(MAP "last_boot_info", buf, sizeof(buf)) <= 0 || !(at = strstr(buf, name)))
		return ~0u;
	return (uint32_t)strtoul(at + strlen(name), NULL, 10);
}

/* The numbers in a file of the instance, in its order. */
static uint32_t read_numbers(const char *path, uint32_t *to)
{
	static const char mark[] = ": number: n=";
	uint32_t n = 0;

	if (fathom_get(path, text, sizeof(text)) <= 0)
		return 0;
	for (char *at = text; *at && n < 65536;
	     at++) /* strstr() looks at all of it each time, under ASan */
		if (*at == ':' && !memcmp(at, mark, sizeof(mark) - 1))
			to[n++] = (uint32_t)strtoul(at + sizeof(mark) - 1, NULL, 10);
	return n;
}

static int same(uint32_t n, uint32_t n_before)
{
	return n == n_before && !memcmp(numbers, before, n * sizeof(*numbers));
}

/* The ring of CPU 0, as it lies in the memory. */
static struct fathom_ring *ring(void)
{
	return (struct fathom_ring *)(void *)(kept + 64);
}

static uint32_t page_in_slot(uint32_t slots_after_commit)
{
	const struct fathom_ring *r = ring();
	uint32_t index = (FATHOM_POS_INDEX(r->commit) + slots_after_commit) % r->nr_pages;

	return FATHOM_SLOT_PAGE(r->slots[index]);
}

static struct wire_page *page_at(uint32_t page)
{
	return (struct wire_page *)(void *)fathom_ring_page_at(ring(), page);
}

/* Is each page in one slot, or the reader's? Else the ring would write two slots into one page. */
static int has_all_pages(void)
{
	const struct fathom_ring *r = ring();
	uint64_t seen = 1ull << r->reader.page;

	for (uint32_t i = 0; i < r->max_pages; i++)
		seen |= 1ull << FATHOM_SLOT_PAGE(r->slots[i]);
	return seen == (2ull << r->max_pages) - 1;
}

TEST(nothing)
{
	cold();
	CHECK(info_has("# no trace of the last boot: the memory held none\n"));
	CHECK_EQ(fathom_get(MAP "tracing_on", text, sizeof(text)), 2);
	CHECK_STR(text, "1\n");
	CHECK(fathom_get("last_boot_info", text, sizeof(text)) == -FATHOM_ENOENT);
}

TEST(survives)
{
	uint32_t n;
	char stats[512];

	cold();
	write_numbers(0, 20000);
	trace_word("last");
	n = read_numbers(MAP "trace", before);
	CHECK(n > 1000 && n < 20000);
	CHECK(fathom_get(MAP "per_cpu/cpu0/stats", stats, sizeof(stats)) > 0);
	*strstr(stats, "oldest") = 0;
	for (int times = 0; times < 3; times++) { /* it stays, boot after boot */
		reset();
		CHECK(same(read_numbers(MAP "trace", numbers), n));
		CHECK(strstr(text, "-0 ") == NULL && strstr(text, "word: word=last\n") != NULL);
		CHECK_EQ(info_number("\nevents: "), n + 1);
		CHECK_EQ(info_number("damaged pages: "), 0);
		CHECK_EQ(info_number("damaged events: "), 0);
		CHECK(fathom_get(MAP "per_cpu/cpu0/stats", text, sizeof(text)) > 0);
		CHECK(!strncmp(text, stats, strlen(stats)) && !strstr(text, "damaged"));
		CHECK(fathom_get(MAP "tracing_on", text, sizeof(text)) > 0 && text[0] == '0');
		CHECK_EQ(fathom_set(MAP "events/keep/enable", "1"), 0);
		write_numbers(0, 10); /* not recorded: it is held */
	}
	CHECK(same(read_numbers(MAP "trace_pipe", numbers), n));
	CHECK_EQ(read_numbers(MAP "trace", numbers), 0);
}

/* A ring that is not full has slots that were never written; one that was cleared begins in the middle of a page. */
TEST(begun)
{
	uint32_t n;

	cold();
	write_numbers(0, 300);
	n = read_numbers(MAP "trace", before);
	CHECK_EQ(n, 300);
	reset();
	CHECK(same(read_numbers(MAP "trace", numbers), n));
	CHECK_EQ(fathom_set(MAP "tracing_on", "1"), 0);
	CHECK(info_has("was given up"));
	CHECK_EQ(read_numbers(MAP "trace", numbers), 0);
	CHECK_EQ(fathom_set(MAP "events/keep/enable", "1"), 0);
	for (uint32_t i = 0; i < 5; i++) {
		write_numbers(i * 1000, i * 1000 + 1000);
		n = read_numbers(MAP "trace", before);
		CHECK(before[n - 1] == i * 1000 + 999);
		reset();
		CHECK(same(read_numbers(MAP "trace", numbers), n));
		CHECK_EQ(info_number("damaged pages: "), 0);
		CHECK_EQ(fathom_set(MAP "tracing_on", "1"), 0);
		CHECK_EQ(fathom_set(MAP "events/keep/enable", "1"), 0);
	}
}

/* What was read is not there again, and what a reader had taken but not handed out is. */
TEST(read_in_part)
{
	struct fathom_node node;
	struct fathom_file f;
	uint32_t n;

	for (uint32_t total = 50; total < 20000; total += total / 2) {
		cold();
		write_numbers(0, total);
		CHECK_EQ(fathom_fs_lookup(MAP "trace_pipe", &node), 0);
		CHECK_EQ(fathom_fs_open(&f, &node, FATHOM_O_RDONLY), 0);
		CHECK(fathom_fs_read(&f, text, 1500) > 0);
		fathom_fs_close(&f);
		write_numbers(total, total + 7);
		n = read_numbers(MAP "trace", before);
		CHECK(n > 7 && before[n - 1] == total + 6);
		reset();
		CHECK(same(read_numbers(MAP "trace", numbers), n));
		CHECK_EQ(info_number("\nevents: "), n);
		CHECK_EQ(info_number("damaged events: "), 0);
		CHECK(same(read_numbers(MAP "trace_pipe", numbers), n));
		CHECK(strstr(text, "LOST") == NULL || total > 1000);
	}
}

/* All of `before` but `gone` in a row. */
static int same_but(uint32_t n, uint32_t n_before, uint32_t gone)
{
	uint32_t at = 0;

	if (n + gone != n_before)
		return 0;
	while (at < n && numbers[at] == before[at])
		at++;
	return !memcmp(numbers + at, before + at + gone, (n - at) * sizeof(*numbers));
}

enum spoil {
	SPOIL_COMMIT,
	SPOIL_COMMIT_LARGE,
	SPOIL_USED,
	SPOIL_ENTRIES,
	SPOIL_LENGTH_0,
	SPOIL_LENGTH_LARGE,
	SPOIL_STAMP_BACK,
	SPOIL_TIME_BACK,
	SPOIL_TIME_AHEAD,
	SPOIL_NUMBER_BACK,
	SPOIL_NUMBER_AHEAD,
	SPOIL_BYTES,
	SPOIL_SLOT_WILD,
	SPOIL_KINDS,
};

static void spoil(enum spoil kind, uint32_t page)
{
	struct wire_page *p = page_at(page);
	struct fathom_page_meta *m = &ring()->meta[page];
	uint32_t *words = (uint32_t *)(void *)p->data;

	switch (kind) {
	case SPOIL_COMMIT: p->commit -= 4; break;
	case SPOIL_COMMIT_LARGE: p->commit = m->used = 0x7ffffff0; break;
	case SPOIL_USED: m->used -= 8; break;
	case SPOIL_ENTRIES: m->entries--; break;
	case SPOIL_LENGTH_0: words[0] = words[1] = 0; break;
	case SPOIL_LENGTH_LARGE: words[0] = 0, words[1] = 0xfffffff0; break;
	case SPOIL_STAMP_BACK:
		CHECK_EQ(wire_header_type(words[4]),
			 3); /* the second record becomes a stamp, and padding */
		words[4] = wire_header(WIRE_TYPE_STAMP, 1);
		words[5] = 0;
		words[6] = wire_header(WIRE_TYPE_PADDING, 1);
		words[7] = 4;
		m->entries--;
		break;
	case SPOIL_TIME_BACK: p->time = 1; break;
	case SPOIL_TIME_AHEAD: p->time += 1ull << 50; break;
	case SPOIL_NUMBER_BACK: m->first -= 500; break;
	case SPOIL_NUMBER_AHEAD: m->first += 500; break;
	case SPOIL_BYTES: memset(p->data + 100, 0xff, 64); break;
	case SPOIL_SLOT_WILD:
		for (uint32_t i = 0; i < ring()->nr_pages; i++)
			if (FATHOM_SLOT_PAGE(ring()->slots[i]) == page)
				ring()->slots[i] |= (1ul << FATHOM_SLOT_PAGE_BITS) - 1;
		break;
	default: break;
	}
}

TEST(damaged)
{
	for (int kind = 0; kind < SPOIL_KINDS; kind++) {
		for (uint32_t where = 1; where < 12; where += 5) { /* the oldest, and two others */
			uint32_t n, left, gone;

			/* Nothing before the oldest says that it is too old. */
			if (where == 1 && (kind == SPOIL_TIME_BACK || kind == SPOIL_NUMBER_BACK))
				continue;
			cold();
			write_numbers(0, 20000);
			n = read_numbers(MAP "trace", before);
			stop();
			spoil((enum spoil)kind, page_in_slot(where));
			boot();
			CHECK_EQ(info_number("damaged pages: "), 1);
			gone = info_number("damaged events: ");
			left = read_numbers(MAP "trace", numbers);
			if (!(gone > 50 && gone < 500 && same_but(left, n, gone)))
				CHECK_EQ(kind * 100 + (int)where, -1);
			CHECK(fathom_get(MAP "per_cpu/cpu0/stats", text, sizeof(text)) > 0);
			CHECK(strstr(text, "\ndamaged pages: 1\ndamaged events: ") != NULL);
			/* Exactly as many are missing, at that place, and the counters add up. */
			CHECK(same_but(read_numbers(MAP "trace_pipe", numbers), n, gone));
			if (where > 1) {
				char lost[32];

				snprintf(lost, sizeof(lost), "[LOST %u EVENTS]", gone);
				CHECK(strstr(text, lost) != NULL);
			}
			CHECK(fathom_get(MAP "per_cpu/cpu0/stats", text, sizeof(text)) > 0);
			CHECK(!strncmp(text, "entries: 0\n", 11));
		}
	}
}

/* The page that was being written, and one whose slot has another's page. */
TEST(damaged_last)
{
	uint32_t n, left;

	cold();
	write_numbers(0, 20000);
	n = read_numbers(MAP "trace", before);
	stop();
	memset(page_at(page_in_slot(0))->data, 0, 32);
	boot();
	left = read_numbers(MAP "trace", numbers);
	CHECK(left && same_but(left, n, n - left));
	CHECK_EQ(info_number("damaged pages: "), 1);
	CHECK_EQ(info_number("damaged events: "), n - left);

	cold();
	write_numbers(0, 20000);
	stop();
	ring()->slots[3] = ring()->slots[4];
	boot();
	CHECK_EQ(info_number("damaged pages: "), 1);
	CHECK(has_all_pages());
}

TEST(head)
{
	for (size_t at = 0; at < 56; at++) {
		cold();
		write_numbers(0, 100);
		stop();
		kept[at] ^= 0x10;
		boot();
		CHECK(info_has("# no trace of the last boot: "));
		CHECK(info_has(at < 16 ? "the memory held none" : "its head was damaged"));
		CHECK_EQ(read_numbers(MAP "trace", numbers), 0);
		CHECK_EQ(fathom_set(MAP "events/keep/enable", "1"), 0);
		write_numbers(5, 10);
		CHECK_EQ(read_numbers(MAP "trace", numbers), 5);
	}
}

/* Each member of the head changed, with a checksum that fits. */
TEST(head_of_others)
{
	static const struct {
		size_t at;
		const char *why;
	} members[] = {{16, "another layout"}, {24, "another layout"}, {28, "another layout"},
		       {32, "another layout"}, {36, "number of CPUs"}, {40, "another build"},
		       {48, "another layout"}};

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		uint32_t crc;

		cold();
		write_numbers(0, 100);
		stop();
		kept[members[i].at] ^= 3;
		memset(kept + 20, 0, 4);
		crc = fathom_crc32(0, kept, 56);
		memcpy(kept + 20, &crc, 4);
		boot();
		CHECK(info_has(members[i].why));
		CHECK_EQ(read_numbers(MAP "trace", numbers), 0);
	}
	cold();
	write_numbers(0, 100);
	stop();
	config.release = "two";
	boot();
	CHECK(info_has("another build"));
	stop();
	config.nr_cpus = 2;
	boot();
	CHECK(info_has("another number of CPUs"));
	stop();
	config.release = "one";
	config.nr_cpus = 1;
	boot();
	CHECK(info_has("another build"));
}

static uint64_t seed = 88172645463325252ull;
static uint32_t random_below(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 16) % n;
}

/* Every file of it is read, and then it is used: both must go well. */
static void use(void)
{
	uint32_t n;

	fathom_get(MAP "last_boot_info", text, sizeof(text));
	CHECK(has_all_pages());
	fathom_get(MAP "trace", text, sizeof(text));
	fathom_get(MAP "per_cpu/cpu0/stats", text, sizeof(text));
	if (random_below(2))
		fathom_get(MAP "trace_pipe", text, sizeof(text));
	else
		fathom_get(MAP "per_cpu/cpu0/trace_pipe_raw", text, sizeof(text));
	CHECK_EQ(fathom_set(MAP "events/keep/enable", "1"), 0);
	CHECK_EQ(fathom_set(MAP "tracing_on", "1"), 0);
	write_numbers(0, 3000);
	n = read_numbers(MAP "trace", numbers);
	CHECK(n > 1000 && numbers[n - 1] == 2999 && numbers[0] == 3000 - n);
	n = read_numbers(MAP "trace_pipe", numbers);
	CHECK(n > 1000 && numbers[n - 1] == 2999);
}

/* Nothing in the memory is believed. The head of the ring and its books are hit as often as all the pages. */
TEST(hostile)
{
	int rounds = getenv("ROUNDS") ? atoi(getenv("ROUNDS")) : 60;
	uint8_t whole[sizeof(kept)];

	cold();
	write_numbers(0, 10000);
	for (int i = 0; i < 200; i++)
		trace_word(i % 2 ? "odd" : "an even number");
	stop();
	memcpy(whole, kept, sizeof(kept));
	for (int round = 0; round < rounds && test_failures == 0; round++) {
		uint32_t hits = 1 + random_below(round % 4 ? 8 : 2000);

		memcpy(kept, whole, sizeof(kept));
		if (round % 7 == 0)
			for (size_t i = 64; i < sizeof(kept); i++)
				kept[i] = (uint8_t)random_below(256);
		for (uint32_t i = 0; i < hits; i++) {
			uint32_t at = 64 + (random_below(2) ? random_below(6000)
							    : random_below(sizeof(kept) - 64));

			kept[at] = random_below(3) ? (uint8_t)random_below(256)
						   : (uint8_t)(random_below(2) ? 0 : 0xff);
		}
		boot();
		use();
		fathom_exit();
	}
	boot();
}

/* Events that another boot does not have, and text that leads out of its record, are not shown. */
TEST(unknown_records)
{
	struct wire_page *p;
	uint16_t type = 60000, id;

	cold();
	trace_word("one");
	trace_word("two");
	trace_word("three");
	trace_number(4);
	stop();
	p = page_at(page_in_slot(0));
	memcpy(&id, p->data + 4, 2);
	CHECK(id >= WIRE_ID_FIRST);
	memcpy(p->data + 4, &type, 2); /* the first record's */
	for (uint32_t at = 0; at < 200; at++)
		if (!memcmp(p->data + at, "two", 4))
			memset(p->data + at, 'x', 4); /* without its end */
	boot();
	CHECK_EQ(info_number("events of unknown type: "), 2);
	CHECK_EQ(info_number("\nevents: "), 4);
	CHECK(fathom_get(MAP "trace", text, sizeof(text)) > 0);
	CHECK(strstr(text, "Unknown type 0\n") && strstr(text, "word=three\n") &&
	      strstr(text, "n=4\n"));
	CHECK(!strstr(text, "one") && !strstr(text, "xx"));
}

TEST(limits)
{
	struct fathom_node node;

	cold();
	CHECK_EQ(fathom_set(MAP "snapshot", "1"), -FATHOM_EINVAL);
	CHECK_EQ(fathom_fs_lookup("instances/boot_map", &node), 0);
	CHECK_EQ(fathom_fs_rmdir(&node), -FATHOM_EBUSY);
	CHECK_EQ(fathom_boot("trace_instance=boot_map^traceoff,keep:word"), 0);
	fathom_exit();
	config.last_boot_bytes = 3 * 4096; /* too little */
	boot();
	CHECK_EQ(fathom_fs_lookup("instances/boot_map", &node), -FATHOM_ENOENT);
	fathom_exit();
	config.last_boot_bytes = sizeof(kept);
	config.last_boot_memory = NULL;
	boot();
	CHECK_EQ(fathom_fs_lookup("instances/boot_map", &node), -FATHOM_ENOENT);
	config.last_boot_memory = kept;
}

TEST_MAIN
