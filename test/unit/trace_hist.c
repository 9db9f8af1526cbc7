/* SPDX-License-Identifier: MIT */
/* trace_hist.c -- triggers and histograms: what they do, what they show, and updates from many threads. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include "harness.h"
#include "tree.h"
#define CREATE_TRACE_POINTS
#include "fathom/events/sched.h"
#include "fathom/fs.h"
#include "fathom/trace.h"
#include "fathom_port.h"

#define EVENT	"events/sched/sched_switch/"
#define THREADS 4

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
				       .nr_cpus = THREADS,
				       .pages_per_cpu = 64,
				       .task_name = task_name};

	fathom_exit();
	CHECK_EQ(fathom_init(&config), 0);
	fathom_user_cpu = 0;
}

static void fire(const char *next, int pid, int prio)
{
	trace_sched_switch("prev", 7, prio, 0, next, pid, 120);
}

TEST(text)
{
	start();
	CHECK_EQ(append(EVENT "trigger", "hist:keys=next_comm,next_pid:vals=prev_prio:sort="
					 "hitcount.descending:size=256"),
		 0);
	fire("ping", 214, 120);
	fire("ping", 214, 100);
	fire("pong", 215, 120);
	CHECK_STR(get(EVENT "hist"),
		  "# event histogram\n#\n"
		  "# trigger info: "
		  "hist:keys=next_comm,next_pid:vals=hitcount,prev_prio:sort=hitcount.descending:"
		  "size=256 [active]\n"
		  "#\n\n"
		  "{ next_comm: ping                                              , next_pid:      "
		  "  214 } hitcount:          2  prev_prio:        220\n"
		  "{ next_comm: pong                                              , next_pid:      "
		  "  215 } hitcount:          1  prev_prio:        120\n"
		  "\nTotals:\n    Hits: 3\n    Entries: 2\n    Dropped: 0\n");
	CHECK_STR(get(EVENT "trigger"), "hist:keys=next_comm,next_pid:vals=hitcount,prev_prio:sort="
					"hitcount.descending:size=256 [active]\n");
	CHECK_STR(get(EVENT "enable"), "0*\n");
	CHECK_EQ(append(EVENT "trigger",
			"!hist:keys=next_comm,next_pid:vals=prev_prio:sort=hitcount.descending"),
		 0);
	CHECK_STR(get(EVENT "enable"), "0\n");
	CHECK_EQ(strncmp(get(EVENT "trigger"), "# Available triggers:\n# traceon ", 32), 0);
}

static void one(const char *spec, const char *line)
{
	CHECK_EQ(append(EVENT "trigger", spec), 0);
	fire("swapper/0", 20, 123);
	if (!strstr(get(EVENT "hist"), line)) {
		printf("  %s gives\n%s\nwithout [%s]\n", spec, get(EVENT "hist"), line);
		test_failures++;
	}
	CHECK_EQ(fathom_set(EVENT "trigger", "!traceon"), 0); /* `>`: the histograms go */
}

TEST(modifiers)
{
	char comm[64], execname[128];

	start();
	fire("ping", 20, 120); /* from now on this thread is known to the port */
	snprintf(comm, sizeof(comm), "{ common_comm: task-%d ", fathom_port_task());
	snprintf(execname, sizeof(execname),
		 "{ common_pid: task-%-10d [%10d] } hitcount:          1  next_pid:         20\n",
		 fathom_port_task(), fathom_port_task());
	one("hist:keys=prev_prio.log2", "{ prev_prio: ~ 2^7  } hitcount:          1\n");
	one("hist:keys=prev_prio.buckets=10", "{ prev_prio: ~ 120-129 } hitcount:          1\n");
	one("hist:keys=next_pid.hex", "{ next_pid: 14 } hitcount:          1\n");
	one("hist:keys=common_cpu", "{ common_cpu:          0 } hitcount:          1\n");
	one("hist:keys=common_comm", comm);
	one("hist:keys=next_pid:ts=common_timestamp.usecs", "{ next_pid:         20 } hitcount:");
	one("hist:keys=common_pid.execname:vals=next_pid", execname);
	one("hist:keys=next_pid.syscall",
	    "{ next_pid: unknown_syscall               [ 20] } hitcount:          1\n");
	one("hist:keys=next_pid if next_pid == 20",
	    "next_pid:         20 } hitcount:          1\n");
	one("hist:keys=next_pid if next_pid == 21", "\n\nTotals:\n    Hits: 0\n");
}

