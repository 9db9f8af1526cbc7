/* SPDX-License-Identifier: MIT */
/* p9_frames.c -- the 9P server on a line that loses: its answers in frames, of which the client asks again for what it lacks. */
#include "control/p9_int.h"

/*
 * V1  An answer stays in out[] until the client has said that it has all of it (unseen is 0). Until then nothing new is taken and
 *     no tick answers, so one answer is all that is ever kept.
 * V2  Nothing is sent but answers, and what the client asks for: there is no clock here.
 * V3  A byte of the client's stream is taken once, in order: frames that come again, or after a lost one, only get an ACK, which
 *     says what is lacking.
 */

static void frame_send(struct fathom_p9 *s, uint8_t type, uint32_t number, const void *data,
		       uint32_t bytes)
{
	__builtin_memcpy(s->frame + WIRE_FRAME_HEADER, data, bytes);
	s->send(s->arg, s->frame, fathom_frame_seal(s->frame, type, number, s->taken, bytes));
}

static void frames_ack(struct fathom_p9 *s)
{
	frame_send(s, WIRE_FRAME_ACK, s->at + s->unseen, s->out, 0);
}

static void frames_pieces(struct fathom_p9 *s, uint32_t from, uint32_t to)
{
	while (from < to) {
		uint32_t n = to - from < s->piece ? to - from : s->piece;

		frame_send(s, WIRE_FRAME_STREAM, s->at + from, s->out + from, n);
		from += n;
	}
}

/* A client that asks for two things in one frame has this one in place of the first: V1 is its own affair. */
void fathom_p9_frames_answer(struct fathom_p9 *s, uint32_t bytes)
{
	s->unseen = bytes;
	frames_pieces(s, 0, bytes);
}

/* The client lacks what begins at `from`. */
static void frames_arrived(struct fathom_p9 *s, uint32_t from)
{
	if (!s->unseen || from != s->at + s->unseen)
		return;
	s->at = from;
	s->unseen = 0;
}

/* What the payload of a START or an ACK says; how many bytes are wanted again. */
static uint32_t frames_ask(struct fathom_p9 *s, const struct wire_frame *f)
{
	uint32_t piece;

	if (f->bytes < WIRE_LINE_ASK)
		return 0;
	piece = wire_p9_get(f->payload, 2);
	if (piece >= WIRE_LINE_PIECE_MIN && piece <= WIRE_LINE_PIECE_MAX)
		s->piece = piece;
	return wire_p9_get(f->payload + 2, 2);
}

static void frames_start(struct fathom_p9 *s, const struct wire_frame *f)
{
	fathom_p9_forget(s);
	s->piece = WIRE_LINE_PIECE_MIN;
	frames_ask(s, f);
	s->taken = s->at = f->number;
	s->unseen = 0;
	frames_ack(s);
}

static void frames_take(struct fathom_p9 *s, const struct wire_frame *f)
{
	frames_arrived(s, f->arg);
	if (!s->unseen && f->number == s->taken) {
		s->taken += f->bytes;
		fathom_p9_bytes(s, f->payload, f->bytes);
		if (s->unseen)
			return; /* the answer says that it was taken */
	}
	frames_ack(s);
}

static void frames_asked(struct fathom_p9 *s, const struct wire_frame *f)
{
	uint32_t want = frames_ask(s, f), from = f->arg - s->at;

	frames_arrived(s, f->arg);
	if (!want)
		return;
	if (from < s->unseen)
		frames_pieces(s, from, want < s->unseen - from ? from + want : s->unseen);
	else
		frames_ack(s);
}

/* Not a frame: a console's, or a client's that uses none. */
static void frames_text(void *arg, const void *data, size_t bytes)
{
	struct fathom_p9 *s = arg;

	if (s->text)
		s->text(s->arg, data, bytes);
	else if (!s->piece)
		fathom_p9_bytes(s, data, bytes);
}

void fathom_p9_frames_input(struct fathom_p9 *s, const void *data, size_t bytes)
{
	const uint8_t *at = data;

	s->frames.buf = s->received;
	s->frames.room = sizeof(s->received);
	s->frames.text = frames_text;
	s->frames.text_arg = s;
	while (bytes || s->frames.done) {
		struct wire_frame f;
		size_t used;
		int got = fathom_frame_receive(&s->frames, at, bytes, &used, &f);

		at += used;
		bytes -= used;
		if (got && f.type == WIRE_FRAME_START)
			frames_start(s, &f);
		else if (got && s->piece && f.type == WIRE_FRAME_STREAM)
			frames_take(s, &f);
		else if (got && s->piece && f.type == WIRE_FRAME_ACK)
			frames_asked(s, &f);
		if (s->msize && !s->piece) { /* it has begun without frames: the rest is its own */
			used = s->frames.have;
			s->frames.have = 0;
			fathom_p9_bytes(s, s->frames.buf, used);
			fathom_p9_bytes(s, at, bytes);
			return;
		}
	}
}
