/* SPDX-License-Identifier: MIT */
/* trace_filter.c -- event filters against the real kernel's record; globs; what passes and what does not. */
#include <errno.h>
#include <stdint.h>
#include "harness.h"
#include "tree.h"
#include "control/str.h"
#define CREATE_TRACE_POINTS
#include "fathom/events/sched.h"
#include "fathom/fs.h"
#include "fathom/trace.h"

TRACE_DEFINE(mine, blocked, "pid=%u caller=%llx", (U32, pid), (U64, caller))

#define FILTER "events/sched/sched_switch/filter"

static char memory[8 << 20] __attribute__((aligned(4096)));

static int task_name(int32_t pid, char buf[16])
{
	snprintf(buf, 16, "task-%d", pid);
	return 0;
}

/* One function, of 0x30 bytes. */
static const char *symbol(uintptr_t at, uintptr_t *offset, uintptr_t *size)
{
	*offset = at - 0x1020;
	*size = 0x30;
	return at >= 0x1020 && at < 0x1050 ? "schedule" : NULL;
}

static uintptr_t lookup(const char *name)
{
	return strcmp(name, "schedule") ? 0 : 0x1020;
}

static void start(void)
{
	struct fathom_config config = {.memory = memory,
				       .memory_bytes = sizeof(memory),
				       .nr_cpus = 2,
				       .pages_per_cpu = 64,
				       .task_name = task_name,
				       .symbol = symbol,
				       .lookup = lookup};

	fathom_exit();
	CHECK_EQ(fathom_init(&config), 0);
}

/* What the kernel's record says of each expression: the errno value and what the file shows then. */
static void replay(const char *path, int least)
{
	FILE *in = fopen(path, "r");
	char line[1024], expr[1024] = "", want[4096] = "", with_end[1026];
	int err = 0, count = 0;

	start();
	CHECK(in != NULL);
	while (in && fgets(line, sizeof(line), in)) {
		if (line[0] == '#')
			continue;
		if (line[0] == '=' && line[1] == ' ' && ctl_digit(line[2])) {
			err = atoi(line + 2);
			snprintf(expr, sizeof(expr), "%s", strchr(line + 2, ' ') + 1);
			expr[strcspn(expr, "\n")] = '\0';
			want[0] = '\0';
			continue;
		}
		if (strcmp(line, ".\n") != 0) {
			strncat(want, line, sizeof(want) - strlen(want) - 1);
			continue;
		}
		count++;
		snprintf(with_end, sizeof(with_end), "%s\n", expr);
		CHECK_EQ(fathom_set(FILTER, with_end), -err);
		if (strncmp(get(FILTER), want, strlen(want)) != 0) {
			printf("  [%s]: reads\n[%s]\nwant\n[%s]\n", expr, get(FILTER), want);
			test_failures++;
		}
	}
	if (in)
		fclose(in);
	CHECK(count > least);
}

TEST(record)
{
	replay("test/data/tracefs/filter.txt", 25);
	replay("test/data/tracefs/filter-6.18.txt", 30);
}

TEST(error_log)
{
	start();
	CHECK_EQ(fathom_set("error_log", "x"), 0);
	for (int i = 0; i < 10; i++) {
		char expr[32];

		snprintf(expr, sizeof(expr), "nosuch%d == 1", i);
		CHECK_EQ(fathom_set(FILTER, expr), -EINVAL);
	}
	CHECK(!strstr(get("error_log"), "nosuch1 ")); /* the last eight are kept */
	CHECK(strstr(get("error_log"), "] event filter parse error: error: Field not found\n"
				       "  Command: nosuch2 == 1\n"
				       "                   ^\n") != NULL);
	CHECK(strstr(get("error_log"), "nosuch9") != NULL);
	CHECK_EQ(fathom_set("error_log", "x"), 0);
	CHECK_STR(get("error_log"), "");
}

/* Records that pass: the trace has as many lines as events passed. */
static int passed(const char *filter)
{
	char buf[256];
	int n = 0;

	CHECK_EQ(fathom_set("trace", ""), 0);
	CHECK_EQ(fathom_set(FILTER, filter), 0);
	for (int i = 0; i < 8; i++) {
		snprintf(buf, sizeof(buf), "next-%d", i);
		trace_sched_switch("prev", 100 + i, 120 - i, 0, buf, i, 120);
	}
	for (const char *p = get("trace"); (p = strstr(p, "sched_switch:")); p++)
		n++;
	return n;
}