/* Shares, bars, and values without the hits. */
TEST(shares)
{
	start();
	CHECK_EQ(append(EVENT "trigger", "hist:keys=next_pid:vals=hitcount.percent,prev_prio.graph:"
					 "sort=next_pid"),
		 0);
	fire("a", 1, 100);
	fire("b", 2, 50);
	fire("b", 2, 0);
	CHECK(strstr(get(EVENT "hist"), "{ next_pid:          1 } hitcount (%):  33.33  prev_prio: "
					"####################\n"
					"{ next_pid:          2 } hitcount (%):  66.66  prev_prio: "
					"##########          \n") != NULL);
	CHECK(strstr(get(EVENT "trigger"), "vals=hitcount.percent,prev_prio.graph:") != NULL);
	fathom_set(EVENT "trigger", "!traceon");
	CHECK_EQ(append(EVENT "trigger", "hist:keys=next_pid:vals=prev_prio:nohitcount"), 0);
	fire("a", 1, 100);
	CHECK(strstr(get(EVENT "hist"), "{ next_pid:          1 } prev_prio:        100\n") !=
	      NULL);
	fathom_set(EVENT "trigger", "!traceon");
	CHECK_EQ(append(EVENT "trigger", "hist:keys=next_pid.percent"), -EINVAL);
	CHECK_EQ(append(EVENT "trigger", "hist:keys=next_pid:vals=hitcount.sym"), -EINVAL);
	CHECK_EQ(append(EVENT "trigger", "hist:keys=next_pid:nohitcount"), -EINVAL);
	CHECK(strstr(get("error_log"), "Non-hitcount value is required") != NULL);
}

/* What is refused says why. */
TEST(refusals)
{
	start();
	CHECK_EQ(append(EVENT "trigger", "hist:keys=next_pid"), 0);
	CHECK_EQ(append(EVENT "trigger", "hist:keys=next_pid"), -EEXIST);
	CHECK(strstr(get("error_log"),
		     "hist:sched:sched_switch: error: Hist trigger already exists\n"
		     "  Command: hist:keys=next_pid\n") != NULL);
	CHECK_EQ(append(EVENT "trigger", "hist:keys=prev_pid:clear"), -ENOENT);
	CHECK(strstr(get("error_log"), "Can't clear or continue a nonexistent hist trigger") !=
	      NULL);
	CHECK_EQ(append(EVENT "trigger",
			"hist:keys=next_pid:x=prev_prio:onmatch($x).save(next_comm)"),
		 -EINVAL);
	CHECK(strstr(get("error_log"),
		     "error: Missing subsystem\n"
		     "  Command: hist:keys=next_pid:x=prev_prio:onmatch($x).save(next_"
		     "comm)\n                                                  ^\n") != NULL);
	CHECK_EQ(append(EVENT "trigger", "traceoff if nosuch == 1"), -EINVAL);
	CHECK(strstr(get("error_log"), "event filter parse error: error: Field not found\n"
				       "  Command: nosuch == 1\n") != NULL);
	/* A name shared by events whose field lies elsewhere would read the wrong bytes. */
	CHECK_EQ(append(EVENT "trigger", "hist:name=shared:keys=prev_prio"), 0);
	CHECK_EQ(append("events/sched/sched_wakeup/trigger", "hist:name=shared:keys=prio"),
		 -EINVAL);
	CHECK_EQ(append("events/sched/sched_waking/trigger", "hist:name=two:keys=prio"), 0);
	CHECK_EQ(append("events/sched/sched_wakeup/trigger", "hist:name=two:keys=prio"), 0);
}

