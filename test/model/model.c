/* SPDX-License-Identifier: MIT */
/* model.c -- every placement of nested writers and of a reader at the race points of the real ring code. */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>
#include "fathom/inside/ring.h"
#include "ring/pos.h"
#include "weak.h"

/*
 * FATHOM_STEP(letter) calls ringport_step(). At every step of a writer the schedule chooses: go on, let an interrupt write
 * (which has steps of its own, to `depth`), or let the reader, which is a coroutine, go on to its next step. A run
 * follows a trail of choices; after it the last choice that has an alternative is changed, until none is left: so
 * every placement is replayed, and each run is checked against what the writers know they did. Where reader and writers
 * together make too many, the reader runs in a bounded number of bursts, each any number of its steps long.
 *
 * The same file, with the ring, on top of weak.c is model_weak: there the loads that one CPU does of what the other stored are
 * choices as well.
 *
 *	model [--slow | SCENARIO [TRAIL]]      quick ones, slow ones, one, one run of it (a failure prints it)
 */
struct scenario {
	const char *name;
	uint32_t pages;
	int overwrite;
	uint32_t prefill;     /* records written before the schedule starts */
	uint32_t size;	      /* payload of a record */
	uint32_t small;	      /* ... of every nested one */
	uint32_t outer;	      /* outermost records */
	uint32_t budget;      /* nested records in one run */
	uint32_t depth;	      /* of nesting, outermost included */
	uint32_t reads;	      /* records the reader tries to take; 0: no reader */
	uint32_t read_pages;  /* ... by whole pages; 2: by a walk that consumes nothing */
	const char *discards; /* by record of the run: 'd' is given back, '.' stays */
	uint32_t bursts;      /* how many times the reader gets to run between steps of writers */
	int slow;	      /* seconds: only with --slow */
	uint32_t resize;      /* the reader resizes to so many pages first, while writers run */
	uint32_t stale;	      /* loads that may see an old value in one run (MODEL_WEAK) */
};

