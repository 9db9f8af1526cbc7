/* SPDX-License-Identifier: MIT */
/* filters.c -- function sets, pids, probes, depth, stack tracer and profile, and what bad input does to them. */
#include "functions/tracer.h"
#include "fathom/inside/unwind.h"
#include "fathom_port.h"
#include "harness.h"
#include "port.h"
#include "events/modules.h"
#include "functions/listeners.h"
#include "functions/shadow.h"
#include "functions/sites.h"
#include "functions/tracers.h"
#include "traced.h"
#include "top.h"

static int put(enum fathom_function_set set, const char *token)
{
	return top_set_write(set, token, strlen(token));
}

static int filter(const char *token)
{
	return put(FATHOM_SET_FILTER, token);
}

static uint32_t members(enum fathom_function_set set)
{
	uint32_t n = 0;

	for (int i = 0; (i = fathom_set_next(top_set(set), (uint32_t)i)) >= 0; i++)
		n++;
	return n;
}

static uint32_t records(void)
{
	struct fathom_record r;
	uint32_t n = 0;

	while (fathom_ring_consume(fathom_ring_of(0), &r))
		n++;
	return n;
}

static uint32_t records_of(uint16_t type)
{
	struct fathom_record r;
	uint32_t n = 0;

	while (fathom_ring_consume(fathom_ring_of(0), &r))
		n += *(const uint16_t *)r.data == type;
	return n;
}

static void clean(void)
{
	fathom_tracer_set("nop");
	for (int i = 0; i < FATHOM_SET_NR; i++)
		top_set_clear((enum fathom_function_set)i);
	top_pid_clear(FATHOM_PIDS_TRACE);
	fathom_graph_depth_set(0);
	fathom_thresh_set(0);
	fathom_tracing_on();
	records();
}

TEST(names_globs_numbers)
{
	CHECK_EQ(fathom_tracer_set("function"), 0);
	fathom_tracer_set("nop");
	CHECK_EQ(filter("ret_leaf"), 0);
	CHECK_EQ(members(FATHOM_SET_FILTER), 1);
	CHECK_EQ(filter("ret_leaf"), 0);
	CHECK_EQ(members(FATHOM_SET_FILTER), 1);
	CHECK_EQ(filter("hij_*"), 0);
	CHECK_EQ(members(FATHOM_SET_FILTER), NR_TRACED + 1);
	CHECK_EQ(filter("!hij_*"), 0);
	CHECK_EQ(members(FATHOM_SET_FILTER), 1);
	CHECK_EQ(filter("*_lea?"), 0);
	CHECK_EQ(members(FATHOM_SET_FILTER), 2);
	CHECK_EQ(filter("!ret_top"), 0); /* not in it: nothing to do, as in Linux */
	CHECK_EQ(members(FATHOM_SET_FILTER), 2);
	top_set_clear(FATHOM_SET_FILTER);
	CHECK_EQ(filter("1"), 0);
	CHECK_EQ(fathom_set_next(top_set(FATHOM_SET_FILTER), 0), 0);
	CHECK_EQ(filter("0xb"), 0);
	CHECK_EQ(fathom_set_next(top_set(FATHOM_SET_FILTER), 1), 10);
	CHECK_EQ(filter("011"), 0);
	CHECK_EQ(fathom_set_next(top_set(FATHOM_SET_FILTER), 1), 8);
	CHECK_EQ(members(FATHOM_SET_FILTER), 3);
	CHECK_EQ(put(FATHOM_SET_GRAPH, "ret_leaf"), 0);
	CHECK_EQ(put(FATHOM_SET_GRAPH, "!ret_mid"), -FATHOM_EINVAL); /* here it must be in it */
	CHECK_EQ(put(FATHOM_SET_GRAPH, "!*_leaf"), 0);
	CHECK_EQ(members(FATHOM_SET_GRAPH), 0);
	clean();
}

