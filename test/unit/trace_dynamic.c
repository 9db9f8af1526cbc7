/* SPDX-License-Identifier: MIT */
/* trace_dynamic.c -- events made while it runs: synthetic ones and what makes them, probes, and how they go. */
#include <errno.h>
#include <stdint.h>
#include "harness.h"
#include "tree.h"
#define CREATE_TRACE_POINTS
#include "fathom/events/sched.h"
#include "fathom/fs.h"
#include "fathom/trace.h"
#include "fathom_port.h"

#define WAKE   "events/sched/sched_wakeup/"
#define SWITCH "events/sched/sched_switch/"

static char memory[32 << 20] __attribute__((aligned(4096)));

static int task_name(int32_t pid, char buf[16])
{
	snprintf(buf, 16, "task-%d", pid);
	return 0;
}

static void start(void)
{
	struct fathom_config config = {.memory = memory,
				       .memory_bytes = sizeof(memory),
				       .nr_cpus = 1,
				       .pages_per_cpu = 64,
				       .task_name = task_name,
				       .dynamic = &fathom_dynamic};

	fathom_exit();
	CHECK_EQ(fathom_init(&config), 0);
	fathom_user_cpu = 0;
}

static int holds(const char *path, const char *text)
{
	if (strstr(get(path), text))
		return 1;
	printf("  %s is\n%s\n  without\n%s\n", path, get(path), text);
	return 0;
}

static void wake(const char *comm, int pid, int prio)
{
	trace_sched_wakeup(comm, pid, prio, 0);
}

static void run(const char *next, int pid)
{
	trace_sched_switch("prev", 7, 120, 0, next, pid, 120);
}

TEST(described)
{
	start();
	CHECK_EQ(fathom_set("synthetic_events",
			    "lat  u64 lat pid_t pid char comm[16]; s8 small; char name[]"),
		 0);
	CHECK_STR(get("synthetic_events"),
		  "lat\tu64 lat; pid_t pid; char[16] comm; s8 small; char[] name\n");
	CHECK_STR(get("dynamic_events"),
		  "s:synthetic/lat\tu64 lat; pid_t pid; char[16] comm; s8 small; char[] name\n");
	CHECK(holds("events/synthetic/lat/format",
		    "\n\n\tfield:u64 lat;\toffset:8;\tsize:8;\tsigned:0;\n"
		    "\tfield:pid_t pid;\toffset:16;\tsize:4;\tsigned:1;\n"
		    "\tfield:char comm[16];\toffset:24;\tsize:16;\tsigned:1;\n"
		    "\tfield:s8 small;\toffset:40;\tsize:1;\tsigned:1;\n"
		    "\tfield:__data_loc char[] name;\toffset:48;\tsize:8;\tsigned:1;\n"
		    "\nprint fmt: \"lat=%llu, pid=%d, comm=%s, small=%d, name=%s\", REC->lat, "
		    "REC->pid, REC->comm, REC->small, __get_str(name)\n"));
	CHECK(holds("available_events", "synthetic:lat\n"));
	CHECK_EQ(append("synthetic_events", "lat u64 x"), -EEXIST);
	CHECK_EQ(append("dynamic_events",
			"s:synthetic/other unsigned  int x\n# a comment\ns:third char c"),
		 0);
	CHECK(holds("synthetic_events", "other\tunsigned int x\nthird\tchar c\n"));
	CHECK_EQ(append("synthetic_events", "!lat"), 0);
	CHECK_EQ(append("dynamic_events", "-:synthetic/other"), 0);
	CHECK_EQ(append("dynamic_events", "-:synthetic/other"), -ENOENT);
	CHECK_STR(get("synthetic_events"), "third\tchar c\n");
	CHECK_EQ(append("dynamic_events", "!s:third char c"), 0);
	CHECK_STR(get("dynamic_events"), "");
	CHECK_STR(get("events/synthetic/third/id"), "error -2");
}