/* Pages of 1024 bytes. 228: four records to a page, so page ends come often. 276: three; 464: two; 928: one. */
#ifndef MODEL_WEAK
static const struct scenario scenarios[] = {
	{"nest-in-page", 3, 1, 1, 40, 40, 2, 3, 3, 0, 0, "", 0, 0, 0, 0},
	{"nest-page-end", 3, 1, 4, 228, 228, 1, 3, 3, 0, 0, "", 0, 0, 0, 0},
	{"nest-page-end-2", 3, 1, 3, 228, 228, 2, 2, 3, 0, 0, "", 0, 0, 0, 0},
	{"nest-overwrite", 3, 1, 16, 228, 228, 1, 3, 3, 0, 0, "", 0, 0, 0, 0},
	{"nest-overwrite-2p", 2, 1, 15, 276, 276, 2, 2, 3, 0, 0, "", 0, 0, 0, 0},
	{"nest-lap", 2, 1, 5, 464, 464, 1, 4, 2, 0, 0, "", 0, 0, 0, 0},
	{"nest-past-lap", 4, 1, 5, 928, 928, 1, 6, 2, 0, 0, "", 0, 0, 0, 0},
	{"nest-lag", 3, 1, 1, 40, 40, 2, 4, 2, 0, 0, "", 0, 0, 0, 0},
	{"nest-full", 3, 0, 11, 228, 228, 2, 2, 3, 0, 0, "", 0, 0, 0, 0},
	{"nest-discard", 3, 1, 1, 40, 40, 2, 2, 3, 0, 0, "d.d.", 0, 0, 0, 0},
	{"nest-discard-2", 3, 1, 3, 228, 228, 1, 3, 3, 0, 0, ".dd", 0, 0, 0, 0},
	{"nest-discard-3", 3, 1, 4, 228, 228, 2, 2, 3, 0, 0, "dd..", 0, 0, 0, 0},
	{"nest-mixed", 3, 1, 4, 228, 20, 1, 3, 3, 0, 0, "", 0, 0, 0, 0},
	{"nest-mixed-2", 3, 1, 16, 20, 228, 2, 3, 3, 0, 0, "", 0, 0, 0, 0},
	{"nest-mixed-lap", 2, 1, 2, 728, 60, 2, 3, 3, 0, 0, "", 0, 0, 0, 0},
	{"nest-mixed-back", 2, 1, 2, 728, 60, 1, 3, 3, 0, 0, ".dd.", 0, 0, 0, 0},
	{"nest-deep", 3, 1, 3, 228, 228, 1, 4, 5, 0, 0, "", 0, 0, 0, 0},
	{"read-in-page", 3, 1, 2, 40, 40, 1, 1, 2, 3, 0, "", 9, 0, 0, 0},
	{"read-page-end", 3, 1, 3, 228, 228, 1, 1, 2, 4, 0, "", 9, 0, 0, 0},
	{"read-overwrite", 2, 1, 6, 464, 464, 1, 1, 2, 2, 0, "", 3, 0, 0, 0},
	{"read-overwrite-2", 2, 1, 4, 464, 464, 2, 0, 1, 1, 0, "", 4, 0, 0, 0},
	{"read-full", 2, 0, 4, 464, 464, 2, 0, 1, 2, 0, "", 9, 0, 0, 0},
	{"read-discard", 2, 1, 2, 276, 276, 1, 1, 2, 2, 0, "d.", 9, 0, 0, 0},
	{"pages-overwrite", 2, 1, 6, 464, 464, 2, 0, 1, 1, 1, "", 4, 0, 0, 0},
	{"read-overtaken", 2, 1, 3, 928, 928, 4, 0, 1, 2, 0, "", 2, 0, 0, 0},
	{"read-overtaken-2", 2, 1, 3, 928, 928, 4, 0, 1, 2, 0, "", 3, 1, 0, 0},
	{"read-overtaken-3", 3, 1, 5, 928, 928, 4, 0, 1, 2, 0, "", 3, 1, 0, 0},
	{"read-nested", 3, 1, 3, 276, 276, 1, 2, 3, 2, 0, "", 3, 1, 0, 0},
	{"pages-nested", 2, 1, 6, 464, 464, 1, 2, 3, 1, 1, "", 2, 1, 0, 0},
	{"resize-in-page", 3, 1, 1, 40, 40, 2, 0, 1, 1, 0, "", 3, 0, 2, 0},
	{"resize-same", 2, 1, 3, 464, 464, 2, 0, 1, 1, 0, "", 3, 0, 2, 0},
	{"resize-shrink", 3, 1, 5, 464, 464, 2, 0, 1, 1, 0, "", 3, 0, 2, 0},
	{"resize-full", 3, 0, 4, 464, 464, 2, 0, 1, 1, 0, "", 3, 0, 2, 0},
	{"resize-discard", 3, 1, 3, 464, 464, 2, 0, 1, 1, 0, ".d", 3, 0, 2, 0},
	{"resize-nested", 3, 1, 5, 464, 464, 1, 1, 2, 1, 0, "", 2, 0, 2, 0},
	{"resize-nested-2", 2, 1, 2, 464, 464, 2, 1, 2, 2, 0, "", 3, 1, 2, 0},
	{"resize-bursts", 3, 1, 4, 464, 464, 2, 0, 1, 1, 0, "", 4, 1, 2, 0},
};
#else
/* Pages of 256 bytes: 220 fill one, two of 104 do. */
static const struct scenario scenarios[] = {
	{"weak-resize", 3, 1, 3, 104, 104, 2, 0, 1, 1, 0, "", 2, 0, 2, 1},
	{"weak-resize-end", 3, 1, 4, 104, 104, 2, 0, 1, 1, 0, "", 2, 0, 2, 1},
	{"weak-in-page", 3, 1, 2, 12, 12, 2, 0, 1, 4, 0, "", 2, 0, 0, 2},
	{"weak-page-end", 3, 1, 1, 104, 104, 2, 0, 1, 4, 0, "", 2, 0, 0, 2},
	{"weak-overwrite", 2, 1, 3, 104, 104, 3, 0, 1, 2, 0, "", 2, 0, 0, 2},
	{"weak-full", 2, 0, 3, 104, 104, 2, 0, 1, 2, 0, "", 2, 0, 0, 2},
	{"weak-nested", 2, 1, 3, 104, 104, 1, 1, 2, 2, 0, "", 2, 0, 0, 1},
	{"weak-discard", 2, 1, 2, 68, 68, 1, 1, 2, 2, 0, "d.", 2, 0, 0, 1},
	{"weak-pages", 2, 1, 3, 104, 104, 3, 0, 1, 2, 1, "", 2, 0, 0, 1},
	{"weak-walk", 2, 1, 3, 104, 104, 2, 0, 1, 2, 2, "", 2, 0, 0, 2},
	{"weak-handover", 2, 1, 3, 220, 220, 3, 0, 1, 2, 0, "", 2, 0, 0, 1},
	{"weak-overwrite-2", 2, 1, 3, 104, 104, 3, 0, 1, 3, 0, "", 3, 1, 0, 1},
	{"weak-resize-2", 3, 1, 4, 104, 104, 2, 0, 1, 1, 0, "", 3, 1, 2, 1},
	{"weak-handover-2", 2, 1, 3, 220, 220, 4, 0, 1, 2, 0, "", 2, 1, 0, 1},
};
#endif