TEST(edited_copy_takes_effect_when_put_back)
{
	static uint32_t copy[1024];

	CHECK(fathom_function_set_bytes() <= sizeof(copy));
	CHECK_EQ(filter("ret_leaf"), 0);
	fathom_set_copy(top_set(FATHOM_SET_FILTER), copy);
	CHECK_EQ(fathom_listener_edit(NULL, FATHOM_SET_FILTER, copy, "hij_*", 5), 0);
	CHECK_EQ(fathom_listener_edit(NULL, FATHOM_SET_FILTER, copy, "!hij_leaf", 9), 0);
	CHECK_EQ(fathom_listener_edit(NULL, FATHOM_SET_FILTER, copy, "nosuch", 6), -FATHOM_EINVAL);
	CHECK_EQ(members(FATHOM_SET_FILTER), 1);
	CHECK_EQ(top_set_replace(FATHOM_SET_FILTER, copy), 0);
	CHECK_EQ(members(FATHOM_SET_FILTER), NR_TRACED);
	CHECK_EQ(fathom_listener_command(NULL, FATHOM_SET_FILTER, "ret_leaf", 8), 0);
	CHECK_EQ(fathom_listener_command(NULL, FATHOM_SET_FILTER, "ret_leaf:traceoff", 17), 1);
	CHECK_EQ(fathom_listener_command(NULL, FATHOM_SET_FILTER, "!ret_leaf:traceoff", 18), 1);
	CHECK_EQ(members(FATHOM_SET_FILTER), NR_TRACED);
	clean();
}

TEST(bad_input_changes_nothing)
{
	static char line[10240];

	filter("ret_leaf");
	CHECK_EQ(filter("nosuch"), -FATHOM_EINVAL);
	CHECK_EQ(filter("!nosuch"), -FATHOM_EINVAL);
	CHECK_EQ(filter("nosuch*"), -FATHOM_EINVAL);
	CHECK_EQ(filter(""), -FATHOM_EINVAL);
	CHECK_EQ(filter("!"), -FATHOM_EINVAL);
	CHECK_EQ(filter("0"), -FATHOM_EINVAL);
	CHECK_EQ(filter("0x"), -FATHOM_EINVAL);
	CHECK_EQ(filter("08"), -FATHOM_EINVAL);
	CHECK_EQ(filter("99999999"), -FATHOM_EINVAL);
	CHECK_EQ(filter("999999999999999999999999"), -FATHOM_EINVAL);
	CHECK_EQ(filter("ret_leaf "), -FATHOM_EINVAL);
	memset(line, 'x', sizeof(line));
	CHECK_EQ(top_set_write(FATHOM_SET_FILTER, line, sizeof(line)), -FATHOM_EINVAL);
	memset(line, '*', sizeof(line));
	line[sizeof(line) - 1] = 'Q';
	CHECK_EQ(top_set_write(FATHOM_SET_FILTER, line, sizeof(line)), -FATHOM_EINVAL);
	CHECK_EQ(fathom_tracer_set("nosuch"), -FATHOM_EINVAL);
	CHECK_EQ(fathom_tracer_set(""), -FATHOM_EINVAL);
	CHECK_EQ(members(FATHOM_SET_FILTER), 1);
	CHECK_EQ(fathom_set_next(top_set(FATHOM_SET_FILTER), 0),
		 fathom_set_next(top_set(FATHOM_SET_FILTER), 0));
	clean();
}

TEST(hundred_thousand_names)
{
	char name[16];
	int bad = 0;

	for (int i = 0; i < 100000; i++) {
		snprintf(name, sizeof(name), i % 1000 ? "no_%d" : "ret_leaf", i);
		bad += filter(name) != (i % 1000 ? -FATHOM_EINVAL : 0);
	}
	CHECK_EQ(bad, 0);
	CHECK_EQ(members(FATHOM_SET_FILTER), 1);
	clean();
}

static uint32_t waiting(enum fathom_function_set set)
{
	return fathom_waiting_count(0, set);
}

/* The functions of one of the traced files, as a module. */
static struct fathom_module module_of(const char *name, const char *prefix)
{
	struct fathom_module m = {.name = name, .from = UINTPTR_MAX};

	for (uint32_t i = 0; i < fathom_function_count(); i++) {
		uintptr_t at = fathom_function_address(i);

		if (strncmp(fathom_function_name(i), prefix, strlen(prefix)) != 0)
			continue;
		m.from = at < m.from ? at : m.from;
		m.to = at >= m.to ? at + 1 : m.to;
	}
	return m;
}

