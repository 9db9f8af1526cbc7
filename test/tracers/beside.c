/* SPDX-License-Identifier: MIT */
/* beside.c -- tracers side by side, in instances and at the top: latency tracers of two families, users of a function. */
#include "fathom/inside/errno.h"
#include "fathom/fs.h"
#include "fathom/inside/patch.h"
#include "fathom/task.h"
#include "fathom/trace.h"
#include "functions/tracer.h"
#include "fathom_port.h"
#include "fathom_user.h"
#include "harness.h"
#include "functions/tracers.h"
#include "traced.h"

static char text[1 << 16];

static const char *get(const char *path)
{
	int n = fathom_get(path, text, sizeof(text) - 1);

	text[n < 0 ? 0 : n] = 0;
	return text;
}

static uint64_t number(const char *path)
{
	return strtoull(get(path), NULL, 10);
}

static int has(const char *path, const char *what)
{
	return strstr(get(path), what) != NULL;
}

static void begin(void)
{
	struct fathom_node dir;

	CHECK_EQ(fathom_user_start("tracer=nop,out=,buffer_kb=64,cpus=2"), 0);
	CHECK_EQ(fathom_fs_lookup("instances", &dir), 0);
	CHECK_EQ(fathom_fs_mkdir(&dir, "a", 1), 0);
	CHECK_EQ(fathom_fs_mkdir(&dir, "b", 1), 0);
	hij_leaf(1); /* this thread has a ring now */
}

static void pass(uint64_t us)
{
	uint64_t from = fathom_now();

	while (fathom_ticks_to_ns(fathom_now() - from) < us * 1000 + 10)
		;
}

/* Interrupts are off for at least so long, and functions are called then. */
static void section(uint64_t us)
{
	fathom_note_irqs(1, (uintptr_t)hij_top, (uintptr_t)hij_mid);
	hij_leaf(1);
	pass(us);
	fathom_note_irqs(0, (uintptr_t)hij_top, (uintptr_t)hij_mid);
}

static void wakeup(int32_t pid, uint64_t us)
{
	struct fathom_sched_task current = {.pid = 1, .prio = 120},
				 woken = {.pid = pid, .prio = 10, .is_rt = 1};

	fathom_note_wakeup(&current, &woken, fathom_port_cpu());
	ret_leaf(1);
	pass(us);
	fathom_task_switch(&current, &woken);
}

/* What is recorded of a wait are the functions of the CPU where the task will run, also if that becomes another. */
TEST(wait_moves_to_another_cpu)
{
	struct fathom_sched_task current = {.pid = 1, .prio = 120},
				 woken = {.pid = 77, .prio = 10, .is_rt = 1};

	begin();
	CHECK_EQ(fathom_set("current_tracer", "wakeup"), 0);
	fathom_note_wakeup(&current, &woken, fathom_port_cpu() + 1);
	ret_mid(1);
	fathom_note_migrate(76, fathom_port_cpu());
	ret_mid(1);
	fathom_note_migrate(77, fathom_port_cpu());
	hij_mid(1);
	fathom_task_switch(&current, &woken);
	CHECK(has("trace", "hij_leaf <-hij_mid"));
	CHECK(!has("trace", "ret_leaf <-ret_mid"));
	fathom_user_stop();
}

TEST(each_has_its_own_worst)
{
	begin();
	CHECK_EQ(fathom_set("instances/a/current_tracer", "irqsoff"), 0);
	CHECK_EQ(fathom_set("instances/b/current_tracer", "wakeup"), 0);
	section(3000);
	wakeup(77, 500);
	CHECK(number("instances/a/tracing_max_latency") >= 3000);
	CHECK(number("instances/b/tracing_max_latency") >= 500);
	CHECK_EQ(number("tracing_max_latency"), 0);
	CHECK(has("instances/a/trace", "#  => started at: hij_mid\n"));
	CHECK(has("instances/a/trace", ": hij_leaf <-"));
	CHECK(!has("instances/a/trace", "==>"));
	CHECK(has("instances/b/trace", "==>"));
	CHECK(has("instances/b/trace", ": ret_leaf <-"));
	CHECK(has("instances/b/trace", "-77 (uid:0 nice:0 policy:1 rt_prio:89)"));
	CHECK(!has("instances/b/trace", "started at"));
	/* One ends, the other goes on. */
	CHECK_EQ(fathom_set("instances/b/current_tracer", "nop"), 0);
	CHECK_EQ(fathom_set("instances/a/tracing_max_latency", "0"), 0);
	section(200);
	CHECK(number("instances/a/tracing_max_latency") >= 200);
	CHECK_EQ(fathom_set("instances/b/current_tracer", "wakeup"), 0);
	CHECK_EQ(fathom_set("instances/a/current_tracer", "nop"), 0);
	wakeup(78, 200);
	CHECK(number("instances/b/tracing_max_latency") >= 200);
	fathom_user_stop();
}