enum {
	TRAIL_MAX = 1024,
	FILL = 64, /* bytes of a payload between those that are written */
	RECORDS_MAX = 64,
	RUNS_MAX = 30000000,
	RUN_SECONDS = 20, /* on a CPU that 4096 runs may take: a run without end is a finding */
	HASTY = FATHOM_RING_RETRIES == 1, /* built for writers that give up at once */
};

uint64_t ringport_now, ringport_tick = 1;

/* What a writer knows of a record it was granted. */
struct wrote {
	unsigned long at;
	uint64_t time;
	int gone; /* given back */
	int seen; /* read */
	uint32_t size;
};

static const struct scenario *sc;
static struct fathom_ring ring, ring_saved;
static uint8_t *block, *block_saved;
static size_t block_bytes;
static uint64_t now_saved;

static struct wrote wrote[RECORDS_MAX];
static uint32_t nr_wrote, nr_saved, nr_offered, nr_run;
static uint32_t budget, level, bursts;

/* Positions in their order: without the epoch. */
static unsigned long place(unsigned long pos)
{
	return pos & ~FATHOM_POS_EPOCHS;
}

static uint64_t lost_told, last_time;
static long last_seen; /* index, in the order of positions, of the last record read */

static uint8_t trail[TRAIL_MAX], options[TRAIL_MAX];
static uint32_t trail_len, trail_at;
static const char *points[TRAIL_MAX];
static int scheduling, replaying;

/* Contexts are made by ucontext and switched by setjmp, which makes no system call. */
static ucontext_t reader_context;
static jmp_buf main_jump, reader_jump;
static int reader_started;
static char reader_stack[65536];
static int in_reader, reader_alive;
static int inside; /* a writer is in the middle of an instruction */

static unsigned long seen_commit; /* laps are too few here to wrap: it only grows (R3) */

static char failure[256];

#define FAIL(...)                                                        \
	do {                                                             \
		if (!failure[0])                                         \
			snprintf(failure, sizeof(failure), __VA_ARGS__); \
	} while (0)

static uint32_t choose(uint32_t n, const char *point)
{
	if (n <= 1)
		return 0;
	if (trail_at == trail_len) {
		if (trail_len == TRAIL_MAX) {
			FAIL("trail too long");
			return 0;
		}
		trail[trail_len++] = 0;
	}
	options[trail_at] = (uint8_t)n;
	points[trail_at] = point;
	return trail[trail_at++];
}

static void write_one(void);

/*
 * With MODEL_WEAK, this file and the ring are built on weak.c, so that loads may see old values. Checks look at what is
 * in memory: between these two.
 */
static int looking;

static void look(void)
{
#ifdef MODEL_WEAK
	if (scheduling && !looking)
		weak_flush();
#endif
	looking++;
}