TEST(modules)
{
	static struct fathom_module rets, again, gone;
	static char nothing[16];
	char line[32];

	rets = module_of("rets", "ret_");
	again = rets;
	gone = (struct fathom_module){
		.name = "gone", .from = (uintptr_t)nothing, .to = (uintptr_t)nothing + 16};
	CHECK_EQ(filter("*mid:mod:rets"), 0); /* not there: kept, and nothing is traced */
	CHECK_EQ(filter("nosuch:mod:other"), 0);
	CHECK_EQ(members(FATHOM_SET_FILTER), 0);
	CHECK_EQ(waiting(FATHOM_SET_FILTER), 2);
	CHECK_STR(fathom_waiting_at(0, FATHOM_SET_FILTER, 0), "nosuch:mod:other");
	CHECK_STR(fathom_waiting_at(0, FATHOM_SET_FILTER, 1), "*mid:mod:rets");
	fathom_tracer_set("function");
	ret_mid(1);
	hij_mid(1);
	CHECK_EQ(records(), 0);
	CHECK_EQ(fathom_module_add(&rets), 0);
	CHECK_EQ(waiting(FATHOM_SET_FILTER), 1);
	CHECK_EQ(members(FATHOM_SET_FILTER), 1);
	ret_mid(1);
	hij_mid(1);
	CHECK_EQ(records(), 1);
	CHECK_EQ(filter("!*:mod:other"), 0);
	CHECK_EQ(filter("!*:mod:other"), -FATHOM_EINVAL);
	CHECK_EQ(waiting(FATHOM_SET_FILTER), 0);
	CHECK_EQ(fathom_module_add(&again), -FATHOM_EEXIST);
	CHECK_EQ(filter("nosuch:mod:rets"), -FATHOM_EINVAL);
	CHECK_EQ(filter(":mod:rets"), 0);
	CHECK_EQ(members(FATHOM_SET_FILTER), NR_TRACED);
	CHECK_EQ(filter("!*leaf:mod:r*"), 0);
	CHECK_EQ(members(FATHOM_SET_FILTER), NR_TRACED - 1);
	CHECK_EQ(filter("*_leaf:mod:!rets"), 0);
	CHECK_EQ(filter("hij_top:mod:!"), 0);
	CHECK_EQ(members(FATHOM_SET_FILTER), NR_TRACED + 1);
	CHECK_EQ(put(FATHOM_SET_NOTRACE, "*leaf:mod:rets"), 0);
	CHECK_EQ(members(FATHOM_SET_NOTRACE), 1);
	CHECK_EQ(put(FATHOM_SET_GRAPH, "*:mod:rets"), -FATHOM_EINVAL);
	CHECK_EQ(put(FATHOM_SET_STACK, "*:mod:rets"), -FATHOM_ENODEV);
	CHECK_STR(fathom_function_module((uint32_t)fathom_site_find((uintptr_t)ret_leaf)), "rets");
	CHECK(!fathom_function_module((uint32_t)fathom_site_find((uintptr_t)hij_leaf)));
	CHECK_EQ(fathom_module_add(&gone), 0);
	CHECK_EQ(filter("x:mod:gone"), -FATHOM_EINVAL);
	CHECK_EQ(fathom_module_remove(&gone), 0);
	CHECK_EQ(fathom_module_remove(&gone), -FATHOM_ENOENT);
	for (int i = 0; i < 100;
	     i++) { /* as many as there is room for; one that waits already is none more */
		snprintf(line, sizeof(line), "f:mod:m%d", i % 50);
		CHECK(filter(line) == (i % 50 < 16 ? 0 : -FATHOM_ENOMEM));
	}
	clean();
	CHECK_EQ(waiting(FATHOM_SET_FILTER), 0);
}

TEST(filter_notrace_and_live_change)
{
	filter("ret_*");
	CHECK_EQ(put(FATHOM_SET_NOTRACE, "ret_leaf"), 0);
	fathom_tracer_set("function");
	ret_mid(1);
	CHECK_EQ(records(), 1); /* ret_mid without its leaves */
	top_set_clear(FATHOM_SET_NOTRACE);
	ret_mid(1);
	CHECK_EQ(records(), 3);
	filter("!ret_mid");
	ret_mid(1);
	CHECK_EQ(records(), 2);
	clean();
}

