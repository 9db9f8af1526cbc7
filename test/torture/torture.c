/* SPDX-License-Identifier: MIT */
/* torture.c -- threads as CPUs, signals as interrupts, a live reader: no record torn, none unaccounted, in every mode. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "fathom/inside/ring.h"

/*
 *	torture [EVENTS [MODE]]
 *
 * Each CPU is a thread with a ring of its own. It writes; three timers send it three signals, whose handlers write too
 * and may interrupt each other; besides, now and then a writer calls the next level itself between reserve and commit, so
 * nesting to depth 5 is common. One reader thread takes records and pages from all rings meanwhile. Every record says
 * who wrote it (level), the how-manieth of that level it is, and how long it is, and the rest follows from that.
 *
 * In the end, per ring: what the writers know they wrote = read + overwritten, gaps in the numbering = what was overwritten
 * = what the records told to be lost (refusals aside), and the ring's own counters say the same.
 */
enum {
	CPUS = 2,
	LEVELS = 6,
	PAGES = 8,
};

enum mode {
	OVERWRITE,
	FULL,
	SWITCHING, /* both in turn, and off at times */
	SNAPSHOT,  /* two rings per CPU, exchanged under the writer */
	PAGEWISE,  /* the reader takes pages only, the writers discard a lot */
	RESET,	   /* everything is thrown away now and then */
	RESIZE,	   /* pages are taken away and added under the writer */
	ALL,	   /* resize, snapshots, modes, switches: one after the other, without a pause */
	NR_MODES,
};
static const char *const mode_names[] = {"overwrite", "full",  "switching", "snapshot",
					 "pagewise",  "reset", "resize",    "all"};

struct head {
	uint32_t level : 8, words : 24; /* words of payload, this one included */
	uint32_t number;
};

struct cpu {
	struct fathom_ring rings[2], *live, *spare;
	void *mem[2];
	pthread_t thread;
	uint32_t seed;
	uint64_t quota;

	/* the writers' side */
	volatile int level; /* of the running context */
	int acks, done;	    /* syncs seen (1: it can see them); the thread ends */
	uint64_t offered[LEVELS], wrote[LEVELS], refused[LEVELS], gone[LEVELS];

	/* the reader's side */
	uint64_t expect[2][LEVELS]; /* next number, by ring and level */
	uint64_t last_time[2];
	uint64_t read, gaps, told, torn, disorder, back, walked;
} __attribute__((aligned(64)));

static struct cpu cpus[CPUS];
static __thread struct cpu *me;
static enum mode mode;
static int writers_left;
static uint64_t resized;

static uint32_t mix(uint32_t a)
{
	a ^= a >> 16;
	a *= 0x7feb352du;
	a ^= a >> 15;
	a *= 0x846ca68bu;
	return a ^ a >> 16;
}

/* One record at `level`; sometimes the next level in the middle of it. Levels nest, so counters need no atomics. */
static void write_at(struct cpu *c, int level)
{
	struct fathom_ring *r = fathom_load_acquire(&c->live);
	struct fathom_slot slot;
	uint32_t number = (uint32_t)c->wrote[level],
		 dice = mix((uint32_t)c->offered[level] ^ c->seed ^ (uint32_t)level << 28);
	uint32_t words = 2 + (dice % 16 ? dice % 7 : dice % 90), *p;
	int discard = (dice >> 8) % (mode == PAGEWISE ? 4 : 64) == 0;

	c->offered[level]++;
	p = fathom_ring_reserve(r, words * 4, &slot);
	if (!p) {
		c->refused[level]++;
		return;
	}
	memcpy(p, &(struct head){(uint32_t)level, words, number}, sizeof(struct head));
	if (level + 1 < LEVELS && (dice >> 16) % (level ? 4 : 32) == 0) {
		c->level = level + 1;
		write_at(c, level + 1);
		c->level = level;
	}
	for (uint32_t i = 2; i < words; i++)
		p[i] = mix(number + i);
	if (discard) {
		fathom_ring_discard(r, &slot);
		c->gone[level]++;
	} else {
		c->wrote[level]++;
		fathom_ring_commit(r, &slot);
	}
}

/* An interrupt writes one level above whatever it interrupted. */
static void on_signal(int sig)
{
	struct cpu *c = me;
	int level;

	(void)sig;
	if (!c)
		return;
	level = c->level;
	if (level + 1 >= LEVELS)
		return;
	c->level = level + 1;
	write_at(c, level + 1);
	c->level = level;
}

/* A CPU that takes this signal has finished the instruction it was at, and its handler is a full barrier. */
static void on_sync(int sig)
{
	(void)sig;
	if (me)
		__atomic_fetch_add(&me->acks, 1, __ATOMIC_SEQ_CST);
}

