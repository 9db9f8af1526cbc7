/* SPDX-License-Identifier: MIT */
/* trace_control.c -- the event path against the tree's lock: events never wait for it, and nothing they ask for is lost. */
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "harness.h"
#include "tree.h"
#define CREATE_TRACE_POINTS
#include "fathom/events/sched.h"
#include "control/control.h"
#include "fathom/fs.h"
#include "fathom/task.h"
#include "fathom/trace.h"
#include "fathom_port.h"
#include "wire/pagepack.h"

#define EVENT "events/sched/sched_switch/"
#define CPUS  4

static char memory[32 << 20] __attribute__((aligned(4096)));

/* As the port of a process does it; a thread that was preempted in the middle of a record needs a CPU to finish it. */
static void sync_cpus(void)
{
	sched_yield();
	CHECK_EQ(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0), 0);
}

static void start(void)
{
	struct fathom_config config = {.memory = memory,
				       .memory_bytes = sizeof(memory),
				       .nr_cpus = CPUS,
				       .pages_per_cpu = 64,
				       .sync = sync_cpus};

	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	fathom_exit();
	CHECK_EQ(fathom_init(&config), 0);
	fathom_user_cpu = 0;
}

static void switch_to(int pid)
{
	trace_sched_switch("a", 1, 120, 1, "b", pid, 120);
}

static int make_instance(const char *name)
{
	struct fathom_node dir;
	int err = fathom_fs_lookup("instances", &dir);

	return err ? err : fathom_fs_mkdir(&dir, name, strlen(name));
}

static unsigned int lines_with(const char *path, const char *what)
{
	unsigned int n = 0;

	for (const char *p = get(path); (p = strstr(p, what)); p++)
		n++;
	return n;
}

/* Everything an event can set off, in the top and in an instance. */
static void everything(void)
{
	static const char *const triggers[] = {
		"snapshot if next_pid == 7",	   "stacktrace:3",
		"traceoff:1 if next_pid == 8",	   "traceon:1 if next_pid == 9",
		"hist:keys=next_pid,stacktrace",   "enable_event:sched:sched_wakeup",
		"disable_event:sched:sched_wakeup"};

	CHECK_EQ(make_instance("one"), 0);
	for (size_t i = 0; i < sizeof(triggers) / sizeof(triggers[0]); i++) {
		CHECK_EQ(append(EVENT "trigger", triggers[i]), 0);
		CHECK_EQ(append("instances/one/" EVENT "trigger", triggers[i]), 0);
	}
	CHECK_EQ(append("events/ftrace/print/trigger", "snapshot"), 0);
	CHECK_EQ(fathom_set(EVENT "filter", "next_pid < 1000 && prev_comm ~ \"a*\""), 0);
	CHECK_EQ(fathom_set("instances/one/" EVENT "filter", "next_pid & 1"), 0);
	CHECK_EQ(fathom_set("options/stacktrace", "1"), 0);
	CHECK_EQ(fathom_set("events/enable", "1"), 0);
	CHECK_EQ(fathom_set("instances/one/events/enable", "1"), 0);
}

/* This thread has the lock and sends events: if any of their paths took it, it would wait for itself. */
TEST(events_take_no_lock)
{
	start();
	everything();
	alarm(100);
	fathom_lock();
	for (int i = 0; i < 20000; i++) {
		fathom_user_cpu = i % CPUS;
		switch_to(i % 64);
		trace_sched_wakeup("a", 1, 120, 0);
	}
	fathom_user_cpu = 0;
	fathom_unlock();
	alarm(0);
	/* The snapshot that was asked for has been taken by now: it has what was recorded. */
	CHECK(lines_with("snapshot", "sched_switch:") > 100);
	CHECK(lines_with("instances/one/snapshot", "sched_switch:") > 100);
	CHECK(strstr(get(EVENT "hist"), "Hits: 20000") != NULL);
}

