/* SPDX-License-Identifier: MIT */
/* trace_event.c -- events: format files against Linux's own, text, on and off, filters' gate, hooks, refusals. */
#include <stdint.h>
#include <stdlib.h>
#include "harness.h"
#include "fathom/inside/errno.h"
#define CREATE_TRACE_POINTS
#include "fathom/events/block.h"
#include "fathom/events/exceptions.h"
#include "fathom/events/ipc.h"
#include "fathom/events/irq.h"
#include "fathom/events/kmem.h"
#include "fathom/events/raw_syscalls.h"
#include "fathom/events/sched.h"
#include "sample_events.h"
#include "fathom/inside/internal.h"
#include "fathom/object.h"

TRACE_DEFINE(sample, short_all, "u8=%u s8=%d u16=%x s64=%lld p=%px s=%s big=%lu", (U8, a), (S8, b),
	     (U16, c), (S64, d), (PTR, e), (STR, f), (U64, g))
TRACE_DEFINE(sample, short_none, "nothing to say")

int sample_reg_calls, sample_reg_answer;
int sample_reg(void)
{
	sample_reg_calls++;
	return sample_reg_answer;
}
void sample_unreg(void)
{
	sample_reg_calls += 100;
}

static char memory[64 * 4096] __attribute__((aligned(4096)));

static void start(void)
{
	struct fathom_config config = {
		.memory = memory, .memory_bytes = sizeof(memory), .nr_cpus = 1};

	fathom_exit();
	CHECK_EQ(fathom_init(&config), 0);
}

/* The text of the next record, consumed; "" if there is none. */
static const char *next_text(void)
{
	static char buf[1024], scratch[1024];
	struct fathom_text out, tmp;
	struct fathom_record rec;
	const struct wire_common *c;
	struct fathom_event *ev;

	fathom_text_init(&out, buf, sizeof(buf));
	fathom_text_init(&tmp, scratch, sizeof(scratch));
	if (fathom_ring_consume(fathom_ring_of(0), &rec) <= 0)
		return "";
	c = rec.data;
	ev = fathom_event_by_id(c->type);
	if (!ev)
		return "unknown id";
	fathom_event_print(ev, rec.data, rec.bytes, &out, &tmp);
	return fathom_text_cstr(&out);
}

static const char *format_of(const struct fathom_event *ev)
{
	static char buf[8192];
	struct fathom_text out;

	fathom_text_init(&out, buf, sizeof(buf));
	fathom_event_format(ev, &out);
	CHECK(!out.cut);
	return fathom_text_cstr(&out);
}

/* The text without its ID line, in place. */
static char *drop_id(char *text)
{
	char *id = strstr(text, "\nID: "), *end = id ? strchr(id + 1, '\n') : NULL;

	if (end)
		memmove(id, end, strlen(end) + 1);
	return text;
}

/* Linux's words of arguments, since 6.15, which the formats of 6.1 lack. */
static void add_newer(const char *name, char *text, size_t room)
{
	static const struct {
		const char *name, *line;
	} newer[] = {
		{"function", "\tfield:unsigned long args[];\toffset:24;\tsize:0;\tsigned:0;\n"},
		{"funcgraph_entry",
		 "\tfield:unsigned long args[];\toffset:24;\tsize:0;\tsigned:0;\n"},
	};
	char *end = strstr(text, "\nprint fmt:"), rest[4096];

	for (size_t i = 0; end && i < sizeof(newer) / sizeof(newer[0]); i++) {
		if (strcmp(newer[i].name, name))
			continue;
		snprintf(rest, sizeof(rest), "%s", end);
		snprintf(end, room - (size_t)(end - text), "%s%s", newer[i].line, rest);
	}
}

static void check_format(const char *system, const char *name, int with_id)
{
	char path[256], got[8192], want[8192];
	struct fathom_event *ev = fathom_event_find(system, name);
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "test/data/linux/formats/%s-%s.format", system, name);
	f = fopen(path, "r");
	CHECK(f != NULL && ev != NULL);
	if (!f || !ev) {
		printf("  %s\n", path);
		return;
	}
	n = fread(want, 1, sizeof(want) - 1, f);
	want[n] = 0;
	fclose(f);
	add_newer(name, want, sizeof(want));
	snprintf(got, sizeof(got), "%s", format_of(ev));
	if (with_id)
		CHECK_STR(got, want);
	else
		CHECK_STR(drop_id(got), drop_id(want));
}

