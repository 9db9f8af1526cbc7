/* SPDX-License-Identifier: MIT */
/* trace_text_graph.c -- the drawing of function_graph, against what a Linux 6.1 printed. */
#include "harness.h"
#include "wire/text_graph.h"

static char buf[8192];
static struct fathom_text t;
static struct fathom_text_view view = {.options = FATHOM_TEXT_DEFAULT, .nr_cpus = 2};
static struct fathom_graph_cpu cpus[2];

static const char *name_of(void *arg, int32_t pid)
{
	(void)arg;
	return pid == 15 ? "rcu_preempt" : "bash";
}

static struct fathom_graph graph = {&view, cpus, 2, name_of, NULL};

static void begin(uint32_t options)
{
	view.options = options;
	fathom_text_init(&t, buf, sizeof(buf));
	fathom_graph_init(&graph);
}

TEST(graph_nesting)
{
	struct fathom_text_entry e = {.pid = 56, .time = 14757020999};
	struct fathom_graph_call a = {0x10, "mutex_unlock", 0, 0, 0, 0};
	struct fathom_graph_call b = {0x20, "preempt_count_add", 1, 6125, 0, 0};
	struct fathom_graph_call x = {0x10, "mutex_unlock", 0, 335896, 3, 0};

	begin(FATHOM_TEXT_DEFAULT | FATHOM_TEXT_GRAPH_ABSTIME | FATHOM_TEXT_GRAPH_PROC);
	fathom_graph_entry(&t, &graph, &e, &a);
	fathom_graph_leaf(&t, &graph, &e, &b);
	fathom_graph_comment(&t, &graph, &e);
	fathom_text_str(&t, "sched: x\n");
	fathom_graph_comment_end(&t);
	fathom_graph_exit(&t, &graph, &e, &x);
	CHECK_STR(fathom_text_cstr(&t),
		  "   14.757020 |   0)    bash-56     |               |  mutex_unlock() {\n"
		  "   14.757020 |   0)    bash-56     |   6.125 us    |    preempt_count_add();\n"
		  "   14.757020 |   0)    bash-56     |               |  /* sched: x */\n"
		  "   14.757020 |   0)    bash-56     | ! 335.896 us  |  }\n");
	/* Its entry is closed now: the same exit again must name its function. */
	begin(FATHOM_TEXT_DEFAULT | FATHOM_TEXT_GRAPH_OVERRUN);
	fathom_graph_exit(&t, &graph, &e, &x);
	CHECK_STR(fathom_text_cstr(&t),
		  " 0) ! 335.896 us  |  } /* mutex_unlock */\n (Overruns: 3)\n");
}

TEST(graph_task_change)
{
	struct fathom_text_entry e = {.pid = 0};
	struct fathom_graph_call a = {0x10, NULL, 0, 0, 0, 0};

	begin(FATHOM_TEXT_DEFAULT);
	fathom_graph_entry(&t, &graph, &e, &a);
	e.pid = 15;
	fathom_graph_leaf(&t, &graph, &e, &a);
	CHECK_STR(fathom_text_cstr(&t), " 0)               |  0x10() {\n"
					" ------------------------------------------\n"
					" 0)    <idle>-0    =>   rcu_pre-15  \n"
					" ------------------------------------------\n\n"
					" 0)   0.000 us    |  0x10();\n");
}

TEST(graph_interrupts)
{
	struct fathom_text_entry e = {.pid = 1, .cpu = 1};
	struct fathom_graph_call irq = {0x10, "gic_handle_irq", 0, 1000, 0, 1};
	struct fathom_graph_call in = {0x20, "inside", 1, 2000, 0, 0};

	begin(FATHOM_TEXT_DEFAULT);
	fathom_graph_entry(&t, &graph, &e, &irq);
	fathom_graph_exit(&t, &graph, &e, &irq);
	CHECK_STR(fathom_text_cstr(&t), " 1)   ==========> |\n"
					" 1)               |  gic_handle_irq() {\n"
					" 1)   1.000 us    |  }\n"
					" 1)   <========== |\n");
	begin(FATHOM_TEXT_DEFAULT & ~FATHOM_TEXT_GRAPH_IRQS);
	fathom_graph_entry(&t, &graph, &e, &irq);
	fathom_graph_leaf(&t, &graph, &e, &in);
	fathom_graph_exit(&t, &graph, &e, &irq);
	CHECK_STR(fathom_text_cstr(&t), "");
	in.depth = 0;
	fathom_graph_leaf(&t, &graph, &e, &in);
	CHECK_STR(fathom_text_cstr(&t), " 1)   2.000 us    |  inside();\n");
}

TEST(graph_durations)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
		{2334, "2.334 us    "},	       {10695253, "10695.25 us "},
		{120581567, "120581.5 us "},   {1204059999, "1204059 us  "},
		{12040599990, "12040599 us "}, {0, "0.000 us    "},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fathom_text_init(&t, buf, sizeof(buf));
		fathom_graph_duration(&t, cases[i].ns);
		CHECK_STR(fathom_text_cstr(&t), cases[i].text);
	}
}

TEST(graph_odd_depths)
{
	struct fathom_text_entry e = {.pid = 1};
	struct fathom_graph_call c = {0x10, "f", INT32_MAX, 0, 0, 0};

	begin(FATHOM_TEXT_DEFAULT);
	fathom_graph_entry(&t, &graph, &e, &c);
	CHECK(t.len < 1100);
	c.depth = INT32_MIN;
	fathom_graph_exit(&t, &graph, &e, &c);
	e.cpu = 7;
	fathom_graph_leaf(&t, &graph, &e, &c);
	CHECK(!t.cut);
}

static const char *header(uint32_t options)
{
	static const struct fathom_text_banner b = {.release = "6.1", .model = "preempt"};
	struct fathom_text_head h = {"function_graph", 1, 1, &b};

	begin(options);
	fathom_graph_header(&t, &view, &h);
	return fathom_text_cstr(&t);
}

TEST(graph_headers)
{
	CHECK_STR(header(FATHOM_TEXT_DEFAULT), "# tracer: function_graph\n#\n"
					       "# CPU  DURATION                  FUNCTION CALLS\n"
					       "# |     |   |                     |   |   |   |\n");
	CHECK(strstr(header(FATHOM_TEXT_DEFAULT | FATHOM_TEXT_LATENCY | FATHOM_TEXT_GRAPH_RELTIME |
			    FATHOM_TEXT_GRAPH_PROC),
		     "#                                       _-----=> irqs-off        \n"
		     "#                                      / _----=> need-resched    \n"
		     "#                                     | / _---=> hardirq/softirq \n"
		     "#                                     || / _--=> preempt-depth   \n"
		     "#                                     ||| /                      \n"
		     "#   REL TIME      CPU  TASK/PID       ||||     DURATION                  "
		     "FUNCTION CALLS\n"
		     "#      |          |     |    |        ||||      |   |                     |  "
		     " |   |   |\n"));
	CHECK_STR(header(FATHOM_TEXT_DEFAULT &
			 ~(FATHOM_TEXT_GRAPH_DURATION | FATHOM_TEXT_GRAPH_CPU)),
		  "# tracer: function_graph\n#\n#               FUNCTION CALLS\n#               |  "
		  " |   |   |\n");
}

TEST_MAIN
