/* SPDX-License-Identifier: MIT */
/* btb_sampler.c -- samples taken by the library, read back by the host. */
#include "harness.h"
#include "decode/btb/btb.h"
#include "fathom/inside/errno.h"
#include "fathom/sampler.h"
#include "samples/sampler_buffer.h"

#include <stdlib.h>

#define CPUS 2

static uint8_t *memory, *buffer;
static const size_t memory_bytes = 8 << 20, buffer_bytes = 1 << 20;

static void set_up(uint32_t out)
{
	struct fathom_config config = {
		.memory_bytes = memory_bytes, .nr_cpus = CPUS, .pages_per_cpu = 64};

	fathom_exit();
	free(memory);
	free(buffer);
	memory = aligned_alloc(4096, memory_bytes);
	buffer = aligned_alloc(4096, buffer_bytes);
	config.memory = memory;
	CHECK_EQ(fathom_init(&config), 0);
	CHECK_EQ(fathom_sampler_init(buffer, buffer_bytes, out, NULL), 0);
}

/* A made-up user stack: frame i holds (address of frame i + 1, return address). */
static uintptr_t stack[4096];

static int read_stack(uintptr_t at, uintptr_t out[2])
{
	if (at < (uintptr_t)stack || at + 16 > (uintptr_t)(stack + 4096))
		return -FATHOM_EFAULT;
	memcpy(out, (void *)at, 16);
	return 0;
}

static struct fathom_sample sample_of(uint32_t depth)
{
	struct fathom_sample s = {.user_ip = 0x1000, .read_user = read_stack, .task = 42};

	memset(stack, 0, sizeof(stack));
	for (uint32_t i = 0; i + 1 < depth; i++) {
		stack[2 * i] = i + 2 < depth ? (uintptr_t)&stack[2 * i + 2] : 0;
		stack[2 * i + 1] = 0x1001 + i;
	}
	s.user_fp = depth > 1 ? (uintptr_t)stack : 0;
	s.user_lo = (uintptr_t)stack;
	s.user_hi = (uintptr_t)(stack + 4096);
	return s;
}

static uint64_t words[1 << 18];
static uint64_t info[85]; /* an INFO entry, for words that are taken later */

/* What is there, behind `n` words that are in place already. */
static size_t take_behind(struct btb *b, size_t n, struct btb_loss *loss)
{
	for (uint32_t i = 0; i < CPUS; i++) {
		const uint64_t *w;
		uint64_t got;

		while ((got = fathom_sampler_take(i, &w))) {
			memcpy(words + n, w, got * 8);
			n += got;
		}
	}
	memset(loss, 0, sizeof(*loss));
	CHECK_EQ(btb_parse(b, words, n, NULL, 0, "sampler", loss), 0);
	CHECK_EQ(loss->skipped_words, 0);
	return n;
}

static size_t take(struct btb *b, struct btb_loss *loss)
{
	return take_behind(b, 0, loss);
}

static void drop(void *unused, const char *text, size_t bytes)
{
	(void)unused, (void)text, (void)bytes;
}

static const struct btb_entry *nth(const struct btb *b, uint64_t type, size_t n)
{
	for (size_t i = 0; i < b->nr_entries; i++)
		if (btb_entry_words(b, &b->entries[i])[0] == type && !n--)
			return &b->entries[i];
	return NULL;
}

