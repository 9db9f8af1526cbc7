/* SPDX-License-Identifier: MIT */
/* p9.h -- the control tree served over any byte pipe: 9P2000, one server per pipe, in the caller's memory. */
#ifndef FATHOM_P9_H
#define FATHOM_P9_H

#include <stddef.h>
#include <stdint.h>
#include "fathom/fs.h"
#include "fathom/port_default.h"
#include "wire/frame.h"

/* All of it goes out, however long that takes; called in the context of input and tick. */
typedef void (*fathom_p9_send_fn)(void *arg, const void *data, size_t bytes);

struct fathom_p9_fid {
	uint32_t fid;
	uint32_t dir_next; /* next entry of an open directory */
	uint64_t dir_offset;
	uint8_t used;
	uint8_t is_open;
	struct fathom_node node;
	struct fathom_file file;
};

struct fathom_p9_wait {
	uint8_t used;
	uint16_t tag;
	uint32_t fid;
	uint32_t count;
	uint64_t offset;
};

/* Its members are the server's, but for `text`. */
struct fathom_p9 {
	fathom_p9_send_fn send;
	void *arg;
	/*
	 * On a line that a console uses too: gets what is not a frame, in the context of input. The client must use frames then. Set it
	 * after fathom_p9_init(). NULL: the line is ours.
	 */
	wire_text_fn text;
	uint32_t msize;	 /* agreed with the client; 0 before Tversion */
	uint32_t filled; /* bytes of the message that is coming in */
	uint32_t waits;	 /* in use */
	uint32_t bad;	 /* bytes skipped because they were no message */
	uint32_t next;	 /* the wait that the next tick begins with */
	uint32_t piece;	 /* bytes in a frame; 0: the client uses none */
	uint32_t taken;	 /* of the client's stream: where it goes on */
	uint32_t at;	 /* of ours: where out[] stands in it */
	uint32_t unseen; /* bytes of out[] that the client may lack; 0: it has them all */
	struct wire_receiver frames;
	uint8_t received[WIRE_FRAME_MAX];
	uint8_t frame[WIRE_LINE_FRAME_MAX];
	uint8_t in[FATHOM_P9_MSIZE];
	uint8_t out[FATHOM_P9_MSIZE];
	struct fathom_p9_fid fids[FATHOM_P9_FIDS];
	struct fathom_p9_wait wait[FATHOM_P9_WAITS];
};

void fathom_p9_init(struct fathom_p9 *s, fathom_p9_send_fn send, void *arg);
/*
 * Bytes that came in, in any portions. Answers all messages that are complete; a read that has to wait is answered by
 * a later tick. What is no message is skipped up to the next Tversion, so a client can always start over. A client that begins with
 * a frame (wire/frame.h) is answered in frames: then the pipe may lose, change or double bytes.
 * Context: task; one caller at a time per server.
 */
void fathom_p9_input(struct fathom_p9 *s, const void *data, size_t bytes);
/* Try the waiting reads again. True if some still wait: call it again in 10 ms or so. */
int fathom_p9_tick(struct fathom_p9 *s);
/* The client is gone: closes what it had open. */
void fathom_p9_reset(struct fathom_p9 *s);

#endif