static int event_set(struct fathom_event *ev, uint32_t set, uint32_t clear)
{
	int err;

	fathom_lock();
	err = fathom_event_set(ev, set, clear);
	fathom_unlock();
	return err;
}

TEST(formats_equal_linux)
{
	start();
	check_format("sched", "sched_switch", 0);
	check_format("sched", "sched_waking", 0);
	check_format("sched", "sched_wakeup", 0);
	check_format("sched", "sched_wakeup_new", 0);
	check_format("sched", "sched_migrate_task", 0);
	check_format("sched", "sched_process_exec", 0);
	check_format("sched", "sched_process_exit", 0);
	check_format("sched", "sched_process_fork", 0);
	check_format("irq", "irq_handler_entry", 0);
	check_format("irq", "irq_handler_exit", 0);
	check_format("irq", "softirq_entry", 0);
	check_format("irq", "softirq_exit", 0);
	check_format("irq", "softirq_raise", 0);
	check_format("raw_syscalls", "sys_enter", 0);
	check_format("raw_syscalls", "sys_exit", 0);
	check_format("exceptions", "page_fault_user", 0);
	check_format("exceptions", "page_fault_kernel", 0);
	check_format("block", "block_bio_queue", 0);
	check_format("block", "block_bio_backmerge", 0);
	check_format("block", "block_bio_frontmerge", 0);
	check_format("block", "block_bio_bounce", 0);
	check_format("block", "block_getrq", 0);
	check_format("block", "block_bio_complete", 0);
	check_format("block", "block_plug", 0);
	check_format("block", "block_unplug", 0);
	check_format("block", "block_split", 0);
	check_format("block", "block_bio_remap", 0);
	check_format("block", "block_rq_insert", 0);
	check_format("block", "block_rq_issue", 0);
	check_format("block", "block_rq_merge", 0);
	check_format("block", "block_rq_complete", 0);
	check_format("block", "block_rq_error", 0);
	check_format("block", "block_rq_requeue", 0);
}

TEST(internal_formats_equal_linux_with_their_ids)
{
	static const char *const names[] = {
		"function", "funcgraph_entry", "funcgraph_exit", "context_switch",
		"wakeup",   "kernel_stack",    "user_stack",	 "print",
		"bprint",   "bputs",	       "raw_data",	 "func_repeats",
	};

	start();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		check_format("ftrace", names[i], 1);
}

TEST(format_of_every_field_macro)
{
	start();
	CHECK(strstr(format_of(&fathom_ev_sample_fields),
		     "\tfield:uint8_t byte;\toffset:8;\tsize:1;\tsigned:0;\n"
		     "\tfield:unsigned long where;\toffset:16;\tsize:8;\tsigned:0;\n"
		     "\tfield:struct sample_point at;\toffset:24;\tsize:8;\tsigned:0;\n"
		     "\tfield:int fixed[4];\toffset:32;\tsize:16;\tsigned:1;\n"
		     "\tfield:char few[3];\toffset:48;\tsize:3;\tsigned:1;\n"
		     "\tfield:__data_loc char[] text;\toffset:52;\tsize:4;\tsigned:1;\n"
		     "\tfield:__data_loc uint16_t[] list;\toffset:56;\tsize:4;\tsigned:0;\n"
		     "\tfield:__rel_loc char[] rel;\toffset:60;\tsize:4;\tsigned:1;\n"
		     "\tfield:__data_loc unsigned long[] mask;\toffset:64;\tsize:4;\tsigned:0;\n"));
	/* Enums by value, but not in quotes; sizeof too. */
	CHECK(strstr(format_of(&fathom_ev_sample_fields), "__print_array(REC->fixed, 4, 4)") !=
	      NULL);
	CHECK(strstr(format_of(&fathom_ev_sample_symbols),
		     "flags=%s SAMPLE_RED\", __print_symbolic(REC->kind, { 5, \"red\" }, { -3, "
		     "\"SAMPLE_BLUE\" })") != NULL);
}

