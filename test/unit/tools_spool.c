/* SPDX-License-Identifier: MIT */
/* tools_spool.c -- what is put into a spool is there afterwards, in memory or on disk; lists of events that lie in one. */
#include "harness.h"
#include "base/spool.h"
#include "decode/eventlist.h"
#include "wire/record.h"

#define PIECE 1000u

/* Pieces of growing sizes, each full of its number; every 100th is written over. */
static void fill_and_read(unsigned pieces, bool on_disk)
{
	struct spool s = {0};
	uint64_t *at = calloc(pieces, sizeof(*at));
	uint8_t piece[PIECE], back[PIECE];
	unsigned wrong = 0;

	for (unsigned i = 0; i < pieces; i++) {
		memset(piece, (int)(i % 251), sizeof(piece));
		CHECK_EQ(spool_append(&s, piece, 1 + i % PIECE, &at[i]), 0);
		CHECK_EQ(at[i] % 8, 0);
	}
	CHECK_EQ(s.on_disk, on_disk);
	for (unsigned i = 0; i < pieces; i += 100) {
		CHECK_EQ(spool_read(&s, at[i], back, 1), 0);
		CHECK_EQ(back[0], i % 251);
		back[0] = 255;
		CHECK_EQ(spool_patch(&s, at[i], back, 1), 0);
	}
	CHECK_EQ(spool_finish(&s), 0);
	for (unsigned i = 0; i < pieces; i++) {
		unsigned n = 1 + i % PIECE;

		spool_walk(&s, n);
		wrong += s.map[at[i]] != (i % 100 ? i % 251 : 255);
		wrong += n > 1 && s.map[at[i] + n - 1] != i % 251;
	}
	CHECK_EQ(wrong, 0);
	spool_free(&s);
	free(at);
}

TEST(spool_in_memory)
{
	fill_and_read(1000, false);
}

TEST(spool_on_disk)
{
	fill_and_read(100000, true);
}

TEST(spool_without_a_place)
{
	static uint8_t piece[500000];
	struct spool s = {0};
	uint64_t at;
	int err = 0;

	setenv("TMPDIR", "/nonexistent", 1);
	for (unsigned i = 0; i < 100 && !err; i++)
		err = spool_append(&s, piece, sizeof(piece), &at);
	CHECK_EQ(err, -2);
	spool_free(&s);
	unsetenv("TMPDIR");
}

/* Events of a task that is told later get its pid, in blocks that are kept and in the last one; those behind do not. */
TEST(pid_told_later)
{
	struct eventlist l = {0};
	struct wire_common c;
	uint32_t record[16] = {0, (uint32_t)-1};
	struct listed *e = NULL;

	for (unsigned i = 0; i < 3 * EVENTLIST_BLOCK + 7; i++) {
		e = eventlist_add(&l, 2, 5, i < 2 * EVENTLIST_BLOCK + 9 ? -1 : 8);
		e->time = i;
		if (i == 300)
			CHECK_EQ(eventlist_record(&l, e, record, sizeof(record)), 0);
	}
	CHECK_EQ(eventlist_set_pid(&l, 2, -1, 77), 0);
	CHECK_EQ(eventlist_set_pid(&l, 1, -1, 77), 0);
	CHECK_EQ(l.streams[2].nr_blocks, 3);
	for (unsigned i = 0; i < 3; i++) {
		struct listed block[EVENTLIST_BLOCK];

		CHECK_EQ(spool_read(&l.spool, l.streams[2].blocks[i], block, sizeof(block)), 0);
		for (unsigned k = 0; k < EVENTLIST_BLOCK; k++) {
			memcpy(&c, block[k].record, sizeof(c));
			CHECK_EQ(c.pid, i < 2 || k < 9 ? 77 : 8);
		}
		if (i != 1)
			continue;
		CHECK_EQ(spool_read(&l.spool, block[300 - 256].more, record, sizeof(record)), 0);
		CHECK_EQ(record[1], 77);
	}
	memcpy(&c, e->record, sizeof(c));
	CHECK_EQ(c.pid, 8);
	for (unsigned i = 0; i < l.nr_streams; i++) {
		free(l.streams[i].blocks);
		free(l.streams[i].last);
	}
	free(l.streams);
	spool_free(&l.spool);
}

TEST_MAIN
