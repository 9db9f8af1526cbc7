/* SPDX-License-Identifier: MIT */
/* trace_view.c -- the text view: lines, merging, loss, trace_pipe, the graph, printk and markers, fathom_dump(). */
#include <stdint.h>
#include "harness.h"
#include "fathom/inside/errno.h"
#define CREATE_TRACE_POINTS
#include "fathom/events/sched.h"
#include "sample_events.h"
#include "fathom/inside/emit.h"
#include "fathom/inside/internal.h"
#include "fathom/inside/view.h"

int sample_reg_calls, sample_reg_answer;
int sample_reg(void)
{
	return 0;
}
void sample_unreg(void)
{
}

static char memory[256 * 4096] __attribute__((aligned(4096)));
static char view_memory[16 * 4096] __attribute__((aligned(4096)));
static char sunk[65536];
static size_t sunk_bytes;

static void sink(void *arg, const char *text, size_t bytes)
{
	CHECK(arg == memory);
	CHECK(sunk_bytes + bytes < sizeof(sunk));
	memcpy(sunk + sunk_bytes, text, bytes);
	sunk_bytes += bytes;
	sunk[sunk_bytes] = 0;
}

static const char *symbol(uintptr_t at, uintptr_t *offset, uintptr_t *size)
{
	if (at < 0x1000 || at >= 0x3000)
		return NULL;
	*offset = at & 0xfff;
	*size = 0x1000;
	return at < 0x2000 ? "first" : "second";
}

static int task_name(int32_t pid, char buf[16])
{
	if (pid != 42)
		return -FATHOM_ESRCH;
	strcpy(buf, "answer");
	return 0;
}

static void start(uint32_t nr_cpus)
{
	struct fathom_config config = {.memory = memory,
				       .memory_bytes = sizeof(memory),
				       .nr_cpus = nr_cpus,
				       .pages_per_cpu = 4,
				       .sink = sink,
				       .sink_arg = memory,
				       .symbol = symbol,
				       .task_name = task_name};

	fathom_exit();
	CHECK_EQ(fathom_init(&config), 0);
	CHECK(fathom_event_enable("*", 1) > 0);
	sunk_bytes = 0;
	sunk[0] = 0;
}

/* A record of any event on any CPU at any place of the text's columns. */
static void put(uint32_t cpu, uint16_t id, uint16_t context, int32_t pid, const void *data,
		uint32_t bytes)
{
	struct fathom_slot slot;
	struct wire_common *c =
		fathom_ring_reserve(fathom_ring_of(cpu), (uint32_t)sizeof(*c) + bytes, &slot);

	CHECK(c != NULL);
	c->type = id;
	c->flags = (uint8_t)context;
	c->preempt_count = (uint8_t)(context >> 8);
	c->pid = pid;
	memcpy(c + 1, data, bytes);
	fathom_ring_commit(fathom_ring_of(cpu), &slot);
}

static struct fathom_view *view(uint32_t flags, uint32_t options, int32_t cpu,
				const struct fathom_view_graph *graph)
{
	struct fathom_view_config config = {.rings = fathom_hot.ring,
					    .nr_cpus = fathom_core.nr_cpus,
					    .cpu = cpu,
					    .flags = flags,
					    .options = options,
					    .graph = graph};

	CHECK(fathom_view_bytes(&config) <= sizeof(view_memory));
	CHECK(fathom_view_init(view_memory, 4096, &config) == NULL);
	return fathom_view_init(view_memory, sizeof(view_memory), &config);
}

static char lines[65536];
/* All lines of a view, each without its time (it is checked to be there). */
static const char *text_of(struct fathom_view *v)
{
	struct fathom_text t;

	fathom_text_init(&t, lines, sizeof(lines));
	while (fathom_view_next(v, &t))
		;
	CHECK(!t.cut);
	return fathom_text_cstr(&t);
}