TEST(beside_the_top)
{
	begin();
	CHECK_EQ(fathom_set("current_tracer", "wakeup_rt"), 0);
	CHECK_EQ(fathom_set("instances/a/current_tracer", "preemptirqsoff"), 0);
	wakeup(77, 400);
	section(1500);
	CHECK(number("tracing_max_latency") >= 400);
	CHECK(number("instances/a/tracing_max_latency") >= 1500);
	CHECK(has("trace", "==>"));
	CHECK(has("instances/a/trace", "started at: hij_mid"));
	fathom_user_stop();
}

TEST(of_one_family_one)
{
	begin();
	CHECK_EQ(fathom_set("instances/a/current_tracer", "irqsoff"), 0);
	CHECK_EQ(fathom_set("instances/b/current_tracer", "function"), 0);
	CHECK_EQ(fathom_set("current_tracer", "function"), 0);
	CHECK_EQ(fathom_set("instances/b/current_tracer", "preemptoff"), -FATHOM_EBUSY);
	CHECK_EQ(fathom_set("current_tracer", "irqsoff"), -FATHOM_EBUSY);
	/* As in Linux the old one had stopped by then. */
	CHECK_STR(get("current_tracer"), "nop\n");
	CHECK_STR(get("instances/b/current_tracer"), "nop\n");
	CHECK_STR(get("instances/a/current_tracer"), "irqsoff\n");
	CHECK_EQ(fathom_set("current_tracer", "wakeup"), 0);
	CHECK_EQ(fathom_set("instances/b/current_tracer", "wakeup_dl"), -FATHOM_EBUSY);
	section(200);
	CHECK(number("instances/a/tracing_max_latency") >= 200);
	CHECK_EQ(fathom_set("instances/a/current_tracer", "preemptoff"), 0); /* in its own place */
	CHECK_EQ(fathom_set("current_tracer", "nop"), 0);
	CHECK_EQ(fathom_set("instances/b/current_tracer", "wakeup_dl"), 0);
	fathom_user_stop();
	begin(); /* and nothing of it is left */
	CHECK_EQ(fathom_set("current_tracer", "irqsoff"), 0);
	CHECK_EQ(fathom_set("instances/b/current_tracer", "wakeup"), 0);
	fathom_user_stop();
}

/* The layout is Linux's: users, R I D, the code for one user, and what serves it. */
TEST(enabled_functions)
{
	unsigned int size;
	int end = 0;

	begin();
	CHECK_EQ(fathom_set("set_ftrace_filter", "hij_leaf"), 0);
	CHECK_EQ(fathom_set("current_tracer", "function"), 0);
	get("enabled_functions");
	CHECK_EQ(sscanf(text,
			"hij_leaf (1)%*[ ]\ttramp: fathom_arch_entry_function+0x0/0x%x "
			"(fathom_function_enter+0x0/0x%x) ->fathom_function_enter+0x0/0x%x\n%n",
			&size, &size, &size, &end),
		 3);
	CHECK_EQ(end, strlen(text));
	CHECK(!strncmp(text + 12, "      \t", 7));
	CHECK_EQ(fathom_set("instances/a/set_ftrace_filter", "hij_leaf"), 0);
	CHECK_EQ(fathom_set("instances/a/current_tracer", "function"), 0);
	CHECK_EQ(fathom_set("instances/b/set_ftrace_filter", "hij_*"), 0);
	CHECK_EQ(fathom_set("instances/b/current_tracer", "function"), 0);
	CHECK(has("enabled_functions", "hij_leaf (3)       ->fathom_function_any+0x0/0x"));
	CHECK(has("enabled_functions", "hij_top (1)       ->fathom_function_any+0x0/0x"));
	CHECK_EQ(fathom_set("instances/b/current_tracer", "nop"), 0);
	CHECK_EQ(fathom_set("instances/a/current_tracer", "nop"), 0);
	CHECK_EQ(fathom_set("set_ftrace_filter", "ret_leaf"), 0);
	CHECK_EQ(fathom_set("current_tracer", "function_graph"), 0);
	CHECK(has("enabled_functions",
		  "ret_leaf (1)      \ttramp: fathom_arch_entry_graph+0x0/0x"));
	CHECK(has("enabled_functions", " (fathom_graph_enter+0x0/0x"));
	/* What had a user at any time, and what has one now. */
	CHECK_EQ(fathom_set("current_tracer", "nop"), 0);
	get("enabled_functions");
	CHECK_STR(text, "");
	CHECK(has("touched_functions", "hij_leaf (0)      \n"));
	CHECK(has("touched_functions", "hij_top (0)      \n"));
	CHECK(!has("touched_functions", "ret_top"));
	CHECK_EQ(fathom_set("current_tracer", "function_graph"), 0);
	CHECK(has("touched_functions", "ret_leaf (1)      \ttramp: "));
	CHECK(has("touched_functions", "hij_leaf (0)      \n"));
	fathom_user_stop();
}