TEST(text_of_every_field_macro)
{
	uint16_t list[] = {1, 2, 0xffff};

	start();
	CHECK_EQ(fathom_event_enable("sample:*", 1), 9);
	trace_sample_fields(7, "hello", list, 3, (struct sample_point){-1, 2});
	CHECK_STR(next_text(),
		  "byte=7 at=-1,2 fixed={0x7,0x8,0x9,0xa} text=hello list={0x1,0x2,0xffff} len=6 "
		  "rel=hello mask=00000000,00000020,00000000,00000005 hex=61 62 63 str=616263");
	trace_sample_fields(7, NULL, list, 0, (struct sample_point){0, 0});
	CHECK(strstr(next_text(), "text=(null) list={} len=0 rel=(null)") != NULL);
	trace_sample_symbols(SAMPLE_RED, 1 | 12 | 64);
	CHECK_STR(next_text(), "kind=red flags=A|CD|0x40 SAMPLE_RED");
	trace_sample_symbols(9, 0);
	CHECK_STR(next_text(), "kind=0x9 flags= SAMPLE_RED");
	trace_sample_one(1, UINT64_MAX);
	CHECK_STR(next_text(), "a=1 b=18446744073709551615");
	trace_sample_two(40, 2);
	CHECK_STR(next_text(), "sum=42");
	trace_short_all(200, -5, 0xbeef, INT64_MIN, (void *)0x1234, "str", 1ull << 63);
	CHECK_STR(next_text(), "u8=200 s8=-5 u16=beef s64=-9223372036854775808 "
			       "p=0000000000001234 s=str big=9223372036854775808");
	trace_short_none();
	CHECK_STR(next_text(), "nothing to say");
	CHECK_STR(next_text(), "");
}

TEST(text_equals_linux)
{
	uintptr_t args[6] = {1, 2, 3, 0xabc, 5, 6};

	start();
	CHECK(fathom_event_enable("*", 1) > 20);
	trace_sched_switch("swapper/0", 0, 120, 0, "rcu_preempt", 15, 120);
	CHECK_STR(next_text(), "prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> "
			       "next_comm=rcu_preempt next_pid=15 next_prio=120");
	trace_sched_switch("a-name-that-is-too-long", 1, 2, 0x101, "b", 3, 4);
	CHECK_STR(next_text(), "prev_comm=a-name-that-is- prev_pid=1 prev_prio=2 prev_state=S+ ==> "
			       "next_comm=b next_pid=3 next_prio=4");
	trace_sched_switch("a", 1, 2, 0x82, "b", 3, 4);
	CHECK(strstr(next_text(), "prev_state=D|I ==>") != NULL);
	trace_sched_wakeup("task", 12, 100, 3);
	CHECK_STR(next_text(), "comm=task pid=12 prio=100 target_cpu=003");
	trace_irq_handler_entry(4, "ttyS0");
	CHECK_STR(next_text(), "irq=4 name=ttyS0");
	trace_softirq_raise(7);
	CHECK_STR(next_text(), "vec=7 [action=SCHED]");
	trace_sys_enter(257, args);
	CHECK_STR(next_text(), "NR 257 (1, 2, 3, abc, 5, 6)");
	trace_sys_exit(257, -2);
	CHECK_STR(next_text(), "NR 257 = -2");
	trace_frame_alloc(0x1000, 2, NULL);
	CHECK_STR(next_text(), "frame=0x1000 order=2 caller=0x0");
}

static int evaluated;
static uint64_t side_effect(void)
{
	return (uint64_t)++evaluated;
}