TEST(orders)
{
	start();
	CHECK_EQ(append(EVENT "trigger", "hist:name=foo:keys=next_pid:pause"), 0);
	fire("a", 1, 1);
	CHECK(strstr(get(EVENT "hist"), "[paused]") && strstr(get(EVENT "hist"), "Hits: 0"));
	CHECK_EQ(append(EVENT "trigger", "hist:name=foo:keys=next_pid:cont"), 0);
	fire("a", 1, 1);
	CHECK(strstr(get(EVENT "hist"), "Hits: 1") != NULL);
	/* The same name on another event is the same histogram. */
	CHECK_EQ(append("events/sched/sched_process_exit/trigger", "hist:name=foo:keys=common_pid"),
		 -EINVAL);
	CHECK_EQ(append(EVENT "trigger", "hist:name=foo:keys=next_pid:clear"), 0);
	CHECK(strstr(get(EVENT "hist"), "Hits: 0") != NULL);
	CHECK_EQ(append(EVENT "trigger", "hist:name=foo:keys=next_pid"), -EEXIST);
	CHECK_EQ(append(EVENT "trigger", "hist:keys=next_prio:clear"), -ENOENT);
}

/* Columns of the errors: what Linux's own selftest expects, with the place marked by ^. */
TEST(errors)
{
	static const char *const wrong[] = {
		"hist:keys=^nosuch",
		"hist:keys=next_pid:vals=^bogus",
		"hist:keys=next_pid:sort=^nosuch",
		"hist:keys=common_pid:vals=prev_prio:sort=common_pid,^junk",
		"hist:keys=common_pid:vals=prev_prio:^sort=",
		"hist:keys=common_pid:vals=prev_prio:^sort=common_pid,",
		"hist:keys=common_pid:vals=prev_prio:sort=common_pid.^junk",
		"hist:keys=common_pid:vals=prev_prio,next_pid:^sort=common_pid,prev_prio,next_pid",
	};

	start();
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char text[128], want[300];
		size_t at = strcspn(wrong[i], "^");

		snprintf(text, sizeof(text), "%.*s%s", (int)at, wrong[i], wrong[i] + at + 1);
		fathom_set("error_log", "");
		CHECK_EQ(append(EVENT "trigger", text), -EINVAL);
		snprintf(want, sizeof(want), "  Command: %s\n%*s^\n", text, 11 + (int)at, "");
		if (!strstr(get("error_log"), want) ||
		    !strstr(get("error_log"), "hist:sched:sched_switch: error: ")) {
			printf("  %s: log is\n%s\n", text, get("error_log"));
			test_failures++;
		}
	}
	CHECK_EQ(append(EVENT "trigger", "hist:"), -EINVAL);
	CHECK_EQ(append(EVENT "trigger", "hist:foo=bar"), -EINVAL);
	CHECK_EQ(append(EVENT "trigger", "hist:keys=next_pid:size=1"), -EINVAL);
}

/* A variable: folded if it is a number, worked out per event if not. */
TEST(variables)
{
	static const struct {
		const char *text, *shown;
	} good[] = {{"123", "123"},    {"16-8-4-2", "2"},
		    {"64/8/4/2", "1"}, {"16-8+4+2", "14"},
		    {"4*3/2*2", "12"}, {"4+3*2-2", "8"},
		    {"4+6/2-2", "5"},  {"-(5)", "18446744073709551611"}};
	static const char *const wrong[] = {
		"hist:keys=common_pid:x=32+^10*3/20-4", "hist:keys=common_pid:x=^1+2+3+4+5",
		"hist:keys=common_pid:x=-(^1)+2",	"hist:keys=common_pid:x=3/^0",
		"hist:keys=common_pid:x=3+^nosuch",	"hist:keys=common_pid:vals=^$y"};

	start();
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		char text[64], want[64];

		snprintf(text, sizeof(text), "hist:keys=common_pid:x=%s", good[i].text);
		snprintf(want, sizeof(want), ":x=%s:sort", good[i].shown);
		CHECK_EQ(fathom_set(EVENT "trigger", text), 0);
		if (!strstr(get(EVENT "trigger"), want)) {
			printf("  %s: %s\n", text, get(EVENT "trigger"));
			test_failures++;
		}
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char text[128], want[300];
		size_t at = strcspn(wrong[i], "^");

		snprintf(text, sizeof(text), "%.*s%s", (int)at, wrong[i], wrong[i] + at + 1);
		fathom_set("error_log", "");
		CHECK_EQ(append(EVENT "trigger", text), -EINVAL);
		snprintf(want, sizeof(want), "  Command: %s\n%*s^\n", text, 11 + (int)at, "");
		if (!strstr(get("error_log"), want)) {
			printf("  %s: log is\n%s\n", text, get("error_log"));
			test_failures++;
		}
	}
	CHECK_EQ(fathom_set(EVENT "trigger", "hist:keys=next_pid:x=prev_prio*2+1:vals=$x"), 0);
	fire("a", 3, 10);
	fire("a", 3, 20);
	CHECK(strstr(get(EVENT "hist"),
		     "{ next_pid:          3 } hitcount:          2  $x:         62\n") != NULL);
}