static void look_away(void)
{
	looking--;
}

#ifdef MODEL_WEAK
int weak_thread(void)
{
	return scheduling && !looking ? in_reader : -1;
}

uint32_t weak_choose(uint32_t n, const char *point)
{
	uint32_t c;

	look();
	c = choose(n, point);
	look_away();
	return c;
}

void weak_failed(const char *what, size_t at)
{
	FAIL("%s: at %zu", what, at);
}

/* The reader gives a page back, or says how far it has copied one: what it has read of it, it has read for good. */
void weak_exchanged(const void *at, uint64_t old, uint64_t put)
{
	const unsigned long *slot = at;
	uint32_t page = FATHOM_SLOT_PAGE(put);

	look();
	if (in_reader && slot >= ring.slots && slot < ring.slots + ring.max_pages) {
		weak_claim(fathom_ring_page_at(&ring, page), WIRE_PAGE_BYTES);
		/* The owner may yet close the page that was copied. */
		weak_claim(&ring.meta[page], page == FATHOM_SLOT_PAGE(old)
						     ? offsetof(struct fathom_page_meta, used)
						     : sizeof(ring.meta[page]));
	}
	look_away();
}
#endif

static void reader_go_on(void)
{
	in_reader = 1;
	if (!_setjmp(main_jump)) {
		if (reader_started)
			_longjmp(reader_jump, 1);
		reader_started = 1;
		setcontext(&reader_context);
	}
	in_reader = 0;
}

static void reader_pause(void)
{
	if (!_setjmp(reader_jump))
		_longjmp(main_jump, 1);
}

void ringport_step(const char *point)
{
	if (!scheduling)
		return;
	look();
	if (place(ring.commit) < seen_commit)
		FAIL("commit went back at %s", point);
	seen_commit = place(ring.commit);
	look_away();
	if (in_reader) {
		reader_pause();
		return;
	}
	for (int burst = 0;;) {
		int nest = budget && level < sc->depth, read = reader_alive && (burst || bursts);
		uint32_t c = choose(1u + (uint32_t)nest + (uint32_t)read, point);

		if (c == 0)
			return;
		if (c == 1 && nest) {
			budget--;
			burst = 0;
			write_one();
		} else {
			bursts -= !burst;
			burst = 1;
			reader_go_on();
		}
	}
}

void ringport_inside(void);
void ringport_inside(void)
{
	if (!scheduling || in_reader || !sc->resize)
		return;
	inside = 1;
	while (reader_alive && bursts && choose(2, "inside")) {
		bursts--;
		reader_go_on();
	}
	inside = 0;
}

/* Every FILLth byte of a payload, and the last, tell whose it is: enough to find a tear, cheap enough for millions. */
static void fill(uint8_t *p, uint32_t from, uint32_t to, uint32_t id)
{
	for (uint32_t i = from; i < to; i += FILL)
		p[i] = (uint8_t)(id + 1);
	p[to - 1] = (uint8_t)(id + 1);
}

static uint32_t torn_at(const uint8_t *p, uint32_t from, uint32_t to, uint32_t id)
{
	for (uint32_t i = from; i < to; i += FILL)
		if (p[i] != (uint8_t)(id + 1))
			return i;
	return p[to - 1] != (uint8_t)(id + 1) ? to - 1 : 0;
}

/* The payload is written in two halves with a step between: a reader that sees it too early finds old bytes. */
static void write_one(void)
{
	struct fathom_slot slot;
	uint32_t size = level ? sc->small : sc->size, number = nr_run++;
	int gone = scheduling && number < strlen(sc->discards) && sc->discards[number] == 'd';
	uint32_t id;
	uint8_t *p;

	level++;
	nr_offered++;
	p = fathom_ring_reserve(&ring, size, &slot);
	if (p) {
		id = nr_wrote++;
		wrote[id] = (struct wrote){place(slot.at), slot.time, gone, 0, size};
		*(uint32_t *)(void *)p = id; /* memcpy is not seen by weak.c */
		fill(p, 4, size / 2, id);
		ringport_step("payload");
		fill(p, size / 2, size, id);
		look();
		if (place(ring.commit) > place(slot.before))
			FAIL("record %u was published while it was open", id);
		look_away();
		if (gone)
			fathom_ring_discard(&ring, &slot);
		else
			fathom_ring_commit(&ring, &slot);
	} else if (level == 1 && sc->overwrite && !HASTY && !sc->resize) {
		FAIL("an outermost record was refused");
	}
	level--;
}