TEST(graph_function_notrace_depth_thresh)
{
	filter("ret_*");
	CHECK_EQ(put(FATHOM_SET_GRAPH, "ret_mid"), 0);
	fathom_tracer_set("function_graph");
	ret_top(1); /* mid twice with two leaves each; the leaf that top calls itself is outside */
	CHECK_EQ(records(), 12);
	CHECK_EQ(put(FATHOM_SET_GRAPH_NOTRACE, "ret_leaf"), 0);
	ret_top(1);
	CHECK_EQ(records(), 4);
	top_set_clear(FATHOM_SET_GRAPH);
	top_set_clear(FATHOM_SET_GRAPH_NOTRACE);
	fathom_graph_depth_set(1);
	ret_top(1);
	CHECK_EQ(records(), 2);
	fathom_graph_depth_set(2);
	ret_top(1);
	CHECK_EQ(records(), 8);
	fathom_graph_depth_set(0);
	fathom_thresh_set(1000000000);
	ret_top(1);
	CHECK_EQ(records(), 0);
	fathom_thresh_set(1);
	ret_top(1);
	CHECK_EQ(records(), 8); /* returns only */
	clean();
}

/* With return sites, calls that are left out are seen to return all the same: that is no return without a call. */
TEST(left_out_is_not_lost)
{
	struct fathom_tracer_stats before, after;

	filter("ret_*");
	fathom_tracer_set("function_graph");
	fathom_tracer_stats(&before);
	fathom_graph_depth_set(1);
	ret_top(1);
	fathom_graph_depth_set(0);
	CHECK_EQ(put(FATHOM_SET_GRAPH, "ret_mid"), 0);
	CHECK_EQ(put(FATHOM_SET_GRAPH_NOTRACE, "ret_leaf"), 0);
	ret_top(1);
	top_set_clear(FATHOM_SET_GRAPH);
	top_set_clear(FATHOM_SET_GRAPH_NOTRACE);
	top_pid_add(FATHOM_PIDS_TRACE, 1);
	ret_top(1);
	top_pid_clear(FATHOM_PIDS_TRACE);
	fathom_tracing_off();
	ret_top(1);
	fathom_tracing_on();
	ret_recurse(FATHOM_SHADOW_DEPTH + 30);
	fathom_tracer_stats(&after);
	CHECK_EQ(after.unmatched - before.unmatched, 0);
	CHECK_EQ(after.refused - before.refused, 0);
	CHECK(after.shadow_full > before.shadow_full);
	clean();
}

TEST(pids)
{
	filter("ret_leaf");
	fathom_tracer_set("function");
	CHECK_EQ(top_pid_add(FATHOM_PIDS_TRACE, 1), 0);
	CHECK_EQ(top_pid_add(FATHOM_PIDS_TRACE, -1), -FATHOM_EINVAL);
	ret_leaf(1);
	CHECK_EQ(records(), 0);
	CHECK_EQ(top_pid_add(FATHOM_PIDS_TRACE, fathom_port_task()), 0);
	ret_leaf(1);
	CHECK_EQ(records(), 1);
	for (int i = 0; i < FATHOM_PIDS_MAX; i++)
		top_pid_add(FATHOM_PIDS_TRACE, 1000 + i);
	CHECK_EQ(top_pid_add(FATHOM_PIDS_TRACE, 5000), -FATHOM_ENOSPC);
	clean();
}

static int probe_count(void)
{
	struct fathom_function_probe p;
	uint32_t n = 0;

	while (fathom_listener_probe_at(NULL, n, &p))
		n++;
	return (int)n;
}

