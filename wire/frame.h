/* SPDX-License-Identifier: MIT */
/* frame.h -- frames on a byte line that may lose, change or add bytes: sync word, number, CRC; and what is asked in them. */
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include <stddef.h>
#include <stdint.h>

/*
 * OFFSET  SIZE  MEANING (little endian)
 *      0     4  sync: f5 46 54 4d
 *      4     1  type: enum wire_frame_type; an answer has WIRE_FRAME_ANSWER set
 *      5     1  check of the head: bytes 4 and 6 .. 15 summed, inverted; so a damaged length costs no wait for its end
 *      6     2  n: bytes of payload, at most WIRE_FRAME_PAYLOAD
 *      8     4  number of the request; its answer repeats it
 *     12     4  argument of the request (a CPU, an index); in an answer: 0 or a negative errno value
 *     16     n  payload
 *   16+n     4  CRC-32 of bytes 4 .. 16+n
 *
 * The host asks, the target answers each request with one frame. A host that hears nothing asks again with the same
 * number and gets the same answer again, so nothing that was taken out of a ring is lost on the line.
 */
#define WIRE_FRAME_HEADER	  16u
#define WIRE_FRAME_CRC		  4u
#define WIRE_FRAME_PAYLOAD	  4352u /* a ring page and its head */
#define WIRE_FRAME_REQUEST	  256u	/* the most that a request carries */
#define WIRE_FRAME_BYTES(payload) (WIRE_FRAME_HEADER + (payload) + WIRE_FRAME_CRC)
#define WIRE_FRAME_MAX		  WIRE_FRAME_BYTES(WIRE_FRAME_PAYLOAD)
#define WIRE_FRAME_ANSWER	  0x80u

enum wire_frame_type {
	WIRE_FRAME_HELLO = 1, /* answer: struct wire_hello, then the release's name */
	WIRE_FRAME_EVENT = 2, /* argument: index; answer: "system\n" and the format file */
	/* argument: CPU; answer: nothing, or the next ring page, cut after its data */
	WIRE_FRAME_PAGE = 3,
	WIRE_FRAME_STATS = 4, /* argument: CPU; answer: struct wire_stats */
	WIRE_FRAME_NAMES = 5, /* payload: pids as s32; answer: lines "pid name" */
	/* argument: index; answer: u64 address and the format as C source; nothing past the end */
	WIRE_FRAME_PRINTK = 6,
	WIRE_FRAME_TRACING = 7, /* argument: 0 off, 1 on */
	/* payload: "system:event" pattern; argument: 0 off, 1 on; answer's argument: how many */
	WIRE_FRAME_ENABLE = 8,
	/* the same as PAGE, packed (pagepack.h); -ENOSYS of a target that does not pack */
	WIRE_FRAME_PACKED = 9,

	/*
	 * 9P over the line (trace/control/p9_frames.c): two streams of bytes, one each way. STREAM: bytes of the sender's own; number:
	 * where they are in it. ACK: no bytes; number: where its own ends. In both, argument: the first byte of the other's stream that
	 * the sender lacks. START (the host's): both streams begin at this number, and the target forgets its client; the answer is an
	 * ACK. START and the host's ACK carry two u16: send no more bytes in a frame from now on; send so many from the argument on
	 * again (0: nothing is asked). Only the host has a clock.
	 */
	WIRE_FRAME_START = 16,
	WIRE_FRAME_STREAM = 17,
	WIRE_FRAME_ACK = 18,
};

#define WIRE_LINE_ASK	    4u /* bytes of payload in START and in the host's ACK */
#define WIRE_LINE_PIECE_MIN 16u
#define WIRE_LINE_PIECE_MAX 1024u
#define WIRE_LINE_FRAME_MAX (WIRE_FRAME_HEADER + WIRE_LINE_PIECE_MAX + WIRE_FRAME_CRC)

struct wire_hello {
	uint32_t version; /* 1 */
	uint32_t nr_cpus;
	uint32_t nr_events;
	uint32_t page_bytes;
	uint32_t ns_mult; /* ns = ticks * mult >> shift; 0: the clock counts nanoseconds */
	uint32_t ns_shift;
	uint64_t now; /* the clock as it answers */
};

/* Counters of one ring, as struct fathom_ring_stats means them. */
struct wire_stats {
	uint64_t written, read, overwritten, full, nested, too_big, disabled, discarded, entries,
		cleared;
};

/* A frame that arrived whole; payload points into the receiver's buffer until its next call. */
struct wire_frame {
	uint8_t type;
	uint32_t number;
	uint32_t arg;
	uint32_t bytes;
	const uint8_t *payload;
};

/* Bytes that are not a frame's: a console's, on a line that both use. */
typedef void (*wire_text_fn)(void *arg, const void *data, size_t bytes);

/* The receiving end. Zero it to begin, and give it its buffer. */
struct wire_receiver {
	uint8_t *buf;
	uint32_t room;	   /* bytes of it; a frame that needs more is skipped */
	wire_text_fn text; /* NULL: they are only counted */
	void *text_arg;
	/* bytes at the front that a damaged frame claimed: neither frame nor text */
	uint32_t spoilt;
	uint32_t have;
	uint32_t done;	  /* bytes of the last frame, still at the front */
	uint64_t frames;  /* good ones */
	uint64_t skipped; /* bytes that belonged to no good frame */
	uint64_t bad;	  /* sync words whose frame was damaged */
};

/*
 * Take bytes from the line: 1 and *out when a frame is complete. *used says how many bytes were taken; call again with
 * the rest. Bytes are skipped one by one until a sync word, a length and a CRC agree. Context: any, one caller.
 */
int fathom_frame_receive(struct wire_receiver *r, const uint8_t *data, size_t bytes, size_t *used,
			 struct wire_frame *out);

/* Lay a frame out in `to`, whose payload is already at to + WIRE_FRAME_HEADER. Bytes of the whole. */
uint32_t fathom_frame_seal(uint8_t *to, uint8_t type, uint32_t number, uint32_t arg,
			   uint32_t bytes);

#endif
