/* SPDX-License-Identifier: MIT */
/* ring_basic.c -- the ring, one context at a time: order, time, loss, modes, resize, bad input. */
#include <signal.h>
#include <sys/mman.h>
#include <stdint.h>
#include "harness.h"
#include "fathom/inside/errno.h"
#include "fathom/inside/ring.h"

uint64_t ringport_now, ringport_tick = 1;

static struct fathom_ring ring;
static uint8_t *block;

/* A fresh ring of `pages`, the clock at 1000. */
static struct fathom_ring *fresh(uint32_t pages)
{
	size_t bytes = fathom_ring_bytes(pages);

	free(block);
	block = aligned_alloc(4096, bytes);
	memset(block, 0xa5, bytes);
	ringport_now = 1000;
	ringport_tick = 1;
	CHECK_EQ(fathom_ring_init(&ring, block, bytes, 3), 0);
	CHECK_EQ(fathom_ring_pages(&ring), pages);
	return &ring;
}

/* One event of `bytes` whose first word is `tag` and whose other bytes follow from it. */
static int put(struct fathom_ring *r, uint32_t tag, uint32_t bytes)
{
	struct fathom_slot slot;
	uint8_t *p = fathom_ring_reserve(r, bytes, &slot);

	if (!p)
		return 0;
	memset(p, (int)(tag & 0xff), (bytes + 3) & ~3u);
	memcpy(p, &tag, 4);
	fathom_ring_commit(r, &slot);
	return 1;
}

static uint32_t tag_of(const struct fathom_record *rec)
{
	uint32_t tag;

	memcpy(&tag, rec->data, 4);
	for (uint32_t i = 4; i < rec->bytes; i++)
		if (((const uint8_t *)rec->data)[i] != (tag & 0xff)) {
			CHECK(!"payload as written");
			break;
		}
	return tag;
}

static struct fathom_ring_stats stats(void)
{
	struct fathom_ring_stats st;

	fathom_ring_stats(&ring, &st);
	CHECK_EQ(st.written, st.read + st.overwritten + st.entries);
	CHECK_EQ(st.corrupt, 0);
	return st;
}

TEST(ring_one_record)
{
	struct fathom_ring *r = fresh(4);
	struct fathom_record rec;

	CHECK_EQ(fathom_ring_consume(r, &rec), 0);
	CHECK(put(r, 7, 16));
	CHECK_EQ(fathom_ring_peek(r, &rec), 1);
	CHECK_EQ(fathom_ring_consume(r, &rec), 1);
	CHECK_EQ(tag_of(&rec), 7);
	CHECK_EQ(rec.bytes, 16);
	CHECK_EQ(rec.cpu, 3);
	CHECK_EQ(rec.lost, 0);
	CHECK(rec.time > 1000 && rec.time <= ringport_now);
	CHECK_EQ(fathom_ring_consume(r, &rec), 0);
	CHECK_EQ(stats().read, 1);
}

/* Written and read in step, over many laps: nothing lost, times as the clock gave them, every size. */
TEST(ring_in_step)
{
	struct fathom_ring *r = fresh(2);
	struct fathom_record rec;
	uint64_t before = 0;

	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t bytes = 4 + i % 300;

		if (i % 7 == 0)
			ringport_now += (uint64_t)1 << (i % 40);
		CHECK(put(r, i, bytes));
		if (i % 3)
			continue;
		while (fathom_ring_consume(r, &rec)) {
			CHECK_EQ(rec.lost, 0);
			CHECK(rec.time > before);
			before = rec.time;
		}
		CHECK_EQ(before, ringport_now);
		CHECK_EQ(tag_of(&rec), i);
	}
	CHECK_EQ(stats().overwritten, 0);
}

