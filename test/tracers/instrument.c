/* SPDX-License-Identifier: MIT */
/* instrument.c -- the tracers of a program whose text is not patched: -finstrument-functions. */
#include <setjmp.h>
#define READY() fathom_instrument_ready(0, 0)
#include "unpatched.h"
#include "forest.h"
#include "functions/tracers.h"
#include "top.h"

FATHOM_INSTRUMENT_FUNCTIONS

TEST(instrument_longjmp)
{
	struct fathom_tracer_stats a, b;

	fathom_tracer_stats(&a);
	fathom_tracer_set("function_graph");
	for (int i = 0; i < 1000; i++)
		CHECK_EQ(cyg_catcher(3), 11);
	fathom_tracer_set("nop");
	fathom_tracer_stats(&b);
	CHECK_EQ(b.shadow_full - a.shadow_full, 0);
	CHECK_EQ(b.unwound - a.unwound, 4000);
	taken();
}

static jmp_buf home;

static size_t leave(int n)
{
	if (n)
		return cyg_through(leave, n - 1);
	longjmp(home, 1);
}

/* Where calls are left for is a function that never returns, a main loop: they must not stay. */
TEST(instrument_longjmp_to_a_loop)
{
	volatile size_t n, found = 0;

	fathom_ring_reset(fathom_ring_of(0));
	fathom_tracer_set("function_graph");
	for (volatile int i = 0; i < 200; i++) {
		if (!setjmp(home))
			cyg_through(leave, i % 5);
		cyg_leaf(1);
	}
	fathom_tracer_set("nop");
	n = drain(0, recs, 4000);
	for (size_t i = 0; i < n; i++)
		found += recs[i].type == WIRE_ID_FUNCGRAPH_EXIT;
	CHECK_EQ(found, 200);
}

/* Nothing tells such a call from one that is inlined with others, but that no more fit. */
TEST(instrument_longjmp_from_one_place)
{
	volatile size_t n, found = 0;

	fathom_ring_reset(fathom_ring_of(0));
	fathom_tracer_set("function_graph");
	for (volatile int i = 0; i < 200; i++)
		if (!setjmp(home))
			cyg_through(leave, 0);
	fathom_tracer_set("nop");
	n = drain(0, recs, 4000);
	for (size_t i = 0; i < n; i++)
		found += recs[i].type == WIRE_ID_FUNCGRAPH_ENTRY;
	CHECK_EQ(found, 200);
}

TEST(instrument_inlined)
{
	void *outer = (void *)(uintptr_t)cyg_mid, *inner = (void *)(uintptr_t)cyg_leaf;

	fathom_ring_reset(fathom_ring_of(0));
	fathom_tracer_set("function_graph");
	__cyg_profile_func_enter(outer, 0);
	__cyg_profile_func_enter(inner, 0);
	__cyg_profile_func_enter(inner, 0);
	__cyg_profile_func_exit(inner, 0);
	__cyg_profile_func_exit(inner, 0);
	__cyg_profile_func_exit(outer, 0);
	fathom_tracer_set("nop");
	CHECK_STR(taken(), "cyg_mid{cyg_leaf{cyg_leaf{}}}");
}

/* A call that comes while its context is in the tracer is not let in, nor is its return taken for another's of that name. */
TEST(instrument_inside_the_tracer)
{
	void *outer = (void *)(uintptr_t)cyg_mid, *other = (void *)(uintptr_t)cyg_leaf;
	struct fathom_task *task = fathom_port_task_state();
	uint32_t held;

	fathom_ring_reset(fathom_ring_of(0));
	fathom_tracer_set("function_graph");
	__cyg_profile_func_enter(outer, 0);
	held = fathom_guard_enter(task, fathom_port_context(0));
	__cyg_profile_func_enter(outer, 0);
	__cyg_profile_func_exit(outer, 0);
	fathom_guard_leave(task, held);
	__cyg_profile_func_enter(other, 0);
	__cyg_profile_func_exit(other, 0);
	__cyg_profile_func_exit(outer, 0);
	fathom_tracer_set("nop");
	CHECK_STR(taken(), "cyg_mid{cyg_leaf{}}");
}

