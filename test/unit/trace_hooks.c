/* SPDX-License-Identifier: MIT */
/* trace_hooks.c -- register_trace_<event>() and its removal while events run: in hooks, in signals, in another thread. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/time.h>
#include "harness.h"
#include "fathom/inside/errno.h"
#define CREATE_TRACE_POINTS
#include "fathom/tracepoint.h"
#include "fathom/trace.h"

TRACE_DEFINE(hooked, one, "a=%u", (U32, a))
TRACE_DEFINE(hooked, two, "a=%u b=%u", (U32, a), (U32, b))

static char memory[64 * 4096] __attribute__((aligned(4096)));

static void start(void)
{
	struct fathom_config config = {
		.memory = memory, .memory_bytes = sizeof(memory), .nr_cpus = 1};

	fathom_exit();
	CHECK_EQ(fathom_init(&config), 0);
}

/* Each hook knows its own event by the arguments: 1, or 2 and 3. */
static uint32_t one_calls, two_calls, wrong;

static void on_one(void *data, uint32_t a)
{
	(void)data;
	one_calls++;
	wrong += a != 1;
}

static void on_two(void *data, uint32_t a, uint32_t b)
{
	(void)data;
	two_calls++;
	wrong += a != 2 || b != 3;
}

static int replaced;

/* Goes away while it runs, and others come: they must not get its place in the list. */
static void on_one_replace(void *data, uint32_t a)
{
	(void)a;
	if (replaced++)
		return;
	CHECK_EQ(unregister_trace_one(on_one_replace, data), 0);
	CHECK_EQ(fathom_hooks_quiet(), 0);
	CHECK_EQ(register_trace_two(on_two, (void *)1), 0);
	CHECK_EQ(register_trace_two(on_two, (void *)2), 0);
}

TEST(hook_that_removes_itself)
{
	start();
	one_calls = two_calls = wrong = 0;
	CHECK_EQ(register_trace_one(on_one, NULL), 0);
	CHECK_EQ(register_trace_one(on_one_replace, NULL), 0); /* first in the list */
	trace_one(1);
	CHECK_EQ(replaced, 1);
	CHECK_EQ(one_calls, 1);
	CHECK_EQ(two_calls, 0);
	trace_one(1);
	trace_two(2, 3);
	CHECK_EQ(one_calls, 2);
	CHECK_EQ(two_calls, 2);
	CHECK_EQ(wrong, 0);
	CHECK_EQ(fathom_hooks_quiet(), 1);
	CHECK_EQ(unregister_trace_one(on_one, NULL), 0);
	CHECK_EQ(unregister_trace_two(on_two, (void *)1), 0);
	CHECK_EQ(unregister_trace_two(on_two, (void *)2), 0);
}

/* All nodes removed under a walk: the next one must wait, and is granted behind it. */
static int again;
static void on_one_all(void *data, uint32_t a)
{
	uintptr_t n = 0;

	(void)data, (void)a;
	if (again++)
		return;
	while (register_trace_two(on_two, (void *)++n) == 0)
		;
	while (--n)
		CHECK_EQ(unregister_trace_two(on_two, (void *)n), 0);
	CHECK_EQ(register_trace_two(on_two, NULL), -FATHOM_EAGAIN);
}

TEST(hooks_wait_for_the_walk)
{
	uintptr_t n = 0;

	start();
	two_calls = wrong = 0;
	CHECK_EQ(register_trace_one(on_one_all, NULL), 0);
	trace_one(1);
	CHECK_EQ(again, 1);
	while (register_trace_two(on_two, (void *)++n) == 0)
		;
	CHECK_EQ(register_trace_two(on_two, (void *)n), -FATHOM_ENOSPC);
	trace_two(2, 3);
	CHECK_EQ(two_calls, n - 1);
	while (--n)
		CHECK_EQ(unregister_trace_two(on_two, (void *)n), 0);
	CHECK_EQ(unregister_trace_one(on_one_all, NULL), 0);
	CHECK_EQ(wrong, 0);
}