TEST(samples_are_read_back)
{
	struct fathom_sample s = sample_of(5);
	const struct btb_entry *e;
	struct btb_loss loss;
	struct btb b = {0};

	set_up(FATHOM_SAMPLE_BUFFER);
	fathom_sampler_tick(&s); /* off: nothing */
	fathom_sampler_map(42, 0x1000, "hello", 0);
	CHECK(fathom_sampler_control(FATHOM_SAMPLER_SET_INTERVAL | FATHOM_SAMPLER_START, 1) > 0);
	CHECK_EQ(fathom_sampler_control(FATHOM_SAMPLER_IS_RUNNING | FATHOM_SAMPLER_NO_ENTRY, 0), 1);
	CHECK_EQ(fathom_sampler_control(FATHOM_SAMPLER_GET_INTERVAL | FATHOM_SAMPLER_NO_ENTRY, 0),
		 1);
	while (fathom_sampler_control(FATHOM_SAMPLER_NO_ENTRY, 0) < 1000)
		fathom_sampler_tick(&s);
	fathom_sampler_control(FATHOM_SAMPLER_STOP | FATHOM_SAMPLER_WRITE_STATS, 0);
	take(&b, &loss);
	e = nth(&b, WIRE_BTB_STACK, 0);
	CHECK(e != NULL);
	CHECK_EQ(btb_stack_frames(&b, e), 5);
	for (size_t i = 0; i < 5; i++)
		CHECK_EQ(btb_stack_frame(&b, e, i), 0x1000 + i);
	CHECK_EQ(btb_entry_words(&b, e)[b.layout.task], 42);
	CHECK_EQ(btb_entry_words(&b, e)[b.layout.depth], 5);
	CHECK(btb_entry_words(&b, e)[3] > 0);
	CHECK(nth(&b, WIRE_BTB_MAPPING, 0) && nth(&b, WIRE_BTB_CONTROL, 1) &&
	      nth(&b, WIRE_BTB_STATS, 0));
	btb_free(&b);
}

/* Both ends of a deep stack are kept, the middle is cut and counted. */
TEST(deep_stacks_are_cut_in_the_middle)
{
	for (uint32_t depth = FATHOM_SAMPLE_FRAMES - 2; depth < 700;
	     depth += depth < 140 ? 1 : 97) {
		struct fathom_sample s = sample_of(depth);
		struct fathom_sampler_stats st;
		const struct btb_entry *e;
		struct btb_loss loss;
		struct btb b = {0};
		size_t n;

		set_up(FATHOM_SAMPLE_BUFFER);
		fathom_sampler_control(FATHOM_SAMPLER_SET_INTERVAL | FATHOM_SAMPLER_START, 1);
		do {
			fathom_sampler_tick(&s);
			fathom_sampler_stats(&st);
		} while (!st.samples);
		fathom_sampler_control(FATHOM_SAMPLER_STOP, 0);
		take(&b, &loss);
		e = nth(&b, WIRE_BTB_STACK, 0);
		n = btb_stack_frames(&b, e);
		CHECK_EQ(n, depth < FATHOM_SAMPLE_FRAMES ? depth : FATHOM_SAMPLE_FRAMES);
		CHECK_EQ(btb_entry_words(&b, e)[b.layout.depth], depth);
		CHECK_EQ(st.cut > 0, depth > FATHOM_SAMPLE_FRAMES);
		for (size_t i = 0; i < n; i++) {
			uint64_t want = depth <= n || i < n / 2 ? i : depth - (n - i);

			if (depth > n && i == n / 2)
				CHECK_EQ(btb_stack_frame(&b, e, i), 0);
			else
				CHECK_EQ(btb_stack_frame(&b, e, i), 0x1000 + want);
		}
		btb_free(&b);
	}
}

static struct fathom_sampler_stats tick_until(struct fathom_sample *s, uint64_t samples)
{
	struct fathom_sampler_stats st;

	do {
		fathom_sampler_tick(s);
		fathom_sampler_stats(&st);
	} while (st.samples < samples);
	return st;
}

static uint64_t frames_read;

/* A stack without an end: every frame leads to a higher one. */
static int read_endless(uintptr_t at, uintptr_t out[2])
{
	out[0] = at + 16;
	out[1] = 0x1001 + frames_read++;
	return 0;
}

