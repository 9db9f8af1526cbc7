/* SPDX-License-Identifier: MIT */
/* p9.c -- the 9P server: framing, versions, waiting reads, flush. */
#include "control/tree.h"
#include "control/p9_int.h"

/*
 * N1  One answer per message, with its tag, except for a message that was flushed while it waited: that one gets none.
 * N2  Nothing a client sends makes the server read or write outside its struct: sizes are checked when a message is
 *     complete, fields through p9_in, and fids are looked up, never indexed.
 */

void fathom_p9_init(struct fathom_p9 *s, fathom_p9_send_fn send, void *arg)
{
	__builtin_memset(s, 0, sizeof(*s));
	s->send = send;
	s->arg = arg;
}

static void p9_send(struct p9_msg *m, uint32_t type)
{
	wire_p9_put(m->s->out, m->len, 4);
	wire_p9_put(m->s->out + 4, type, 1);
	wire_p9_put(m->s->out + 5, m->tag, 2);
	if (m->s->piece)
		fathom_p9_frames_answer(m->s, m->len);
	else
		m->s->send(m->s->arg, m->s->out, m->len);
}

static void p9_answer(struct p9_msg *m, uint32_t type, int ret)
{
	if (ret == P9_LATER)
		return;
	if (ret < 0) {
		m->len = WIRE_P9_HEAD;
		p9_put_text(m, fathom_p9_error_text(-ret));
		p9_send(m, WIRE_P9_RERROR);
	} else {
		p9_send(m, type + 1);
	}
}

struct fathom_p9_fid *fathom_p9_fid_find(struct fathom_p9 *s, uint32_t fid)
{
	for (uint32_t i = 0; i < FATHOM_P9_FIDS; i++)
		if (s->fids[i].used && s->fids[i].fid == fid)
			return &s->fids[i];
	return 0;
}

struct fathom_p9_fid *fathom_p9_fid_new(struct fathom_p9 *s, uint32_t fid)
{
	for (uint32_t i = 0; i < FATHOM_P9_FIDS; i++) {
		struct fathom_p9_fid *f = &s->fids[i];

		if (f->used)
			continue;
		__builtin_memset(f, 0, sizeof(*f));
		f->used = 1;
		f->fid = fid;
		return f;
	}
	return 0;
}

/* Reads that wait on the fid are not answered here: the client that drops a fid under its own read gets an error. */
void fathom_p9_fid_drop(struct fathom_p9 *s, struct fathom_p9_fid *f)
{
	(void)s;
	if (f->is_open && f->node.entry)
		fathom_fs_close(&f->file);
	f->used = 0;
}

void fathom_p9_forget(struct fathom_p9 *s)
{
	for (uint32_t i = 0; i < FATHOM_P9_FIDS; i++)
		if (s->fids[i].used)
			fathom_p9_fid_drop(s, &s->fids[i]);
	for (uint32_t i = 0; i < FATHOM_P9_WAITS; i++)
		s->wait[i].used = 0;
	s->waits = 0;
	s->msize = 0;
	s->filled = 0;
}

void fathom_p9_reset(struct fathom_p9 *s)
{
	fathom_p9_forget(s);
	s->piece = s->unseen = s->frames.have = s->frames.done = 0;
}

static int p9_version(struct p9_msg *m)
{
	static const char name[] = WIRE_P9_VERSION;
	uint32_t msize = p9_number(&m->in, 4), len;
	const char *version = p9_string(&m->in, &len);
	int known = len >= sizeof(name) - 1 && !__builtin_memcmp(version, name, sizeof(name) - 1);

	if (m->in.bad || msize < WIRE_P9_MSIZE_MIN)
		return -FATHOM_EINVAL;
	fathom_p9_forget(m->s);
	m->s->msize = msize < FATHOM_P9_MSIZE ? msize : FATHOM_P9_MSIZE;
	p9_put(m, m->s->msize, 4);
	p9_put_text(m, known ? name : "unknown");
	return 0;
}

static int p9_attach(struct p9_msg *m)
{
	uint32_t fid = p9_number(&m->in, 4), len;
	struct fathom_p9_fid *f;

	p9_number(&m->in, 4);
	p9_string(&m->in, &len);
	p9_string(&m->in, &len);
	if (m->in.bad || fid == WIRE_P9_NOFID || fathom_p9_fid_find(m->s, fid))
		return -FATHOM_EINVAL;
	f = fathom_p9_fid_new(m->s, fid);
	if (!f)
		return -FATHOM_ENFILE;
	fathom_fs_root(&f->node);
	fathom_p9_qid(m, &f->node);
	return 0;
}

static int p9_clunk(struct p9_msg *m)
{
	struct fathom_p9_fid *f = fathom_p9_fid_find(m->s, p9_number(&m->in, 4));

	if (m->in.bad || !f)
		return -FATHOM_EBADF;
	fathom_p9_fid_drop(m->s, f);
	return 0;
}

