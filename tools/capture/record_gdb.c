/* SPDX-License-Identifier: MIT */
/* record_gdb.c -- record a target that has no line: its rings are read through a stub of GDB's remote protocol, again and again. */
#include "capture/gdb.h"
#include "capture/io.h"
#include "capture/record.h"
#include "capture/rings.h"
#include "capture/stop.h"
#include "base/bytes.h"
#include "base/diag.h"
#include "wire/ringpage.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/*
 * Memory can be read only while the target is halted. Each halt is short: what does not fit into it waits for the next one, and what the
 * target overwrites meanwhile is counted. The rings decide how often to look; the target runs at least as long as it was halted.
 */
#define HALT_MS	     20
#define WAIT_LEAST   5
#define WAIT_MOST    100   /* a small ring may begin to fill at any time */
#define USED_MUCH    25	   /* percent of a ring that are new: look more often */
#define USED_LITTLE  6	   /* ... less often */
#define UNREAD_MS    10000 /* memory that cannot be read for so long is not there */
#define SEARCH_BYTES 4096u

struct gdb_session {
	const struct record_options *o;
	struct capture *c;
	struct gdb *g;
	struct image kernel;
	struct rings rings;
	struct rings_cpu cpu[WIRE_BEACON_CPUS];
	uint32_t turn;	   /* the CPU to begin with */
	int64_t end_ms;	   /* INT64_MAX: none */
	int64_t read_ms;   /* when memory was last read */
	unsigned searched; /* beacons that were damaged, while all of memory is searched */
};

static bool read_target(void *arg, uint64_t at, void *to, uint64_t n)
{
	const struct gdb_session *s = arg;

	return !to || !gdb_read(s->g, at, to, n);
}

static bool is_over(const struct gdb_session *s)
{
	return stop_signal() || io_now_ms() >= s->end_ms || s->rings.out->err;
}

/* The target runs for a while, and is halted again. 0, or -1: it is over, or c->ended says why. */
static int let_run(struct gdb_session *s, int ms)
{
	int64_t left = s->end_ms - io_now_ms();
	unsigned signal;
	int halted;

	if (gdb_run(s->g))
		return -1;
	halted = gdb_wait(s->g, left < ms ? left < 0 ? 0 : (int)left : ms, &signal);
	if (halted > 0)
		snprintf(s->c->ended, sizeof(s->c->ended),
			 "the target was halted by signal %u, not by the recorder", signal);
	if (halted < 0 || gdb_halt(s->g))
		return -1;
	return halted || is_over(s) ? -1 : 0;
}

/* ---- the beacon ---- */

/* Is there a beacon, which is at `self` for the target? */
static bool beacon_at(struct gdb_session *s, uint64_t place, uint64_t self)
{
	struct wire_beacon b;

	return !gdb_read(s->g, place, &b, sizeof(b.magic)) &&
	       !memcmp(b.magic, WIRE_BEACON_MAGIC, sizeof(b.magic)) &&
	       !gdb_read(s->g, place, &b, sizeof(b)) && rings_beacon(&s->rings, place, &b) &&
	       s->rings.b.self == self;
}

/* The address in the variable that says where the beacon is; 0: none, yet. */
static uint64_t beacon_pointer(struct gdb_session *s, uint64_t variable)
{
	uint8_t p[8] = {0};
	uint32_t n = s->kernel.long_bytes;

	if (gdb_read(s->g, variable, p, n))
		return 0;
	return n == 8 ? get_u64(p, s->kernel.big) : get_u32(p, s->kernel.big);
}

/*
 * In physical memory, where it does not matter which address space the target is in: the block is mapped as the kernel is, or all memory is,
 * from some round address on.
 */
static bool find_physical(struct gdb_session *s, uint64_t variable)
{
	uint64_t at, self;

	if (!image_phys(&s->kernel, variable, s->kernel.long_bytes, &at))
		return false;
	self = beacon_pointer(s, at);
	for (uint32_t i = 0; self && i < s->kernel.nr_segs; i++)
		if (beacon_at(s, self - s->kernel.seg[i].at + s->kernel.seg[i].phys, self))
			return true;
	for (unsigned bits = 28; self && bits < 48; bits++)
		if (beacon_at(s, self & ((1ull << bits) - 1), self))
			return true;
	return false;
}

