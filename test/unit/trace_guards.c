/* SPDX-License-Identifier: MIT */
/* trace_guards.c -- guards of the event path and of filters, triggers, histograms that only an odd case reaches. */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include "harness.h"
#include "tree.h"
#define CREATE_TRACE_POINTS
#include "fathom/save.h"
#include "fathom/inside/emit.h"
#include "fathom/inside/event.h"
#include "fathom/inside/print.h"
#include "fathom/inside/snapshot.h"
#include "fathom/trace.h"
#include "functions/tracer.h"
#include "fathom/tracepoint.h"
#include "fathom_port.h"

TRACE_DEFINE(guard, number, "u=%u s=%d big=%llu", (U32, u), (S32, s), (U64, big))
TRACE_DEFINE(guard, text, "u=%u t=%s", (U32, u), (STR, t))

#define NUMBER "events/guard/number/"
#define TEXT   "events/guard/text/"

static char memory[32 << 20] __attribute__((aligned(4096)));

static void start(void)
{
	struct fathom_config config = {.memory = memory,
				       .memory_bytes = sizeof(memory),
				       .nr_cpus = 2,
				       .pages_per_cpu = 64};

	fathom_exit();
	fathom_gate = (struct fathom_gate){0};
	REQUIRE(fathom_init(&config) == 0);
	fathom_user_cpu = 0;
}

static unsigned int count(const char *path, const char *what)
{
	unsigned int n = 0;

	for (const char *p = get(path); (p = strstr(p, what)); p++)
		n++;
	return n;
}

static const uint8_t *seen_at;
static uint32_t seen_bytes;

static uint32_t decide(struct fathom_event *ev, const void *record, uint32_t bytes)
{
	(void)ev;
	seen_at = record;
	seen_bytes = bytes;
	return FATHOM_GATE_KEEP;
}

static void gate_text(void)
{
	fathom_gate.decide = decide;
	fathom_lock();
	CHECK_EQ(fathom_event_set(&fathom_ev_text, FATHOM_EVENT_ON | FATHOM_EVENT_GATE, 0), 0);
	fathom_unlock();
}

static const char *long_text(size_t n)
{
	static char text[4096];

	memset(text, 'x', n);
	text[n] = 0;
	return text;
}

/* Events nest on one scratch of 4096 bytes: one that does not fit into what the outer ones left goes into the ring. */
TEST(scratch_is_shared_by_nested_events)
{
	const uint8_t *scratch;

	start();
	scratch = fathom_core.scratch[0];
	gate_text();
	fathom_core.scratch_used[0] = 3008;
	trace_text(1, long_text(1500));
	CHECK(seen_bytes > 1500);
	CHECK(seen_at < scratch || seen_at >= scratch + 4096 ||
	      seen_at + seen_bytes <= scratch + 4096);
	CHECK_EQ(fathom_core.scratch_used[0], 3008);
}

static void *from_elsewhere(void *unused)
{
	(void)unused;
	fathom_user_cpu = 2; /* there are two */
	trace_text(1, "nobody's");
	fathom_user_cpu = FATHOM_USER_NONE;
	return NULL;
}

TEST(a_cpu_too_many_is_refused_and_counted)
{
	pthread_t t;

	start();
	gate_text();
	pthread_create(&t, NULL, from_elsewhere, NULL);
	pthread_join(t, NULL);
	CHECK_EQ(fathom_core.no_cpu, 1);
}

TEST(an_id_is_one_event)
{
	start();
	for (int id = 0; id < 4000; id++) {
		struct fathom_event *ev = fathom_event_by_id((uint16_t)id);

		CHECK(!ev || ev->id == id);
	}
	CHECK(fathom_event_by_id(fathom_ev_text.id) == &fathom_ev_text);
}

TEST(snapshots_that_cannot_be)
{
	struct fathom_ring *live[2];

	start();
	CHECK_EQ(fathom_snapshot_take(0), -ENODEV);
	REQUIRE(fathom_snapshot_alloc() == 0);
	CHECK_EQ(fathom_snapshot_take(2), -EINVAL);
	for (uint32_t i = 0; i < 2; i++)
		live[i] = fathom_ring_of(i);
	CHECK_EQ(fathom_snapshot_take(1), 0);
	CHECK(fathom_ring_of(0) == live[0]);
	CHECK(fathom_ring_of(1) != live[1]);
	fathom_snapshot_free();
	CHECK_EQ(fathom_snapshot_take(0), -ENODEV);
}

static size_t pack(void *to, size_t room, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	n = fathom_pack(to, room, fmt, ap);
	va_end(ap);
	return n;
}

TEST(packed_arguments_stay_in_their_room)
{
	char *to = malloc(10); /* the sanitizer watches its end */

	CHECK_EQ(pack(to, 10, "%d %d %d", 1, 2, 3), 12);
	CHECK_EQ(pack(to, 10, "%s", "longer than ten"), 16);
	free(to);
}

TEST(no_beacon_without_rings)
{
	fathom_exit();
	CHECK_EQ(fathom_beacon(0), -EINVAL);
	start();
	CHECK_EQ(fathom_beacon(0), 0);
}

TEST(text_stays_in_its_room)
{
	char *to = malloc(4);
	struct fathom_text t;

	fathom_text_init(&t, to, 4);
	for (int i = 0; i < 6; i++)
		fathom_text_char(&t, 'x');
	CHECK_EQ(t.len, 4);
	CHECK(t.cut);
	free(to);
}

TEST(packed_arguments_that_end_early)
{
	char buf[64], *args = malloc(4);
	struct fathom_text out;

	memset(args, 0, 4);
	fathom_text_init(&out, buf, sizeof(buf));
	fathom_text_packed(&out, "%d %llu %s.", args, 4);
	CHECK_STR(fathom_text_cstr(&out), "0 0 .");
	free(args);
}