TEST(passes)
{
	start();
	CHECK_EQ(fathom_set("events/sched/sched_switch/enable", "1"), 0);
	CHECK_EQ(passed("0"), 8);
	CHECK_EQ(passed("next_pid == 3"), 1);
	CHECK_EQ(passed("next_pid != 3"), 7);
	CHECK_EQ(passed("next_pid < 3 || next_pid > 5"), 5);
	CHECK_EQ(passed("next_pid >= 2 && next_pid <= 5 && !(next_pid == 4)"), 3);
	CHECK_EQ(passed("!(next_pid < 3 || next_pid > 5)"), 3);
	CHECK_EQ(passed("!!(next_pid == 1)"), 1);
	CHECK_EQ(passed("next_pid & 1"), 4);
	CHECK_EQ(passed("next_pid & 0x4 && prev_pid > 105"), 2);
	CHECK_EQ(passed("next_pid == 1 || next_pid == 2 && prev_pid == 0"), 1);
	CHECK_EQ(passed("(next_pid == 1 || next_pid == 2) && prev_pid == 102"), 1);
	CHECK_EQ(passed("next_comm == \"next-5\""), 1);
	CHECK_EQ(passed("next_comm != 'next-5'"), 7);
	CHECK_EQ(passed("next_comm ~ \"next-[2-4]\""), 3);
	CHECK_EQ(passed("next_comm ~ \"*t-?\""), 8);
	CHECK_EQ(passed("prev_comm ~ \"nex*\""), 0);
	CHECK_EQ(passed("CPU == 0"), 8);
	CHECK_EQ(passed("CPU == 1"), 0);
	CHECK_EQ(passed("prev_prio < -1"), 0);
	CHECK_EQ(passed("common_pid == -1"), 0);
}

static int passed_states(const char *filter)
{
	int n = 0;

	CHECK_EQ(fathom_set("trace", ""), 0);
	CHECK_EQ(fathom_set("events/mine/blocked/filter", filter), 0);
	for (int i = 0; i < 8; i++)
		trace_blocked(7, 0x1000ul + 16ul * (unsigned)i);
	for (const char *p = get("trace"); (p = strstr(p, "blocked:")); p++)
		n++;
	return n;
}

TEST(cpus_and_functions)
{
	start();
	CHECK_EQ(fathom_set("events/enable", "1"), 0);
	CHECK_EQ(passed("CPU & CPUS{0}"), 8);
	CHECK_EQ(passed("CPU & CPUS{1}"), 0);
	CHECK_EQ(passed("next_pid & CPUS{0-1}"), 2);
	CHECK_EQ(passed("next_pid == CPUS{1}"), 1);
	CHECK_EQ(passed("next_pid != CPUS{1}"), 7);
	CHECK_EQ(passed("next_pid == CPUS{0-1}"), 0);
	CHECK_EQ(passed("next_pid != CPUS{0,1}"), 8);
	CHECK_EQ(passed_states("caller.function == schedule"), 3);
	CHECK_EQ(passed_states("caller.function != schedule"), 5);
	CHECK_EQ(passed_states("caller.function == 0x1044 && pid == 7"), 3);
}

TEST(lists_of_all)
{
	start();
	CHECK_STR(get("show_event_filters"), "");
	CHECK_EQ(fathom_set(FILTER, "prev_pid == 3"), 0);
	CHECK_EQ(fathom_set("events/sched/sched_waking/filter", "pid > 1"), 0);
	CHECK_EQ(fathom_set("events/sched/sched_switch/trigger", "traceoff:3 if prev_pid == 3"), 0);
	CHECK(strstr(get("show_event_filters"), "sched:sched_switch              prev_pid == 3\n"));
	CHECK(strstr(get("show_event_filters"), "sched:sched_waking              pid > 1\n"));
	CHECK_STR(get("show_event_triggers"),
		  "sched:sched_switch              traceoff:count=3 if prev_pid == 3\n");
	CHECK_STR(get("buffer_subbuf_size_kb"), "4\n");
	CHECK_EQ(fathom_set("buffer_subbuf_size_kb", "4"), 0);
	CHECK_EQ(fathom_set("buffer_subbuf_size_kb", "8"), -EINVAL);
}

static int matches(const char *pattern, const char *text)
{
	return fathom_glob(pattern, strlen(pattern), text, strlen(text));
}

TEST(glob)
{
	CHECK(matches("schedule", "schedule") && !matches("schedule", "schedules"));
	CHECK(matches("sched*", "schedule") && matches("*ule", "schedule"));
	CHECK(matches("*ed*", "schedule") && !matches("*ed*x", "schedule"));
	CHECK(matches("s?hedule", "schedule") && !matches("s??hedule", "schedule"));
	CHECK(matches("[Ss]y[Ss]_*", "SyS_open") && matches("[a-f]x", "bx"));
	CHECK(matches("[!a-f]x", "gx") && !matches("[!a-f]x", "ax"));
	CHECK(matches("[]]", "]") && matches("[ab", "[ab"));
	CHECK(matches("\\*", "*") && !matches("\\*", "x"));
	CHECK(matches("*a*b*c*", "xxaxxbxxcxx") && !matches("*a*b*c*", "xxaxxcxxbxx"));
	CHECK(matches("", "") && matches("*", "") && !matches("?", ""));
}

TEST_MAIN