/* A program that builds an endless stack does not keep the interrupt: the walk is bounded, and what it did not see is counted. */
TEST(a_stack_without_end_is_cut)
{
	struct fathom_sample s = {.user_ip = 0x1000, .user_fp = 64, .read_user = read_endless};
	struct fathom_sampler_stats st;
	const struct btb_entry *e;
	struct btb_loss loss;
	struct btb b = {0};

	set_up(FATHOM_SAMPLE_BUFFER);
	fathom_sampler_control(FATHOM_SAMPLER_SET_INTERVAL | FATHOM_SAMPLER_START, 1);
	frames_read = 0;
	st = tick_until(&s, 1);
	fathom_sampler_control(FATHOM_SAMPLER_STOP, 0);
	CHECK(frames_read <= FATHOM_SAMPLE_WALK);
	CHECK_EQ(st.cut, 1);
	CHECK_EQ(st.endless, 1);
	take(&b, &loss);
	e = nth(&b, WIRE_BTB_STACK, 0);
	/* The outermost frames that were seen are not the outermost there are: none is shown. */
	CHECK_EQ(btb_stack_frames(&b, e), FATHOM_SAMPLE_FRAMES / 2 + 1);
	for (size_t i = 0; i < FATHOM_SAMPLE_FRAMES / 2; i++)
		CHECK_EQ(btb_stack_frame(&b, e, i), 0x1000 + i);
	CHECK_EQ(btb_stack_frame(&b, e, FATHOM_SAMPLE_FRAMES / 2), 0);
	CHECK_EQ(btb_entry_words(&b, e)[b.layout.depth], FATHOM_SAMPLE_WALK);
	btb_free(&b);
}

static struct fathom_sample inner;
static int inner_ticks;

/* An interrupt (an NMI, say) that samples while a sample is taken. */
static int read_and_tick(uintptr_t at, uintptr_t out[2])
{
	uint64_t from = fathom_ticks_to_ns(fathom_now());

	if (inner_ticks) {
		inner_ticks--;
		while (fathom_ticks_to_ns(fathom_now()) - from < 3000000) /* the inner one is due */
			;
		fathom_sampler_tick(&inner);
	}
	return read_stack(at, out);
}

TEST(a_sample_inside_a_sample_is_counted)
{
	struct fathom_sample s = sample_of(20);
	struct fathom_sampler_stats st;
	const struct btb_entry *e;
	struct btb_loss loss;
	struct btb b = {0};

	set_up(FATHOM_SAMPLE_BUFFER);
	inner = s;
	s.read_user = read_and_tick;
	fathom_sampler_control(FATHOM_SAMPLER_SET_INTERVAL | FATHOM_SAMPLER_START, 1);
	inner_ticks = 3;
	st = tick_until(&s, 1);
	CHECK_EQ(st.nested, 3);
	CHECK_EQ(st.samples, 1);
	CHECK(st.cost_max_ns >= 9000000);
	/* Faster ones do not lower the maximum. */
	CHECK_EQ(tick_until(&inner, 50).cost_max_ns, st.cost_max_ns);
	fathom_sampler_control(FATHOM_SAMPLER_STOP, 0);
	take(&b, &loss);
	for (size_t i = 0; (e = nth(&b, WIRE_BTB_STACK, i)); i++)
		CHECK_EQ(btb_stack_frames(&b, e), 20);
	btb_free(&b);
}

/* An entry may not end exactly at the tail: the buffer would look empty. */
TEST(a_round_buffer_that_is_full_is_not_empty)
{
	struct fathom_sample deep = sample_of(FATHOM_SAMPLE_FRAMES), shallow;
	const uint64_t largest = SAMPLER_STACK_HEAD + FATHOM_SAMPLE_FRAMES, words_a_cpu = 1024;
	struct fathom_sampler_stats st;
	uint64_t first, kept;
	struct btb_loss loss;
	struct btb b = {0};

	set_up(FATHOM_SAMPLE_BUFFER);
	CHECK_EQ(fathom_sampler_init(buffer, CPUS * words_a_cpu * 8, FATHOM_SAMPLE_BUFFER, NULL),
		 0);
	CHECK_EQ(fathom_sampler_control(FATHOM_SAMPLER_SET_INTERVAL | FATHOM_SAMPLER_START |
						FATHOM_SAMPLER_NO_ENTRY,
					1),
		 sizeof(info) / 8);
	/* The first sample ends where the largest one will, after the next round. */
	first = largest - sizeof(info) / 8 - SAMPLER_STACK_HEAD;
	shallow = sample_of((uint32_t)first);
	CHECK_EQ(tick_until(&shallow, 1).words, largest);
	take(&b, &loss); /* until there is nothing left: that gives the words back */
	btb_free(&b);
	deep = sample_of(FATHOM_SAMPLE_FRAMES);
	kept = (words_a_cpu - largest) / largest;
	st = tick_until(&deep, 1 + kept + 1);
	CHECK_EQ(st.full, 1);
	CHECK_EQ(st.words, kept * largest);
	fathom_sampler_control(FATHOM_SAMPLER_STOP | FATHOM_SAMPLER_NO_ENTRY, 0);
}