TEST(probes)
{
	struct fathom_function_probe p;

	CHECK_EQ(filter("ret_leaf:traceoff:1"), 0);
	CHECK_EQ(filter("ret_leaf:bogus"), -FATHOM_EINVAL);
	CHECK_EQ(filter("ret_leaf:traceoff:abc"), -FATHOM_EINVAL);
	CHECK_EQ(filter("nosuch:traceoff"), -FATHOM_EINVAL);
	CHECK_EQ(filter("!nosuch:traceon"), -FATHOM_ENODEV);
	CHECK_EQ(filter("!ret_leaf:traceoff"), -FATHOM_ENODEV); /* it is a counted one */
	CHECK_EQ(filter(":traceoff"), -FATHOM_EINVAL);
	CHECK_EQ(probe_count(), 1);
	CHECK(fathom_listener_probe_at(NULL, 0, &p));
	CHECK_STR(p.command, "traceoff");
	CHECK_EQ(p.left, 1);
	ret_leaf(1);
	CHECK(!fathom_tracing_is_on());
	fathom_tracing_on();
	ret_leaf(1);
	CHECK(fathom_tracing_is_on()); /* used up */
	CHECK_EQ(filter("!ret_leaf:traceoff:0"), 0);
	CHECK_EQ(probe_count(), 0);
	CHECK_EQ(filter("ret_leaf:dump"), 0); /* once, though no count was given */
	CHECK(fathom_listener_probe_at(NULL, 0, &p));
	CHECK_EQ(p.left, 1);
	ret_leaf(1);
	CHECK(!fathom_tracing_is_on());
	fathom_tracing_on();
	CHECK(fathom_listener_probe_at(NULL, 0, &p));
	CHECK_EQ(p.left, 0);
	ret_leaf(1);
	CHECK(fathom_tracing_is_on()); /* used up */
	CHECK_EQ(filter("!ret_leaf:dump"), 0);
	CHECK_EQ(filter("ret_leaf:dump:3"),
		 0); /* the count is not looked at, nor when it is removed */
	CHECK(fathom_listener_probe_at(NULL, 0, &p));
	CHECK_EQ(p.left, 1);
	CHECK_EQ(filter("!ret_leaf:dump"), 0);
	CHECK_EQ(filter("ret_leaf:cpudump:2"), 0);
	CHECK(fathom_listener_probe_at(NULL, 0, &p));
	CHECK_EQ(p.left, -1);
	ret_leaf(1);
	CHECK(!fathom_tracing_is_on());
	fathom_tracing_on();
	CHECK_EQ(filter("!ret_leaf:cpudump:1"), 0);
	CHECK_EQ(probe_count(), 0);
	CHECK_EQ(filter("ret_leaf:stacktrace:0x10"), 0);
	CHECK(fathom_listener_probe_at(NULL, 0, &p));
	CHECK_EQ(p.left, 16);
	CHECK_EQ(filter("ret_mid:stacktrace:99999999999"), -FATHOM_ERANGE);
	CHECK_EQ(filter("!ret_leaf:stacktrace:0"), 0);
	CHECK_EQ(filter("ret_*:stacktrace"), 0);
	CHECK_EQ(probe_count(), NR_TRACED);
	ret_mid(1);
	CHECK_EQ(records_of(WIRE_ID_KERNEL_STACK), 3);
	CHECK_EQ(filter("!ret_*:stacktrace"), 0);
	ret_mid(1);
	CHECK_EQ(records(), 0);
	clean();
}

/* A probe that is not there is not removed, though one of its kind is elsewhere. */
TEST(probes_of_others)
{
	CHECK_EQ(filter("ret_leaf:stacktrace"), 0);
	CHECK_EQ(filter("!ret_mid:stacktrace"), -FATHOM_EINVAL);
	CHECK_EQ(probe_count(), 1);
	CHECK_EQ(filter("!ret_leaf:stacktrace"), 0);
	clean();
}

/* Linux's count of repeats has 16 bits: the 65,536th begins anew. */
TEST(repeats_have_a_limit)
{
	struct function_last last = {.ip = 1, .parent_ip = 2, .count = 0xfffe};

	CHECK_EQ(fathom_function_repeats(&last, NULL, 1, 2, 0), 1);
	CHECK_EQ(last.count, 0xffff);
	CHECK_EQ(fathom_function_repeats(&last, NULL, 1, 2, 0), 0);
	CHECK_EQ(fathom_function_repeats(&last, NULL, 1, 3, 0), 0);
}

/* ---- the shadow stack, with calls made up ---- */

