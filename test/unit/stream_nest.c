/* SPDX-License-Identifier: MIT */
/* stream_nest.c -- the stream recorder with a trap after every instruction, whose handler records too. */
#include "harness.h"
#include "fathom/stream.h"
#include "ring/lz4.h"
#include "ring/stream.h"

#include <signal.h>
#include <unistd.h>

/* Not under sanitizers: their code would be stepped through as well, ten times as long. */

static uint8_t memory[1 << 20] __attribute__((aligned(64)));
static uint16_t out[1 << 16];
static uint32_t nr_out;

static void start(void)
{
	struct fathom_stream_config c = {
		.memory = memory, .memory_bytes = sizeof(memory), .nr_cpus = 1, .work_words = 1024};

	CHECK_EQ(fathom_stream_init(&c), 0);
	fathom_stream_reset();
	fathom_stream_start();
}

static void collect(void)
{
	struct stream_cpu *c = &fathom_stream.cpu[0];
	uint32_t at = c->oldest;

	fathom_stream_stop();
	fathom_stream_settle(c);
	for (uint32_t i = 0; i < c->stats.blocks; i++) {
		const struct stream_block *b = fathom_stream_next(c, &at);

		CHECK_EQ(fathom_lz4_unpack((const uint8_t *)(b + 1), b->packed,
					   (uint8_t *)(out + nr_out), b->words * 2),
			 b->words * 2);
		nr_out += b->words;
	}
	memcpy(out + nr_out, c->work, c->nr * 2);
	nr_out += c->nr;
}

static uint32_t traps, inner;

static void trap(int sig, siginfo_t *info, void *ctx)
{
	(void)sig;
	(void)info;
	(void)ctx;
	if (++traps % 211)
		return;
	if (traps > 4000000)
		_exit(3);
	/* A pair of markers with its number: torn or lost ones would show. */
	fathom_stream_interrupt(inner & 0x7fff);
	fathom_stream_syscall(inner++ & 0x7fff);
}

/* The stack pointer steps over the red zone: the compiler does not know that we push. */
static void trap_flag(int on)
{
	if (on)
		__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq; "
				 "lea 128(%%rsp), %%rsp" ::
					 : "memory", "cc");
	else
		__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; andq $-257, (%%rsp); popfq; "
				 "lea 128(%%rsp), %%rsp" ::
					 : "memory", "cc");
}

TEST(nested_after_every_instruction)
{
	struct sigaction sa = {.sa_sigaction = trap, .sa_flags = SA_SIGINFO};
	struct fathom_stream_stats st;
	uint32_t outer = 0, at = 0, inner_seen = 0, next_outer = 0, next_inner = 0;

	sigaction(SIGTRAP, &sa, NULL);
	start();
	for (; outer < 200; outer++) /* so that a block is packed under traps */
		fathom_stream_user_fault(outer & 0x7fff, outer);
	for (; outer < 300; outer++) {
		trap_flag(1);
		fathom_stream_user_fault(outer & 0x7fff, outer);
		trap_flag(0);
	}
	signal(SIGTRAP, SIG_DFL);
	collect();
	fathom_stream_stats(0, &st);
	while (at < nr_out && !test_failures) {
		if (out[at] == 0xffe6) {
			CHECK_EQ(out[at + 1], next_outer & 0x7fff);
			CHECK_EQ(wire_sel4_get32(out + at + 2), next_outer);
			next_outer++;
			at += 4;
		} else if (out[at] == 0xffec || out[at] == 0xfffc) {
			uint32_t stamp = out[at + 1] * 2u + (out[at] == 0xfffc);

			CHECK(stamp >= next_inner); /* in order; some may be refused */
			next_inner = stamp + 1;
			inner_seen++;
			at += 2;
		} else {
			CHECK(!"a word that nobody wrote");
		}
	}
	CHECK_EQ(next_outer, outer);
	CHECK_EQ(inner_seen + st.nested,
		 2 * inner); /* packing a block takes longer than the side buffer lasts */
	CHECK(inner_seen > 200);
	CHECK(inner > 100);
	printf("  %u traps, %u events inside %u\n", traps, 2 * inner, outer);
}

/* A kernel that was in for longer than 32 bits of ticks: the longest that can be said, not what is left of it. */
TEST(a_long_stay)
{
	struct wire_sel4_entry e = {0};

	nr_out = 0;
	start();
	fathom_stream_kernel_entry(&e, 0);
	fathom_stream.cpu[0].entry -= 5ull << 32;
	fathom_stream_kernel_exit();
	collect();
	REQUIRE(nr_out >= 3);
	CHECK_EQ(out[nr_out - 2], 0xffff);
	CHECK_EQ(out[nr_out - 1], 0xffff);
}

TEST_MAIN