/* What a trigger asks for while somebody has the lock is done when it is let go, once. */
TEST(snapshot_asked_for_under_the_lock)
{
	static const char *const where[] = {"", "instances/one/"};
	char path[2][64];

	for (size_t i = 0; i < 2; i++) {
		start();
		CHECK_EQ(make_instance("one"), 0);
		snprintf(path[0], sizeof(path[0]), "%s" EVENT "trigger", where[i]);
		CHECK_EQ(append(path[0], "snapshot if next_pid == 7"), 0);
		snprintf(path[0], sizeof(path[0]), "%s" EVENT "enable", where[i]);
		CHECK_EQ(fathom_set(path[0], "1"), 0);
		snprintf(path[0], sizeof(path[0]), "%strace", where[i]);
		snprintf(path[1], sizeof(path[1]), "%ssnapshot", where[i]);
		switch_to(5);
		fathom_lock();
		switch_to(7);
		switch_to(7);
		CHECK_EQ(fathom_ctl_instance_at((uint32_t)i)->wanted, 1);
		fathom_unlock();
		switch_to(6);
		CHECK_EQ(lines_with(path[1], "next_pid=5"), 1);
		CHECK_EQ(lines_with(path[1], "next_pid=7"), 2);
		CHECK_EQ(lines_with(path[0], "next_pid=5"), 0);
		CHECK_EQ(lines_with(path[0], "next_pid=6"), 1);
		/* Not a second time: what is in `trace` stays there. */
		CHECK_EQ(lines_with(path[0], "next_pid=6"), 1);
	}
}

/* A snapshot keeps what the new live ring is: off, masked, paused. */
TEST(switches_survive_a_snapshot)
{
	start();
	CHECK_EQ(make_instance("one"), 0);
	for (int i = 0; i < 2; i++) {
		const char *dir = i ? "instances/one/" : "";
		char path[64];

#define AT(name) (snprintf(path, sizeof(path), "%s%s", dir, name), path)
		CHECK_EQ(fathom_set(AT("tracing_cpumask"), "1"), 0);
		CHECK_EQ(fathom_set(AT("snapshot"), "1"), 0);
		fathom_user_cpu = 1;
		CHECK_EQ(fathom_set(AT("trace_marker"), "masked"), -EBADF);
		fathom_user_cpu = 0;
		CHECK_EQ(fathom_set(AT("trace_marker"), "here"), 0);
		CHECK_EQ(fathom_set(AT("tracing_on"), "0"), 0);
		CHECK_EQ(fathom_set(AT("snapshot"), "1"), 0);
		CHECK_EQ(fathom_set(AT("trace_marker"), "off"), -EBADF);
		CHECK_EQ(fathom_set(AT("tracing_on"), "1"), 0);
		fathom_user_cpu = 1;
		CHECK_EQ(fathom_set(AT("trace_marker"), "still masked"), -EBADF);
		CHECK_EQ(fathom_set(AT("tracing_cpumask"), "f"), 0);
		CHECK_EQ(fathom_set(AT("trace_marker"), "again"), 0);
		fathom_user_cpu = 0;
#undef AT
	}
}

/* tracing_on turned in any context says nothing about CPUs that the mask excludes, nor about a paused trace. */
TEST(traceon_minds_mask_and_pause)
{
	struct fathom_node node;
	struct fathom_file f;
	char buf[256];

	start();
	CHECK_EQ(fathom_set("tracing_cpumask", "1"), 0);
	fathom_tracing_off();
	fathom_tracing_on();
	fathom_user_cpu = 1;
	CHECK_EQ(fathom_set("trace_marker", "masked"), -EBADF);
	fathom_user_cpu = 0;
	CHECK_EQ(fathom_set("options/pause-on-trace", "1"), 0);
	CHECK_EQ(fathom_fs_lookup("trace", &node), 0);
	CHECK_EQ(fathom_fs_open(&f, &node, FATHOM_O_RDONLY), 0);
	CHECK(fathom_fs_read(&f, buf, sizeof(buf)) > 0);
	fathom_tracing_off();
	fathom_tracing_on();
	CHECK_EQ(fathom_set("trace_marker", "paused"), -EBADF);
	fathom_fs_close(&f);
	CHECK_EQ(fathom_set("trace_marker", "again"), 0);
}

/* A writer that comes while a ring is held finds it in any state, and leaves it as it is. */
TEST(held_ring_is_left_alone)
{
	struct fathom_ring *r, was;
	struct fathom_slot slot;

	start();
	r = fathom_hot.ring[0];
	CHECK_EQ(fathom_set("trace_marker", "first"), 0);
	fathom_ring_hold(r, 1);
	was = *r;
	r->tail += 3ul << FATHOM_POS_PAGE_SHIFT; /* as in the middle of a resize */
	alarm(100);
	CHECK(!fathom_ring_reserve(r, 16, &slot));
	alarm(0);
	CHECK_EQ(r->commit, was.commit);
	CHECK_EQ(r->disabled, was.disabled + 1);
	r->tail = was.tail;
	fathom_ring_hold(r, 0);
	CHECK_EQ(fathom_set("trace_marker", "second"), 0);
	CHECK_EQ(lines_with("trace", "tracing_mark_write"), 2);
}