/* H4: walks that began after the removal, however many and without a gap, do not keep the node. */
TEST(hooks_do_not_wait_for_later_walks)
{
	uint32_t first, in, next;

	start();
	CHECK_EQ(register_trace_one(on_one, NULL), 0);
	first = fathom_hooks_enter();
	CHECK_EQ(unregister_trace_one(on_one, NULL), 0);
	CHECK_EQ(fathom_hooks_quiet(), 0);
	in = fathom_hooks_enter();
	CHECK_EQ(fathom_hooks_quiet(), 0);
	fathom_hooks_leave(first);
	for (int i = 0; i < 10; i++) { /* one is always inside */
		next = fathom_hooks_enter();
		fathom_hooks_leave(in);
		in = next;
		if (fathom_hooks_quiet())
			break;
	}
	CHECK_EQ(fathom_hooks_quiet(), 1);
	fathom_hooks_leave(in);
	CHECK_EQ(fathom_hooks_quiet(), 1);
}

/* On and off again, now of one event, now of the other: what one gives back the other takes. */
static void toggle(uint32_t round)
{
	if (round & 1) {
		if (register_trace_one(on_one, NULL) == 0)
			unregister_trace_one(on_one, NULL);
	} else {
		if (register_trace_two(on_two, NULL) == 0)
			unregister_trace_two(on_two, NULL);
	}
}

#define SIGNALS 10000 /* counted twice each */
#define ROUNDS	100000
#define TURNS	100

static volatile uint32_t signals;
static void on_signal(int sig)
{
	(void)sig;
	toggle(signals++);
	toggle(signals++);
	if (signals % 4 < 2)
		register_trace_one(on_one, NULL);
	else
		unregister_trace_one(on_one, NULL);
}

/* An interrupt between the load of a node and the call of its function. */
TEST(hooks_removed_by_interrupts)
{
	struct itimerval fast = {{0, 50}, {0, 50}}, off = {{0, 0}, {0, 0}};

	start();
	wrong = 0;
	signal(SIGALRM, on_signal);
	setitimer(ITIMER_REAL, &fast, NULL);
	while (signals < SIGNALS) {
		trace_one(1);
		trace_two(2, 3);
	}
	setitimer(ITIMER_REAL, &off, NULL);
	signal(SIGALRM, SIG_DFL);
	CHECK_EQ(wrong, 0);
	unregister_trace_one(on_one, NULL);
	CHECK_EQ(fathom_hooks_quiet(), 1);
}

static uint32_t stop, walks;
static void *run_events(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		trace_one(1);
		trace_two(2, 3);
		__atomic_fetch_add(&walks, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* What data points to is poisoned once nobody can be in the hook any more. */
static uint32_t alive, dead_seen;
static void on_one_alive(void *data, uint32_t a)
{
	wrong += a != 1;
	for (int i = 0; i < 20; i++)
		dead_seen += __atomic_load_n((uint32_t *)data, __ATOMIC_RELAXED) != 1;
}

TEST(hooks_removed_by_another_thread)
{
	uint32_t seen = 0;
	pthread_t thread;

	start();
	wrong = stop = 0;
	pthread_create(&thread, NULL, run_events, NULL);
	/* On one core the two take turns: it has run between rounds, not only before or behind them. */
	for (uint32_t round = 0, ran = 0; round < ROUNDS || ran < TURNS; round++) {
		uint32_t now = __atomic_load_n(&walks, __ATOMIC_RELAXED);

		ran += now != seen;
		seen = now;
		toggle(round);
		alive = 1;
		if (register_trace_one(on_one_alive, &alive))
			continue;
		unregister_trace_one(on_one_alive, &alive);
		tracepoint_synchronize_unregister();
		__atomic_store_n(&alive, 0, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	CHECK_EQ(wrong, 0);
	CHECK_EQ(dead_seen, 0);
	CHECK_EQ(fathom_hooks_quiet(), 1);
}

TEST_MAIN