/* How many records stand before this one: positions only grow, so they are the order. */
static long rank_of(uint32_t id)
{
	long n = 0;

	for (uint32_t i = 0; i < nr_wrote; i++)
		n += !wrote[i].gone && wrote[i].at < wrote[id].at;
	return n;
}

static void check_record(const uint8_t *data, uint32_t bytes, uint64_t time, uint64_t lost)
{
	uint32_t id, torn;
	long rank;

	id = *(const uint32_t *)(const void *)data;
	lost_told += lost;
	if (id >= nr_wrote || bytes != wrote[id].size) {
		FAIL("a record that nobody wrote");
		return;
	}
	torn = torn_at(data, 4, bytes / 2, id);
	if (!torn)
		torn = torn_at(data, bytes / 2, bytes, id);
	if (torn)
		FAIL("record %u torn at byte %u", id, torn);
	if (wrote[id].gone)
		FAIL("record %u was given back", id);
	if (wrote[id].seen++)
		FAIL("record %u read twice", id);
	if (time != wrote[id].time)
		FAIL("record %u has time %llu, was written at %llu", id, (unsigned long long)time,
		     (unsigned long long)wrote[id].time);
	if (time < last_time)
		FAIL("time goes back at record %u", id);
	last_time = time;
	rank = rank_of(id);
	/* What is missing before it was told with it, and nothing else but refusals. */
	if (rank <= last_seen)
		FAIL("record %u out of order", id);
	else if ((uint64_t)(rank - last_seen - 1) > lost)
		FAIL("record %u: %ld missing before it, %llu told", id, rank - last_seen - 1,
		     (unsigned long long)lost);
	last_seen = rank;
}

static int read_one(void)
{
	struct fathom_record rec;

	if (!fathom_ring_consume(&ring, &rec))
		return 0;
	check_record(rec.data, rec.bytes, rec.time, rec.lost);
	return 1;
}

static int read_page(void)
{
	static struct wire_page page;
	int bytes = fathom_ring_read_page(&ring, &page, 1);
	uint64_t time = page.time, lost = 0;
	struct wire_item item;

	if (bytes <= 0)
		return 0;
	if (page.commit & WIRE_COMMIT_STORED)
		memcpy(&lost, page.data + bytes, sizeof(lost));
	for (uint32_t at = 0; at < (uint32_t)bytes; at = item.next) {
		if (wire_page_step(page.data, at, (uint32_t)bytes, &time, &item) < 0) {
			FAIL("damaged page");
			return 0;
		}
		if (!item.data)
			continue;
		check_record(item.data, item.bytes, time, lost);
		lost = 0;
	}
	return 1;
}

/* A walk consumes nothing, so what it saw is forgotten: it must only be whole and in order. */
static int walk(void)
{
	static struct wire_page scratch;
	struct fathom_ring_iter it;
	struct fathom_record rec;
	uint64_t told = lost_told;

	fathom_ring_iter_init(&it, &ring, &scratch);
	while (fathom_ring_iter_next(&it, &rec))
		check_record(rec.data, rec.bytes, rec.time, rec.lost);
	for (uint32_t i = 0; i < nr_wrote; i++)
		wrote[i].seen = 0;
	lost_told = told;
	last_time = 0;
	last_seen = -1;
	return 1;
}

/* All CPUs have seen what was stored: no instruction that began before is under way. */
static void sync_cpus(void)
{
	do
		ringport_step("sync");
	while (inside);
#ifdef MODEL_WEAK
	weak_sync();
#endif
}