TEST(off_evaluates_nothing_and_records_nothing)
{
	start();
	evaluated = 0;
	FATHOM_CALL(sample_one, side_effect(), side_effect());
	trace_frame_free(side_effect(), 0);
	CHECK_EQ(evaluated, 0);
	CHECK(!trace_sample_one_enabled());
	CHECK_STR(next_text(), "");
	CHECK_EQ(fathom_event_enable("sample_one", 1), 1);
	CHECK(trace_sample_one_enabled());
	FATHOM_CALL(sample_one, side_effect(), 5);
	CHECK_EQ(evaluated, 1);
	CHECK_STR(next_text(), "a=1 b=5");
	CHECK_EQ(fathom_event_enable("sample_one", 0), 1);
	FATHOM_CALL(sample_one, side_effect(), 5);
	CHECK_EQ(evaluated, 1);
	CHECK_STR(next_text(), "");
}

TEST(patterns)
{
	start();
	CHECK_EQ(fathom_event_enable("nosuch", 1), -FATHOM_EINVAL);
	CHECK_EQ(fathom_event_enable("ftrace:*", 1), -FATHOM_EINVAL);
	CHECK_EQ(fathom_event_enable("irq:", 1), 5);
	CHECK_EQ(fathom_event_enable("irq", 0), 5);
	CHECK_EQ(fathom_event_enable("*:softirq_*", 1), 3);
	CHECK_EQ(fathom_event_enable("sched_wak?*", 1), 3);
	CHECK(fathom_glob("a*b*c", 5, "aXbYbc", 6));
	CHECK(!fathom_glob("a*b", 3, "abc", 3));
	CHECK(fathom_glob("", 0, "", 0));
	CHECK(!fathom_glob("", 0, "x", 1));
}

TEST(condition_and_reg_functions)
{
	start();
	CHECK_EQ(fathom_event_enable("sample_even", 1), 1);
	for (int i = 0; i < 5; i++)
		trace_sample_even(i);
	CHECK_STR(next_text(), "n=0");
	CHECK_STR(next_text(), "n=2");
	CHECK_STR(next_text(), "n=4");
	CHECK_STR(next_text(), "");
	sample_reg_calls = 0;
	CHECK_EQ(fathom_event_enable("sample_fn", 1), 1);
	CHECK_EQ(sample_reg_calls, 1);
	CHECK_EQ(fathom_event_enable("sample_fn", 0), 1);
	CHECK_EQ(sample_reg_calls, 101);
	sample_reg_answer = -FATHOM_ENODEV;
	CHECK_EQ(fathom_event_enable("sample_fn", 1), -FATHOM_ENODEV);
	CHECK_EQ(fathom_ev_sample_fn.state, 0);
	sample_reg_answer = 0;
}

/* The text of the next record of trace_printk(), from what was packed. */
static const char *next_printk(void)
{
	static char buf[256];
	const struct fathom_rec_bprint *r;
	struct fathom_record rec;
	struct fathom_text t;

	if (fathom_ring_consume(fathom_ring_of(0), &rec) <= 0)
		return "";
	r = rec.data;
	fathom_text_init(&t, buf, sizeof(buf));
	fathom_text_packed(&t, r->fmt, r->buf, rec.bytes - sizeof(*r));
	return fathom_text_cstr(&t);
}

/* Each call site twice: the second time its format is known. */
TEST(printk_of_every_width)
{
	start();
	for (int i = 0; i < 2; i++) {
		trace_printk("%d %u %lld %x %lx %p %%\n", -1 - i, 2u, -3ll, 4u, 5ul, (void *)6);
		CHECK_STR(next_printk(), i ? "-2 2 -3 4 5 0000000000000006 %\n"
					   : "-1 2 -3 4 5 0000000000000006 %\n");
		trace_printk("%llx %d %llx\n", 0x123456789abcdef0ull, 7 + i, ~0ull);
		CHECK_STR(next_printk(), i ? "123456789abcdef0 8 ffffffffffffffff\n"
					   : "123456789abcdef0 7 ffffffffffffffff\n");
		trace_printk("%c %hhd %hd %s %*d\n", 'c', 8, 9, "text", 4, 10 + i);
		CHECK_STR(next_printk(), i ? "c 8 9 text   11\n" : "c 8 9 text   10\n");
		trace_printk("no argument\n");
		CHECK_STR(next_printk(), "no argument\n");
	}
}