static uint64_t unwound(void)
{
	struct fathom_tracer_stats st;

	fathom_tracer_stats(&st);
	return st.unwound;
}

/* Call 1 returned: those below it on its stack are gone and counted, one on another stack is not. */
TEST(calls_of_two_stacks)
{
	static struct fathom_task task;
	uintptr_t far = 0x1000, top = far + 16 * FATHOM_STACK_BYTES;
	uint64_t before = unwound();

	task = (struct fathom_task){.depth = 5};
	task.shadow[0] = (struct fathom_shadow){.slot = top, .ret = 1};
	task.shadow[1] = (struct fathom_shadow){.slot = top - 64, .ret = 2};
	task.shadow[2] = (struct fathom_shadow){.slot = top - 128, .ret = 3};
	task.shadow[3] = (struct fathom_shadow){.slot = far, .ret = 4};
	task.shadow[4] = (struct fathom_shadow){.slot = top - 192, .ret = 5};
	fathom_shadow_unwind(&task, 1);
	CHECK_EQ(unwound() - before, 3);
	CHECK_EQ(task.depth, 3);
	CHECK_EQ(task.shadow[2].ret, 4);
}

/* Stacks are walked inside of a call whose return was replaced. */
static size_t look_through(int unused)
{
	volatile uintptr_t *at = (volatile uintptr_t *)__builtin_frame_address(0);

	(void)unused;
	for (int i = 0; i < 200; i++) {
		uintptr_t real = fathom_return_address((uintptr_t)&at[i], at[i]);

		if (real != at[i])
			return real;
	}
	return 0;
}

TEST(replaced_returns_are_seen_through)
{
	uintptr_t real;

	filter("hij_through");
	CHECK_EQ(fathom_tracer_set("function_graph"), 0);
	real = hij_through(look_through, 0);
	fathom_tracer_set("nop");
	CHECK(real != 0 && real != fathom_arch_return_address());
	CHECK(real > (uintptr_t)test_replaced_returns_are_seen_through &&
	      real < (uintptr_t)test_replaced_returns_are_seen_through + 4096);
	CHECK_EQ(fathom_return_address(1, 12345), 12345);
	clean();
}

TEST(stack_tracer)
{
	static struct fathom_stack_seen seen;
	static char buf[8192];
	struct fathom_text t;
	unsigned long depth, size, sum = 0, first = 0;
	uint32_t lines = 0;

	fathom_user_stack_init();
	put(FATHOM_SET_STACK, "ret_recurse");
	CHECK_EQ(fathom_stack_tracer_set(1), 0);
	ret_recurse(20);
	CHECK_EQ(fathom_stack_tracer_set(0), 0);
	CHECK(fathom_stack_max() > 20 * 16);
	fathom_text_init(&t, buf, sizeof(buf));
	fathom_stack_copy(&seen);
	CHECK_EQ(fathom_stack_tracer_set(1), 0);
	ret_recurse(40); /* a deeper one, which is not mixed into what was copied */
	CHECK_EQ(fathom_stack_tracer_set(0), 0);
	CHECK(fathom_stack_max() > seen.bytes);
	fathom_stack_text(&t, &seen);
	for (const char *p = fathom_text_cstr(&t); (p = strchr(p, ')')) != 0; p++)
		if (sscanf(p, ") %lu %lu", &depth, &size) == 2) {
			first = first ? first : depth;
			sum += size;
			lines++;
		}
	CHECK_EQ(first, seen.bytes);
	CHECK_EQ(sum, first); /* sizes add up to the depth */
	CHECK(lines > 20);
	CHECK(strstr(buf, "ret_recurse+0x5/0x"));
	clean();
}

TEST(profile)
{
	static uint32_t order[1024];
	char buf[256];
	struct fathom_text t;

	filter("ret_*");
	CHECK_EQ(fathom_profile_set(1), 0);
	for (int i = 0; i < 10; i++)
		ret_mid(1);
	CHECK_EQ(fathom_profile_set(0), 0);
	CHECK(fathom_function_count() <= 1024);
	CHECK_EQ(fathom_profile_order(0, order), 2);
	fathom_text_init(&t, buf, sizeof(buf));
	fathom_profile_line(0, order[0], &t); /* mid includes its leaves, so it comes first */
	CHECK(strstr(fathom_text_cstr(&t), "  ret_mid                                 10  "));
	fathom_text_init(&t, buf, sizeof(buf));
	fathom_profile_line(0, order[1], &t);
	CHECK(strstr(fathom_text_cstr(&t), "  ret_leaf                                20  "));
	fathom_text_init(&t, buf, sizeof(buf));
	fathom_profile_head(&t);
	CHECK(strstr(fathom_text_cstr(&t), "  Function                               Hit    Time"));
	CHECK_EQ(records(), 0);
	clean();
}