/* Settings of an instance and the top, each at its own value. */
static void check_apart(const char *file, const char *value, const char *shown,
			const char *top_shown)
{
	char path[96];

	snprintf(path, sizeof(path), "instances/one/%s", file);
	CHECK_EQ(fathom_set(path, value), 0);
	CHECK_STR(get(path), shown);
	if (strcmp(get(file), top_shown) != 0)
		TEST_SAY("  the top's %s reads [%s], want [%s]\n", file, get(file), top_shown);
}

/* event-fork: children of the listed tasks are listed too, while they live; in an instance only if it wants so. */
TEST(children_of_listed_tasks)
{
	start();
	CHECK_EQ(make_instance("one"), 0);
	CHECK_EQ(fathom_set("set_event_pid", "7 5"), 0);
	CHECK_EQ(fathom_set("instances/one/set_event_pid", "5"), 0);
	fathom_task_new(NULL, 5, 50); /* the option is off */
	CHECK_STR(get("set_event_pid"), "5\n7\n");
	CHECK_EQ(fathom_set("options/event-fork", "1"), 0);
	fathom_task_new(NULL, 5, 6);
	fathom_task_new(NULL, 6, 60);
	fathom_task_new(NULL, 8, 80);
	CHECK_STR(get("set_event_pid"), "5\n6\n7\n60\n");
	CHECK_STR(get("instances/one/set_event_pid"), "5\n");
	CHECK_EQ(fathom_set("set_event_pid", "9"), 0); /* opened to write: only this one */
	CHECK_STR(get("set_event_pid"), "9\n");
	fathom_task_new(NULL, 9, 90);
	fathom_task_exit(9);
	CHECK_STR(get("set_event_pid"), "90\n");
	fathom_task_exit(90);
	CHECK_STR(get("set_event_pid"), "");
	CHECK_EQ(fathom_set(EVENT "enable", "1"), 0);
	switch_to(3); /* all listed tasks have ended: nobody is traced */
	CHECK_EQ(lines_with("trace", "sched_switch"), 0);
	CHECK_EQ(fathom_set("options/event-fork", "0"), 0);
	CHECK_EQ(fathom_wanted(FATHOM_WANT_FORK), 0);
}