static char *blank_times(const char *text)
{
	static char out[65536];
	size_t n = 0;

	for (const char *s = text; *s; s++) {
		if (*s == '.' && s > text && s[-1] >= '0' && s[-1] <= '9' && s[1] >= '0' &&
		    s[1] <= '9') {
			while (n && out[n - 1] != ' ')
				n--;
			while (n && out[n - 1] == ' ')
				n--;
			out[n++] = ' ';
			out[n++] = 'T';
			while (s[1] >= '0' && s[1] <= '9')
				s++;
			continue;
		}
		out[n++] = *s;
	}
	out[n] = 0;
	return out;
}

TEST(lines_have_linux_columns)
{
	uint64_t two[2] = {1, 2};

	start(2);
	put(0, fathom_ev_sample_one.id, 0, 42, two, 16);
	put(0, fathom_ev_sample_one.id, 0x1209, 7, two, 16);
	put(1, fathom_ev_sample_one.id, 0x0002, 0, two, 16);
	CHECK_STR(blank_times(text_of(view(0, FATHOM_TEXT_DEFAULT, -1, NULL))),
		  "          answer-42      [000] ..... T: sample_one: a=1 b=2\n"
		  "           <...>-7       [000] d.h21 T: sample_one: a=1 b=2\n"
		  "          <idle>-0       [001] X.... T: sample_one: a=1 b=2\n");
	CHECK_STR(blank_times(text_of(view(0, FATHOM_TEXT_DEFAULT, 1, NULL))),
		  "          <idle>-0       [001] X.... T: sample_one: a=1 b=2\n");
	CHECK_STR(text_of(view(0, 0, -1, NULL)), "sample_one: a=1 b=2\nsample_one: a=1 b=2\n"
						 "sample_one: a=1 b=2\n");
}

TEST(header_counts_entries)
{
	struct fathom_text t;
	uint64_t two[2] = {1, 2};

	start(2);
	put(0, fathom_ev_sample_one.id, 0, 42, two, 16);
	put(1, fathom_ev_sample_one.id, 0, 42, two, 16);
	fathom_text_init(&t, lines, sizeof(lines));
	fathom_view_header(view(0, FATHOM_TEXT_DEFAULT, -1, NULL), &t);
	CHECK(strstr(fathom_text_cstr(&t),
		     "# tracer: nop\n#\n# entries-in-buffer/entries-written: 2/2   #P:2\n#\n") ==
	      lines);
	CHECK(strstr(lines, "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"));
}