static size_t turn_profile(int on)
{
	return (size_t)fathom_profile_set(on);
}

/* A call whose return was not seen, for it was off by then, does not last until the next one that returns from there. */
TEST(profile_off_and_on)
{
	static uint32_t order[1024];

	CHECK_EQ(fathom_profile_set(1), 0);
	CHECK_EQ(ret_through(turn_profile, 0), 0);
	CHECK_EQ(ret_through(turn_profile, 1), 0);
	CHECK_EQ(fathom_profile_order(0, order), 0);
	CHECK_EQ(hij_through(turn_profile, 0), 0);
	CHECK_EQ(hij_through(turn_profile, 1), 0);
	CHECK_EQ(fathom_profile_order(0, order), 0);
	CHECK_EQ(fathom_profile_set(0), 0);
	clean();
}

/* A call that migrates has its time on the CPU where it returns: shown there, though it was not made there. */
TEST(profile_of_a_return)
{
	static uint32_t order[1024];
	uintptr_t ip = (uintptr_t)ret_leaf;
	struct fathom_text t;
	char buf[256];

	while (fathom_site_find(ip) < 0)
		ip++;
	CHECK_EQ(fathom_profile_set(1), 0);
	fathom_profile_leave(ip, 5000, 5000);
	CHECK_EQ(fathom_profile_set(0), 0);
	CHECK_EQ(fathom_profile_order(0, order), 1);
	fathom_text_init(&t, buf, sizeof(buf));
	fathom_profile_line(0, order[0], &t);
	CHECK(strstr(fathom_text_cstr(&t), "  ret_leaf                                 0  "));
	clean();
}

static size_t spin(int ms)
{
	uint64_t from = fathom_port_clock(), ns = (uint64_t)ms * 1000000;

	while (fathom_to_ns(fathom_port_clock() - from) < ns)
		;
	return 0;
}

static size_t nest(int ms)
{
	return ret_through(spin, ms);
}

/* Of the only function in the profile: its time and s^2, in us. */
static double profile_number(int column)
{
	static uint32_t order[1024];
	char buf[256], *s = buf, *unit;
	struct fathom_text t;
	double v = 0;

	CHECK_EQ(fathom_profile_order(0, order), 1);
	fathom_text_init(&t, buf, sizeof(buf));
	fathom_profile_line(0, order[0], &t);
	fathom_text_cstr(&t);
	for (int i = 0; i <= column && (unit = strstr(s, " us")); i++, s = unit + 3) {
		for (s = unit; s > buf && s[-1] != ' '; s--)
			;
		v = strtod(s, NULL);
	}
	return v;
}

/* Without graph-time a function has its own time: of a call in a call the outer one has next to none. */
TEST(profile_of_own_time)
{
	uint64_t from;
	double took;

	filter("ret_through");
	CHECK_EQ(fathom_tracer_option_set(FATHOM_OPT_GRAPH_GRAPH_TIME, 0), 0);
	CHECK_EQ(fathom_profile_set(1), 0);
	from = fathom_port_clock();
	ret_through(nest, 5);
	took = (double)fathom_to_ns(fathom_port_clock() - from) / 1000;
	CHECK_EQ(fathom_profile_set(0), 0);
	CHECK_EQ(fathom_tracer_option_set(FATHOM_OPT_GRAPH_GRAPH_TIME, 1), 0);
	CHECK(profile_number(0) > 4900 && profile_number(0) < took * 1.2);
	clean();
}