TEST(instances_are_apart)
{
	start();
	CHECK_EQ(make_instance("one"), 0);
	check_apart("tracing_cpumask", "3", "3\n", "f\n");
	check_apart("buffer_size_kb", "40", "43\n", "255\n");
	check_apart("buffer_percent", "7", "7\n", "50\n");
	check_apart("tracing_max_latency", "9", "9\n", "0\n");
	check_apart("trace_clock", "global", "local [global] uptime perf\n",
		    "[local] global uptime perf\n");
	check_apart("set_event_pid", "5", "5\n", "");
	check_apart("set_event_pid", "", "", "");
	check_apart("options/overwrite", "0", "0\n", "1\n");
	check_apart("options/overwrite", "1", "1\n", "1\n");
	check_apart("options/function-trace", "0", "0\n", "1\n");
	check_apart("options/sym-addr", "1", "1\n", "0\n");
	check_apart(EVENT "filter", "next_pid > 3", "next_pid > 3\n", "none\n");
	check_apart(EVENT "enable", "1", "1\n", "0\n");
	check_apart("set_event", "!sched:sched_switch", "", "");
	check_apart(EVENT "enable", "1", "1\n", "0\n");
	switch_to(3);
	switch_to(4);
	CHECK_EQ(fathom_set("instances/one/trace_marker", "mine"), 0);
	CHECK_EQ(fathom_set("trace_marker", "top's"), 0);
	CHECK_EQ(lines_with("instances/one/trace", "next_pid=4"), 1);
	CHECK_EQ(lines_with("instances/one/trace", "next_pid=3"), 0);
	CHECK_EQ(lines_with("instances/one/trace", "mine"), 1);
	CHECK_EQ(lines_with("instances/one/trace", "top's"), 0);
	CHECK_EQ(lines_with("trace", "sched_switch"), 0);
	CHECK_EQ(lines_with("trace", "tracing_mark_write"), 1);
	CHECK(strstr(get("instances/one/per_cpu/cpu0/stats"), "entries: 2\n") != NULL);
	CHECK(strstr(get("per_cpu/cpu0/stats"), "entries: 1\n") != NULL);
	CHECK_EQ(fathom_set("instances/one/snapshot", "1"), 0);
	CHECK_EQ(lines_with("instances/one/snapshot", "mine"), 1);
	CHECK_EQ(lines_with("snapshot", "is freed"), 1);
	CHECK_EQ(fathom_set("instances/one/" EVENT "filter", "bogus"), -EINVAL);
	CHECK_EQ(lines_with("instances/one/error_log", "Command: bogus"), 1);
	CHECK_EQ(lines_with("error_log", "Command"), 0);
	for (int i = 0; i < 20; i++) /* the last eight of the top leave the instance's alone */
		CHECK_EQ(fathom_set(EVENT "filter", "bogus"), -EINVAL);
	CHECK_EQ(lines_with("error_log", "Command"), 8);
	CHECK_EQ(lines_with("instances/one/error_log", "Command: bogus"), 1);
	CHECK_EQ(fathom_set("error_log", ""), 0);
	CHECK_EQ(lines_with("instances/one/error_log", "Command: bogus"), 1);
	CHECK_EQ(fathom_set("instances/one/current_tracer", "function"), -EINVAL);
	check_apart("tracing_on", "0", "0\n", "1\n");
	CHECK_EQ(fathom_set("instances/one/trace_marker", "off"), -EBADF);
	CHECK_EQ(fathom_set("trace_marker", "on"), 0);
}

/* Stacks go where the event went: by the trigger, and by the option. */
TEST(stacks_of_an_instance)
{
	start();
	CHECK_EQ(make_instance("one"), 0);
	CHECK_EQ(append("instances/one/" EVENT "trigger", "stacktrace:1"), 0);
	CHECK_EQ(fathom_set("instances/one/" EVENT "enable", "1"), 0);
	switch_to(1);
	CHECK_EQ(lines_with("instances/one/trace", "<stack trace>"), 1);
	CHECK_EQ(lines_with("trace", "<stack trace>"), 0);
	CHECK_EQ(fathom_set("instances/one/options/stacktrace", "1"), 0);
	switch_to(2);
	CHECK_EQ(lines_with("instances/one/trace", "<stack trace>"), 2);
	CHECK_EQ(lines_with("trace", "<stack trace>"), 0);
	CHECK_EQ(fathom_set("options/stacktrace", "1"), 0);
	CHECK_EQ(fathom_set(EVENT "enable", "1"), 0);
	switch_to(3);
	CHECK_EQ(lines_with("instances/one/trace", "<stack trace>"), 3);
	CHECK_EQ(lines_with("trace", "<stack trace>"), 1);
}

static uint64_t mono_now;

static uint64_t mono_ns(void)
{
	return mono_now;
}

static uint64_t tai_ns(void)
{
	return 1800000000000000000;
}

/* Ring time as each clock shows it: the number in the one line that is there. */
static double shown_time(const char *path)
{
	const char *line = strstr(get(path), "tracing_mark_write");

	CHECK(line != NULL);
	for (line -= line ? 3 : 0; line && line[-1] != ' '; line--)
		;
	return line ? strtod(line, NULL) : 0;
}