TEST(merged_by_time_not_by_cpu)
{
	uint64_t two[2] = {0, 0};
	char want[64] = "", got[64] = "";
	const char *s;

	start(4);
	for (uint32_t i = 0; i < 16; i++) {
		uint32_t cpu = (i * 7) % 4;

		two[0] = i;
		put(cpu, fathom_ev_sample_one.id, 0, 1, two, 16);
		snprintf(want + strlen(want), sizeof(want) - strlen(want), "%x", i);
	}
	for (s = text_of(view(0, FATHOM_TEXT_DEFAULT, -1, NULL)); (s = strstr(s, "a=")); s++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%x", atoi(s + 2));
	CHECK_STR(got, want);
}

TEST(pipe_consumes_and_tells_loss)
{
	uint64_t two[2] = {0, 0};
	struct fathom_ring_stats st;
	const char *text;
	char want[64];

	start(1);
	for (uint32_t i = 0; i < 2000; i++) {
		two[0] = i;
		put(0, fathom_ev_sample_one.id, 0, 1, two, 16);
	}
	fathom_ring_stats(fathom_ring_of(0), &st);
	CHECK(st.overwritten > 0);
	text = text_of(view(FATHOM_VIEW_CONSUME, FATHOM_TEXT_DEFAULT, -1, NULL));
	snprintf(want, sizeof(want), "CPU:0 [LOST %llu EVENTS]\n",
		 (unsigned long long)st.overwritten);
	CHECK(strncmp(text, want, strlen(want)) == 0);
	CHECK(strstr(text, "a=1999 b=0\n") != NULL);
	CHECK_STR(text_of(view(FATHOM_VIEW_CONSUME, FATHOM_TEXT_DEFAULT, -1, NULL)), "");
	put(0, fathom_ev_sample_one.id, 0, 1, two, 16);
	CHECK(strstr(text_of(view(FATHOM_VIEW_CONSUME, FATHOM_TEXT_DEFAULT, -1, NULL)), "LOST") ==
	      NULL);
}

TEST(annotated_where_a_cpu_starts)
{
	uint64_t two[2] = {0, 0};
	const char *text, *mark;

	start(2);
	for (uint32_t i = 0; i < 2000; i++)
		put(0, fathom_ev_sample_one.id, 0, 1, two, 16);
	put(1, fathom_ev_sample_one.id, 0, 1, two, 16);
	text = text_of(view(0, FATHOM_TEXT_DEFAULT, -1, NULL));
	mark = strstr(text, "##### CPU 1 buffer started ####\n");
	CHECK(mark && strstr(mark, "[001]") && !strstr(mark, "[000]"));
	CHECK(!strstr(text, "CPU 0 buffer started"));
	CHECK(!strstr(text_of(view(0, FATHOM_TEXT_DEFAULT & ~FATHOM_TEXT_ANNOTATE, -1, NULL)),
		      "started"));
}

TEST(tracers_records)
{
	uintptr_t function[2] = {0x1010, 0x2020};
	struct {
		int32_t size;
		uint32_t pad;
		uintptr_t caller[3];
	} stack = {2, 0, {0x1010, 0x2020, 0x9999}};
	struct {
		uint32_t tgid, pad;
		uintptr_t caller[2];
	} user = {1, 0, {0x7f0012345678, 0}};
	struct fathom_rec_switch sw = {.prev_pid = 1,
				       .next_pid = 42,
				       .next_cpu = 1,
				       .prev_prio = 120,
				       .prev_state = 1,
				       .next_prio = 99,
				       .next_state = 0};

	start(1);
	put(0, WIRE_ID_FUNCTION, 0, 42, function, sizeof(function));
	put(0, WIRE_ID_KERNEL_STACK, 0, 42, &stack, sizeof(stack));
	put(0, WIRE_ID_USER_STACK, 0, 42, &user, sizeof(user));
	put(0, WIRE_ID_CONTEXT_SWITCH, 0, 42, &sw.prev_pid, sizeof(sw) - 8);
	put(0, WIRE_ID_WAKEUP, 0, 42, &sw.prev_pid, sizeof(sw) - 8);
	put(0, WIRE_ID_FUNCTION, 0, 42, function, 4);
	put(0, 4711, 0, 42, function, 8);
	CHECK_STR(
		text_of(view(0, FATHOM_TEXT_PRINT_PARENT, -1, NULL)),
		"first <-second\n<stack trace>\n => first\n => second\n<user stack trace>\n"
		" =>  <00007f0012345678>\n       1:120:S ==> [001]      42: 99:R answer\n"
		"       1:120:S   + [001]      42: 99:R answer\n(cut short)\nUnknown type 4711\n");
	CHECK(strstr(text_of(view(0, FATHOM_TEXT_SYM_OFFSET, -1, NULL)), "first+0x10/0x1000\n") ==
	      lines);
	CHECK(strstr(text_of(view(0, FATHOM_TEXT_RAW, -1, NULL)), "1010 2020\ntype: 4\n") == lines);
}

/* How long ago the last call was is kept in ns, whatever a tick is. */
TEST(repeats_say_when)
{
	struct {
		uintptr_t ip, parent_ip;
		uint16_t count, top;
		uint32_t bottom;
	} r = {0x1010, 0x2020, 7, 0, 500000};
	double at, last;
	const char *text;

	start(1);
	fathom_clock_hz_set(500000000); /* a tick is said to be 2 ns */
	put(0, WIRE_ID_FUNC_REPEATS, 0, 42, &r, sizeof(r));
	text = text_of(view(0, FATHOM_TEXT_DEFAULT, -1, NULL));
	text = strstr(text, "] ..... ");
	CHECK(text && sscanf(text, "] ..... %lf: first <-second (repeats: 7, last_ts: %lf)", &at,
			     &last) == 2);
	CHECK(at - last > 0.000498 && at - last < 0.000502);
	CHECK(text && strstr(text, "last_ts: ")); /* a blank, whatever the width */
}

TEST(graph_folds_leaves)
{
	struct fathom_rec_funcgraph_entry in = {.func = 0x1000};
	struct fathom_rec_funcgraph_exit ex = {.calltime = 1000, .rettime = 3500};
	uint64_t two[2] = {1, 2};

	start(1);
	put(0, WIRE_ID_FUNCGRAPH_ENTRY, 0, 42, &in.func, sizeof(in) - 8);
	in.func = ex.func = 0x2000, in.depth = ex.depth = 1;
	put(0, WIRE_ID_FUNCGRAPH_ENTRY, 0, 42, &in.func, sizeof(in) - 8);
	put(0, WIRE_ID_FUNCGRAPH_EXIT, 0, 42, &ex.func, sizeof(ex) - 8);
	put(0, fathom_ev_sample_one.id, 0, 42, two, 16);
	ex.func = 0x1000, ex.depth = 0, ex.rettime = 21000;
	put(0, WIRE_ID_FUNCGRAPH_EXIT, 0, 42, &ex.func, sizeof(ex) - 8);
	CHECK_STR(text_of(view(0, FATHOM_TEXT_DEFAULT, -1, &fathom_view_graph)),
		  " 0)               |  first() {\n"
		  " 0)   2.500 us    |    second();\n"
		  " 0)               |  /* sample_one: a=1 b=2 */\n"
		  " 0) + 20.000 us   |  }\n");
	CHECK(strstr(text_of(view(FATHOM_VIEW_CONSUME, FATHOM_TEXT_DEFAULT, -1,
				  &fathom_view_graph)),
		     "second();") != NULL);
}

TEST(graph_points_at_interrupts)
{
	struct fathom_rec_funcgraph_entry in = {.func = 0x1000};
	struct fathom_rec_funcgraph_exit ex = {.calltime = 1000, .rettime = 3500};
	uint32_t no_irqs = FATHOM_TEXT_DEFAULT & ~(uint32_t)FATHOM_TEXT_GRAPH_IRQS;

	start(1);
	fathom_core.config.irq_text = 0x2000;
	fathom_core.config.irq_text_end = 0x3000;
	fathom_clock_hz_set(2000000000); /* durations are nanoseconds whatever the clock counts */
	put(0, WIRE_ID_FUNCGRAPH_ENTRY, 0, 42, &in.func, sizeof(in) - 8);
	in.func = 0x2000, in.depth = 1;
	put(0, WIRE_ID_FUNCGRAPH_ENTRY, 0, 42, &in.func, sizeof(in) - 8);
	in.func = ex.func = 0x1000, in.depth = ex.depth = 2;
	put(0, WIRE_ID_FUNCGRAPH_ENTRY, 0, 42, &in.func, sizeof(in) - 8);
	put(0, WIRE_ID_FUNCGRAPH_EXIT, 0, 42, &ex.func, sizeof(ex) - 8);
	ex.func = 0x2000, ex.depth = 1;
	put(0, WIRE_ID_FUNCGRAPH_EXIT, 0, 42, &ex.func, sizeof(ex) - 8);
	ex.func = 0x1000, ex.depth = 0, ex.rettime = 21000;
	put(0, WIRE_ID_FUNCGRAPH_EXIT, 0, 42, &ex.func, sizeof(ex) - 8);
	CHECK_STR(text_of(view(0, FATHOM_TEXT_DEFAULT, -1, &fathom_view_graph)),
		  " 0)               |  first() {\n"
		  " 0)   ==========> |\n"
		  " 0)               |    second() {\n"
		  " 0)   2.500 us    |      first();\n"
		  " 0)   2.500 us    |    }\n"
		  " 0)   <========== |\n"
		  " 0) + 20.000 us   |  }\n");
	CHECK_STR(text_of(view(0, no_irqs, -1, &fathom_view_graph)),
		  " 0)               |  first() {\n"
		  " 0) + 20.000 us   |  }\n");
}

TEST(printk_is_formatted_when_read)
{
	char changing[] = "before";
	const char *list;
	uint32_t i = 0;
	int found = 0;

	start(1);
	trace_printk("d=%d ld=%ld lld=%lld c=%c s=%s p=%px w=%*d|%-5d|%.2s h=%3ph %%\n", -1, -2l,
		     -3ll, 'x', changing, (void *)0x1234, 6, 42, 7, "abc", "\x01\x02\x03");
	strcpy(changing, "after!");
	trace_puts("a literal\n");
	trace_puts(changing);
	fathom_marker(fathom_marker_ip(), "from outside", 12);
	fathom_marker(0x1010, "two\nlines\n", 10);
	fathom_marker_raw("\x04\x03\x02\x01"
			  "abcd",
			  8);
	CHECK_EQ(fathom_marker_raw("abc", 3), -FATHOM_EINVAL);
	CHECK_STR(
		text_of(view(0, FATHOM_TEXT_PRINTK_MSG_ONLY, -1, NULL)),
		"d=-1 ld=-2 lld=-3 c=x s=before p=0000000000001234 w=    42|7    |ab h=01 02 03 %\n"
		"a literal\nafter!\nfrom outside\ntwo\nlines\n# 1020304 buf: 61 62 63 64\n");
	CHECK(strstr(text_of(view(0, 0, -1, NULL)),
		     "\ntracing_mark_write: from outside\nfirst: two\n"));
	while ((list = fathom_printk_format(i++)))
		found += strncmp(list, "d=%d ld=%ld", 11) == 0;
	CHECK_EQ(found, 1);
	tracing_off();
	CHECK_EQ(fathom_marker(0, "x", 1), 0);
}

TEST(marker_is_cut_at_its_limit)
{
	static char big[3000];

	start(1);
	memset(big, 'm', sizeof(big));
	CHECK_EQ(fathom_marker(0x1010, big, sizeof(big)), FATHOM_MARKER_MAX);
	CHECK_EQ(strlen(text_of(view(0, 0, -1, NULL))), 7 + FATHOM_MARKER_MAX + 1);
	/* A format that needs more than the record has: cut, no crash. */
	big[2999] = 0;
	trace_printk("%s %d\n", big, 5);
	CHECK(strlen(text_of(view(FATHOM_VIEW_CONSUME, FATHOM_TEXT_PRINTK_MSG_ONLY, -1, NULL))) >
	      10);
}

TEST(dump_prints_the_newest_of_each_cpu)
{
	uint64_t two[2] = {0, 0};

	start(2);
	fathom_dump(0);
	CHECK_STR(sunk, "");
	CHECK(!fathom_tracing_is_on()); /* what the console does is not recorded */
	fathom_tracing_on();
	for (uint32_t i = 0; i < 10; i++) {
		two[0] = i;
		put(i & 1, fathom_ev_sample_one.id, 0, 42, two, 16);
	}
	fathom_dump(2);
	CHECK_STR(blank_times(sunk),
		  "          answer-42      [000] ..... T: sample_one: a=6 b=0\n"
		  "          answer-42      [001] ..... T: sample_one: a=7 b=0\n"
		  "          answer-42      [000] ..... T: sample_one: a=8 b=0\n"
		  "          answer-42      [001] ..... T: sample_one: a=9 b=0\n");
	sunk_bytes = 0;
	fathom_dump(0); /* nothing was consumed */
	CHECK(strstr(sunk, "a=0 b=0") && strstr(sunk, "a=9 b=0"));
}

TEST_MAIN