static void filter(const char *names)
{
	CHECK_EQ(fathom_set("set_ftrace_filter", names), 0);
}

static size_t turn_on(int x)
{
	CHECK_EQ(fathom_set("current_tracer", "function_graph"), 0);
	return (size_t)x;
}

static size_t turn_filter_on(int x)
{
	filter("ret_through");
	return (size_t)x;
}

/* The inner call is made while its function is not traced, and returns when it is. */
static size_t call_unseen(int x)
{
	filter("ret_leaf");
	return ret_through(turn_filter_on, x);
}

static void returns_since(struct fathom_tracer_stats *since, uint64_t earlier, uint64_t unmatched)
{
	struct fathom_tracer_stats now;

	fathom_tracer_stats(&now);
	CHECK_EQ(now.earlier - since->earlier, earlier);
	CHECK_EQ(now.unmatched - since->unmatched, unmatched);
	*since = now;
}

/* A call that was open when tracing began is no fault when it returns; one inside of those that are traced might be. */
TEST(returns_without_a_call)
{
	struct fathom_tracer_stats since;

	begin();
	fathom_tracer_stats(&since);
	CHECK_EQ(ret_through(turn_on, 5), 5);
	returns_since(&since, 1, 0);
	CHECK_EQ(ret_top(1), hij_top(1));
	returns_since(&since, 0, 0);
	filter("ret_through");
	CHECK_EQ(ret_through(call_unseen, 6), 6);
	returns_since(&since, 0, 1);
	CHECK(has("tracer_stats", "return of an earlier call: "));
	fathom_user_stop();
}

static size_t look_away(int x)
{
	filter("hij_leaf");
	return (size_t)x;
}

static size_t look_back(int x)
{
	filter("ret_through");
	return (size_t)x;
}

/* A call whose return was not seen, for its function was not traced then, does not end with the next one. */
TEST(filter_away_and_back)
{
	begin();
	filter("ret_through");
	CHECK_EQ(fathom_set("current_tracer", "function_graph"), 0);
	CHECK_EQ(ret_through(look_away, 5), 5);
	pass(1000);
	CHECK_EQ(ret_through(look_back, 6), 6);
	CHECK(has("trace", "ret_through() {"));
	CHECK(!has("trace", "}\n"));
	fathom_user_stop();
}

static const char *(*real_symbol)(uintptr_t at, uintptr_t *offset, uintptr_t *size);

static const char *symbol_calls(uintptr_t at, uintptr_t *offset, uintptr_t *size)
{
	ret_leaf(1);
	return real_symbol(at, offset, size);
}

static size_t take_stack(int x)
{
	fathom_stack_event_in(fathom_ring_of(fathom_port_cpu()), fathom_port_context(0));
	return (size_t)x;
}

/* The tracer calls the port, and that a function with sites: its call is not let in, and its return no fault. */
TEST(returns_to_the_tracer)
{
	struct fathom_tracer_stats before, after;

	begin();
	real_symbol = fathom_core.config.symbol;
	CHECK_EQ(fathom_set("current_tracer", "function_graph"), 0);
	fathom_tracer_stats(&before);
	fathom_core.config.symbol = symbol_calls;
	CHECK_EQ(ret_through(take_stack, 4), 4);
	fathom_core.config.symbol = real_symbol;
	fathom_tracer_stats(&after);
	CHECK(after.recursion > before.recursion);
	CHECK_EQ(after.unmatched - before.unmatched, 0);
	CHECK_EQ(after.earlier - before.earlier, 0);
	fathom_user_stop();
}

static void (*real_sync)(void);
static int synced;

/* Another thread's calls, if it were one: while sites change. */
static void call_at_sync(void)
{
	real_sync();
	synced++;
	ret_top(1);
}

/* Sites that lead to the general entry for somebody else: what is called before their return sites are on is not followed. */
TEST(calls_while_sites_change)
{
	struct fathom_tracer_stats before, after;
	struct fathom_config config;

	begin();
	filter("ret_*");
	CHECK_EQ(fathom_set("stack_tracer_enabled", "1"), 0);
	config = fathom_core.config;
	real_sync = config.sync;
	config.sync = call_at_sync;
	fathom_arch_patch_init(&config);
	synced = 0;
	fathom_tracer_stats(&before);
	CHECK_EQ(fathom_set("current_tracer", "function_graph"), 0);
	CHECK(synced >= 3);
	fathom_arch_patch_init(&fathom_core.config);
	CHECK_EQ(ret_top(1), hij_top(1));
	fathom_tracer_stats(&after);
	CHECK_EQ(after.unwound - before.unwound, 0);
	CHECK_EQ(after.unmatched - before.unmatched, 0);
	CHECK(has("trace", "|  ret_top() {")); /* as deep as it is */
	CHECK_EQ(fathom_set("stack_tracer_enabled", "0"), 0);
	fathom_user_stop();
}