/* Where Linux's own selftest puts its caret. */
TEST(errors)
{
	static const struct {
		const char *command, *what;
		int at;
	} wrong[] = {
		{"myevent chr arg", "Invalid type", 8},
		{"myevent unsigned arg", "Incomplete type", 8},
		{"myevent char str]; int v", "Illegal name", 13},
		{"mye-vent char str[]", "Illegal name", 0},
		{"myevent char str;[]", "Invalid field", 17},
		{"myevent char str[257]", "Invalid array specification", 13},
		{"myevent int v[3]", "Invalid type", 8},
		{"myevent; char str[]", "Command must be of the form: <name> field[;field] ...", 0},
		{"myevent u8 a;u8 b;u8 c;u8 d;u8 e;u8 f;u8 g;u8 h;u8 i;u8 j;u8 k;u8 l;u8 m;u8 n;u8 "
		 "o;u8 p;u8 q",
		 "Too many fields", 0},
	};
	char expect[512];

	start();
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		CHECK_EQ(fathom_set("error_log", ""), 0);
		CHECK_EQ(append("synthetic_events", wrong[i].command), -EINVAL);
		snprintf(expect, sizeof(expect),
			 "synthetic_events: error: %s\n  Command: %s\n%*s^\n", wrong[i].what,
			 wrong[i].command, 11 + wrong[i].at, "");
		CHECK(holds("error_log", expect));
	}
	CHECK_EQ(append("dynamic_events", "s:junk/myevent char str["), -EINVAL);
	CHECK(holds("error_log", "Command must be of the form: s or -:[synthetic/]<name>"));
	CHECK_STR(get("dynamic_events"), "");
}

/* A latency between two events by pid: the variable of one, read by the other, once. */
TEST(matched)
{
	start();
	CHECK_EQ(fathom_set("synthetic_events",
			    "lat u64 lat; pid_t pid; char comm[16]; char name[]"),
		 0);
	CHECK_EQ(append(WAKE "trigger", "hist:keys=pid:ts0=common_timestamp,p=prio,who=comm"), 0);
	CHECK_EQ(append(SWITCH "trigger", "hist:keys=next_pid:d=common_timestamp-$ts0,q=$p*2:"
					  "onmatch(sched.sched_wakeup)."
					  "trace(lat,$q,next_pid,next_comm,$who)"),
		 0);
	CHECK_EQ(fathom_set("events/synthetic/lat/enable", "1"), 0);
	run("ping", 5); /* nobody woke it */
	wake("waker", 5, 33);
	run("ping", 6); /* another one */
	run("ping", 5);
	run("ping", 5); /* it is used up */
	wake("again", 5, 44);
	run("a name of more than 15", 5);
	CHECK(holds("trace", "lat: lat=66 pid=5 comm=ping name=waker\n"));
	CHECK(holds("trace", "lat: lat=88 pid=5 comm=a name of more  name=again\n"));
	CHECK_EQ(strstr(strstr(strstr(get("trace"), "lat: ") + 1, "lat: ") + 1, "lat: ") == NULL,
		 1);
	CHECK(holds(SWITCH "hist", "\n    Hits: 2\n    Entries: 1\n    Dropped: 0\n"));
	CHECK(holds(SWITCH "trigger",
		    ":d=common_timestamp-$ts0:q=$p*2:sort=hitcount:size=2048:"
		    "onmatch(sched.sched_wakeup).trace(lat,$q,next_pid,next_comm,$who)"));
	/* What is used stays. */
	CHECK_EQ(append(WAKE "trigger", "!hist:keys=pid:ts0=common_timestamp,p=prio,who=comm"),
		 -EBUSY);
	CHECK_EQ(append("synthetic_events", "!lat"), -EBUSY);
	CHECK_EQ(fathom_set("synthetic_events", "\n"), -EBUSY);
	CHECK_EQ(fathom_set(SWITCH "trigger", "!traceon"), 0);
	CHECK_EQ(append("synthetic_events", "!lat"), -EBUSY); /* it is on */
	CHECK_EQ(fathom_set("events/synthetic/lat/enable", "0"), 0);
	CHECK_EQ(append("synthetic_events", "!lat"), 0);
	CHECK(!strstr(get("trace"), "lat=66")); /* its records went with it */
	CHECK_EQ(append(WAKE "trigger", "!hist:keys=pid:ts0=common_timestamp,p=prio,who=comm"), 0);
}