/* What a port's `sync` does: the CPU has seen what was stored before. */
static void sync_cpu(struct cpu *c)
{
	int acks = __atomic_load_n(&c->acks, __ATOMIC_SEQ_CST);

	if (__atomic_load_n(&c->done, __ATOMIC_SEQ_CST) || pthread_kill(c->thread, SIGRTMIN + 1))
		return;
	while (__atomic_load_n(&c->acks, __ATOMIC_SEQ_CST) == acks &&
	       !__atomic_load_n(&c->done, __ATOMIC_SEQ_CST))
		sched_yield();
}

/* As trace/control does it where CPUs cannot be stopped. Busy is an answer: then the ring stays as it is. */
static void resize(struct cpu *c, struct fathom_ring *r, uint32_t pages)
{
	int err = -1;

	fathom_ring_hold(r, 1);
	sync_cpu(c);
	for (int i = 0; i < 20 && err; i++) {
		err = fathom_ring_seize(r);
		if (err)
			continue;
		sync_cpu(c);
		err = fathom_ring_resize_seized(r, pages);
	}
	if (err)
		fathom_ring_resize_seized(r, fathom_ring_pages(r));
	sync_cpu(c);
	fathom_ring_hold(r, 0);
	resized += !err;
}

static timer_t start_timer(int sig, long ns)
{
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = sig};
	struct itimerspec its = {.it_interval = {0, ns}, .it_value = {0, ns}};
	timer_t t;

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif
	ev.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &ev, &t) < 0 || timer_settime(t, 0, &its, NULL) < 0)
		abort();
	return t;
}