static int holds(const char *path, const char *text)
{
	return strstr(get(path), text) != NULL;
}

/* onmax keeps the fields of the largest, onchange those of the last that differs; a snapshot is taken with it. */
TEST(actions)
{
	static const char max[] =
		"hist:keys=next_comm:p=prev_prio:onmax($p).save(next_pid,next_comm)";

	start();
	CHECK_EQ(append(EVENT "trigger", max), 0);
	fire("ping", 1, 100);
	fire("ping", 2, 120);
	fire("ping", 3, 110);
	CHECK(holds(EVENT "hist", "\n\tmax:        120  next_pid:          2  next_comm: ping"));
	CHECK(holds(EVENT "trigger", ":onmax($p).save(next_pid,next_comm) [active]"));
	CHECK_EQ(append(EVENT "trigger", max), -EEXIST);
	CHECK_EQ(append(EVENT "trigger",
			"!hist:keys=next_comm:p=prev_prio:onmax($p).save(next_pid,next_comm)"),
		 0);
	CHECK(!holds(EVENT "trigger", "onmax"));

	CHECK_EQ(append(EVENT "trigger",
			"hist:keys=next_comm:p=prev_prio:onchange($p).save(next_pid):"
			"onchange($p).snapshot()"),
		 0);
	CHECK_EQ(fathom_set(EVENT "enable", "1"), 0);
	fire("pong", 1, 100);
	fire("pong", 2, 100);
	CHECK(holds(EVENT "hist", "\n\tchanged:        100  next_pid:          1\n"));
	fire("pong", 3, 90);
	CHECK(holds(EVENT "hist", "\n\tchanged:         90  next_pid:          3\n"));
	CHECK(holds("snapshot", "next_pid=2"));
	CHECK(!holds("trace", "next_pid=2"));
}

TEST(action_errors)
{
	static const struct {
		const char *text, *what;
	} wrong[] = {
		{"hist:keys=next_pid:onmax($q).save(next_pid)",
		 "Couldn't find onmax or onchange variable"},
		{"hist:keys=next_pid:q=prev_prio:onmax($q)", "No action found"},
		{"hist:keys=next_pid:q=prev_prio:onmax($q).foo()", "Couldn't find synthetic event"},
		{"hist:keys=next_pid:q=prev_prio:onmax($q).save()", "No params found for save()"},
		{"hist:keys=next_pid:q=prev_prio:onmax($q).save(nosuch)", "Couldn't find param"},
		{"hist:keys=next_pid:q=prev_prio:onmax($q", "No closing paren found"},
		{"hist:keys=next_pid:q=prev_prio:onmax($q).save(next_pid):onchange($q).save(next_"
		 "pid)",
		 "Can't have more than one save() action per hist"},
		{"hist:keys=next_pid:onmatch(sched.sched_wakeup).snapshot()",
		 "Handler doesn't support action"},
	};

	start();
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		CHECK_EQ(fathom_set("error_log", ""), 0);
		CHECK_EQ(append(EVENT "trigger", wrong[i].text), -EINVAL);
		CHECK(holds("error_log", wrong[i].what));
	}
}