/* A chain that leads nowhere, round in circles or off the stack ends the walk; nothing is read outside. */
TEST(garbage_stacks_end)
{
	struct fathom_sampler_stats st;
	struct fathom_sample s = sample_of(4);

	set_up(FATHOM_SAMPLE_BUFFER | FATHOM_SAMPLE_RING);
	fathom_sampler_control(FATHOM_SAMPLER_SET_INTERVAL | FATHOM_SAMPLER_START, 1);
	for (uint64_t seed = 1; seed < 3000; seed++) {
		uint64_t r = seed * 0x9e3779b97f4a7c15ull;

		for (size_t i = 0; i < 64; i++) {
			r ^= r << 13;
			r ^= r >> 7;
			r ^= r << 17;
			stack[i] = r % 3 ? (uintptr_t)stack + r % 600 : r;
		}
		s.user_fp = (uintptr_t)stack + r % 64;
		fathom_sampler_tick(&s);
	}
	fathom_sampler_control(FATHOM_SAMPLER_STOP, 0);
	fathom_sampler_stats(&st);
	CHECK(st.samples > 0);
}

TEST(a_full_buffer_counts)
{
	struct fathom_sample s = sample_of(100);
	struct fathom_sampler_stats st;
	struct btb_loss loss;
	struct btb b = {0};

	set_up(FATHOM_SAMPLE_BUFFER);
	fathom_sampler_control(FATHOM_SAMPLER_SET_INTERVAL | FATHOM_SAMPLER_START, 1);
	do {
		fathom_sampler_tick(&s);
		fathom_sampler_stats(&st);
	} while (st.full < 10);
	CHECK_EQ(fathom_sampler_control(FATHOM_SAMPLER_RESET, 0), -FATHOM_EBUSY);
	fathom_sampler_control(FATHOM_SAMPLER_STOP | FATHOM_SAMPLER_NO_ENTRY, 0);
	take(&b, &loss);
	fathom_sampler_stats(&st);
	CHECK_EQ(st.samples,
		 b.nr_entries - 2 +
			 st.full); /* INFO and CONTROL are no samples; full ones still count */
	CHECK(st.words <= st.capacity);
	btb_free(&b);
	CHECK(fathom_sampler_control(FATHOM_SAMPLER_RESET | FATHOM_SAMPLER_NO_ENTRY, 0) < 300);
}

/* A reader frees what it took: a buffer of a few hundred samples takes any number, none lost, in order. */
TEST(words_go_round)
{
	struct fathom_sampler_stats st;
	uint64_t seen = 0, step = 0, rounds = 0;

	set_up(FATHOM_SAMPLE_BUFFER);
	fathom_sampler_control(FATHOM_SAMPLER_SET_INTERVAL | FATHOM_SAMPLER_START, 1);
	do {
		struct fathom_sample s = sample_of(1 + (uint32_t)(rounds * 7 % 130));
		struct btb_loss loss;
		struct btb b = {0};
		uint64_t before;

		fathom_sampler_stats(&st);
		before = st.samples;
		while (st.samples < before + rounds % 300) {
			fathom_sampler_tick(&s);
			fathom_sampler_stats(&st);
		}
		fathom_sampler_control(FATHOM_SAMPLER_WRITE_STATS, 0);
		if (rounds)
			memcpy(words, info, sizeof(info));
		take_behind(&b, rounds ? sizeof(info) / 8 : 0, &loss);
		if (!rounds)
			memcpy(info, words, sizeof(info));
		for (size_t i = 0; nth(&b, WIRE_BTB_STACK, i); i++) {
			const uint64_t *w = btb_entry_words(&b, nth(&b, WIRE_BTB_STACK, i));

			CHECK_EQ(w[b.layout.step], ++step);
			CHECK_EQ(btb_stack_frames(&b, nth(&b, WIRE_BTB_STACK, i)),
				 w[b.layout.depth] < FATHOM_SAMPLE_FRAMES ? w[b.layout.depth]
									  : FATHOM_SAMPLE_FRAMES);
			seen++;
		}
		btb_free(&b);
	} while (++rounds < 900);
	fathom_sampler_control(FATHOM_SAMPLER_STOP, 0);
	fathom_sampler_stats(&st);
	CHECK_EQ(st.full, 0);
	CHECK_EQ(seen, st.samples);
	CHECK(seen * 60 > st.capacity * 10); /* it went round many times */
}