/* Overwrite: the newest stay, the first record tells exactly how many went. */
TEST(ring_overwrite_counts)
{
	struct fathom_ring *r = fresh(4);
	struct fathom_record rec;
	uint64_t lost = 0, seen = 0;
	uint32_t next = 0;

	for (uint32_t i = 0; i < 5000; i++)
		CHECK(put(r, i, 20));
	while (fathom_ring_consume(r, &rec)) {
		lost += rec.lost;
		next += (uint32_t)rec.lost;
		CHECK_EQ(tag_of(&rec), next);
		next++;
		seen++;
	}
	CHECK_EQ(next, 5000);
	CHECK_EQ(stats().overwritten, lost);
	CHECK_EQ(lost + seen, 5000);
	CHECK(lost > 3000 && seen > 400);
}

/* Discard: the oldest stay, refused ones are counted, and show as missed before the next page. */
TEST(ring_discard_mode)
{
	struct fathom_ring *r = fresh(3);
	struct fathom_record rec;
	uint32_t ok = 0, n = 0, next = 0;
	uint64_t lost = 0;

	fathom_ring_overwrite(r, 0);
	for (uint32_t i = 0; i < 3000; i++)
		ok += (uint32_t)put(r, ok, 20);
	CHECK_EQ(stats().full, 3000 - ok);
	CHECK_EQ(stats().written, ok);
	while (fathom_ring_consume(r, &rec)) {
		CHECK_EQ(tag_of(&rec), n);
		n++;
	}
	CHECK_EQ(n, ok);
	CHECK(put(r, 0, 20));
	for (next = 0; next < 1000; next++)
		put(r, next, 20);
	while (fathom_ring_consume(r, &rec))
		lost += rec.lost;
	CHECK_EQ(lost, 3000 - ok);
}

TEST(ring_modes_switch)
{
	struct fathom_ring *r = fresh(2);
	struct fathom_record rec;

	fathom_ring_overwrite(r, 0);
	for (int i = 0; i < 1000 && put(r, 1, 100); i++)
		;
	CHECK_EQ(stats().full, 1);
	fathom_ring_overwrite(r, 1);
	CHECK(put(r, 2, 100));
	CHECK(stats().overwritten > 0);
	fathom_ring_enable(r, 0);
	CHECK(!fathom_ring_is_enabled(r));
	CHECK(!put(r, 3, 100));
	CHECK_EQ(stats().disabled, 1);
	fathom_ring_enable(r, 1);
	CHECK(put(r, 3, 100));
	uint64_t unread = stats().entries + stats().overwritten + stats().full;
	fathom_ring_reset(r);
	CHECK_EQ(stats().cleared, unread);
	CHECK_EQ(fathom_ring_consume(r, &rec), 0);
	CHECK_EQ(stats().written + stats().overwritten + stats().full + stats().disabled, 0);
	CHECK(put(r, 4, 100));
	CHECK_EQ(fathom_ring_consume(r, &rec), 1);
	CHECK_EQ(rec.lost, 0);
	CHECK_EQ(tag_of(&rec), 4);
}

/* A nested writer between reserve and commit: both there, in order of reservation, the outer one's time first. */
TEST(ring_nested)
{
	struct fathom_ring *r = fresh(3);
	struct fathom_record rec;
	struct fathom_slot slot[6];
	uint64_t before = 0;

	CHECK(put(r, 100, 8));
	for (int i = 0; i < 6; i++) {
		uint32_t tag = (uint32_t)i;

		CHECK(fathom_ring_reserve(r, 4, &slot[i]) != NULL);
		memcpy(slot[i].data, &tag, 4);
		CHECK_EQ(fathom_ring_consume(r, &rec), i == 0);
	}
	for (int i = 5; i >= 0; i--) {
		CHECK_EQ(fathom_ring_peek(r, &rec), 0);
		fathom_ring_commit(r, &slot[i]);
	}
	CHECK(put(r, 6, 8));
	for (uint32_t i = 0; i < 7; i++) {
		CHECK_EQ(fathom_ring_consume(r, &rec), 1);
		CHECK_EQ(tag_of(&rec), i);
		CHECK(rec.time > before);
		before = rec.time;
	}
	CHECK_EQ(before, ringport_now);
	CHECK_EQ(stats().written, 8);
}