static void *cpu_main(void *arg)
{
	struct cpu *c = arg;
	timer_t t[3];

	me = c;
	on_sync(0);
	t[0] = start_timer(SIGUSR1, 41000);
	t[1] = start_timer(SIGUSR2, 67000);
	t[2] = start_timer(SIGRTMIN, 103000);
	while (c->offered[0] < c->quota) {
		uint64_t refused = c->refused[0];

		write_at(c, 0);
		if (refused != c->refused[0] && mode >= RESIZE)
			sched_yield(); /* held: do not offer all there is meanwhile */
	}
	for (int i = 0; i < 3; i++)
		timer_delete(t[i]);
	__atomic_store_n(&c->done, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_sub(&writers_left, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static int torn(const uint32_t *p, uint32_t bytes)
{
	struct head h;

	memcpy(&h, p, sizeof(h));
	if (h.level >= LEVELS || h.words * 4u > bytes || h.words * 4u + 8 <= bytes)
		return 1;
	for (uint32_t i = 2; i < h.words; i++)
		if (p[i] != mix(h.number + i))
			return 1;
	return 0;
}

static void check_record(struct cpu *c, int which, const uint32_t *p, uint32_t bytes, uint64_t time,
			 uint64_t lost)
{
	struct head h;
	uint64_t want;

	c->read++;
	c->told += lost;
	memcpy(&h, p, sizeof(h));
	if (torn(p, bytes)) {
		c->torn++;
		return;
	}
	want = c->expect[which][h.level];
	if (h.number < (uint32_t)want)
		c->disorder++;
	c->gaps += h.number - (uint32_t)want;
	c->expect[which][h.level] = (uint64_t)h.number + 1;
	c->back += time < c->last_time[which];
	c->last_time[which] = time;
}

static int read_records(struct cpu *c, int which, struct fathom_ring *r, int max)
{
	struct fathom_record rec;
	int n = 0;

	for (; n < max && fathom_ring_consume(r, &rec); n++)
		check_record(c, which, rec.data, rec.bytes, rec.time, rec.lost);
	return n;
}

static int read_pages(struct cpu *c, int which, struct fathom_ring *r, int max)
{
	static struct wire_page page;
	struct wire_item item;
	int n = 0, bytes;

	for (; n < max && (bytes = fathom_ring_read_page(r, &page, n & 1)) > 0; n++) {
		uint64_t time = page.time, lost = 0;

		if (page.commit & WIRE_COMMIT_STORED)
			memcpy(&lost, page.data + bytes, sizeof(lost));
		else if (page.commit & WIRE_COMMIT_MISSED)
			c->torn++; /* there is always room for the count */
		for (uint32_t at = 0; at < (uint32_t)bytes; at = item.next) {
			if (wire_page_step(page.data, at, (uint32_t)bytes, &time, &item) < 0) {
				c->torn++;
				break;
			}
			if (item.data) {
				check_record(c, which, (const void *)item.data, item.bytes, time,
					     lost);
				lost = 0;
			}
		}
	}
	return n;
}

/* The walk that consumes nothing, while the owner writes: what it shows is whole and in order, or told to be lost. */
static void walk(struct cpu *c, struct fathom_ring *r)
{
	static struct wire_page scratch;
	uint64_t next[LEVELS] = {0}, time = 0;
	struct fathom_ring_iter it;
	struct fathom_record rec;
	struct head h;

	fathom_ring_iter_init(&it, r, &scratch);
	while (fathom_ring_iter_next(&it, &rec)) {
		memcpy(&h, rec.data, sizeof(h));
		if (torn(rec.data, rec.bytes)) {
			c->torn++;
			return;
		}
		c->disorder += h.number < next[h.level];
		next[h.level] = (uint64_t)h.number + 1;
		c->back += rec.time < time;
		time = rec.time;
		c->walked++;
	}
}

/* One look at one CPU by the reader, and what it does to it. */
static void visit(struct cpu *c, uint32_t round)
{
	int which = c->live == &c->rings[1];

	if (mode == SNAPSHOT || mode == ALL) {
		if (round % 8 == 0)
			fathom_ring_swap(&c->live, &c->spare);
		which = c->spare == &c->rings[1];
		if (mode == ALL && round % 16 == 5)
			resize(c, round % 32 == 5 ? c->live : c->spare,
			       FATHOM_RING_PAGES_MIN + mix(round) % (PAGES - 1));
		if (mode == ALL)
			fathom_ring_overwrite(c->live, (int)(round / 64 % 2));
		if (mode == ALL && round % 5 == 0)
			walk(c, c->live);
		read_records(c, which, c->spare, 2000);
		return;
	}
	if (mode == RESIZE && round % 16 == 5)
		resize(c, c->live, FATHOM_RING_PAGES_MIN + mix(round) % (PAGES - 1));
	if (round % 5 == 0)
		walk(c, c->live);
	if (mode == RESET && round % 50 == 49)
		fathom_ring_reset(c->live);
	if (mode == SWITCHING) {
		fathom_ring_overwrite(c->live, (int)(round / 64 % 2));
		fathom_ring_enable(c->live, round % 1024 < 1000);
	}
	if (mode == PAGEWISE || round % 3 == 0)
		read_pages(c, which, c->live, 20);
	else
		read_records(c, which, c->live, 1 + (int)(mix(round) % 400));
}

static void reader(void)
{
	for (int i = 0; i < CPUS; i++)
		while (!__atomic_load_n(&cpus[i].acks, __ATOMIC_SEQ_CST))
			sched_yield();
	for (uint32_t round = 0; __atomic_load_n(&writers_left, __ATOMIC_SEQ_CST); round++) {
		for (int i = 0; i < CPUS; i++)
			visit(&cpus[i], round);
		if (round % 16 == 0)
			usleep(100); /* let it fill at times */
	}
	for (int i = 0; i < CPUS; i++) {
		fathom_ring_enable(&cpus[i].rings[0], 1);
		for (int k = 0; k < 2; k++)
			while (read_records(&cpus[i], k, &cpus[i].rings[k], 1000))
				;
	}
}

static void set_up(uint64_t events)
{
	writers_left = CPUS;
	for (int i = 0; i < CPUS; i++) {
		struct cpu *c = &cpus[i];

		memset(c, 0, sizeof(*c));
		for (int k = 0; k < 2; k++) {
			c->mem[k] = aligned_alloc(4096, fathom_ring_bytes(PAGES));
			if (fathom_ring_init(&c->rings[k], c->mem[k], fathom_ring_bytes(PAGES),
					     (uint32_t)i) < 0)
				abort();
			fathom_ring_overwrite(&c->rings[k], mode != FULL);
		}
		c->live = &c->rings[0];
		c->spare = &c->rings[1];
		c->seed = mix((uint32_t)i + 77);
		c->quota = events / CPUS;
	}
}

/* Which numbers a ring should have is then known for both together only. */
static int two_rings(void)
{
	return mode == SNAPSHOT || mode == ALL;
}

/* Everything adds up, to the last record. 0 if not. */
static int account(struct cpu *c, uint64_t *offered)
{
	uint64_t off = 0, wrote = 0, refused = 0, gone = 0, lost = 0, thrown;
	struct fathom_ring_stats st = {0}, one;

	for (int k = 0; k < 2; k++) {
		struct fathom_ring *r = &c->rings[k];

		fathom_ring_stats(r, &one);
		if (one.written != one.read + one.overwritten)
			c->torn++;
		/* What a reset took off the counters. */
		one.written += r->base.written;
		one.read += r->base.read;
		one.overwritten += r->base.overwritten;
		one.discarded += r->base.discarded;
		one.full += r->base.full;
		one.nested += r->base.nested;
		one.disabled += r->base.disabled;
		one.too_big += r->base.too_big;
		st.written += one.written;
		st.read += one.read;
		st.overwritten += one.overwritten;
		st.full += one.full;
		st.nested += one.nested;
		st.disabled += one.disabled;
		st.too_big += one.too_big;
		st.discarded += one.discarded;
		st.entries += one.entries;
		st.corrupt += one.corrupt;
		st.clock_back += one.clock_back;
	}
	for (int l = 0; l < LEVELS; l++) {
		off += c->offered[l];
		wrote += c->wrote[l];
		refused += c->refused[l];
		gone += c->gone[l];
		/* what was overwritten at the very end has no record behind it to tell */
		lost += two_rings() ? 0 : c->wrote[l] - c->expect[0][l];
	}
	*offered += off;
	thrown = mode == RESET ? st.read - c->read : 0;
	if (off == wrote + refused + gone && st.written == wrote && st.discarded == gone &&
	    st.full + st.nested + st.disabled + st.too_big == refused &&
	    st.read == c->read + thrown && st.written == st.read + st.overwritten &&
	    st.entries == 0 && st.corrupt == 0 &&
	    (two_rings() || c->gaps + lost == st.overwritten + thrown) &&
	    (mode == RESET || c->told >= st.overwritten) &&
	    c->told <= st.overwritten + st.full + st.nested && !c->torn && !c->disorder && !c->back)
		return 1;
	printf("  cpu %ld: offered %llu wrote %llu (%llu) refused %llu gone %llu read %llu (%llu)\n"
	       "    overwritten %llu gaps %llu+%llu told %llu full %llu nested %llu disabled %llu "
	       "entries %llu\n"
	       "    torn %llu disorder %llu time back %llu clock back %llu corrupt %llu\n",
	       (long)(c - cpus), (unsigned long long)off, (unsigned long long)wrote,
	       (unsigned long long)st.written, (unsigned long long)refused,
	       (unsigned long long)gone, (unsigned long long)c->read, (unsigned long long)st.read,
	       (unsigned long long)st.overwritten, (unsigned long long)c->gaps,
	       (unsigned long long)lost, (unsigned long long)c->told, (unsigned long long)st.full,
	       (unsigned long long)st.nested, (unsigned long long)st.disabled,
	       (unsigned long long)st.entries, (unsigned long long)c->torn,
	       (unsigned long long)c->disorder, (unsigned long long)c->back,
	       (unsigned long long)st.clock_back, (unsigned long long)st.corrupt);
	return 0;
}

static int run_mode(uint64_t events)
{
	uint64_t offered = 0, read = 0, walked = 0, deep = 0, torn = 0;
	int good = 1;

	set_up(events);
	resized = 0;
	for (int i = 0; i < CPUS; i++)
		if (pthread_create(&cpus[i].thread, NULL, cpu_main, &cpus[i]))
			abort();
	reader();
	for (int i = 0; i < CPUS; i++) {
		pthread_join(cpus[i].thread, NULL);
	}
	for (int i = 0; i < CPUS; i++) {
		good &= account(&cpus[i], &offered);
		read += cpus[i].read;
		torn += cpus[i].torn;
		walked += cpus[i].walked;
		for (int l = 3; l < LEVELS; l++)
			deep += cpus[i].wrote[l];
		free(cpus[i].mem[0]);
		free(cpus[i].mem[1]);
	}
	printf("%s torture_%s%s %llu events, %llu read, %llu walked over, %llu at depth 4 and "
	       "more, %llu resized, %llu torn, %s\n",
	       good ? "ok" : "not ok", mode_names[mode], good ? "" : ":",
	       (unsigned long long)offered, (unsigned long long)read, (unsigned long long)walked,
	       (unsigned long long)deep, (unsigned long long)resized, (unsigned long long)torn,
	       good ? "0 unaccounted" : "it does not add up");
	return !good;
}

int main(int argc, char **argv)
{
	uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 0) : 5000000;
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	int failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGUSR2, &sa, NULL);
	sigaction(SIGRTMIN, &sa, NULL);
	sa.sa_handler = on_sync;
	sigaction(SIGRTMIN + 1, &sa, NULL);
	for (mode = 0; mode < NR_MODES; mode++)
		if (argc <= 2 || !strcmp(argv[2], mode_names[mode]))
			failed |= run_mode(argc > 2 ? events : events / NR_MODES);
	return failed;
}
