/* SPDX-License-Identifier: MIT */
/* trace_link.c -- the target's end of the line: what was asked again is answered again, and nothing is taken twice. */
#include "harness.h"
#include "fathom/link.h"
#include "fathom/trace.h"
#include "fathom_port.h"

static char memory[4 << 20] __attribute__((aligned(4096)));
static struct fathom_link host_link;
static uint8_t answer[WIRE_FRAME_MAX];
static size_t answer_bytes, answers;

static void keep(void *arg, const void *data, size_t bytes)
{
	(void)arg;
	memcpy(answer, data, bytes);
	answer_bytes = bytes;
	answers++;
}

static void start(void)
{
	struct fathom_config config = {
		.memory = memory, .memory_bytes = sizeof(memory), .nr_cpus = 1, .pages_per_cpu = 8};

	fathom_exit();
	fathom_user_cpu = 0;
	CHECK_EQ(fathom_init(&config), 0);
	fathom_link_init(&host_link, keep, NULL);
	answers = 0;
}

static void ask(uint8_t type, uint32_t number, uint32_t arg)
{
	uint8_t frame[WIRE_FRAME_HEADER + WIRE_FRAME_CRC];

	fathom_link_input(&host_link, frame, fathom_frame_seal(frame, type, number, arg, 0));
}

/* As fathom_frame_seal() lays it out: bytes of payload. */
static uint32_t payload_bytes(void)
{
	return answer[6] | (uint32_t)answer[7] << 8;
}

TEST(a_page_asked_for_again_is_the_same_page)
{
	static uint8_t first[WIRE_FRAME_MAX];
	struct fathom_ring_stats st;
	size_t bytes;

	start();
	for (int i = 0; i < 200; i++) /* more than a page */
		fathom_marker(0, "a line", 6);
	ask(WIRE_FRAME_PAGE, 7, 0);
	CHECK(payload_bytes() > 1000);
	memcpy(first, answer, sizeof(first));
	bytes = answer_bytes;
	fathom_ring_stats(fathom_ring_of(0), &st);
	CHECK(st.read > 0 && st.read < 200);
	for (int i = 0; i < 3; i++) {
		uint64_t read = st.read;

		memset(answer, 0, sizeof(answer));
		ask(WIRE_FRAME_PAGE, 7, 0);
		CHECK(answer_bytes == bytes && !memcmp(first, answer, bytes));
		fathom_ring_stats(fathom_ring_of(0), &st);
		CHECK_EQ(st.read, read);
	}
	CHECK_EQ(answers, 4);
	CHECK_EQ(host_link.resent, 3);
	ask(WIRE_FRAME_PAGE, 8, 0);
	CHECK(answer_bytes != bytes || memcmp(first + WIRE_FRAME_HEADER, answer + WIRE_FRAME_HEADER,
					      bytes - WIRE_FRAME_HEADER) != 0);
	fathom_ring_stats(fathom_ring_of(0), &st);
	CHECK_EQ(st.read, 200);
	CHECK_EQ(host_link.resent, 3);
}

TEST(packed_pages)
{
	static struct wire_packer packer;
	static uint8_t page[4096];
	struct fathom_ring_stats st;
	uint32_t used, lines = 0;
	int big;

	start();
	for (int i = 0; i < 200; i++)
		fathom_marker(0, "a line", 6);
	ask(WIRE_FRAME_PACKED, 7, 0);
	CHECK(payload_bytes() > 50 && payload_bytes() < 1000);
	CHECK_EQ(fathom_page_unpack(&packer, answer + WIRE_FRAME_HEADER, payload_bytes(), page,
				    sizeof(page), &used, &big),
		 payload_bytes());
	for (uint32_t i = 0; i + 6 <= used; i++)
		lines += !memcmp(page + i, "a line", 6);
	fathom_ring_stats(fathom_ring_of(0), &st);
	CHECK(lines > 50 && lines == st.read);
	ask(WIRE_FRAME_PACKED, 8, 1); /* there is no such CPU */
	CHECK(payload_bytes() == 0 && answer[15] == 0xff);
	for (uint32_t i = 9; i < 20; i++) /* until there are no more */
		ask(WIRE_FRAME_PACKED, i, 0);
	CHECK(payload_bytes() == 0 && answer[15] == 0);
}

TEST(the_first_request_may_have_number_0)
{
	start();
	ask(WIRE_FRAME_HELLO, 0, 0);
	CHECK_EQ(answers, 1);
	CHECK(payload_bytes() >= sizeof(struct wire_hello));
	CHECK_EQ(host_link.resent, 0);
}

TEST(answers_and_unknown_requests)
{
	start();
	ask(WIRE_FRAME_HELLO | WIRE_FRAME_ANSWER, 1, 0); /* an echo of the line */
	CHECK_EQ(answers, 0);
	ask(WIRE_FRAME_START, 2, 0); /* the 9P server's */
	CHECK_EQ(answers, 0);
	ask(WIRE_FRAME_START - 1, 2, 0);
	CHECK_EQ(answers, 1);
	CHECK(payload_bytes() == 0 && answer[4] == ((WIRE_FRAME_START - 1) | WIRE_FRAME_ANSWER) &&
	      answer[15] == 0xff);
	ask(WIRE_FRAME_PAGE, 3, 1); /* there is no such CPU */
	CHECK(payload_bytes() == 0 && answer[15] == 0xff);
}

TEST_MAIN