/* A nested writer may not overwrite the open record below it: refused and counted. */
TEST(ring_nested_lapped)
{
	struct fathom_ring *r = fresh(3);
	struct fathom_record rec;
	struct fathom_slot slot;
	uint32_t ok = 0, tag = 77;

	for (uint32_t i = 0; i < 1000; i++)
		put(r, i, 40);
	memcpy(fathom_ring_reserve(r, 40, &slot), &tag, 4);
	memset((uint8_t *)slot.data + 4, 77, 36);
	for (uint32_t i = 0; i < 1000; i++)
		ok += (uint32_t)put(r, i, 40);
	fathom_ring_commit(r, &slot);
	CHECK_EQ(stats().nested, 1000 - ok);
	CHECK(ok > 100 && ok < 300);
	while (fathom_ring_consume(r, &rec) && tag_of(&rec) != 77)
		;
	CHECK_EQ(tag_of(&rec), 77);
	for (uint32_t i = 0; i < ok; i++) {
		CHECK_EQ(fathom_ring_consume(r, &rec), 1);
		CHECK_EQ(tag_of(&rec), i);
	}
	CHECK_EQ(fathom_ring_consume(r, &rec), 0);
	CHECK_EQ(stats().written, 1001 + ok);
}

TEST(ring_discard)
{
	struct fathom_ring *r = fresh(3);
	struct fathom_record rec;
	struct fathom_slot a, b;

	for (uint32_t i = 0; i < 2000; i++) {
		CHECK(fathom_ring_reserve(r, 1 + i % 200, &a) != NULL);
		fathom_ring_discard(r, &a);
	}
	CHECK_EQ(stats().discarded, 2000);
	CHECK_EQ(stats().written, 0);
	CHECK_EQ(stats().bytes, 0);
	/* The outer one is given back under a nested one that stays: padding. */
	for (uint32_t i = 0; i < 500; i++) {
		CHECK(fathom_ring_reserve(r, 4 + i % 200, &a) != NULL);
		CHECK(fathom_ring_reserve(r, 4, &b) != NULL);
		memcpy(b.data, &i, 4);
		fathom_ring_commit(r, &b);
		fathom_ring_discard(r, &a);
		CHECK_EQ(fathom_ring_consume(r, &rec), 1);
		CHECK_EQ(tag_of(&rec), i);
		CHECK_EQ(rec.time, ringport_now);
		CHECK_EQ(rec.lost, 0);
	}
	CHECK_EQ(stats().written, 500);
	CHECK_EQ(stats().discarded, 2500);
	CHECK_EQ(stats().entries, 0);
}

/* A page as trace_pipe_raw gives it, with the missed flag and the count behind the data. */
TEST(ring_read_page)
{
	struct fathom_ring *r = fresh(3);
	static struct wire_page page;
	uint32_t n, total = 0, pages = 0;
	uint64_t lost = 0;
	int bytes;

	for (uint32_t i = 0; i < 2000; i++)
		put(r, i, 24);
	while ((bytes = fathom_ring_read_page(r, &page, 1)) > 0) {
		CHECK_EQ(page.commit & WIRE_COMMIT_SIZE, bytes);
		CHECK_EQ(fathom_ring_page_check(&page, (uint32_t)bytes, &n), 0);
		if (page.commit & WIRE_COMMIT_STORED) {
			uint64_t k;

			memcpy(&k, page.data + bytes, 8);
			CHECK(page.commit & WIRE_COMMIT_MISSED);
			CHECK_EQ(pages, 0);
			lost += k;
		}
		total += n;
		pages++;
	}
	CHECK_EQ(total + lost, 2000);
	CHECK_EQ(pages, 3);
	CHECK_EQ(stats().read, total);
	CHECK_EQ(stats().overwritten, lost);
	put(r, 1, 4);
	CHECK_EQ(fathom_ring_read_page(r, &page, 0), 0);
	CHECK(fathom_ring_read_page(r, &page, 1) > 0);
	CHECK_EQ(page.time, ringport_now - 1 + 1 - (page.data[0] >> 5));
}