static size_t trace_all(int x)
{
	filter("ret_*");
	return (size_t)x;
}

/* Return sites go on before entries: what returns in between has no call, and that is no fault. */
TEST(returns_while_sites_change)
{
	struct fathom_tracer_stats before, after;
	struct fathom_config config;

	begin();
	filter("ret_through");
	CHECK_EQ(fathom_set("current_tracer", "function_graph"), 0);
	fathom_tracer_stats(&before);
	config = fathom_core.config;
	real_sync = config.sync;
	config.sync = call_at_sync;
	fathom_arch_patch_init(&config);
	CHECK_EQ(ret_through(trace_all, 7), 7);
	fathom_tracer_stats(&after);
	CHECK(synced > 3);
	CHECK(after.earlier - before.earlier >= 3);
	CHECK_EQ(after.unmatched - before.unmatched, 0);
	fathom_arch_patch_init(&fathom_core.config);
	fathom_user_stop();
}

static int append(const char *path, const char *line)
{
	struct fathom_node node;
	struct fathom_file f;
	int ret = fathom_fs_lookup(path, &node);

	if (!ret)
		ret = fathom_fs_open(&f, &node, FATHOM_O_WRONLY | FATHOM_O_APPEND);
	if (ret)
		return ret;
	ret = fathom_fs_write(&f, line, strlen(line));
	fathom_fs_close(&f);
	return ret < 0 ? ret : 0;
}

/* More probes than there is room for are refused. */
TEST(probes_have_a_limit)
{
	static const char *const lines[] = {"*:stacktrace\n", "*:stacktrace:9\n", "*:traceon\n",
					    "*:traceon:9\n",  "*:traceoff:9\n",	  "*:dump\n",
					    "*:cpudump\n",    "*:traceoff\n"};
	static const char *const files[] = {"set_ftrace_filter", "instances/a/set_ftrace_filter",
					    "instances/b/set_ftrace_filter"};
	int err = 0;

	begin();
	fathom_tracing_off();
	for (int i = 0; i < 24 && !err; i++)
		err = append(files[i / 8], lines[i % 8]);
	CHECK_EQ(err, -FATHOM_ENOSPC);
	fathom_user_stop();
}

static unsigned int count_of(const char *s, char c)
{
	unsigned int n = 0;

	for (; *s; s++)
		n += *s == c;
	return n;
}

/* Entries go off before return sites: a call that is seen is seen to return. */
TEST(entries_go_off_first)
{
	struct fathom_config config;

	begin();
	filter("ret_*");
	CHECK_EQ(fathom_set("current_tracer", "function_graph"), 0);
	CHECK_EQ(fathom_set("trace", ""), 0);
	config = fathom_core.config;
	real_sync = config.sync;
	config.sync = call_at_sync;
	fathom_arch_patch_init(&config);
	synced = 0;
	CHECK_EQ(fathom_set("set_ftrace_filter", "hij_leaf"), 0);
	CHECK(synced > 3);
	fathom_arch_patch_init(&fathom_core.config);
	has("trace", "");
	CHECK_EQ(count_of(text, '{'), count_of(text, '}'));
	fathom_user_stop();
}

/* A line of the profile has the counts of one moment, however it is read: time and hits make the average. */
TEST(profile_read_in_parts)
{
	struct fathom_node node;
	struct fathom_file f;
	size_t len = 0;
	int n, lines = 0;

	begin();
	filter("ret_*");
	CHECK_EQ(fathom_set("function_profile_enabled", "1"), 0);
	ret_work();
	CHECK_EQ(fathom_fs_lookup("trace_stat/function0", &node), 0);
	CHECK_EQ(fathom_fs_open(&f, &node, FATHOM_O_RDONLY), 0);
	while ((n = fathom_fs_read(&f, text + len, 5)) > 0) {
		len += (size_t)n;
		ret_work();
	}
	text[len] = 0;
	fathom_fs_close(&f);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		double hits, time, average, off, cut;

		if (sscanf(line, "  ret_%*s %lf %lf us %lf us", &hits, &time, &average) != 3)
			continue;
		lines++;
		off = time - hits * average;
		cut = time * 1e-6 + 0.002; /* behind their last digits */
		CHECK(off >= -cut && off <= hits * 0.001 + cut);
	}
	CHECK(lines > 4);
	fathom_user_stop();
}

TEST_MAIN
