/* SPDX-License-Identifier: MIT */
/* trace_boot.c -- fathom_boot(): tracing from a command line, good ones and bad ones. */
#include <stdint.h>
#include <stdlib.h>
#include "harness.h"
#define CREATE_TRACE_POINTS
#include "fathom/events/irq.h"
#include "fathom/events/sched.h"
#include "fathom/trace.h"

static char memory[8 << 20] __attribute__((aligned(4096)));
static char said[4096];
static size_t nr_said;

static void sink(void *unused, const char *text, size_t bytes)
{
	(void)unused;
	if (bytes < sizeof(said) - nr_said) {
		memcpy(said + nr_said, text, bytes);
		nr_said += bytes;
		said[nr_said] = 0;
	}
}

static void start(void)
{
	struct fathom_config config = {.memory = memory,
				       .memory_bytes = sizeof(memory),
				       .nr_cpus = 1,
				       .pages_per_cpu = 64,
				       .sink = sink};

	fathom_exit();
	nr_said = 0;
	said[0] = 0;
	CHECK_EQ(fathom_init(&config), 0);
}

static int holds(const char *path, const char *text)
{
	static char buf[16384];

	return fathom_get(path, buf, sizeof(buf)) >= 0 && strstr(buf, text) != NULL;
}

/* The line is copied to memory of its own length, so that a byte read too far is found. */
static int boot(const char *line)
{
	char *copy = strdup(line);
	int failed = fathom_boot(copy);

	free(copy);
	return failed;
}

TEST(options)
{
	start();
	CHECK_EQ(boot("quiet trace_event=sched:sched_switch,irq root=/dev/sda trace_clock=global "
		      "trace_options=sym-addr,noprint-parent trace_buf_size=64K splash"),
		 0);
	CHECK(holds("set_event", "sched:sched_switch\n"));
	CHECK(holds("set_event", "irq:irq_handler_entry\n"));
	CHECK(!holds("set_event", "sched_wakeup"));
	CHECK(holds("trace_clock", "[global]"));
	CHECK(holds("trace_options", "\nsym-addr\n"));
	CHECK(holds("trace_options", "noprint-parent\n"));
	CHECK(holds("buffer_size_kb", "6")); /* 64 and what the heads of pages take */
	CHECK_EQ(nr_said, 0);
}

TEST(instances)
{
	start();
	CHECK_EQ(boot("trace_instance=one,sched trace_instance=two^traceoff,irq:irq_handler_exit"),
		 0);
	CHECK(holds("instances/one/set_event", "sched:sched_wakeup\n"));
	CHECK(holds("instances/one/tracing_on", "1"));
	CHECK(holds("instances/two/tracing_on", "0"));
	CHECK(holds("instances/two/set_event", "irq:irq_handler_exit\n"));
	CHECK(!holds("set_event", "sched"));
}

TEST(printk)
{
	start();
	CHECK_EQ(boot("tp_printk trace_event=\"sched_process_exit\""), 0);
	CHECK(holds("tracepoint_printk", "1"));
	trace_sched_process_exit("child", 7, 120);
	CHECK(strstr(said, "sched_process_exit: comm=child pid=7 prio=120") != NULL);
	CHECK(holds("trace", "pid=7"));
	CHECK_EQ(fathom_set("tracepoint_printk", "0"), 0);
	nr_said = 0;
	trace_sched_process_exit("child", 8, 120);
	CHECK_EQ(nr_said, 0);
}

TEST(wrong)
{
	static const char *const lines[] = {
		"trace_event=no:such",
		"ftrace=nosuch",
		"trace_clock=",
		"trace_buf_size=many",
		"trace_buf_size=K",
		"trace_buf_size=",
		"trace_instance=",
		"trace_instance=a/b",
		"trace_instance=x^y",
		"trace_options=nosuch",
		"trace_buf_size=99999999999999999999G",
	};
	char longest[600];

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		start();
		CHECK_EQ(boot(lines[i]), 1);
		CHECK(strstr(said, lines[i]) != NULL && !strncmp(said, "fathom: error ", 14));
	}
	memset(longest, 'x', sizeof(longest));
	memcpy(longest, "trace_event=", 12);
	longest[sizeof(longest) - 1] = 0;
	start();
	CHECK_EQ(boot(longest), 1);
	CHECK_EQ(boot("trace_event=\"unended"), 1);
	CHECK_EQ(boot(""), 0);
	CHECK_EQ(boot("trace_event ftrace= =x tp_printk=1 \"\" ="), 1); /* ftrace= */
	CHECK(holds("tracepoint_printk", "0"));
}

TEST_MAIN