/* The walk consumes nothing, begins with what the reader holds, and survives being overtaken. */
TEST(ring_iterate)
{
	struct fathom_ring *r = fresh(4);
	static struct wire_page scratch;
	struct fathom_ring_iter it;
	struct fathom_record rec;
	uint32_t n = 0, last = 0;

	for (uint32_t i = 0; i < 300; i++)
		put(r, i, 24);
	for (uint32_t i = 0; i < 10; i++)
		fathom_ring_consume(r, &rec);
	for (int pass = 0; pass < 2; pass++) {
		fathom_ring_iter_init(&it, r, &scratch);
		for (n = 10; fathom_ring_iter_next(&it, &rec); n++)
			CHECK_EQ(tag_of(&rec), n);
		CHECK_EQ(n, 300);
	}
	fathom_ring_iter_init(&it, r, &scratch);
	CHECK_EQ(fathom_ring_iter_next(&it, &rec), 1);
	for (uint32_t i = 300; i < 5000; i++)
		put(r, i, 24);
	n = 1;
	last = tag_of(&rec);
	while (fathom_ring_iter_next(&it, &rec)) {
		CHECK_EQ(tag_of(&rec), last + 1 + (uint32_t)rec.lost);
		last = tag_of(&rec);
		n++;
	}
	CHECK_EQ(last, 4999);
	CHECK_EQ(fathom_ring_consume(r, &rec), 1);
	CHECK_EQ(tag_of(&rec), 10);
}

static struct fathom_ring *lapped;
static struct wire_page *lapped_copy;

/* The writer comes round while the iterator copies a page. */
static void lap_it(int sig)
{
	(void)sig;
	mprotect(lapped_copy, 4096, PROT_READ | PROT_WRITE);
	for (uint32_t i = 300; i < 5000; i++)
		put(lapped, i, 24);
}

TEST(ring_iterate_what_changes)
{
	struct fathom_ring *r = fresh(4);
	struct sigaction sa = {.sa_handler = lap_it, .sa_flags = SA_NODEFER}, old;
	struct fathom_ring_iter it;
	struct fathom_record rec;
	uint32_t next = 0;

	for (uint32_t i = 0; i < 300; i++)
		put(r, i, 24);
	lapped = r;
	lapped_copy = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGSEGV, &sa, &old);
	fathom_ring_iter_init(&it, r, lapped_copy);
	while (fathom_ring_iter_next(&it, &rec)) {
		CHECK_EQ(tag_of(&rec), next + (uint32_t)rec.lost);
		next = tag_of(&rec) + 1;
	}
	CHECK_EQ(next, 5000);
	sigaction(SIGSEGV, &old, NULL);
	munmap(lapped_copy, 4096);
}

/* What a reader took of the page in writing is not counted as still there. */
TEST(ring_stats_of_a_part)
{
	struct fathom_ring *r = fresh(4);
	struct fathom_record rec;

	for (uint32_t i = 0; i < 10; i++)
		put(r, i, 24);
	CHECK_EQ(stats().bytes, 10 * 28);
	CHECK_EQ(fathom_ring_consume(r, &rec), 1);
	CHECK_EQ(stats().bytes, 9 * 28);
	put(r, 10, 24);
	CHECK_EQ(stats().bytes, 10 * 28);
	for (uint32_t i = 0; i < 10; i++)
		CHECK_EQ(fathom_ring_consume(r, &rec), 1);
	CHECK_EQ(stats().bytes, 0);
}

/* A writer that looked at the ring before a resize must not find what it saw again. */
TEST(ring_resize_goes_on_in_laps)
{
	struct fathom_ring *r = fresh(4);

	for (uint32_t k = 0; k < 5; k++) {
		unsigned long before;

		for (uint32_t i = 0; i < 5000; i++)
			put(r, i, 24);
		before = r->tail >> FATHOM_POS_LAP_SHIFT;
		CHECK_EQ(fathom_ring_resize(r, 2 + k % 3), 0);
		CHECK(r->tail >> FATHOM_POS_LAP_SHIFT > before);
	}
}