/* Goes down through traced calls, and leaves a mark in the trace when 40 of them have returned. */
static size_t dive(int n)
{
	size_t depth = n ? cyg_through(dive, n - 1) + 1 : 0;
	struct fathom_slot slot;
	uint8_t *p;

	if (depth == 40) {
		p = fathom_ring_reserve(fathom_ring_of(0), 24, &slot);
		memset(p, 0, 24);
		p[0] = WIRE_ID_FUNCTION;
		fathom_ring_commit(fathom_ring_of(0), &slot);
	}
	return depth;
}

/* More calls than the shadow stack holds: those above it return first, and are not taken for those on it. */
TEST(instrument_deep)
{
	size_t n, open_ends;

	fathom_ring_reset(fathom_ring_of(0));
	fathom_tracer_set("function_graph");
	CHECK_EQ(cyg_through(dive, 199), 199);
	cyg_leaf(1);
	fathom_tracer_set("nop");
	n = drain(0, recs, 1000);
	CHECK_EQ(n, 64 + 1 + 64 + 2);
	CHECK_EQ(recs[63].type, WIRE_ID_FUNCGRAPH_ENTRY);
	CHECK_EQ(recs[64].type, WIRE_ID_FUNCTION);
	CHECK_EQ(forest_faults(n, &open_ends), 0);
	CHECK_EQ(open_ends, 0);
}

/* ---- the functions are known ---- */

static void text_of(uintptr_t *from, uintptr_t *to)
{
	const uintptr_t at[] = {(uintptr_t)cyg_leaf, (uintptr_t)cyg_mid,     (uintptr_t)cyg_top,
				(uintptr_t)cyg_work, (uintptr_t)cyg_recurse, (uintptr_t)cyg_tail};

	*from = *to = at[0];
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		*from = at[i] < *from ? at[i] : *from;
		*to = at[i] > *to ? at[i] : *to;
	}
	*to += 1;
}

static int put(enum fathom_function_set set, const char *token)
{
	return top_set_write(set, token, strlen(token));
}

TEST(known_table)
{
	uintptr_t from, to;

	text_of(&from, &to);
	fathom_instrument_ready(from, to);
	CHECK(fathom_function_count() >= 6);
	CHECK_EQ(fathom_tracer_set("function_graph"), 0);
	CHECK_EQ(cyg_mid(1), 6);
	fathom_tracer_set("nop");
	CHECK_STR(taken(), "cyg_mid{cyg_leaf{}cyg_leaf{}}");
}

TEST(known_filters)
{
	CHECK_EQ(put(FATHOM_SET_FILTER, "no_such"), -FATHOM_EINVAL);
	CHECK_EQ(put(FATHOM_SET_FILTER, "cyg_l*"), 0);
	fathom_tracer_set("function");
	cyg_mid(1);
	CHECK_STR(taken(), " cyg_leaf cyg_leaf");
	fathom_tracer_set("function_graph");
	cyg_mid(1);
	CHECK_STR(taken(), "cyg_leaf{}cyg_leaf{}");
	top_set_clear(FATHOM_SET_FILTER);
	CHECK_EQ(put(FATHOM_SET_NOTRACE, "cyg_leaf"), 0);
	cyg_mid(1);
	CHECK_STR(taken(), "cyg_mid{}");
	top_set_clear(FATHOM_SET_NOTRACE);
	CHECK_EQ(put(FATHOM_SET_GRAPH, "cyg_mid"), 0);
	cyg_leaf(1);
	cyg_top(1);
	CHECK_STR(taken(), "cyg_mid{cyg_leaf{}cyg_leaf{}}cyg_mid{cyg_leaf{}cyg_leaf{}}");
	top_set_clear(FATHOM_SET_GRAPH);
	CHECK_EQ(put(FATHOM_SET_GRAPH_NOTRACE, "cyg_mid"), 0);
	cyg_top(1);
	CHECK_STR(taken(), "cyg_top{cyg_leaf{}}");
	top_set_clear(FATHOM_SET_GRAPH_NOTRACE);
	fathom_tracer_set("nop");
}