static uint64_t hook_sum;
static void hook(void *data, uint64_t a, uint64_t b)
{
	hook_sum += a * b + (uintptr_t)data;
}

TEST(hooks)
{
	start();
	hook_sum = 0;
	CHECK_EQ(register_trace_sample_one(hook, (void *)1), 0);
	CHECK_EQ(register_trace_sample_one(hook, (void *)1), -FATHOM_EEXIST);
	CHECK_EQ(register_trace_sample_one(hook, (void *)100), 0);
	trace_sample_one(2, 3);
	CHECK_EQ(hook_sum, 113);
	CHECK_STR(next_text(), ""); /* hooked, not recorded */
	CHECK_EQ(fathom_event_enable("sample_one", 1), 1);
	trace_sample_one(2, 3);
	CHECK_STR(next_text(), "a=2 b=3");
	CHECK_EQ(unregister_trace_sample_one(hook, (void *)1), 0);
	CHECK_EQ(unregister_trace_sample_one(hook, (void *)1), -FATHOM_ENOENT);
	CHECK_EQ(unregister_trace_sample_one(hook, (void *)100), 0);
	CHECK_EQ(fathom_ev_sample_one.state, FATHOM_EVENT_ON);
}

static uint32_t gate_answer, gate_calls, gate_bytes, after_calls, stack_calls;
static uint32_t gate_decide(struct fathom_event *ev, const void *record, uint32_t bytes)
{
	const struct wire_common *c = record;

	CHECK_EQ(c->type, ev->id);
	gate_calls++;
	gate_bytes = bytes;
	if (gate_answer == 77) { /* an event inside the gate: nests */
		gate_answer = FATHOM_GATE_KEEP;
		trace_sample_two(gate_calls, 0);
	}
	return gate_answer;
}
static void gate_after(struct fathom_event *ev, const void *record, uint32_t bytes,
		       uint32_t context, uint64_t time)
{
	(void)ev, (void)record, (void)bytes, (void)context, (void)time;
	after_calls++;
}
static void gate_stack(uint32_t context)
{
	(void)context;
	stack_calls++;
}

TEST(gate_decides)
{
	start();
	fathom_gate = (struct fathom_gate){
		.decide = gate_decide, .after = gate_after, .stack = gate_stack};
	CHECK_EQ(event_set(&fathom_ev_sample_one, FATHOM_EVENT_ON | FATHOM_EVENT_GATE, 0), 0);
	gate_answer = FATHOM_GATE_DROP;
	trace_sample_one(1, 2);
	CHECK_EQ(gate_calls, 1);
	CHECK_EQ(gate_bytes, 24);
	CHECK_STR(next_text(), "");
	gate_answer = FATHOM_GATE_KEEP | FATHOM_GATE_AFTER;
	trace_sample_one(3, 4);
	CHECK_STR(next_text(), "a=3 b=4");
	CHECK_EQ(after_calls, 1);
	/* Triggers without recording: asked, never kept. */
	CHECK_EQ(event_set(&fathom_ev_sample_one, 0, FATHOM_EVENT_ON), 0);
	trace_sample_one(5, 6);
	CHECK_EQ(gate_calls, 3);
	CHECK_EQ(after_calls, 2);
	CHECK_STR(next_text(), "");
	/* Stack after each record. */
	CHECK_EQ(event_set(&fathom_ev_sample_one, FATHOM_EVENT_ON | FATHOM_EVENT_STACK,
			   FATHOM_EVENT_GATE),
		 0);
	trace_sample_one(7, 8);
	CHECK_EQ(stack_calls, 1);
	CHECK_STR(next_text(), "a=7 b=8");
	/* Nested, and all scratch is given back. */
	CHECK_EQ(event_set(&fathom_ev_sample_one, FATHOM_EVENT_GATE, FATHOM_EVENT_STACK), 0);
	CHECK_EQ(event_set(&fathom_ev_sample_two, FATHOM_EVENT_ON | FATHOM_EVENT_GATE, 0), 0);
	gate_answer = 77;
	trace_sample_one(9, 10);
	CHECK_STR(next_text(), "sum=4");
	CHECK_STR(next_text(), "a=9 b=10");
	CHECK_EQ(fathom_core.scratch_used[0], 0);
	/* A record that does not fit the scratch goes through the ring. */
	gate_answer = FATHOM_GATE_DROP;
	CHECK_EQ(event_set(&fathom_ev_sample_blob, FATHOM_EVENT_ON | FATHOM_EVENT_GATE, 0), 0);
	fathom_core.scratch_used[0] = 3000;
	trace_sample_blob(2000);
	CHECK_STR(next_text(), "");
	gate_answer = FATHOM_GATE_KEEP;
	trace_sample_blob(2000);
	CHECK_STR(next_text(), "bytes=2000");
	CHECK_EQ(fathom_core.scratch_used[0], 3000);
	fathom_gate = (struct fathom_gate){0};
}