TEST(ring_resize)
{
	struct fathom_ring *r = fresh(8);
	struct fathom_record rec;
	uint32_t next = 0, wrote = 0;
	static const uint32_t sizes[] = {4, 8, 2, 3, 7, 8, 2, 8};

	for (uint32_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		for (uint32_t i = 0; i < 700; i++)
			CHECK(put(r, wrote++, 24));
		CHECK_EQ(fathom_ring_consume(r, &rec), 1);
		next += (uint32_t)rec.lost;
		CHECK_EQ(tag_of(&rec), next++);
		CHECK_EQ(fathom_ring_resize(r, sizes[k]), 0);
		CHECK_EQ(fathom_ring_pages(r), sizes[k]);
		CHECK_EQ(stats().written, wrote);
	}
	while (fathom_ring_consume(r, &rec)) {
		next += (uint32_t)rec.lost;
		CHECK_EQ(tag_of(&rec), next++);
	}
	CHECK_EQ(next, wrote);
	CHECK_EQ(stats().entries, 0);
	CHECK_EQ(fathom_ring_resize(r, 1), -FATHOM_EINVAL);
	CHECK_EQ(fathom_ring_resize(r, 9), -FATHOM_EINVAL);
}

TEST(ring_resize_busy)
{
	struct fathom_ring *r = fresh(4);
	struct fathom_slot slot;

	CHECK(fathom_ring_reserve(r, 8, &slot) != NULL);
	CHECK_EQ(fathom_ring_resize(r, 2), -FATHOM_EBUSY);
	fathom_ring_commit(r, &slot);
	CHECK_EQ(fathom_ring_resize(r, 2), 0);
}

/* Resize while writers run: who holds the ring takes the tail away; a writer that was faster keeps it. */
TEST(ring_seize)
{
	struct fathom_ring *r = fresh(4);
	struct fathom_record rec;
	struct fathom_slot slot;
	unsigned long tail;

	CHECK(put(r, 1, 8));
	CHECK(fathom_ring_reserve(r, 4, &slot) != NULL);
	fathom_ring_hold(r, 1);
	CHECK_EQ(fathom_ring_seize(r), -FATHOM_EBUSY);
	CHECK_EQ(fathom_ring_resize_seized(r, 2), -FATHOM_EBUSY);
	memcpy(slot.data, &(uint32_t){2}, 4);
	fathom_ring_commit(r, &slot);
	CHECK(!put(r, 3, 8));
	tail = r->tail;
	CHECK_EQ(fathom_ring_seize(r), 0);
	CHECK(!put(r, 3, 8));
	r->tail = tail; /* as by the exchange of a writer that did not see the ring held */
	CHECK_EQ(fathom_ring_resize_seized(r, 2), -FATHOM_EBUSY);
	CHECK_EQ(fathom_ring_seize(r), 0);
	CHECK_EQ(fathom_ring_seize(r), 0);
	CHECK_EQ(fathom_ring_resize_seized(r, 1), -FATHOM_EINVAL);
	CHECK_EQ(fathom_ring_resize_seized(r, 2), 0);
	CHECK_EQ(fathom_ring_pages(r), 2);
	CHECK_EQ(fathom_ring_seize(r), 0);
	fathom_ring_hold(r, 0); /* given up: as it was */
	CHECK(put(r, 3, 8));
	for (uint32_t i = 1; i <= 3; i++)
		CHECK(fathom_ring_consume(r, &rec) && tag_of(&rec) == i);
	CHECK_EQ(stats().disabled, 2);
}

