/* SPDX-License-Identifier: MIT */
/* tools_frame.c -- frames on a line that loses, changes and adds bytes: every whole frame is found, no damaged one is. */
#include "harness.h"
#include "wire/frame.h"

static uint32_t make(uint8_t *to, uint32_t number, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		to[WIRE_FRAME_HEADER + i] = (uint8_t)(i * 7 + number);
	return fathom_frame_seal(to, WIRE_FRAME_PAGE, number, number * 3, bytes);
}

static int good(const struct wire_frame *f)
{
	if (f->type != WIRE_FRAME_PAGE || f->arg != f->number * 3)
		return 0;
	for (uint32_t i = 0; i < f->bytes; i++)
		if (f->payload[i] != (uint8_t)(i * 7 + f->number))
			return 0;
	return 1;
}

/* Feed `n` bytes in pieces of `step`; counts good frames, -1 if one is not as it was sent. */
static int feed(struct wire_receiver *r, const uint8_t *p, size_t n, size_t step)
{
	int frames = 0;

	for (size_t at = 0; at < n || r->done;) {
		size_t used, some = n - at < step ? n - at : step;
		struct wire_frame f;

		if (fathom_frame_receive(r, p + at, some, &used, &f)) {
			if (!good(&f))
				return -1;
			frames++;
		}
		at += used;
	}
	return frames;
}

static struct wire_receiver r;
static uint8_t line[64 * WIRE_FRAME_MAX], frame[WIRE_FRAME_MAX];

static void begin(uint32_t room)
{
	memset(frame, 0, sizeof(frame));
	r = (struct wire_receiver){.buf = frame, .room = room};
}

TEST(whole_frames_in_any_pieces)
{
	size_t n = 0;

	for (uint32_t i = 0; i < 20; i++)
		n += make(line + n, i, i * 200 < WIRE_FRAME_PAYLOAD ? i * 200 : WIRE_FRAME_PAYLOAD);
	for (size_t step = 1; step < 9000; step = step * 3 + 1) {
		begin(WIRE_FRAME_MAX);
		CHECK_EQ(feed(&r, line, n, step), 20);
		CHECK_EQ(r.skipped, 0);
	}
}

/* One that says it is longer than any can be is not waited for. */
TEST(frame_that_is_too_long)
{
	size_t n;

	memset(line, 'a', sizeof(line));
	n = fathom_frame_seal(line, WIRE_FRAME_PAGE, 1, 3, 60000);
	n += make(line + n, 2, 100);
	begin(WIRE_FRAME_MAX);
	CHECK_EQ(feed(&r, line, n, 1000), 1);
	CHECK(r.skipped > 60000);
}

/* A small receiver takes what fits to the last byte, and finds what follows a frame that does not. */
TEST(frame_longer_than_the_buffer)
{
	size_t n = make(line, 1, 257);

	n += make(line + n, 2, 256);
	begin(WIRE_FRAME_BYTES(256));
	CHECK_EQ(feed(&r, line, n, 7), 1);
	CHECK_EQ(r.skipped, WIRE_FRAME_BYTES(257));
	CHECK_EQ(frame[WIRE_FRAME_BYTES(256)], 0);
}

TEST(garbage_between_frames)
{
	size_t n = 0;

	for (uint32_t i = 0; i < 10; i++) {
		for (uint32_t k = 0; k < i * 5; k++)
			line[n++] = k % 3 ? 0xf5 : 0x46; /* full of half sync words */
		n += make(line + n, i, 100);
	}
	begin(WIRE_FRAME_MAX);
	CHECK_EQ(feed(&r, line, n, 64), 10);
	CHECK_EQ(r.skipped, 5 * 45);
}

/* One byte changed, dropped or doubled, at every place of three frames: the other two always arrive. */
TEST(one_damage_costs_one_frame)
{
	static uint8_t bad[4096];
	size_t n = 0;

	for (uint32_t i = 0; i < 3; i++)
		n += make(line + n, i, 40);
	for (int kind = 0; kind < 3; kind++)
		for (size_t at = 0; at < n; at++) {
			size_t len = n;

			memcpy(bad, line, n);
			if (kind == 0) {
				bad[at] ^= 0x10;
			} else if (kind == 1) {
				memmove(bad + at, bad + at + 1, --len - at);
			} else {
				memmove(bad + at + 1, bad + at, len++ - at);
			}
			/* Something behind the last frame, for one that lost a byte. */
			memset(bad + len, 0, sizeof(bad) - len);
			begin(WIRE_FRAME_MAX);
			int got = feed(&r, bad, sizeof(bad), 77);

			CHECK(got == 2 || (got == 3 && kind == 2));
		}
}

TEST_MAIN