/* One clock, shown in the units of Linux's names; each instance has its choice, and choosing clears. */
TEST(clocks)
{
	struct fathom_config config = {.memory = memory,
				       .memory_bytes = sizeof(memory),
				       .nr_cpus = 1,
				       .pages_per_cpu = 64,
				       .clock_hz = 2000000000,
				       .clock_name = "x86-tsc",
				       .mono_ns = mono_ns,
				       .tai_ns = tai_ns};
	static const char *const mono[] = {"mono", "mono_raw", "boot"};
	static const char *const ticking[] = {"local", "global", "perf"};
	double local, ticks;

	fathom_exit();
	CHECK_EQ(fathom_init(&config), 0);
	CHECK_EQ(make_instance("one"), 0);
	CHECK_STR(get("trace_clock"),
		  "[local] global uptime perf mono mono_raw boot tai x86-tsc\n");
	CHECK_EQ(fathom_set("trace_marker", "x"), 0);
	local = shown_time("trace");
	CHECK_EQ(fathom_set("trace_clock", "nosuch"), -EINVAL);
	CHECK(shown_time("trace") == local);
	CHECK_EQ(fathom_set("trace_clock", "x86-tsc"), 0);
	CHECK_STR(get("trace_clock"),
		  "local global uptime perf mono mono_raw boot tai [x86-tsc]\n");
	CHECK_STR(get("instances/one/trace_clock"),
		  "[local] global uptime perf mono mono_raw boot tai x86-tsc\n");
	CHECK_EQ(lines_with("trace", "tracing_mark_write"), 0);
	CHECK_EQ(fathom_set("trace_marker", "x"), 0);
	ticks = shown_time("trace");
	CHECK(ticks > local * 2e9 && ticks < (local + 10) * 2e9);
	CHECK(strstr(get("per_cpu/cpu0/stats"), "now ts: ") &&
	      !strchr(get("per_cpu/cpu0/stats"), '.'));
	CHECK_EQ(fathom_set("trace_clock", "uptime"), 0);
	CHECK_EQ(fathom_set("trace_marker", "x"), 0);
	CHECK(shown_time("trace") >= local * 100 - 1 && shown_time("trace") < (local + 10) * 100);
	mono_now = 5000000000; /* 5 s, whatever the ticks say */
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(fathom_set("trace_clock", mono[i]), 0);
		CHECK_EQ(fathom_set("trace_marker", "x"), 0);
		CHECK(shown_time("trace") >= 5.0 && shown_time("trace") < 15.0);
	}
	CHECK_EQ(fathom_set("trace_clock", "tai"), 0);
	CHECK_EQ(fathom_set("trace_marker", "x"), 0);
	CHECK(shown_time("trace") >= 1.8e9 && shown_time("trace") < 1.8e9 + 10);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(fathom_set("trace_clock", ticking[i]), 0);
		CHECK_EQ(fathom_set("trace_marker", "x"), 0);
		CHECK(shown_time("trace") >= local && shown_time("trace") < local + 10);
	}
	CHECK_EQ(fathom_set("trace_clock", "counter"), -EINVAL);
}

/* trace_pipe_packed gives the pages of trace_pipe_raw: what the ring lost included. */
TEST(packed_pages)
{
	static uint8_t packed[8192], pages[2][16][4096];
	static struct wire_packer packer;
	uint32_t nr[2] = {0, 0}, used;
	int big;

	for (int pass = 0; pass < 2; pass++) {
		struct fathom_node node;
		struct fathom_file f;
		char text[100];
		int n;

		start();
		CHECK_EQ(fathom_set("buffer_size_kb", "16"), 0);
		for (int i = 0; i < 500; i++) { /* more than fit */
			snprintf(text, sizeof(text), "marker %d of a few", i);
			CHECK_EQ(fathom_set("trace_marker", text), 0);
		}
		CHECK_EQ(fathom_fs_lookup(pass ? "per_cpu/cpu0/trace_pipe_packed"
					       : "per_cpu/cpu0/trace_pipe_raw",
					  &node),
			 0);
		CHECK_EQ(fathom_fs_open(&f, &node, FATHOM_O_RDONLY), 0);
		while (!pass && nr[0] < 16 &&
		       fathom_fs_read(&f, pages[0][nr[0]], sizeof(packed)) == 4096)
			nr[0]++;
		CHECK(!pass || fathom_fs_read(&f, packed, 4100) == -FATHOM_EINVAL);
		while (pass && (n = (int)fathom_fs_read(&f, packed, sizeof(packed))) > 0)
			for (int at = 0, took; at < n && nr[1] < 16; at += took) {
				took = fathom_page_unpack(&packer, packed + at, (size_t)(n - at),
							  pages[1][nr[1]++], 4096, &used, &big);
				REQUIRE(took > 0);
			}
		fathom_fs_close(&f);
	}
	CHECK(nr[0] >= 3 && nr[0] == nr[1]);
	for (uint32_t i = 0; i < nr[0]; i++) {
		uint32_t commit[2], used_of[2];

		for (int k = 0; k < 2; k++) {
			memcpy(&commit[k], pages[k][i] + 8, 4);
			used_of[k] = 16 + (commit[k] & WIRE_COMMIT_SIZE);
		}
		CHECK_EQ(commit[0], commit[1]);
		/* All but the times: the last marker, the count of missed events after it, zeros. */
		CHECK(!memcmp(pages[0][i] + used_of[0] - 24, pages[1][i] + used_of[0] - 24, 20));
		CHECK(!memcmp(pages[0][i] + used_of[0], pages[1][i] + used_of[0],
			      4096 - used_of[0]));
		if (!i) {
			uint64_t lost;

			CHECK(commit[0] & WIRE_COMMIT_STORED);
			memcpy(&lost, pages[1][i] + used_of[0], 8);
			CHECK(lost > 0 && lost < 500);
		}
	}
}

