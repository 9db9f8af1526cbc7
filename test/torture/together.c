/* SPDX-License-Identifier: MIT */
/* together.c -- the library whole: events with nested signals, while hooks come and go, rings are resized, exchanged and read. */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#define CREATE_TRACE_POINTS
#include "fathom/fs.h"
#include "fathom/inside/errno.h"
#include "fathom/inside/ring.h"
#include "fathom/trace.h"
#include "fathom/tracepoint.h"
#include "fathom_port.h"

/*
 *	together [EVENTS]
 *
 * Each CPU is a thread that traces, and two timers send it signals whose handlers trace too. Meanwhile one thread turns
 * everything that a user can turn: hooks are added and removed, buffer_size_kb and options/overwrite change, snapshots are taken,
 * and both rings of each CPU are read. In the end nothing is torn, and every event that was offered was read, overwritten or
 * refused, and counted as that. A hook has seen at least what began after it was there and ended before it was removed, and
 * at most what ended after it was asked for and began before it was gone.
 */
enum {
	CPUS = 2,
	LEVELS = 3,
	HOOKS = 4,
};

TRACE_DEFINE(torture, step, "level=%u number=%u sum=%llu", (U32, level), (U32, number), (U64, sum))

struct cpu {
	pthread_t thread;
	uint64_t quota;
	int level;
	uint64_t begun[LEVELS], ended[LEVELS]; /* calls of trace_step() */
} __attribute__((aligned(64)));

static struct cpu cpus[CPUS];
static __thread struct cpu *me;
static int writers_left, enough;
static char memory[32 << 20] __attribute__((aligned(4096)));
static uint64_t torn, seen, failures;

static uint64_t mix(uint64_t a)
{
	a = (a ^ a >> 31) * 0x7fb5d329728ea185ull;
	return a ^ a >> 27;
}

static void step(struct cpu *c)
{
	int level = c->level;
	uint32_t n = (uint32_t)c->begun[level];

	__atomic_store_n(&c->begun[level], c->begun[level] + 1, __ATOMIC_SEQ_CST);
	trace_step((uint32_t)level, n, mix((uint64_t)level << 32 | n));
	__atomic_store_n(&c->ended[level], c->ended[level] + 1, __ATOMIC_SEQ_CST);
}

static void on_signal(int sig)
{
	(void)sig;
	if (!me || me->level + 1 >= LEVELS)
		return;
	me->level++;
	step(me);
	me->level--;
}

static void on_timer(int sig, long ns, timer_t *t)
{
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = sig};
	struct itimerspec its = {.it_interval = {0, ns}, .it_value = {0, ns}};

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif
	ev.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &ev, t) || timer_settime(*t, 0, &its, NULL))
		abort();
}