TEST(ring_snapshot)
{
	static struct fathom_ring other;
	struct fathom_ring *live = fresh(3), *spare = &other;
	size_t bytes = fathom_ring_bytes(3);
	void *mem = aligned_alloc(4096, bytes);
	struct fathom_record rec;
	struct fathom_slot slot;

	CHECK_EQ(fathom_ring_init(&other, mem, bytes, 3), 0);
	put(live, 1, 8);
	CHECK(fathom_ring_reserve(live, 4, &slot) != NULL);
	memcpy(slot.data, &(uint32_t){2}, 4);
	fathom_ring_swap(&live, &spare);
	put(live, 3, 8);
	fathom_ring_commit(spare, &slot);
	CHECK(fathom_ring_consume(live, &rec) && tag_of(&rec) == 3);
	CHECK(fathom_ring_consume(spare, &rec) && tag_of(&rec) == 1);
	CHECK(fathom_ring_consume(spare, &rec) && tag_of(&rec) == 2);
	CHECK(!fathom_ring_consume(spare, &rec) && !fathom_ring_consume(live, &rec));
	free(mem);
}

TEST(ring_bad_memory)
{
	struct fathom_ring r;
	uint8_t *mem = aligned_alloc(4096, 16 * 4096);

	CHECK_EQ(fathom_ring_init(&r, NULL, 1 << 20, 0), -FATHOM_EINVAL);
	CHECK_EQ(fathom_ring_init(NULL, mem, 1 << 20, 0), -FATHOM_EINVAL);
	CHECK_EQ(fathom_ring_init(&r, mem + 8, 8 * 4096, 0), -FATHOM_EINVAL);
	CHECK_EQ(fathom_ring_init(&r, mem, 0, 0), -FATHOM_ENOMEM);
	CHECK_EQ(fathom_ring_init(&r, mem, 4095, 0), -FATHOM_ENOMEM);
	CHECK_EQ(fathom_ring_init(&r, mem, fathom_ring_bytes(1), 0), -FATHOM_ENOMEM);
	CHECK_EQ(fathom_ring_init(&r, mem, fathom_ring_bytes(2) - 1, 0), -FATHOM_ENOMEM);
	CHECK_EQ(fathom_ring_init(&r, mem, fathom_ring_bytes(2), 0), 0);
	CHECK_EQ(fathom_ring_pages(&r), 2);
	CHECK_EQ(fathom_ring_init(&r, mem, 16 * 4096, 0), 0);
	CHECK_EQ(fathom_ring_pages(&r), 14);
	free(mem);
}

TEST(ring_too_big)
{
	struct fathom_ring *r = fresh(2);
	struct fathom_record rec;
	struct fathom_slot slot;

	CHECK(fathom_ring_reserve(r, FATHOM_RING_EVENT_MAX + 1, &slot) == NULL);
	CHECK(fathom_ring_reserve(r, 4096, &slot) == NULL);
	CHECK(fathom_ring_reserve(r, UINT32_MAX, &slot) == NULL);
	CHECK_EQ(stats().too_big, 3);
	CHECK_EQ(stats().written, 0);
	CHECK(put(r, 5, FATHOM_RING_EVENT_MAX));
	CHECK(put(r, 6, FATHOM_RING_EVENT_MAX));
	CHECK_EQ(fathom_ring_consume(r, &rec), 1);
	CHECK_EQ(tag_of(&rec), 5);
	CHECK_EQ(rec.bytes, FATHOM_RING_EVENT_MAX);
	CHECK(fathom_ring_reserve(r, 0, &slot) != NULL);
	fathom_ring_commit(r, &slot);
	CHECK_EQ(stats().written, 3);
}

TEST(ring_clock_stands)
{
	struct fathom_ring *r = fresh(3);
	struct fathom_record rec;
	struct fathom_slot slot;
	uint32_t n = 0;

	ringport_tick = 0;
	for (uint32_t i = 0; i < 300; i++) {
		CHECK(fathom_ring_reserve(r, 20, &slot) != NULL);
		CHECK(put(r, 1, 20));
		fathom_ring_commit(r, &slot);
	}
	while (fathom_ring_consume(r, &rec)) {
		CHECK_EQ(rec.time, 1000);
		n += 1 + (uint32_t)rec.lost;
	}
	CHECK_EQ(n, 600);
	CHECK_EQ(stats().clock_back, 0);
}