static bool find_by_symbol(struct gdb_session *s, uint64_t variable)
{
	uint64_t self;

	s->rings.is_virtual = false;
	if (!gdb_physical(s->g, true)) {
		if (find_physical(s, variable))
			return true;
		gdb_physical(s->g, false);
	}
	self = beacon_pointer(s, variable);
	s->rings.is_virtual = true;
	return self && beacon_at(s, self, self);
}

/* The kernel may not have come so far. */
static int wait_for_beacon(struct gdb_session *s, uint64_t variable)
{
	int wait = WAIT_LEAST;

	while (!find_by_symbol(s, variable)) {
		if (gdb_dead(s->g) || let_run(s, wait))
			return -1;
		if (wait == WAIT_MOST)
			continue;
		wait = wait * 2 < WAIT_MOST ? wait * 2 : WAIT_MOST;
		if (wait == WAIT_MOST)
			diag_warn("%s: waits until the kernel calls fathom_beacon()", s->o->target);
	}
	return 0;
}

/* ---- the beacon without symbols ---- */

static bool found_in(struct gdb_session *s, uint64_t at, const uint8_t *p)
{
	struct wire_beacon b;

	for (uint32_t off = 0; off < SEARCH_BYTES; off += WIRE_PAGE_LEAST) {
		if (memcmp(p + off, WIRE_BEACON_MAGIC, sizeof(b.magic)))
			continue;
		if (!gdb_read(s->g, at + off, &b, sizeof(b)) &&
		    rings_beacon(&s->rings, at + off, &b))
			return true;
		s->searched++;
	}
	return false;
}

/* 1: found, 0: not there, -1: it is over. */
static int search(void *arg, uint64_t at, uint64_t bytes)
{
	struct gdb_session *s = arg;
	int64_t end = io_now_ms() + HALT_MS;
	uint8_t page[SEARCH_BYTES];

	for (uint64_t off = 0; off < bytes && at + off >= at; off += SEARCH_BYTES) {
		if (!gdb_read(s->g, at + off, page, sizeof(page)) && found_in(s, at + off, page))
			return 1;
		if (gdb_dead(s->g))
			return -1;
		if (io_now_ms() < end)
			continue;
		if (let_run(s, HALT_MS))
			return -1;
		end = io_now_ms() + HALT_MS;
	}
	return 0;
}

/* Where the user says that RAM is, where the stub does, or where the kernel is. */
static int search_memory(struct gdb_session *s)
{
	bool physical = !gdb_physical(s->g, true);
	int got = -ENOSYS;

	if (s->o->base)
		got = search(s, s->o->base, (uint64_t)s->o->memory_mib << 20);
	else
		got = gdb_ram(s->g, search, s);
	if (got < -1) {
		physical = physical && gdb_physical(s->g, false);
		got = 0;
		for (uint32_t i = 0; i < s->kernel.nr_segs && !got; i++)
			got = search(s, s->kernel.seg[i].at & ~(uint64_t)(SEARCH_BYTES - 1),
				     s->kernel.seg[i].bytes + SEARCH_BYTES);
	}
	s->rings.is_virtual = !physical || s->rings.at == s->rings.b.self;
	if (got > 0 && physical && s->rings.is_virtual)
		gdb_physical(s->g, false);
	if (!got)
		diag_error("%s: found no rings: %s (--kernel with symbols, or --base ADDRESS and "
			   "--memory MIB, say where to look)",
			   s->o->target,
			   s->searched ? "their beacon is damaged"
				       : "no beacon of a Fathom tracer");
	return got > 0 ? 0 : -1;
}

/* ---- recording ---- */