static void announce(void)
{
	fathom_sampler_map(7, 0x4000, "lives", 0);
}

static size_t count(const struct btb *b, uint64_t type)
{
	size_t n = 0;

	while (nth(b, type, n))
		n++;
	return n;
}

/* What a reader takes is complete by itself: INFO and the live mappings come again after a RESET and after an export. */
TEST(every_run_describes_itself)
{
	static uint8_t room[FATHOM_BTB_EXPORT_BYTES] __attribute__((aligned(8)));
	struct fathom_btb_export e;
	struct btb_loss loss;
	struct btb b = {0};

	set_up(FATHOM_SAMPLE_BUFFER);
	CHECK_EQ(fathom_sampler_init(buffer, buffer_bytes, FATHOM_SAMPLE_BUFFER, announce), 0);
	fathom_sampler_map(6, 0x4000, "early", 0); /* nobody samples: not kept */
	for (int run = 0; run < 3; run++) {
		fathom_sampler_control(FATHOM_SAMPLER_START, 0);
		fathom_sampler_control(FATHOM_SAMPLER_STOP, 0);
		fathom_sampler_control(FATHOM_SAMPLER_START, 0);
		fathom_sampler_map(8, 0x4000, "late", 0);
		fathom_sampler_control(FATHOM_SAMPLER_STOP, 0);
		if (run == 1) {
			CHECK_EQ(fathom_btb_export_begin(&e, room, sizeof(room), 0, 0, drop, NULL),
				 0);
			fathom_sampler_export(&e);
			fathom_sampler_export_end(&e);
			CHECK(e.sent_words > 100);
			continue;
		}
		take(&b, &loss);
		CHECK_EQ(count(&b, WIRE_BTB_INFO), 1);
		CHECK_EQ(count(&b, WIRE_BTB_MAPPING), 2);
		CHECK_EQ(count(&b, WIRE_BTB_CONTROL), 4);
		btb_free(&b);
		fathom_sampler_control(FATHOM_SAMPLER_RESET | FATHOM_SAMPLER_NO_ENTRY, 0);
	}
}

TEST(bad_arguments)
{
	set_up(FATHOM_SAMPLE_BUFFER);
	CHECK_EQ(fathom_sampler_init(NULL, buffer_bytes, FATHOM_SAMPLE_BUFFER, NULL),
		 -FATHOM_EINVAL);
	CHECK_EQ(fathom_sampler_init(buffer + 4, buffer_bytes - 4, 1, NULL), -FATHOM_EINVAL);
	CHECK_EQ(fathom_sampler_init(buffer, 100, FATHOM_SAMPLE_BUFFER, NULL), -FATHOM_ENOMEM);
	CHECK_EQ(fathom_sampler_init(buffer, buffer_bytes, 0, NULL), -FATHOM_EINVAL);
	CHECK_EQ(fathom_sampler_control(FATHOM_SAMPLER_SET_INTERVAL, 0), -FATHOM_EINVAL);
	CHECK_EQ(fathom_sampler_control(FATHOM_SAMPLER_STOP_AFTER | FATHOM_SAMPLER_SET_INTERVAL, 9),
		 -FATHOM_EINVAL);
}

TEST_MAIN
