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
	struct fathom_graph_call a = {.func = 0x10, .name = "mutex_unlock"};
	struct fathom_graph_call b = {
		.func = 0x20, .name = "preempt_count_add", .depth = 1, .duration_ns = 6125};
	struct fathom_graph_call x = {
		.func = 0x10, .name = "mutex_unlock", .duration_ns = 335896, .overrun = 3};

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
	struct fathom_graph_call a = {.func = 0x10};

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
	struct fathom_graph_call irq = {
		.func = 0x10, .name = "gic_handle_irq", .duration_ns = 1000, .is_irq = 1};
	struct fathom_graph_call in = {
		.func = 0x20, .name = "inside", .depth = 1, .duration_ns = 2000};

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

static void put_one(struct fathom_text *out, const struct fathom_text_args *args)
{
	fathom_text_str(out, "n=");
	fathom_text_u64(out, args->nr, 0, ' ');
}

/* As Linux 6.17 has them: an error as such, whatever else in hex, nothing without the option. */
TEST(graph_arguments_and_values)
{
	static const struct {
		uint8_t word_bytes;
		uint64_t retval;
		const char *value, *text;
	} cases[] = {
		{8, 0, NULL, "0x0"},
		{8, (uint64_t)-22, NULL, "-22"},
		{8, 0xffffffeau, NULL, "-22"},
		{4, 0xffffffeau, NULL, "-22"},
		{8, (uint64_t)-4095, NULL, "-4095"},
		{8, (uint64_t)-4096, NULL, "0xfffffffffffff000"},
		{8, 0x80000000u, NULL, "0x80000000"},
		{8, 5, "GREEN", "GREEN"},
	};
	uint32_t all = FATHOM_TEXT_GRAPH_RETVAL | FATHOM_TEXT_GRAPH_RETADDR;
	struct fathom_text_entry e = {.pid = 1};
	struct fathom_graph_call c = {
		.func = 0x10, .name = "f", .has_retval = 1, .from = {"g", 0x123, 3, 16, ""}};
	char want[256];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		c.word_bytes = cases[i].word_bytes;
		c.retval = cases[i].retval;
		c.value = cases[i].value;
		begin(FATHOM_TEXT_DEFAULT | all);
		fathom_graph_leaf(&t, &graph, &e, &c);
		snprintf(want, sizeof(want),
			 " 0)   0.000 us    |  f(); /* <-g+0x3/0x10 ret=%s */\n", cases[i].text);
		CHECK_STR(fathom_text_cstr(&t), want);
	}
	c.args.put = put_one;
	c.args.nr = 7;
	begin(FATHOM_TEXT_DEFAULT | all | FATHOM_TEXT_GRAPH_RETVAL_HEX);
	fathom_graph_entry(&t, &graph, &e, &c);
	fathom_graph_exit(&t, &graph, &e, &c);
	CHECK_STR(fathom_text_cstr(&t), " 0)               |  f(n=7) { /* <-g+0x3/0x10 */\n"
					" 0)   0.000 us    |  } /* f ret=0x5 */\n");
	begin(FATHOM_TEXT_DEFAULT);
	fathom_graph_entry(&t, &graph, &e, &c);
	fathom_graph_exit(&t, &graph, &e, &c);
	fathom_graph_leaf(&t, &graph, &e, &c);
	CHECK_STR(fathom_text_cstr(&t), " 0)               |  f(n=7) {\n"
					" 0)   0.000 us    |  }\n"
					" 0)   0.000 us    |  f(n=7);\n");
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
	struct fathom_graph_call c = {.func = 0x10, .name = "f", .depth = INT32_MAX};

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