/* poll() of trace_pipe_raw waits until the ring is filled that far; a read takes what there is. */
TEST(buffer_percent)
{
	struct fathom_node node;
	struct fathom_file f;
	char page[4096];
	int n = 0;

	start();
	CHECK_EQ(fathom_fs_lookup("per_cpu/cpu0/trace_pipe_raw", &node), 0);
	CHECK_EQ(fathom_fs_open(&f, &node, FATHOM_O_RDONLY), 0);
	CHECK(!(fathom_fs_poll(&f) & FATHOM_POLL_IN));
	CHECK_EQ(fathom_set("trace_marker", "one"), 0);
	CHECK(!(fathom_fs_poll(&f) & FATHOM_POLL_IN));
	CHECK_EQ(fathom_set("buffer_percent", "0"), 0);
	CHECK(fathom_fs_poll(&f) & FATHOM_POLL_IN);
	CHECK_EQ(fathom_fs_read(&f, page, sizeof(page)), 4096);
	CHECK(!(fathom_fs_poll(&f) & FATHOM_POLL_IN));
	CHECK_EQ(fathom_set("buffer_percent", "25"), 0);
	memset(page, 'x', sizeof(page));
	page[1000] = '\0';
	for (; !(fathom_fs_poll(&f) & FATHOM_POLL_IN) && n < 1000; n++)
		CHECK_EQ(fathom_set("trace_marker", page), 0);
	CHECK(n > 3 * 15 && n < 3 * 17); /* three to a page, a quarter of 64 pages */
	fathom_fs_close(&f);
}

static uint32_t stop;
static int sent;

static void *sender(void *arg)
{
	fathom_user_cpu = (int)(intptr_t)arg;
	for (int i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
		switch_to(i % 16);
		__atomic_fetch_add(&sent, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/*
 * Triggers of running threads switch, exchange and resize against the readers: every page is whole afterwards, and
 * tracing_on tells what the rings do.
 */
TEST(threads_switch_and_exchange)
{
	pthread_t t[CPUS];
	char buf[8192];

	start();
	CHECK_EQ(append(EVENT "trigger", "snapshot if next_pid == 3"), 0);
	CHECK_EQ(append(EVENT "trigger", "traceoff if next_pid == 5"), 0);
	CHECK_EQ(append(EVENT "trigger", "traceon if next_pid == 6"), 0);
	CHECK_EQ(fathom_set(EVENT "enable", "1"), 0);
	stop = 0;
	for (intptr_t i = 1; i < CPUS; i++)
		pthread_create(&t[i], NULL, sender, (void *)i);
	for (int i = 0; i < 300; i++) {
		CHECK(fathom_get("trace", buf, sizeof(buf)) > 0);
		CHECK(fathom_get("snapshot", buf, sizeof(buf)) > 0);
		CHECK_EQ(fathom_set("buffer_size_kb", i & 1 ? "40" : "100"), 0);
		CHECK_EQ(fathom_set("trace", ""), 0);
		CHECK_EQ(fathom_set("per_cpu/cpu2/snapshot", "1"), 0);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (intptr_t i = 1; i < CPUS; i++)
		pthread_join(t[i], NULL);
	CHECK(sent > 1000);
	for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
		struct fathom_ring *r = fathom_hot.ring[cpu];
		struct wire_page page;
		uint32_t entries;
		int n;

		CHECK_EQ(fathom_ring_is_enabled(r), fathom_tracing_is_on());
		while ((n = fathom_ring_read_page(r, &page, 1)) > 0)
			CHECK_EQ(fathom_ring_page_check(&page, (uint32_t)n, &entries), 0);
	}
}

TEST_MAIN