/* As buffer_resize() in trace/control does it where CPUs cannot be stopped. */
static void resize(void)
{
	int err = -1;

	fathom_ring_hold(&ring, 1);
	sync_cpus();
	for (int i = 0; i < 2 && err; i++) {
		err = fathom_ring_seize(&ring);
		if (err)
			continue;
		sync_cpus();
		err = fathom_ring_resize_seized(&ring, sc->resize);
	}
	if (err)
		fathom_ring_resize_seized(&ring, fathom_ring_pages(&ring));
#ifndef MODEL_WEAK /* needed only where a failed exchange stores what it found; the rest must do without */
	sync_cpus();
#endif
	fathom_ring_hold(&ring, 0);
}

static void reader_main(void)
{
	for (;;) {
		if (sc->resize)
			resize();
		for (uint32_t i = 0; i < sc->reads; i++)
			(void)(sc->read_pages > 1 ? walk()
			       : sc->read_pages	  ? read_page()
						  : read_one());
		reader_alive = 0;
		reader_pause();
	}
}

/* What nobody read while it was there was overwritten oldest first. */
static void check_oldest_lost(void)
{
	unsigned long oldest = ~0ul;

	for (uint32_t i = 0; i < nr_wrote; i++)
		if (wrote[i].seen && wrote[i].at < oldest)
			oldest = wrote[i].at;
	for (uint32_t i = 0; i < nr_wrote; i++)
		if (!wrote[i].gone && !wrote[i].seen && wrote[i].at > oldest)
			FAIL("record %u is lost, older ones are not", i);
}

/* After the run everything adds up, and the reader gets all that was not overwritten. */
static void check_end(void)
{
	struct fathom_ring_stats st;
	uint64_t read = 0, gone = 0, refused;

	fathom_ring_catch_up(&ring); /* what the next event would do first */
	if (ring.commit != ring.tail) {
		FAIL("commit is not at the tail");
		return;
	}
	while (read_one())
		;
	for (uint32_t i = 0; i < nr_wrote; i++) {
		read += (uint64_t)wrote[i].seen;
		gone += (uint64_t)wrote[i].gone;
	}
	if (!sc->reads)
		check_oldest_lost();
	fathom_ring_stats(&ring, &st);
	refused = st.full + st.nested + st.too_big + st.disabled;
	if (st.corrupt)
		FAIL("a page is corrupt");
	if (st.written != nr_wrote - gone || st.discarded != gone)
		FAIL("written %llu, counted %llu", (unsigned long long)(nr_wrote - gone),
		     (unsigned long long)st.written);
	if (sc->resize && sc->depth == 1 && !HASTY && st.nested)
		FAIL("refused as nested, where nothing nests");
	if (nr_offered != nr_wrote + refused)
		FAIL("%u offered, %u granted, %llu refused", nr_offered, nr_wrote,
		     (unsigned long long)refused);
	if (st.read != read || st.entries || st.written != read + st.overwritten)
		FAIL("written %llu, read %llu (%llu), overwritten %llu",
		     (unsigned long long)st.written, (unsigned long long)read,
		     (unsigned long long)st.read, (unsigned long long)st.overwritten);
	if (lost_told < st.overwritten || lost_told > st.overwritten + refused)
		FAIL("%llu overwritten, %llu refused, but %llu told",
		     (unsigned long long)st.overwritten, (unsigned long long)refused,
		     (unsigned long long)lost_told);
}

static void setup(void)
{
	block_bytes = fathom_ring_bytes(sc->pages);
	block = aligned_alloc(4096, block_bytes);
	block_saved = aligned_alloc(4096, block_bytes);
	memset(block, 0xee, block_bytes);
	ringport_now = 1000;
	nr_wrote = nr_offered = nr_run = level = 0;
	if (fathom_ring_init(&ring, block, block_bytes, 0) < 0)
		abort();
	fathom_ring_overwrite(&ring, sc->overwrite);
	for (uint32_t i = 0; i < sc->prefill; i++)
		write_one();
	ring_saved = ring;
	now_saved = ringport_now;
	nr_saved = nr_wrote;
	memcpy(block_saved, block, block_bytes);
	reader_started = 0; /* once for all runs: at the end of one it waits for the next */
	getcontext(&reader_context);
	reader_context.uc_stack.ss_sp = reader_stack;
	reader_context.uc_stack.ss_size = sizeof(reader_stack);
	makecontext(&reader_context, reader_main, 0);
#ifdef MODEL_WEAK
	weak_watch(block, block_bytes, (size_t)(ring.pages - block));
	weak_watch_more(&ring, sizeof(ring));
#endif
}