static int p9_flush(struct p9_msg *m)
{
	uint32_t old = p9_number(&m->in, 2);

	for (uint32_t i = 0; i < FATHOM_P9_WAITS && !m->in.bad; i++) {
		struct fathom_p9_wait *w = &m->s->wait[i];

		if (w->used && w->tag == old) {
			w->used = 0;
			m->s->waits--;
		}
	}
	return 0;
}

static int p9_dispatch(struct p9_msg *m, uint32_t type)
{
	if (type != WIRE_P9_TVERSION && !m->s->msize)
		return -FATHOM_EPROTO;
	switch (type) {
	case WIRE_P9_TVERSION: return p9_version(m);
	case WIRE_P9_TATTACH: return p9_attach(m);
	case WIRE_P9_TFLUSH: return p9_flush(m);
	case WIRE_P9_TWALK: return fathom_p9_walk(m);
	case WIRE_P9_TOPEN: return fathom_p9_open(m);
	case WIRE_P9_TCREATE: return fathom_p9_create(m);
	case WIRE_P9_TREAD: return fathom_p9_read(m);
	case WIRE_P9_TWRITE: return fathom_p9_write(m);
	case WIRE_P9_TCLUNK: return p9_clunk(m);
	case WIRE_P9_TREMOVE: return fathom_p9_remove(m);
	case WIRE_P9_TSTAT: return fathom_p9_stat(m);
	case WIRE_P9_TWSTAT: return -FATHOM_EPERM;
	case WIRE_P9_TAUTH:
		return -FATHOM_EOPNOTSUPP; /* no authentication: who reaches the pipe may use it */
	default: return -FATHOM_EPROTO;
	}
}

static void p9_message(struct fathom_p9 *s, uint32_t size)
{
	uint32_t type = s->in[4];
	struct p9_msg m = {.s = s,
			   .in = {s->in + WIRE_P9_HEAD, size - WIRE_P9_HEAD, 0},
			   .len = WIRE_P9_HEAD,
			   .tag = (uint16_t)wire_p9_get(s->in + 5, 2)};

	p9_answer(&m, type, p9_dispatch(&m, type));
}

/* How much of what is there to skip: 0 if it begins like a message. Only a Tversion is believed on a fresh pipe. */
static int p9_plausible(const struct fathom_p9 *s)
{
	uint32_t size = wire_p9_get(s->in, 4), type = s->in[4];

	if (size < WIRE_P9_HEAD || size > FATHOM_P9_MSIZE)
		return 0;
	if (!s->msize &&
	    (type != WIRE_P9_TVERSION || size > 64 || wire_p9_get(s->in + 5, 2) != WIRE_P9_NOTAG))
		return 0;
	return !s->msize || size <= s->msize;
}

/*
 * A bad size means that the two sides no longer agree where messages begin (a serial line lost bytes): forget the
 * client and look at every further byte for the Tversion that starts over.
 */
static void p9_resync(struct fathom_p9 *s)
{
	uint32_t left = s->filled - 1;

	if (s->msize) {
		fathom_p9_forget(s);
		s->filled = left + 1;
	}
	s->bad++;
	__builtin_memmove(s->in, s->in + 1, left);
	s->filled = left;
}

void fathom_p9_bytes(struct fathom_p9 *s, const void *data, size_t bytes)
{
	const uint8_t *at = data;

	while (bytes || s->filled >= WIRE_P9_HEAD) {
		uint32_t want = WIRE_P9_HEAD, n;

		if (s->filled >= WIRE_P9_HEAD) {
			if (!p9_plausible(s)) {
				p9_resync(s);
				continue;
			}
			want = wire_p9_get(s->in, 4);
			if (s->filled >= want) {
				s->filled = 0;
				p9_message(s, want);
				continue;
			}
		}
		if (!bytes)
			return;
		n = want - s->filled;
		if (n > bytes)
			n = (uint32_t)bytes;
		__builtin_memcpy(s->in + s->filled, at, n);
		s->filled += n;
		at += n;
		bytes -= n;
	}
}

void fathom_p9_input(struct fathom_p9 *s, const void *data, size_t bytes)
{
	if (s->msize && !s->piece)
		fathom_p9_bytes(s, data, bytes);
	else
		fathom_p9_frames_input(s, data, bytes);
}

static void p9_retry(struct fathom_p9 *s, struct fathom_p9_wait *w)
{
	struct p9_msg m = {.s = s, .len = WIRE_P9_HEAD, .tag = w->tag};
	int ret = fathom_p9_read_try(&m, w->fid, w->offset, w->count);

	if (ret == -FATHOM_EAGAIN)
		return;
	w->used = 0;
	s->waits--;
	p9_answer(&m, WIRE_P9_TREAD, ret);
}

int fathom_p9_tick(struct fathom_p9 *s)
{
	for (uint32_t i = 0; i < FATHOM_P9_WAITS && s->waits && !s->unseen; i++) {
		struct fathom_p9_wait *w = &s->wait[s->next++ % FATHOM_P9_WAITS];

		if (w->used)
			p9_retry(s, w);
	}
	return s->waits != 0;
}
