/* SPDX-License-Identifier: MIT */
/* nesting.c -- function_graph interrupted inside the tracer, again inside of that, and with rings that refuse. */
#include "functions/tracer.h"
#include "fathom_port.h"
#include "forest.h"
#include "harness.h"
#include "port.h"
#include "traced.h"
#include "top.h"

void fathom_graph_reset(void); /* functions/tracers.h, which is the library's own */

static uint64_t random_state = 88172645463325252ull;

static uint32_t roll(uint32_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 33) % n;
}

static void clean(void)
{
	fathom_profile_set(0);
	fathom_tracer_set("nop");
	top_set_clear(FATHOM_SET_FILTER);
	fathom_ring_enable(fathom_ring_of(0), 1);
	fathom_ring_overwrite(fathom_ring_of(0), 1);
	fathom_ring_reset(fathom_ring_of(0));
}

static void start(void)
{
	top_set_write(FATHOM_SET_FILTER, "ret_*", 5);
	top_set_write(FATHOM_SET_FILTER, "hij_*", 5);
	CHECK_EQ(fathom_tracer_set("function_graph"), 0);
}

/* ---- interrupts in interrupts ---- */

#ifdef __x86_64__ /* others have no trap flag in user mode */

/* One context after the other is stepped through until the next one interrupts it: a task, an interrupt, an NMI. */
enum {
	CONTEXTS = 3,
};
static const uint32_t context_flag[CONTEXTS] = {0, WIRE_FLAG_HARDIRQ, WIRE_FLAG_NMI};
static volatile long step[CONTEXTS], step_at[CONTEXTS];
static volatile int context_now;
static volatile size_t calls, wrong;

static inline void trap_flag(int on)
{
	if (on)
		__asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
	else
		__asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
}

/* What each context does: calls, and calls inside a record that is still open. */
static void body(void)
{
	struct fathom_slot slot;
	uint8_t *p;

	wrong += ret_leaf(1) != 2 || hij_leaf(1) != 2;
	p = fathom_ring_reserve(fathom_ring_of(0), 16, &slot);
	memset(p, 0xff, 16);
	wrong += ret_leaf(2) != 3 || hij_leaf(2) != 3;
	fathom_ring_commit(fathom_ring_of(0), &slot);
	calls += 4;
}

/* Run the body of a context; the step_at-th instruction of it is interrupted by the next one. */
static void run_context(int c)
{
	uint32_t outer = fathom_user_context;

	context_now = c;
	fathom_user_context = outer | context_flag[c];
	step[c] = 0;
	if (c < CONTEXTS - 1)
		trap_flag(1);
	body();
	trap_flag(0);
	fathom_user_context = outer;
	context_now = c - 1;
}

static void on_step(int sig, siginfo_t *info, void *context)
{
	int c = context_now;

	if (info->si_code != TRAP_TRACE) {
		port_trap(sig, info, context);
		return;
	}
	if (step[c]++ != step_at[c])
		return;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~0x100l; /* the rest runs free */
	run_context(c + 1);
}

/*
 * NEST_RUNS in the environment says how many pairs of instructions are tried. Whatever is interrupted where, every call
 * is in the trace with its return, as deep as it stands there.
 */
TEST(interrupted_interrupts)
{
	struct sigaction sa = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO | SA_NODEFER};
	struct fathom_tracer_stats before, after;
	const char *env = getenv("NEST_RUNS");
	int runs = env ? atoi(env) : 60;
	long length[CONTEXTS] = {1200, 1500};
	size_t n, open_ends;

	sigaction(SIGTRAP, &sa, 0);
	start();
	ret_leaf(1); /* now the thread has its ring */
	drain(0, recs, 2);
	fathom_tracer_stats(&before);
	for (int i = 0; i < runs; i++) {
		for (int c = 0; c < CONTEXTS - 1; c++)
			step_at[c] = (long)roll((uint32_t)length[c]);
		run_context(0);
	}
	fathom_tracer_set("nop");
	fathom_tracer_stats(&after);
	n = drain(0, recs, sizeof(recs) / sizeof(recs[0]));
	CHECK(calls > 8 * (size_t)runs); /* most were interrupted twice */
	CHECK_EQ(n, 2 * calls);
	CHECK_EQ(forest_faults(n, &open_ends), 0);
	CHECK_EQ(open_ends, 0);
	CHECK_EQ(wrong, 0);
	CHECK_EQ(after.recursion - before.recursion, 0);
	CHECK_EQ(after.unmatched - before.unmatched, 0);
	CHECK_EQ(after.refused - before.refused, 0);
	CHECK_EQ(after.cut - before.cut, 0);
	printf("  %d runs, %zu calls\n", runs, (size_t)calls);
	clean();
}

/* ---- a tracing that begins while calls are open ---- */

static volatile long begin_step, begin_at;
static int begin_silent; /* the ring refuses what the interrupt does */

