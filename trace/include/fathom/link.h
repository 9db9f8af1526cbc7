/* SPDX-License-Identifier: MIT */
/* link.h -- the target's end of the trace line: answers what the host asks over any byte pipe. */
#ifndef FATHOM_LINK_H
#define FATHOM_LINK_H

#include <stddef.h>
#include <stdint.h>
#include "fathom/port_default.h"
#include "wire/frame.h"
#include "wire/pagepack.h"

/* All of it goes out, however long that takes. Called from fathom_link_input(). */
typedef void (*fathom_link_send_fn)(void *arg, const void *data, size_t bytes);

/* One per line, in the caller's memory: FATHOM_LINK_BYTES and 400 more, and 7.5 KiB with FATHOM_LINK_PACKED. Its members are the link's. */
struct fathom_link {
	fathom_link_send_fn send;
	void *arg;
	uint32_t number; /* of the last request */
	uint32_t sent;	 /* bytes of its answer, in `out`; 0: none yet */
	uint64_t resent; /* answers that had to be repeated */
	struct wire_receiver in;
	uint8_t request[WIRE_FRAME_BYTES(WIRE_FRAME_REQUEST)];
	uint8_t out[WIRE_FRAME_BYTES(FATHOM_LINK_BYTES)] __attribute__((__aligned__(8)));
#if FATHOM_LINK_PACKED
	uint8_t page[FATHOM_PAGE_BYTES] __attribute__((__aligned__(8)));
	struct wire_packer packer;
#endif
};

void fathom_link_init(struct fathom_link *l, fathom_link_send_fn send, void *arg);
/* Bytes that came in, in any portions; answers every request in them. Context: task; one caller a link. */
void fathom_link_input(struct fathom_link *l, const void *data, size_t bytes);

#endif