TEST(known_stack)
{
	struct fathom_record r;
	uint16_t type = 0;
	uint32_t frames = 0;
	uintptr_t at[4] = {0}, offset, size;

	fathom_user_stack_init(); /* else the walk ends where the page does */
	CHECK_EQ(put(FATHOM_SET_FILTER, "cyg_leaf"), 0);
	fathom_tracer_option_set(FATHOM_OPT_FUNC_STACK, 1);
	fathom_tracer_set("function");
	cyg_mid(1);
	fathom_tracer_set("nop");
	fathom_tracer_option_set(FATHOM_OPT_FUNC_STACK, 0);
	top_set_clear(FATHOM_SET_FILTER);
	while (fathom_ring_consume(fathom_ring_of(0), &r)) {
		memcpy(&type, r.data, 2);
		memcpy(&frames, (const uint8_t *)r.data + 8, 4);
		memcpy(at, (const uint8_t *)r.data + 16, sizeof(at));
	}
	CHECK_EQ(type, WIRE_ID_KERNEL_STACK);
	CHECK(frames >= 4);
	CHECK_STR(port_symbol(at[0], &offset, &size), "cyg_leaf");
	CHECK_STR(port_symbol(at[1], &offset, &size), "cyg_mid");
	CHECK_STR(port_symbol(at[2], &offset, &size), "test_known_stack");
}

TEST(known_stack_tracer)
{
	static struct fathom_stack_seen seen;
	uintptr_t offset, size, sum = 0;
	uint32_t named = 0;

	fathom_user_stack_init();
	CHECK_EQ(put(FATHOM_SET_STACK, "cyg_recurse"), 0);
	CHECK_EQ(fathom_stack_tracer_set(1), 0);
	cyg_recurse(20);
	CHECK_EQ(fathom_stack_tracer_set(0), 0);
	top_set_clear(FATHOM_SET_STACK);
	fathom_stack_copy(&seen);
	CHECK_EQ(seen.bytes, fathom_stack_max());
	CHECK(seen.nr > 22);
	for (uint32_t i = 0; i < seen.nr; i++) {
		const char *name = port_symbol(seen.ip[i], &offset, &size);

		named += name && !strcmp(name, "cyg_recurse");
		sum += (i + 1 < seen.nr ? seen.at[i + 1] : seen.top) - seen.at[i];
	}
	CHECK_EQ(named, 21);
	CHECK_EQ(sum, seen.bytes);
	CHECK_STR(taken(), "");
}

/* Calls of one name that are recorded, inside others that are not, and the other way round. */
TEST(known_recursion)
{
	fathom_tracer_set("function_graph");
	fathom_graph_depth_set(2);
	cyg_recurse(4);
	CHECK_STR(taken(), "cyg_recurse{cyg_recurse{}}");
	fathom_graph_depth_set(0);
	top_pid_add(FATHOM_PIDS_NOTRACE, fathom_port_task());
	cyg_recurse(4);
	CHECK_STR(taken(), "");
	top_pid_clear(FATHOM_PIDS_NOTRACE);
	cyg_recurse(1);
	CHECK_STR(taken(), "cyg_recurse{cyg_recurse{}}");
	fathom_tracer_set("nop");
}

TEST(known_probes_and_profile)
{
	static uint32_t order[64];
	static char buf[512];
	struct fathom_text t;
	int hits = 0;

	CHECK_EQ(put(FATHOM_SET_FILTER, "cyg_leaf:traceoff:1"), 0);
	cyg_leaf(1);
	CHECK_EQ(fathom_tracing_is_on(), 0);
	CHECK_EQ(put(FATHOM_SET_FILTER, "!cyg_leaf:traceoff:0"), 0);
	fathom_tracing_on();
	CHECK_EQ(fathom_profile_set(1), 0);
	cyg_top(1);
	CHECK_EQ(fathom_profile_set(0), 0);
	CHECK(fathom_function_count() <= 64);
	for (uint32_t i = fathom_profile_order(0, order); i-- > 0;) {
		fathom_text_init(&t, buf, sizeof(buf));
		fathom_profile_line(0, order[i], &t);
		if (strstr(fathom_text_cstr(&t), "cyg_leaf"))
			sscanf(buf, " cyg_leaf %d", &hits);
	}
	CHECK_EQ(hits, 5);
}

int main(int argc, char **argv)
{
	if (port_init(1))
		return 1;
	fathom_port_cpu();
	return test_main(argc, argv);
}