/* As if another CPU had just begun a new tracing, and this one's interrupt were the first to be traced in it. */
static void on_begin(int sig, siginfo_t *info, void *context)
{
	if (info->si_code != TRAP_TRACE) {
		port_trap(sig, info, context);
		return;
	}
	if (begin_step++ != begin_at)
		return;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~0x100l;
	fathom_user_context = WIRE_FLAG_HARDIRQ;
	fathom_graph_reset();
	if (!begin_silent)
		fathom_ring_reset(fathom_ring_of(0));
	fathom_ring_enable(fathom_ring_of(0), !begin_silent);
	wrong += ret_leaf(1) != 2;
	fathom_ring_enable(fathom_ring_of(0), 1);
	fathom_user_context = 0;
}

static size_t stepped_calls(int replaced)
{
	trap_flag(1);
	wrong += (replaced ? hij_leaf(1) : ret_leaf(1)) != 2;
	trap_flag(0);
	return 0;
}

/* Begin at one instruction after the other of a call below another, or at every STEP_STRIDE-th. How many there are. */
static long begin_everywhere(int replaced)
{
	const char *env = getenv("STEP_STRIDE");
	int stride = env ? atoi(env) : 1;
	size_t deep = 0;

	wrong = 0;
	for (begin_at = 0;; begin_at += stride) {
		begin_step = 0;
		fathom_graph_reset();
		if (replaced)
			hij_through(stepped_calls, 1);
		else
			ret_through(stepped_calls, 0);
		fathom_ring_reset(fathom_ring_of(0));
		ret_leaf(1);
		CHECK_EQ(drain(0, recs, 2), 2);
		deep += recs[0].depth != 0;
		if (begin_step <= begin_at)
			break; /* after the last instruction */
	}
	CHECK_EQ(deep, 0);
	CHECK_EQ(wrong, 0);
	return begin_at;
}

/* Wherever in the tracer it comes: afterwards calls are as deep as the new tracing has seen. */
TEST(tracing_begins_in_an_interrupt)
{
	struct sigaction sa = {.sa_sigaction = on_begin, .sa_flags = SA_SIGINFO | SA_NODEFER};
	long sites, replaced;

	sigaction(SIGTRAP, &sa, 0);
	start();
	for (begin_silent = 0; begin_silent < 2; begin_silent++) {
		sites = begin_everywhere(0);
		replaced = begin_everywhere(1);
		CHECK(sites > 100 && replaced > 100);
	}
	printf("  %ld instructions with return sites, %ld with replaced returns\n", sites,
	       replaced);
	clean();
}
#endif

/* ---- rings that refuse ---- */

static struct forest f;

static void read_all(void)
{
	size_t n = drain(0, recs, sizeof(recs) / sizeof(recs[0]));

	for (size_t i = 0; i < n; i++)
		forest_feed(&f, &recs[i]);
}

/* Called by traced functions' caller at any time: the ring goes off or on, is read or not. */
static void disturb(void)
{
	switch (roll(6)) {
	case 0: fathom_ring_enable(fathom_ring_of(0), 0); break;
	case 1:
	case 2: fathom_ring_enable(fathom_ring_of(0), 1); break;
	case 3: read_all(); break;
	default: break;
	}
}

/* A tree of calls, disturbed between any two of them. Number of traced calls. */
static size_t tree(int depth)
{
	size_t n = 0;

	for (uint32_t i = roll(4); depth && i; i--) {
		disturb();
		n += roll(2) ? ret_through(tree, depth - 1) : hij_through(tree, depth - 1);
		disturb();
	}
	return n + 1;
}

/* What is not in the trace is counted, and what is in it is a forest but for the returns that were counted as cut. */
static void refuse(int profile)
{
	struct fathom_tracer_stats before, after;
	size_t called = 0;

	memset(&f, 0, sizeof(f));
	CHECK_EQ(fathom_profile_set(profile), 0);
	start();
	CHECK_EQ(fathom_ring_resize(fathom_ring_of(0), 4), 0);
	fathom_ring_overwrite(fathom_ring_of(0), 0);
	fathom_tracer_stats(&before);
	for (int i = 0; i < 3000; i++)
		called += ret_through(tree, 6);
	fathom_tracer_set("nop");
	fathom_tracer_stats(&after);
	read_all();
	after.refused -= before.refused;
	after.cut -= before.cut;
	CHECK(after.refused > 1000 && after.cut > 100 && f.entries > 1000);
	CHECK_EQ(f.faults, 0);
	CHECK_EQ(f.entries + after.refused, called);
	CHECK_EQ(f.exits + after.cut, f.entries);
	CHECK_EQ(f.cut + f.depth, after.cut);
	CHECK_EQ(after.shadow_full - before.shadow_full, 0);
	CHECK_EQ(after.unwound - before.unwound, 0);
	CHECK_EQ(fathom_ring_resize(fathom_ring_of(0), fathom_ring_pages_max(fathom_ring_of(0))),
		 0);
	clean();
}

TEST(refused_calls_are_left_out_whole)
{
	refuse(0);
}

/* The profile follows calls that are not in the trace. */
TEST(refused_calls_with_profile)
{
	refuse(1);
}

int main(int argc, char **argv)
{
	if (port_init(1)) {
		printf("not ok init: fathom_init failed\n");
		return 1;
	}
	return test_main(argc, argv);
}