TEST(bad_input_is_refused)
{
	struct fathom_config ok = {.memory = memory, .memory_bytes = sizeof(memory), .nr_cpus = 1};
	struct fathom_config c;
	struct fathom_ring_stats st;

	fathom_exit();
	CHECK_EQ(fathom_init(NULL), -FATHOM_EINVAL);
	c = ok, c.memory = NULL;
	CHECK_EQ(fathom_init(&c), -FATHOM_EINVAL);
	c = ok, c.memory = memory + 8;
	CHECK_EQ(fathom_init(&c), -FATHOM_EINVAL);
	c = ok, c.nr_cpus = 0;
	CHECK_EQ(fathom_init(&c), -FATHOM_EINVAL);
	c = ok, c.nr_cpus = FATHOM_CPUS_MAX + 1;
	CHECK_EQ(fathom_init(&c), -FATHOM_EINVAL);
	c = ok, c.pages_per_cpu = 1;
	CHECK_EQ(fathom_init(&c), -FATHOM_EINVAL);
	c = ok, c.memory_bytes = 4096;
	CHECK_EQ(fathom_init(&c), -FATHOM_ENOMEM);
	c = ok, c.memory_bytes = 0;
	CHECK_EQ(fathom_init(&c), -FATHOM_ENOMEM);
	c = ok, c.nr_cpus = 64;
	CHECK_EQ(fathom_init(&c), -FATHOM_ENOMEM);
	c = ok, c.pages_per_cpu = 1000;
	CHECK_EQ(fathom_init(&c), -FATHOM_ENOMEM);
	c = ok, c.pages_per_cpu = 4, c.memory_bytes = fathom_memory_need(1, 4);
	CHECK_EQ(fathom_init(&c), 0);
	CHECK_EQ(fathom_memory_left(), 0);
	CHECK_EQ(fathom_init(&ok), -FATHOM_EBUSY);
	CHECK_EQ(fathom_ring_pages(fathom_ring_of(0)), 4);
	CHECK(fathom_ring_of(1) == NULL);
	/* An event larger than a page: a counted drop. */
	CHECK_EQ(fathom_event_enable("sample_blob", 1), 1);
	trace_sample_blob(5000);
	trace_sample_blob(70000);
	fathom_ring_stats(fathom_ring_of(0), &st);
	CHECK_EQ(st.too_big, 2);
	trace_sample_blob(4000);
	CHECK_STR(next_text(), "bytes=4000");
	/* Recording off: counted. */
	tracing_off();
	CHECK(!fathom_tracing_is_on());
	trace_sample_blob(4);
	fathom_ring_stats(fathom_ring_of(0), &st);
	CHECK_EQ(st.disabled, 1);
	tracing_on();
	trace_sample_blob(4);
	CHECK_STR(next_text(), "bytes=4");
	/* After exit and before init nothing is recorded and nothing crashes. */
	fathom_exit();
	CHECK_EQ(fathom_event_enable("sample_one", 1), 1);
	trace_sample_one(1, 1);
	CHECK_EQ(fathom_core.no_cpu, 1);
	fathom_event_enable("*", 0);
}