/* A small step back is held at the time before, a large one is believed. */
TEST(ring_clock_back)
{
	struct fathom_ring *r = fresh(3);
	struct fathom_record rec;
	static const uint64_t now[] = {5000, 4000, 5000, 5001, 1ull << 40, 7, (1ull << 57) + 9, 1};
	static const uint64_t want[] = {5000, 5000, 5000, 5001, 1ull << 40, 7, (1ull << 57) + 9, 1};

	ringport_tick = 0;
	for (uint32_t i = 0; i < 8; i++) {
		ringport_now = now[i];
		CHECK(put(r, i, 12));
	}
	for (uint32_t i = 0; i < 8; i++) {
		CHECK_EQ(fathom_ring_consume(r, &rec), 1);
		CHECK_EQ(rec.time, want[i]);
	}
	CHECK_EQ(stats().clock_back, 3);
}

/* Steps around the 27 bits of a delta and the 59 of an extension and a stamp; also nested, and as stamps only. */
TEST(ring_long_deltas)
{
	static const uint64_t now[] = {5,
				       5 + WIRE_DELTA_MAX,
				       5 + 2ull * WIRE_DELTA_MAX + 1,
				       1ull << 58,
				       (1ull << 59) - 9,
				       (1ull << 59) + 1,
				       (1ull << 59) + (1ull << 28),
				       1ull << 60,
				       (1ull << 63) + 3,
				       (1ull << 63) + 4,
				       1ull << 60,
				       (1ull << 60) + 1,
				       3};

	for (int absolute = 0; absolute < 2; absolute++) {
		struct fathom_ring *r = fresh(40);
		struct fathom_record rec;
		struct fathom_slot slot;

		ringport_tick = 0;
		fathom_ring_absolute(r, absolute);
		for (uint32_t i = 0; i < sizeof(now) / sizeof(now[0]); i++) {
			ringport_now = now[i];
			CHECK(put(r, 2 * i, 12));
			CHECK(fathom_ring_reserve(r, 4, &slot) != NULL);
			CHECK(put(r, 2 * i + 1, 12));
			fathom_ring_discard(r, &slot);
		}
		for (uint32_t i = 0; i < 2 * sizeof(now) / sizeof(now[0]); i++) {
			CHECK_EQ(fathom_ring_consume(r, &rec), 1);
			CHECK_EQ(tag_of(&rec), i);
			CHECK_EQ(rec.time, now[i / 2]);
		}
	}
}

/* A page that is full to its last word still has room for the count of what was lost before it. */
TEST(ring_full_page_tells)
{
	static struct wire_page page;
	struct fathom_ring *r = fresh(3);
	uint64_t told = 0, lost, full = 0;
	int bytes;

	for (uint32_t i = 0; i < 9 * FATHOM_RING_WORDS / 2; i++)
		CHECK(put(r, i, 4));
	while ((bytes = fathom_ring_read_page(r, &page, 1)) > 0) {
		full += bytes == (int)FATHOM_RING_DATA;
		if (!(page.commit & WIRE_COMMIT_MISSED))
			continue;
		CHECK(page.commit & WIRE_COMMIT_STORED);
		memcpy(&lost, page.data + bytes, sizeof(lost));
		told += lost;
	}
	CHECK_EQ(full, 3);
	CHECK_EQ(told, stats().overwritten);
	CHECK_EQ(told, 6 * FATHOM_RING_WORDS / 2);
}

