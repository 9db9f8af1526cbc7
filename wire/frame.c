/* SPDX-License-Identifier: MIT */
/* frame.c -- frames on a byte line: sealing them, and finding them again among damaged bytes. */
#include "wire/frame.h"
#include "wire/crc32.h"

static const uint8_t frame_sync[4] = {0xf5, 0x46, 0x54, 0x4d};

static void frame_put(uint8_t *at, uint32_t v, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		at[i] = (uint8_t)(v >> 8 * i);
}

static uint32_t frame_get(const uint8_t *at, uint32_t bytes)
{
	uint32_t v = 0;

	for (uint32_t i = 0; i < bytes; i++)
		v |= (uint32_t)at[i] << 8 * i;
	return v;
}

static uint8_t frame_head_check(const uint8_t *at)
{
	uint8_t sum = at[4];

	for (uint32_t i = 6; i < WIRE_FRAME_HEADER; i++)
		sum = (uint8_t)(sum + at[i]);
	return (uint8_t)~sum;
}

uint32_t fathom_frame_seal(uint8_t *to, uint8_t type, uint32_t number, uint32_t arg, uint32_t bytes)
{
	for (uint32_t i = 0; i < 4; i++)
		to[i] = frame_sync[i];
	to[4] = type;
	frame_put(to + 6, bytes, 2);
	frame_put(to + 8, number, 4);
	frame_put(to + 12, arg, 4);
	to[5] = frame_head_check(to);
	frame_put(to + WIRE_FRAME_HEADER + bytes,
		  fathom_crc32(0, to + 4, WIRE_FRAME_HEADER - 4 + bytes), 4);
	return WIRE_FRAME_BYTES(bytes);
}

static int frame_synced(const struct wire_receiver *r)
{
	for (uint32_t i = 0; i < 4 && i < r->have; i++)
		if (r->buf[i] != frame_sync[i])
			return 0;
	return 1;
}

/* How many bytes at the front agree with a frame: 0 if they cannot be one, else the bytes the whole frame needs. */
static uint32_t frame_need(const struct wire_receiver *r)
{
	if (!frame_synced(r))
		return 0;
	if (r->have < WIRE_FRAME_HEADER)
		return WIRE_FRAME_HEADER;
	uint32_t need = WIRE_FRAME_BYTES(frame_get(r->buf + 6, 2));

	if (need > r->room || r->buf[5] != frame_head_check(r->buf))
		return 0;
	/* A byte that is lost from a head may pass for another length: then its end is waited for, so it must be near. */
	if (!(r->buf[4] & WIRE_FRAME_ANSWER) && r->buf[4] >= WIRE_FRAME_START &&
	    need > WIRE_FRAME_BYTES(WIRE_LINE_PIECE_MAX))
		return 0;
	return need;
}

static void frame_drop(struct wire_receiver *r, uint32_t n)
{
	r->have -= n;
	for (uint32_t i = 0; i < r->have; i++)
		r->buf[i] = r->buf[i + n];
}

/* Skip to the next byte that may begin a frame. */
static void frame_skip(struct wire_receiver *r)
{
	uint32_t n = 1, spoilt;

	while (n < r->have && r->buf[n] != frame_sync[0])
		n++;
	spoilt = r->spoilt < n ? r->spoilt : n;
	r->spoilt -= spoilt;
	if (r->text && spoilt < n)
		r->text(r->text_arg, r->buf + spoilt, n - spoilt);
	r->skipped += n;
	frame_drop(r, n);
}

static int frame_good(const struct wire_receiver *r, uint32_t need)
{
	return fathom_crc32(0, r->buf + 4, need - 4 - WIRE_FRAME_CRC) ==
	       frame_get(r->buf + need - WIRE_FRAME_CRC, 4);
}

static int frame_look(struct wire_receiver *r, struct wire_frame *out)
{
	while (r->have) {
		uint32_t need = frame_need(r);

		if (need > r->have)
			return 0;
		if (need > WIRE_FRAME_HEADER && frame_good(r, need)) {
			out->type = r->buf[4];
			out->number = frame_get(r->buf + 8, 4);
			out->arg = frame_get(r->buf + 12, 4);
			out->bytes = need - WIRE_FRAME_HEADER - WIRE_FRAME_CRC;
			out->payload = r->buf + WIRE_FRAME_HEADER;
			r->frames++;
			r->spoilt = 0;
			r->done = need;
			return 1;
		}
		r->bad += need != 0;
		if (need > r->spoilt)
			r->spoilt = need;
		else if (!need && r->have >= WIRE_FRAME_HEADER && frame_synced(r))
			r->spoilt =
				WIRE_FRAME_HEADER; /* its head is damaged, so its end is unknown */
		frame_skip(r);
	}
	return 0;
}

int fathom_frame_receive(struct wire_receiver *r, const uint8_t *data, size_t bytes, size_t *used,
			 struct wire_frame *out)
{
	*used = 0;
	if (r->done) {
		frame_drop(r, r->done);
		r->done = 0;
		if (frame_look(r, out))
			return 1;
	}
	while (*used < bytes) {
		/* No more than the frame at the front lacks, so that what follows it stays with the caller. */
		uint32_t need = r->have ? frame_need(r) : WIRE_FRAME_HEADER;
		uint32_t want = need > r->have ? need - r->have : 1;

		while (want-- && *used < bytes)
			r->buf[r->have++] = data[(*used)++];
		if (frame_look(r, out))
			return 1;
	}
	return 0;
}