/* Two calls, of 1 ms and of 3 ms: n * sum of squares - square of sums, by n (n - 1). */
TEST(profile_of_spread)
{
	uintptr_t ip = (uintptr_t)ret_leaf;
	double spread;

	while (fathom_site_find(ip) < 0)
		ip++;
	filter("ret_leaf");
	CHECK_EQ(fathom_profile_set(1), 0);
	fathom_profile_enter((uint32_t)fathom_site_find(ip));
	fathom_profile_enter((uint32_t)fathom_site_find(ip));
	fathom_profile_leave(ip, 1000000, 1000000);
	fathom_profile_leave(ip, 3000000, 3000000);
	CHECK_EQ(fathom_profile_set(0), 0);
	spread = profile_number(2);
	CHECK(spread > 1800000 && spread < 2200000);
	clean();
}

/* However many there are, they come in order: hits of functions of different depth, so of different length. */
TEST(profile_order)
{
	static uint32_t order[1024];
	char buf[256];
	struct fathom_text t;
	double last = 1e18, us;
	uint32_t nr;

	CHECK_EQ(fathom_profile_set(1), 0);
	ret_work();
	hij_work();
	CHECK_EQ(fathom_profile_set(0), 0);
	nr = fathom_profile_order(0, order);
	CHECK(nr >= 12);
	for (uint32_t i = 0; i < nr; i++) {
		fathom_text_init(&t, buf, sizeof(buf));
		fathom_profile_line(0, order[i], &t);
		CHECK_EQ(sscanf(fathom_text_cstr(&t), " %*s %*d %lf", &us), 1);
		CHECK(us <= last);
		last = us;
	}
	clean();
}

static int read_garbage(uintptr_t at, uintptr_t out[2])
{
	out[0] = at * 2654435761u % 65536;
	out[1] = at ^ 0x5a5a;
	return at % 7 == 0 ? -FATHOM_EFAULT : 0;
}

/* Whatever the frames say, a walk ends and stays inside. */
TEST(unwind_garbage)
{
	static uintptr_t stack[512];
	struct fathom_unwind u;

	for (int seed = 1; seed < 2000; seed++) {
		int steps = 0;

		srand((unsigned int)seed);
		for (int i = 0; i < 512; i++)
			stack[i] = rand() % 3 ? (uintptr_t)&stack[rand() % 600] : (uintptr_t)rand();
		fathom_unwind_user(&u, (uintptr_t)&stack[rand() % 520] + (uintptr_t)(rand() % 9),
				   (uintptr_t)stack, (uintptr_t)(stack + 512), 0);
		while (fathom_unwind_next(&u, 0))
			steps++;
		CHECK(steps <= 256);
		fathom_unwind_user(&u, (uintptr_t)rand(), 0, UINTPTR_MAX, read_garbage);
		for (steps = 0; fathom_unwind_next(&u, 0);)
			steps++;
		CHECK(steps < 65536);
	}
}

/* Memory of boot code that was given away before the first tracer: whatever lies there now, it is not touched. */
TEST(text_given_away)
{
	uintptr_t from = (uintptr_t)hij_pair;
	struct fathom_tracer_stats st;
	uint32_t all = fathom_function_count();

	fathom_tracer_set("nop");
	fathom_exit();
	fathom_function_forget(from, from + 1);
	CHECK_EQ(port_init(1), 0);
	CHECK_EQ(fathom_tracer_set("function"), 0);
	CHECK_EQ(fathom_function_count(), all - 1);
	fathom_tracer_stats(&st);
	CHECK_EQ(st.sites_dropped, 1);
	CHECK_EQ(filter("hij_pair"), -FATHOM_EINVAL);
	from = (uintptr_t)ret_pair;
	fathom_function_forget(from, from + 1); /* and while it is traced */
	ret_pair(1, 2, 3, 4);
	hij_pair(1, 2, 3, 4);
	CHECK_EQ(records(), 0);
	ret_leaf(1);
	CHECK_EQ(records(), 1);
	CHECK_EQ(filter("ret_pair"), -FATHOM_EINVAL);
	clean();
}

int main(int argc, char **argv)
{
	if (port_init(1)) {
		printf("not ok init: fathom_init failed\n");
		return 1;
	}
	fathom_tracer_set("function"); /* makes the table */
	fathom_tracer_set("nop");
	return test_main(argc, argv);
}