TEST(a_module_has_text)
{
	struct fathom_module m = {.name = "empty", .from = 4096, .to = 4096};

	start();
	CHECK_EQ(fathom_module_add(&m), -EINVAL);
}

TEST(array_elements_have_a_size)
{
	char buf[64];
	struct fathom_text tmp;

	fathom_text_init(&tmp, buf, sizeof(buf));
	CHECK_STR(fathom_print_array(&tmp, "abcdef", 2, 3), "{BAD SIZE:3}");
}

/* -1 is all ones in a field of any width. */
TEST(filter_minus_one)
{
	start();
	CHECK_EQ(fathom_set(NUMBER "filter", "u == -1"), 0);
	CHECK_EQ(fathom_set(NUMBER "enable", "1"), 0);
	trace_number(UINT32_MAX, 0, 0);
	trace_number(1, 0, 0);
	CHECK_EQ(count("trace", "number: u=4294967295"), 1);
	CHECK_EQ(count("trace", "number: u=1 "), 0);
}

TEST(filter_whole_strings)
{
	start();
	CHECK_EQ(fathom_set(TEXT "filter", "t == \"abc\""), 0);
	CHECK_EQ(fathom_set(TEXT "enable", "1"), 0);
	trace_text(1, "abc");
	trace_text(2, "ab");
	trace_text(3, "abcd");
	CHECK_EQ(count("trace", "text: u=1 "), 1);
	CHECK_EQ(count("trace", "text: u="), 1);
}

/* traceoff:2 has two runs: only those that switch something off count. */
TEST(traceoff_counts_what_it_does)
{
	start();
	CHECK_EQ(append(NUMBER "trigger", "traceoff:2"), 0);
	for (int i = 0; i < 2; i++) {
		fathom_tracing_on();
		trace_number(1, 0, 0);
		CHECK(!fathom_tracing_is_on());
		trace_number(1, 0, 0); /* it is off already */
		trace_number(1, 0, 0);
	}
	fathom_tracing_on();
	trace_number(1, 0, 0);
	CHECK(fathom_tracing_is_on());
}

/* A record that went straight into the ring is not there any more when late triggers run: their filters say no. */
TEST(late_trigger_without_a_record)
{
	start();
	CHECK_EQ(append(TEXT "trigger", "stacktrace if u == 0"), 0);
	CHECK_EQ(fathom_set(TEXT "enable", "1"), 0);
	trace_text(0, "short");
	CHECK_EQ(count("trace", "<stack trace>"), 1);
	fathom_core.scratch_used[0] = 3008;
	trace_text(0, long_text(1500));
	fathom_core.scratch_used[0] = 0;
	CHECK_EQ(count("trace", "<stack trace>"), 1);
}

static int write_marker(const char *path, const char *data, size_t bytes)
{
	struct fathom_node node;
	struct fathom_file f;
	int ret = fathom_fs_lookup(path, &node);

	if (!ret)
		ret = fathom_fs_open(&f, &node, FATHOM_O_WRONLY);
	if (ret)
		return ret;
	ret = fathom_fs_write(&f, data, bytes);
	fathom_fs_close(&f);
	return ret;
}

TEST(markers_have_a_length)
{
	start();
	CHECK_EQ(write_marker("trace_marker", long_text(4000), 4000), FATHOM_MARKER_MAX);
	CHECK_EQ(write_marker("trace_marker_raw", long_text(4000), 4000), -EINVAL);
	CHECK_EQ(write_marker("trace_marker_raw", "abc", 3), -EINVAL);
	CHECK_EQ(write_marker("trace_marker_raw", "abcd", 4), 4);
}

TEST(histogram_of_negative_keys)
{
	const char *text, *at[3];

	start();
	CHECK_EQ(append(NUMBER "trigger", "hist:keys=s:sort=s"), 0);
	trace_number(0, 5, 0);
	trace_number(0, -7, 0);
	trace_number(0, -1, 0);
	text = get(NUMBER "hist");
	at[0] = strstr(text, "18446744073709551609 }") /* as Linux prints -7 */;
	at[1] = strstr(text, "18446744073709551615 }");
	at[2] = strstr(text, " 5 }");
	CHECK(at[0] && at[0] < at[1] && at[1] < at[2]);
}

TEST(histogram_sums_above_32_bits)
{
	start();
	CHECK_EQ(append(NUMBER "trigger", "hist:keys=u:vals=big"), 0);
	trace_number(1, 0, 0xffffffffull);
	trace_number(1, 0, 2);
	CHECK_EQ(count(NUMBER "hist", "big: 4294967297"), 1);
}

TEST(full_histogram_drops)
{
	start();
	CHECK_EQ(append(NUMBER "trigger", "hist:keys=u:size=128"), 0);
	for (uint32_t i = 0; i < 1000; i++)
		trace_number(i, 0, 0);
	CHECK_EQ(count(NUMBER "hist", "Entries: 128\n"), 1);
	CHECK_EQ(count(NUMBER "hist", "Dropped: 872\n"), 1);
}

/* Two CPUs, no stop_cpus and no sync: when the last writer has left its ring cannot be known. */
TEST(no_resize_without_sync)
{
	start();
	CHECK_EQ(fathom_set("buffer_size_kb", "40"), -FATHOM_ENOSYS);
	CHECK_EQ(fathom_set("per_cpu/cpu1/buffer_size_kb", "40"), -FATHOM_ENOSYS);
	CHECK_EQ(fathom_set("events/guard/enable", "1"), 0);
	trace_number(1, 2, 3);
	CHECK_EQ(count("trace", "u=1 s=2"), 1);
}

TEST_MAIN