/* Fields of the event that is matched, and events that make events. */
TEST(chained)
{
	start();
	CHECK_EQ(append("synthetic_events", "a int prio; pid_t pid"), 0);
	CHECK_EQ(append("synthetic_events", "b u64 twice; pid_t pid"), 0);
	CHECK_EQ(append(WAKE "trigger", "hist:keys=pid:t=prio if pid == 5"), 0);
	CHECK_EQ(append(SWITCH "trigger", "hist:keys=next_pid:x=$t+1:onmatch(sched.sched_wakeup)."
					  "a(sched.sched_wakeup.prio,next_pid) if next_pid == 5"),
		 0);
	CHECK(holds(WAKE "hist", "hist:keys=pid:vals=hitcount:synthetic_prio=prio:sort=hitcount:"
				 "size=2048 if pid == 5 [active]"));
	CHECK_EQ(append("events/synthetic/a/trigger",
			"hist:keys=pid:y=prio*2:onmatch(sched.sched_wakeup).b($y,pid)"),
		 0);
	CHECK_EQ(append("events/synthetic/b/trigger", "hist:keys=pid:vals=twice"), 0);
	wake("x", 5, 10);
	run("y", 5);
	wake("x", 5, 11);
	run("y", 5);
	CHECK(holds("events/synthetic/b/hist",
		    "{ pid:          5 } hitcount:          2  twice:         42\n"));
	/* Two actions: one makes an event, the other saves. */
	CHECK_EQ(append(SWITCH "trigger",
			"hist:keys=next_pid:v=$t+1:onmatch(sched.sched_wakeup).a(next_prio,next_"
			"pid):"
			"onmax($v).save(next_comm,prev_pid):onmax($v).a(next_prio,prev_pid)"),
		 0);
	wake("x", 5, 12);
	run("y", 5);
	CHECK(holds(SWITCH "hist", "\tmax:         13  next_comm: y "));
	CHECK(holds("events/synthetic/a/hist", "{ pid:          7 } hitcount:          1\n"));
	/* An event that makes itself ends, and says so. */
	CHECK_EQ(append("events/synthetic/b/trigger",
			"hist:keys=pid,twice:z=twice+1:onmatch(sched.sched_wakeup).b($z,pid)"),
		 0);
	wake("x", 5, 50);
	run("y", 5);
	CHECK(holds("events/synthetic/b/hist", "    Dropped: 2\n"));
	CHECK_EQ(fathom_set(SWITCH "trigger", "!traceon"), 0);
	CHECK(!strstr(get(WAKE "hist"), "synthetic_prio"));
	CHECK(holds(WAKE "hist", "t=prio"));
}

TEST(match_errors)
{
	static const struct {
		const char *text, *what;
	} wrong[] = {
		{"hist:keys=next_pid:d=common_timestamp-$none", "Couldn't find variable"},
		{"hist:keys=next_pid:d=1,d=2", "Variable already defined"},
		{"hist:keys=next_pid:onmatch(sched.nosuch).a(next_pid)",
		 "Invalid subsystem or event name"},
		{"hist:keys=next_pid:onmatch(sched).a(next_pid)", "Missing subsystem"},
		{"hist:keys=next_pid:onmatch(sched.sched_wakeup).c(next_pid)",
		 "Couldn't find synthetic event"},
		{"hist:keys=next_pid:onmatch(sched.sched_wakeup).a(next_pid)",
		 "Param count doesn't match synthetic event field count"},
		{"hist:keys=next_pid:onmatch(sched.sched_wakeup).a(next_comm,next_pid)",
		 "Param type doesn't match synthetic event field type"},
		{"hist:keys=next_pid:onmatch(sched.sched_wakeup).a(next_pid,nosuch)",
		 "Matching event histogram not found"},
		{"hist:keys=$x", "Using variable references in keys not supported"},
		{"hist:keys=next_pid:d=$w+1", "String type can not be an operand in expression"},
		{"hist:keys=next_pid:d=$v+1", "Variable name not unique"},
	};

	start();
	CHECK_EQ(append("synthetic_events", "a int prio; pid_t pid"), 0);
	CHECK_EQ(append(WAKE "trigger", "hist:keys=comm:w=comm,v=prio"), 0);
	CHECK_EQ(append("events/sched/sched_waking/trigger", "hist:keys=comm:v=prio"), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		CHECK_EQ(fathom_set("error_log", ""), 0);
		CHECK_EQ(append(SWITCH "trigger", wrong[i].text), -EINVAL);
		CHECK(holds("error_log", wrong[i].what));
	}
	CHECK(!strstr(get(WAKE "hist"), "synthetic_"));
}

/* Ids come again, and memory too. */
TEST(again)
{
	char id[16] = "";

	start();
	for (int i = 0; i < 3000; i++) {
		CHECK_EQ(append("synthetic_events", "one u64 a"), 0);
		if (!i)
			strncpy(id, get("events/synthetic/one/id"), sizeof(id) - 1);
		CHECK_STR(get("events/synthetic/one/id"), id);
		CHECK_EQ(fathom_set("synthetic_events", ""), 0);
	}
	for (int i = 0; i < FATHOM_DYNAMIC_MAX; i++) {
		char line[32];

		snprintf(line, sizeof(line), "e%d u64 a", i);
		CHECK_EQ(append("synthetic_events", line), 0);
	}
	CHECK_EQ(append("synthetic_events", "more u64 a"), -ENOSPC);
	start(); /* they go with the memory they were in */
	CHECK_STR(get("dynamic_events"), "");
	CHECK_EQ(append("synthetic_events", "one u64 a"), 0);
}

TEST_MAIN