/* What the rings have, as much as a halt allows. 1: not all of it, 0, or -1. *used: of the ring that had most, in percent. */
static int take_rings(struct gdb_session *s, int64_t end_ms, uint32_t *used)
{
	uint32_t nr = s->rings.b.nr_cpus;
	int more = 0;

	*used = 0;
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t cpu = (s->turn + i) % nr;
		int got = rings_take(&s->rings, cpu, &s->cpu[cpu], end_ms);

		if (got < 0 && !s->rings.unread)
			return -1;
		if (got < 0) { /* it may be in an address space without its rings */
			if (gdb_dead(s->g) || io_now_ms() - s->read_ms > UNREAD_MS)
				return -1;
			return 0;
		}
		more |= got;
		if (s->rings.used > *used)
			*used = s->rings.used;
	}
	s->turn++;
	s->read_ms = io_now_ms();
	return more;
}

static int next_wait(int wait, bool more, uint32_t used, int halted)
{
	if (more || used > USED_MUCH)
		wait /= 2;
	else if (used < USED_LITTLE)
		wait *= 2;
	wait = wait > WAIT_MOST ? WAIT_MOST : wait < WAIT_LEAST ? WAIT_LEAST : wait;
	return wait > halted ? wait : halted;
}

static int poll_rings(struct gdb_session *s)
{
	int wait = HALT_MS;

	do {
		int64_t start = io_now_ms();
		uint32_t used;
		int more = take_rings(s, start + HALT_MS, &used);

		if (more < 0)
			return -1;
		wait = next_wait(wait, more, used, (int)(io_now_ms() - start));
	} while (!let_run(s, wait));
	return gdb_dead(s->g) ? -1 : take_rings(s, INT64_MAX, &(uint32_t){0});
}

static void say_end(struct gdb_session *s)
{
	char *to = s->c->ended;
	size_t n = sizeof(s->c->ended);

	if (to[0])
		return;
	if (gdb_dead(s->g))
		snprintf(to, n, "%s", gdb_dead(s->g));
	else if (stop_signal())
		snprintf(to, n, "interrupted by SIG%s", sigabbrev_np(stop_signal()));
	else if (io_now_ms() >= s->end_ms)
		snprintf(to, n, "the time was up");
	else
		snprintf(to, n, "the memory of the target could not be read");
}

static int record(struct gdb_session *s)
{
	uint64_t variable;
	int err;

	s->end_ms = s->o->seconds ? io_now_ms() + s->o->seconds * 1000ll : INT64_MAX;
	err = image_symbol(&s->kernel, "fathom_beacon_at", &variable) ? wait_for_beacon(s, variable)
								      : search_memory(s);
	if (!err)
		err = rings_begin(&s->rings, s->o->kernel);
	if (!err) {
		s->read_ms = io_now_ms();
		err = poll_rings(s) < 0 ? -1 : 0;
		rings_end(&s->rings);
	}
	say_end(s);
	if (!s->rings.out->begun)
		diag_error("%s: nothing was recorded: %s", s->o->target, s->c->ended);
	else if (err)
		diag_warn("%s: %s; the trace ends there", s->o->target, s->c->ended);
	return err && !(gdb_dead(s->g) && s->rings.out->begun) ? -1 : 0;
}

int record_gdb(const struct record_options *o, struct capture *c, struct recording *r)
{
	struct gdb_session s = {.o = o, .c = c};
	int64_t begin = io_now_ms();
	struct gdb_stops stops;
	int err = -1;

	if (image_kernel(&s.kernel, o->kernel))
		return -1;
	c->big = s.kernel.big;
	c->long_bytes = s.kernel.long_bytes;
	s.rings = (struct rings){.name = o->target,
				 .read = read_target,
				 .arg = &s,
				 .kernel = &s.kernel,
				 .c = c,
				 .out = r};
	s.g = gdb_open(o->target);
	if (s.g) {
		err = record(&s);
		stops = gdb_close(s.g);
		c->stops = stops.nr;
		c->stopped_us = stops.total;
		c->longest_stop_us = stops.longest;
		c->recorded_us = (uint64_t)(io_now_ms() - begin) * 1000;
	}
	image_close(&s.kernel);
	return err;
}