/* The ring that takes over for a snapshot refuses or overwrites as the one before it did. */
TEST(ring_exchange_keeps_mode)
{
	static struct fathom_ring other;
	size_t bytes = fathom_ring_bytes(3);
	void *mem = aligned_alloc(4096, bytes);

	for (int overwrite = 0; overwrite < 2; overwrite++) {
		struct fathom_ring *live = fresh(3), *spare = &other;
		struct fathom_record rec;

		CHECK_EQ(fathom_ring_init(&other, mem, bytes, 3), 0);
		fathom_ring_overwrite(&other, !overwrite);
		fathom_ring_overwrite(live, overwrite);
		fathom_ring_absolute(live, overwrite);
		fathom_ring_exchange(&live, &spare);
		CHECK(live == &other);
		for (uint32_t i = 0; i < 20; i++)
			CHECK_EQ(put(live, i, 2000), overwrite || i < 6);
		CHECK_EQ(fathom_ring_consume(live, &rec), 1);
		CHECK_EQ(tag_of(&rec), overwrite ? 20 - 2 * 3 : 0);
		CHECK_EQ(live->flags, overwrite ? FATHOM_RING_ABSOLUTE : 0);
	}
	free(mem);
}

/* A stamp has the low 59 bits of a time: the rest is that of the time before, or one more, or (a clock set back) the same. */
TEST(ring_stamp_wraps)
{
	uint64_t span = 1ull << WIRE_STAMP_BITS;

	CHECK_EQ(wire_stamp_time(3 * span - 10, 5), 3 * span + 5);
	CHECK_EQ(wire_stamp_time(span - 1, 0), span);
	CHECK_EQ(wire_stamp_time(3 * span + 10, 5), 3 * span + 5);
	CHECK_EQ(wire_stamp_time(3 * span + 10, span - 1), 4 * span - 1);
	CHECK_EQ(wire_stamp_time(3 * span + span / 2, 0), 3 * span);
	CHECK_EQ(wire_stamp_time(3 * span + span / 2 + 1, 0), 4 * span);
}

TEST(ring_absolute)
{
	struct fathom_ring *r = fresh(3);
	struct fathom_record rec;
	uint32_t n = 0;

	fathom_ring_absolute(r, 1);
	for (uint32_t i = 0; i < 300; i++)
		CHECK(put(r, i, 12));
	CHECK_EQ(stats().bytes, 300 * (4 + 12 + 8)); /* each with its stamp */
	CHECK(!put(r, 0, FATHOM_RING_EVENT_MAX));
	fathom_ring_absolute(r, 0);
	CHECK(put(r, 300, 12));
	for (; fathom_ring_consume(r, &rec); n++) {
		CHECK_EQ(tag_of(&rec), n);
		CHECK_EQ(rec.time, 1001 + n);
	}
	CHECK_EQ(n, 301);
}

/* The walker trusts nothing: pages of noise, and good pages with bytes changed. ASan watches; the block is exact. */
TEST(ring_damaged_pages)
{
	struct fathom_ring *r = fresh(3);
	struct wire_page *page = malloc(sizeof(*page)), *good = malloc(sizeof(*good));
	uint32_t seed = 1, entries, whole = 0, damaged = 0;
	int bytes;

	for (uint32_t i = 0; i < 60; i++)
		put(r, i, 4 + i * 2 % 130);
	bytes = fathom_ring_read_page(r, good, 1);
	CHECK(bytes > 2000);
	for (uint32_t round = 0; round < 30000; round++) {
		uint32_t n = round % 3 ? 1 + round % 5 : WIRE_PAGE_DATA / 4;

		*page = *good;
		for (uint32_t i = 0; i < n; i++) {
			seed = seed * 1664525u + 1013904223u;
			if (n > 5)
				memcpy(page->data + i * 4, &seed, 4);
			else
				page->data[(seed >> 8) % (uint32_t)bytes] = (uint8_t)seed;
		}
		seed = seed * 1664525u + 1013904223u;
		if (fathom_ring_page_check(page, round % 2 ? (uint32_t)bytes : seed >> 19,
					   &entries) < 0)
			damaged++;
		else
			whole++;
	}
	CHECK(damaged > 10000);
	CHECK(whole > 100);
	free(page);
	free(good);
}

TEST_MAIN
