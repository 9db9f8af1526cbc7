/* SPDX-License-Identifier: MIT */
/* p9_int.h -- a message being read and its answer being built: bounded cursors, shared by the server's two files. */
#ifndef CONTROL_P9_INT_H
#define CONTROL_P9_INT_H

#include "fathom/inside/errno.h"
#include "fathom/p9.h"
#include "wire/p9.h"

/* Reading past the end gives zeros and sets `bad`, so a handler checks once, behind its last field. */
struct p9_in {
	const uint8_t *at;
	uint32_t left;
	uint8_t bad;
};

struct p9_msg {
	struct fathom_p9 *s;
	struct p9_in in;
	uint32_t len; /* of the answer so far, its head included */
	uint16_t tag;
};

static inline const uint8_t *p9_take(struct p9_in *in, uint32_t bytes)
{
	const uint8_t *at = in->at;

	if (bytes > in->left) {
		in->bad = 1;
		in->left = 0;
		return 0;
	}
	in->at += bytes;
	in->left -= bytes;
	return at;
}

static inline uint32_t p9_number(struct p9_in *in, uint32_t bytes)
{
	const uint8_t *at = p9_take(in, bytes);

	return at ? wire_p9_get(at, bytes) : 0;
}

static inline uint64_t p9_number64(struct p9_in *in)
{
	uint64_t low = p9_number(in, 4);

	return low | (uint64_t)p9_number(in, 4) << 32;
}

static inline const char *p9_string(struct p9_in *in, uint32_t *len)
{
	const uint8_t *at;

	*len = p9_number(in, 2);
	at = p9_take(in, *len);
	if (at)
		return (const char *)at;
	*len = 0; /* of what is not there nobody reads */
	return "";
}

/* Append to the answer. It always fits: the answers are bounded and msize is at least WIRE_P9_MSIZE_MIN. */
static inline void p9_put(struct p9_msg *m, uint64_t v, uint32_t bytes)
{
	if (m->len + bytes > FATHOM_P9_MSIZE)
		return;
	wire_p9_put(m->s->out + m->len, v, bytes);
	m->len += bytes;
}

static inline void p9_put_text(struct p9_msg *m, const char *text)
{
	uint32_t n = 0, at = m->len;

	p9_put(m, 0, 2);
	while (text[n])
		p9_put(m, (uint8_t)text[n++], 1);
	wire_p9_put(m->s->out + at, n, 2);
}

struct fathom_p9_fid *fathom_p9_fid_find(struct fathom_p9 *s, uint32_t fid);
struct fathom_p9_fid *fathom_p9_fid_new(struct fathom_p9 *s, uint32_t fid);
void fathom_p9_fid_drop(struct fathom_p9 *s, struct fathom_p9_fid *f);
void fathom_p9_qid(struct p9_msg *m, const struct fathom_node *node);

/* Handlers: 0 with the answer in m, a negative errno value, or P9_LATER. */
#define P9_LATER 1
int fathom_p9_walk(struct p9_msg *m);
int fathom_p9_open(struct p9_msg *m);
int fathom_p9_create(struct p9_msg *m);
int fathom_p9_remove(struct p9_msg *m);
int fathom_p9_stat(struct p9_msg *m);
int fathom_p9_read(struct p9_msg *m);
int fathom_p9_write(struct p9_msg *m);
/* One try at a read: like a handler, but -EAGAIN says it has to wait. */
int fathom_p9_read_try(struct p9_msg *m, uint32_t fid, uint64_t offset, uint32_t count);

/* p9.c: the client is gone; what it sent, without frames. */
void fathom_p9_forget(struct fathom_p9 *s);
void fathom_p9_bytes(struct fathom_p9 *s, const void *data, size_t bytes);
/* p9_frames.c: the answer in out[]; what came from a client that uses frames, or has not begun. */
void fathom_p9_frames_answer(struct fathom_p9 *s, uint32_t bytes);
void fathom_p9_frames_input(struct fathom_p9 *s, const void *data, size_t bytes);

#endif