static void run_once(void)
{
	ring = ring_saved;
	memcpy(block, block_saved, block_bytes);
	ringport_now = now_saved;
	nr_wrote = nr_saved;
	nr_offered = sc->prefill;
	for (uint32_t i = 0; i < nr_wrote; i++)
		wrote[i].seen = 0;
	nr_run = level = 0;
	lost_told = last_time = 0;
	seen_commit = 0;
	last_seen = -1;
	budget = sc->budget;
	bursts = sc->bursts;
	trail_at = 0;
	in_reader = inside = 0;
	reader_alive = sc->reads != 0;
	looking = 0;
#ifdef MODEL_WEAK
	weak_start(sc->stale);
#endif
	scheduling = 1;
	for (uint32_t i = 0; i < sc->outer && !failure[0]; i++) {
		ringport_step("idle");
		write_one();
	}
	while (reader_alive)
		reader_go_on();
	look();
	scheduling = 0;
	check_end();
}

/* The next trail: the last choice that has an alternative takes it. 0 if there is none. */
static int next_trail(void)
{
	trail_len = trail_at;
	while (trail_len && trail[trail_len - 1] + 1u >= options[trail_len - 1])
		trail_len--;
	if (!trail_len)
		return 0;
	trail[trail_len - 1]++;
	return 1;
}

static void print_trail(void)
{
	printf("  model %s ", sc->name);
	for (uint32_t i = 0; i < trail_at; i++)
		putchar('0' + trail[i]);
	printf("\n  at");
	for (uint32_t i = 0; i < trail_at; i++)
		if (trail[i])
			printf(" %u:%s=%s", i, points[i],
			       trail[i] + 1u == options[i] && sc->reads ? "read" : "write");
	printf("\n");
}

static void on_limit(int sig)
{
	(void)sig;
	printf("not ok model_%s: a writer does not end\n", sc->name);
	print_trail();
	fflush(stdout);
	_exit(1);
}

static int run_scenario(const char *given)
{
	static const struct itimerval limit = {.it_value.tv_sec = RUN_SECONDS};
	long runs = 0;

	failure[0] = 0;
	setup();
	trail_len = 0;
	if (given) {
		for (; given[trail_len] && trail_len < TRAIL_MAX; trail_len++)
			trail[trail_len] = (uint8_t)(given[trail_len] - '0');
		replaying = 1;
	}
	do {
		if (runs % 4096 == 0)
			setitimer(ITIMER_PROF, &limit, NULL);
		run_once();
		runs++;
	} while (!failure[0] && !replaying && runs < RUNS_MAX && next_trail());
	if (!failure[0] && runs == RUNS_MAX)
		FAIL("more than %d schedules: not exhaustive", RUNS_MAX);
	if (failure[0]) {
		printf("not ok model_%s: schedule %ld: %s\n", sc->name, runs, failure);
		print_trail();
	} else {
		printf("ok model_%s (%ld schedules)\n", sc->name, runs);
	}
	free(block);
	free(block_saved);
	return failure[0] != 0;
}

int main(int argc, char **argv)
{
	int failed = 0, slow = argc > 1 && !strcmp(argv[1], "--slow");
	const char *name = argc > 1 && !slow ? argv[1] : NULL;

	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGPROF, on_limit);
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		sc = &scenarios[i];
		if (name ? strcmp(name, sc->name) != 0 : sc->slow != slow)
			continue;
		failed |= run_scenario(name && argc > 2 ? argv[2] : NULL);
	}
	return failed;
}