TEST(triggers)
{
	start();
	CHECK_EQ(append(EVENT "trigger", "traceoff:1 if next_pid == 5"), 0);
	CHECK_EQ(append(EVENT "trigger", "traceoff"), -EEXIST);
	fire("a", 4, 1);
	CHECK_STR(get("tracing_on"), "1\n");
	CHECK_STR(get(EVENT "trigger"), "traceoff:count=1 if next_pid == 5\n");
	fire("a", 5, 1);
	CHECK_STR(get("tracing_on"), "0\n");
	CHECK_STR(get(EVENT "trigger"), "traceoff:count=0 if next_pid == 5\n");
	fathom_set("tracing_on", "1");
	fire("a", 5, 1);
	CHECK_STR(get("tracing_on"), "1\n");
	CHECK_EQ(append(EVENT "trigger", "!traceoff"), 0);

	CHECK_EQ(append(EVENT "trigger", "enable_event:sched:sched_wakeup:1"), 0);
	CHECK_STR(get("events/sched/sched_wakeup/enable"), "0*\n");
	trace_sched_wakeup("x", 1, 1, 0);
	CHECK(!strstr(get("trace"), "sched_wakeup:"));
	fire("a", 5, 1);
	CHECK_STR(get("events/sched/sched_wakeup/enable"), "1*\n");
	trace_sched_wakeup("x", 1, 1, 0);
	CHECK(strstr(get("trace"), "sched_wakeup:") != NULL);
	CHECK_EQ(append(EVENT "trigger", "!enable_event:sched:sched_wakeup"), 0);
	CHECK_STR(get("events/sched/sched_wakeup/enable"), "1\n");
	CHECK_EQ(append(EVENT "trigger", "enable_event:no:such"), -EINVAL);

	CHECK_EQ(append(EVENT "trigger", "snapshot"), 0);
	CHECK(strstr(get("snapshot"), "Snapshot is allocated") != NULL);
	fathom_set(EVENT "enable", "1");
	fire("snap", 9, 1);
	CHECK(strstr(get("snapshot"), "next_comm=snap") != NULL);
	CHECK(!strstr(get("trace"), "next_comm=snap"));
}

static void *hammer(void *arg)
{
	fathom_user_cpu = (uint32_t)(uintptr_t)arg;
	for (int i = 0; i < 20000; i++)
		fire("x", i % 100, 3);
	return NULL;
}

/* No update is lost: hits = sum of the hitcounts + dropped, and every entry is there once. */
TEST(threads)
{
	pthread_t t[THREADS];
	unsigned long long sum = 0, hits = 0, dropped = 0;
	const char *p;
	int entries = 0;

	start();
	CHECK_EQ(append(EVENT "trigger",
			"hist:keys=next_pid:vals=prev_prio:size=128:sort=next_pid"),
		 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, hammer, (void *)i);
	for (int i = 0; i < 50; i++)
		CHECK(strstr(get(EVENT "hist"), "Totals:") != NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	fathom_user_cpu = 0;
	for (p = get(EVENT "hist"); (p = strstr(p, "{ next_pid:")); p++) {
		unsigned long long count, prio;

		CHECK_EQ(atoi(p + 11), entries);
		sscanf(strstr(p, "hitcount:") + 9, "%llu  prev_prio: %llu", &count, &prio);
		CHECK_EQ(prio, 3 * count);
		sum += count;
		entries++;
	}
	p = strstr(get(EVENT "hist"), "Hits: ");
	sscanf(p, "Hits: %llu\n    Entries: %*d\n    Dropped: %llu", &hits, &dropped);
	CHECK_EQ(hits, THREADS * 20000);
	CHECK_EQ(sum + dropped, hits);
	CHECK_EQ(entries, 100);
}

/* More keys than entries: what does not fit is counted. */
TEST(full)
{
	start();
	CHECK_EQ(append(EVENT "trigger", "hist:keys=next_pid:size=128"), 0);
	for (int i = 0; i < 1000; i++)
		fire("x", i, 1);
	CHECK(strstr(get(EVENT "hist"), "Hits: 1000\n    Entries: 128\n    Dropped: 872\n") !=
	      NULL);
}

TEST_MAIN