TEST(memory_is_carved)
{
	struct fathom_config c = {.memory = memory, .memory_bytes = sizeof(memory), .nr_cpus = 2};
	uint8_t *a, *b;

	fathom_exit();
	CHECK_EQ(fathom_init(&c), 0);
	CHECK(fathom_ring_pages(fathom_ring_of(0)) >= 8);
	CHECK(fathom_ring_pages(fathom_ring_of(0)) == fathom_ring_pages(fathom_ring_of(1)));
	/* As much again is left, for a snapshot of the same size. */
	CHECK(fathom_memory_left() >= 2 * fathom_ring_bytes(fathom_ring_pages(fathom_ring_of(0))));
	a = fathom_memory_take(100);
	b = fathom_memory_take(1);
	CHECK(a && b == a + 4096 && !a[0] && !((uintptr_t)a & 4095));
	CHECK(!fathom_memory_take(sizeof(memory)));
	CHECK(!fathom_memory_take(SIZE_MAX));
}

TEST(clock_conversion)
{
	struct fathom_config c = {.memory = memory,
				  .memory_bytes = sizeof(memory),
				  .nr_cpus = 1,
				  .clock_hz = 2793436000u};
	unsigned __int128 exact;

	fathom_exit();
	CHECK_EQ(fathom_init(&c), 0);
	for (uint64_t t = 1; t < UINT64_MAX / 8; t *= 7) {
		exact = (unsigned __int128)t * 1000000000u / c.clock_hz;
		/* mult has 31 bits: the error stays below two parts in a billion. */
		CHECK(fathom_ticks_to_ns(t) <= exact);
		CHECK(exact - fathom_ticks_to_ns(t) <= exact / 500000000u + 1);
	}
	fathom_exit();
	c.clock_hz = 32768;
	CHECK_EQ(fathom_init(&c), 0);
	CHECK_EQ(fathom_ticks_to_ns(32768ull * 1000), 1000ull * 1000000000u);
	fathom_exit();
	c.clock_hz = 0;
	CHECK_EQ(fathom_init(&c), 0);
	CHECK_EQ(fathom_ticks_to_ns(123456789012345678ull), 123456789012345678ll);
}

static int no_thread(const char *name, uint32_t cpu, int realtime, void (*fn)(void *), void *arg)
{
	(void)name, (void)cpu, (void)realtime, (void)fn, (void)arg;
	return 0;
}

static void no_wait(uint64_t ns, void (*tick)(void *), void *arg)
{
	(void)ns, (void)tick, (void)arg;
}

/* Only with a port that asks for these tracers; their events stay then. */
TEST(formats_of_noise_equal_linux)
{
	static const struct fathom_noise noise = {
		.tracers = &fathom_noise_tracers, .thread = no_thread, .wait = no_wait};
	struct fathom_config config = {
		.memory = memory, .memory_bytes = sizeof(memory), .nr_cpus = 1, .noise = &noise};

	start();
	CHECK(!fathom_event_find("osnoise", "irq_noise"));
	fathom_exit();
	CHECK_EQ(fathom_init(&config), 0);
	check_format("ftrace", "hwlat", 1);
	check_format("ftrace", "osnoise", 1);
	check_format("ftrace", "timerlat", 1);
	check_format("osnoise", "sample_threshold", 0);
	check_format("osnoise", "irq_noise", 0);
	check_format("osnoise", "softirq_noise", 0);
	check_format("osnoise", "thread_noise", 0);
}

TEST(objects_come_and_go)
{
	struct fathom_object none = {0}, other = {0};
	uint32_t n = fathom_event_count();

	CHECK_EQ(fathom_object_remove(&none), -FATHOM_ENOENT);
	CHECK_EQ(fathom_object_add(&none), 0);
	CHECK_EQ(fathom_object_add(&other), 0);
	CHECK_EQ(fathom_object_add(&none), -FATHOM_EEXIST);
	CHECK_EQ(fathom_event_count(), n);
	CHECK(fathom_event_at(n) == NULL && fathom_event_at(n - 1) != NULL);
	CHECK_EQ(fathom_object_remove(&none), 0);
	CHECK_EQ(fathom_object_remove(&none), -FATHOM_ENOENT);
	CHECK_EQ(fathom_object_remove(&other), 0);
}

TEST_MAIN