static void *cpu_main(void *arg)
{
	struct cpu *c = arg;
	timer_t t[2];

	fathom_user_cpu = (int)(c - cpus);
	me = c;
	on_timer(SIGUSR1, 41000, &t[0]);
	on_timer(SIGUSR2, 67000, &t[1]);
	while (c->begun[0] < c->quota || !__atomic_load_n(&enough, __ATOMIC_RELAXED))
		step(c);
	timer_delete(t[0]);
	timer_delete(t[1]);
	__atomic_fetch_sub(&writers_left, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static uint64_t sum_of(int begun)
{
	uint64_t n = 0;

	for (int i = 0; i < CPUS; i++)
		for (int l = 0; l < LEVELS; l++)
			n += __atomic_load_n(begun ? &cpus[i].begun[l] : &cpus[i].ended[l],
					     __ATOMIC_SEQ_CST);
	return n;
}

/* ---- hooks ---- */

static struct hook {
	int on;
	uint64_t calls;
	/* ended when it was asked for; begun when it was there */
	uint64_t asked, there;
} hooks[HOOKS];
static uint64_t hooked, added;

static void on_step(void *data, uint32_t level, uint32_t number, uint64_t sum)
{
	struct hook *h = data;

	if (sum != mix((uint64_t)level << 32 | number))
		__atomic_fetch_add(&torn, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&h->calls, 1, __ATOMIC_RELAXED);
}

static void turn_hook(struct hook *h)
{
	uint64_t least, most;

	if (!h->on) {
		h->calls = 0;
		h->asked = sum_of(0);
		if (register_trace_step(on_step, h) == -FATHOM_EAGAIN)
			return; /* the last ones may still run */
		h->there = sum_of(1);
		h->on = 1;
		added++;
		return;
	}
	least = sum_of(0);
	if (unregister_trace_step(on_step, h))
		failures++;
	while (!fathom_hooks_quiet())
		sched_yield();
	most = sum_of(1);
	h->on = 0;
	hooked += h->calls;
	if (h->calls > most - h->asked || (least > h->there && h->calls < least - h->there)) {
		printf("# a hook was called %" PRIu64 " times, not %" PRIu64 " to %" PRIu64 "\n",
		       h->calls, least - h->there, most - h->asked);
		failures++;
	}
}

/* ---- rings ---- */

static struct fathom_ring *rings[CPUS][2]; /* that have been seen live */

static void note_rings(void)
{
	for (int i = 0; i < CPUS; i++)
		if (rings[i][0] != fathom_hot.ring[i] && rings[i][1] != fathom_hot.ring[i])
			rings[i][rings[i][0] != NULL] = fathom_hot.ring[i];
}

static void read_ring(struct fathom_ring *r, int max)
{
	struct fathom_record rec;
	struct {
		uint64_t common;
		uint32_t level, number;
		uint64_t sum;
	} e;

	while (max-- && fathom_ring_consume(r, &rec)) {
		seen++;
		memcpy(&e, rec.data, rec.bytes < sizeof(e) ? rec.bytes : sizeof(e));
		torn += rec.bytes < sizeof(e) || e.sum != mix((uint64_t)e.level << 32 | e.number);
	}
}

static void read_some(int max)
{
	fathom_lock();
	note_rings();
	for (int i = 0; i < CPUS; i++)
		for (int k = 0; k < 2; k++)
			if (rings[i][k])
				read_ring(rings[i][k], max);
	fathom_unlock();
}

static int put(const char *file, const char *value)
{
	int err = fathom_set(file, value);

	if (err && err != -FATHOM_EBUSY) {
		printf("# %s: %d\n", file, err);
		failures++;
	}
	return err;
}

struct totals {
	uint64_t written, read, over, refused;
};
static struct totals totals; /* of rings that were thrown away */

static void add_stats(const struct fathom_ring *r, struct totals *t)
{
	struct fathom_ring_stats st;

	fathom_ring_stats(r, &st);
	t->written += st.written;
	t->read += st.read;
	t->over += st.overwritten;
	t->refused += st.full + st.nested + st.disabled + st.too_big;
	failures += st.corrupt;
}

/* Events that had begun at the last exchange: they may still be on their way into the ring that is the snapshot now. */
static uint64_t late[CPUS][LEVELS];

static void wait_for_late(void)
{
	for (int i = 0; i < CPUS; i++)
		for (int l = 0; l < LEVELS; l++)
			while (__atomic_load_n(&cpus[i].ended[l], __ATOMIC_SEQ_CST) < late[i][l])
				sched_yield();
}

/* The last snapshot is read and counted, for a new one throws it away. */
static void take_snapshot(void)
{
	struct totals before = totals;

	wait_for_late();
	fathom_lock();
	note_rings();
	for (int i = 0; i < CPUS; i++)
		for (int k = 0; k < 2; k++)
			if (rings[i][k] && rings[i][k] != fathom_hot.ring[i]) {
				read_ring(rings[i][k], -1);
				add_stats(rings[i][k], &totals);
			}
	fathom_unlock();
	if (put("snapshot", "1"))
		totals = before;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (int i = 0; i < CPUS; i++)
		for (int l = 0; l < LEVELS; l++)
			late[i][l] = __atomic_load_n(&cpus[i].begun[l], __ATOMIC_SEQ_CST);
}

static void sync_cpus(void)
{
	sched_yield();
	syscall(SYS_membarrier, 8 /* PRIVATE_EXPEDITED */, 0, 0);
}

static void turn(uint32_t round)
{
	static const char *const sizes[] = {"40", "200", "100", "64"};

	turn_hook(&hooks[mix(round) % HOOKS]);
	if (round % 7 == 0)
		put("buffer_size_kb", sizes[round / 7 % 4]);
	if (round % 5 == 0)
		take_snapshot();
	if (round % 16 == 3)
		put("options/overwrite", round / 16 % 2 ? "1" : "0");
	read_some(3000);
}

/* Whether everything has happened at least once, whoever had the processor: only then may the writers end. */
static int all_happened(void)
{
	struct totals t = totals;

	fathom_lock();
	for (int i = 0; i < 2 * CPUS; i++)
		if (rings[i / 2][i % 2])
			add_stats(rings[i / 2][i % 2], &t);
	fathom_unlock();
	return hooked && t.over && t.refused;
}

static void start(uint64_t events)
{
	struct fathom_config config = {.memory = memory,
				       .memory_bytes = sizeof(memory),
				       .nr_cpus = CPUS,
				       .pages_per_cpu = 64,
				       .sync = sync_cpus};
	struct sigaction sa = {.sa_handler = on_signal};

	syscall(SYS_membarrier, 16 /* REGISTER_PRIVATE_EXPEDITED */, 0, 0);
	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGUSR2, &sa, NULL);
	if (fathom_init(&config) || fathom_set("events/torture/enable", "1"))
		abort();
	note_rings();
	writers_left = CPUS;
	for (int i = 0; i < CPUS; i++) {
		cpus[i].quota = events / CPUS;
		pthread_create(&cpus[i].thread, NULL, cpu_main, &cpus[i]);
	}
}

int main(int argc, char **argv)
{
	uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 0) : 2000000, offered;
	const struct totals *t = &totals;
	uint32_t round = 0;

	start(events);
	for (; __atomic_load_n(&writers_left, __ATOMIC_SEQ_CST); round++) {
		turn(round);
		if (!enough)
			__atomic_store_n(&enough, all_happened(), __ATOMIC_RELAXED);
	}
	for (int i = 0; i < CPUS; i++)
		pthread_join(cpus[i].thread, NULL);
	for (int i = 0; i < HOOKS; i++)
		if (hooks[i].on)
			turn_hook(&hooks[i]);
	read_some(-1);
	offered = sum_of(1);
	for (int i = 0; i < 2 * CPUS; i++)
		if (rings[i / 2][i % 2])
			add_stats(rings[i / 2][i % 2], &totals);
	printf("  %" PRIu64 " events: %" PRIu64 " read, %" PRIu64 " overwritten, %" PRIu64
	       " refused; %u rounds, %" PRIu64 " hooks called %" PRIu64 " times\n",
	       offered, seen, t->over, t->refused, round, added, hooked);
	printf("  %" PRIu64 " torn, %" PRId64 " unaccounted\n", torn,
	       (int64_t)(offered - seen - t->over - t->refused));
	if (torn || failures || seen != t->read || offered != t->written + t->refused ||
	    t->written != t->read + t->over) {
		printf("not ok torture_together: %" PRIu64 " failures, %" PRIu64
		       " written, %" PRIu64 " read by the rings' own count\n",
		       failures, t->written, t->read);
		return 1;
	}
	printf("ok torture_together\n");
	return 0;
}
