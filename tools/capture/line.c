/* SPDX-License-Identifier: MIT */
/* line.c -- 9P through a line that loses bytes: frames outside, a clean pipe inside; the host's end, which has the clock. */
#include "capture/line.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "capture/io.h"
#include "capture/stop.h"
#include "wire/frame.h"
#include "wire/p9.h"

#define START_TRIES 7
#define START_MS    700
#define QUIET_MS    30 /* a line that is silent for this long has sent everything */
#define PATIENCE_MS \
	400 /* a target that does not answer for this long is asked again; then after twice that ... */
#define PATIENCE_MAX_MS 3000
#define WRITE_MS	10000
#define WINDOW		65536u /* bytes of the target's stream that are kept before the missing ones */
#define PIECE_FIRST	512u
#define GOOD_FRAMES	64u /* after this many in a row, pieces grow */

struct line {
	int fd, pipe, text_fd;
	struct wire_receiver in;
	uint8_t received[WIRE_FRAME_MAX];
	uint64_t bad_seen;
	uint32_t piece, good;
	bool begun;	/* the streams have begun */
	bool datagrams; /* a frame each; they may get lost, but not be cut */

	uint8_t out[65536]; /* what the client sent; its first message is under way if out_len */
	uint32_t out_have, out_len, out_at, out_done;

	uint32_t next, end; /* of the target's stream: the first missing byte; the known end */
	uint8_t window[WINDOW], has[WINDOW]; /* by offset from next */
	uint32_t head_have, left;	     /* of the message that is being delivered */
	uint8_t head[4];
	uint32_t waiting; /* requests without an answer */

	int64_t heard_ms, asked_ms;
	int64_t round_ms,
		sent_ms; /* how long an answer takes; when the message went out, 0: more than once */
	unsigned int silent; /* unanswered requests */
};

static bool put(struct line *l, const void *data, size_t bytes)
{
	return io_write_all(l->fd, data, bytes, WRITE_MS);
}

static bool put_frame(struct line *l, uint8_t type, uint32_t number, uint32_t arg, const void *data,
		      uint32_t bytes)
{
	uint8_t frame[WIRE_LINE_FRAME_MAX];

	if (bytes)
		memcpy(frame + WIRE_FRAME_HEADER, data, bytes);
	return put(l, frame, fathom_frame_seal(frame, type, number, arg, bytes));
}

/* Ask again for what is missing from `from` on; `want` 0: only acknowledge everything before it. */
static bool put_ask(struct line *l, uint32_t from, uint32_t want)
{
	uint8_t ask[WIRE_LINE_ASK];

	wire_p9_put(ask, l->piece, 2);
	wire_p9_put(ask + 2, want < 0xffff ? want : 0xffff, 2);
	return put_frame(l, WIRE_FRAME_ACK, l->out_at + l->out_len, from, ask, sizeof(ask));
}

/* Send the current message from the first byte that the target lacks. */
static bool put_message(struct line *l)
{
	for (uint32_t at = l->out_done; at < l->out_len;) {
		uint32_t n = l->out_len - at < l->piece ? l->out_len - at : l->piece;

		if (!put_frame(l, WIRE_FRAME_STREAM, l->out_at + at, l->next, l->out + at, n))
			return false;
		at += n;
	}
	l->asked_ms = io_now_ms();
	return true;
}

static bool send_next(struct line *l)
{
	uint32_t size = l->out_have >= 4 ? wire_p9_get(l->out, 4) : 0;

	if (l->out_len || l->out_have < 4 || l->out_have < size)
		return true;
	if (size < WIRE_P9_HEAD || size > sizeof(l->out))
		return false;
	l->out_len = size;
	l->out_done = 0;
	l->waiting++;
	if (!put_message(l))
		return false;
	l->sent_ms = l->asked_ms;
	return true;
}

/* The target lacks our bytes from `from` on. */
static void target_has(struct line *l, uint32_t from)
{
	uint32_t done = from - l->out_at;

	if (!l->out_len || done > l->out_len)
		return;
	if (done > l->out_done)
		l->out_done = done;
	if (done < l->out_len)
		return;
	if (l->sent_ms)
		l->round_ms += (io_now_ms() - l->sent_ms - l->round_ms) / 8;
	l->out_have -= l->out_len;
	memmove(l->out, l->out + l->out_len, l->out_have);
	l->out_at = from;
	l->out_len = l->out_done = 0;
}

/* Count the messages in the delivered bytes. */
static void count_answers(struct line *l, const uint8_t *data, uint32_t bytes)
{
	while (bytes) {
		uint32_t n;

		if (!l->left) {
			l->head[l->head_have++] = *data++;
			bytes--;
			if (l->head_have < 4)
				continue;
			l->head_have = 0;
			l->left = wire_p9_get(l->head, 4);
			l->left = l->left > 4 ? l->left - 4 : 0;
			if (l->waiting && !l->left)
				l->waiting--;
			continue;
		}
		n = l->left < bytes ? l->left : bytes;
		l->left -= n;
		data += n;
		bytes -= n;
		if (!l->left && l->waiting)
			l->waiting--;
	}
}

/* Deliver everything up to the first gap to the client. */
static bool deliver(struct line *l)
{
	uint32_t n = 0;

	while (n < WINDOW && l->has[n])
		n++;
	if (!n)
		return true;
	if (!io_write_all(l->pipe, l->window, n, WRITE_MS))
		return false;
	count_answers(l, l->window, n);
	l->next += n;
	memmove(l->window, l->window + n, WINDOW - n);
	memmove(l->has, l->has + n, WINDOW - n);
	memset(l->has + WINDOW - n, 0, n);
	/* The target keeps what it sent until it is acknowledged. */
	return l->next != l->end || l->left || l->head_have || put_ask(l, l->next, 0);
}

static bool take_stream(struct line *l, const struct wire_frame *f)
{
	uint32_t at = f->number - l->next, skip = 0;

	if (at >= WINDOW) /* it begins before the missing bytes */
		skip = l->next - f->number;
	if (skip >= f->bytes || (!skip && at + f->bytes > WINDOW))
		return true;
	at = skip ? 0 : at;
	memcpy(l->window + at, f->payload + skip, f->bytes - skip);
	memset(l->has + at, 1, f->bytes - skip);
	return deliver(l);
}

static bool take_frame(struct line *l, const struct wire_frame *f)
{
	uint32_t end = f->number + (f->type == WIRE_FRAME_STREAM ? f->bytes : 0);

	if (f->type == WIRE_FRAME_ACK && f->number == l->next && f->arg == l->out_at)
		l->begun = true;
	if (!l->begun || (f->type != WIRE_FRAME_STREAM && f->type != WIRE_FRAME_ACK))
		return true;
	l->silent = 0;
	if (end - l->end < WINDOW)
		l->end = end;
	target_has(l, f->arg);
	if (++l->good >= GOOD_FRAMES && l->piece < WIRE_LINE_PIECE_MAX) {
		l->piece *= 2;
		l->good = 0;
	}
	return f->type != WIRE_FRAME_STREAM || take_stream(l, f);
}

static bool take_bytes(struct line *l, const uint8_t *data, size_t bytes)
{
	l->in.buf = l->received;
	l->in.room = sizeof(l->received);
	while (bytes || l->in.done) {
		struct wire_frame f;
		size_t used;
		int got = fathom_frame_receive(&l->in, data, bytes, &used, &f);

		data += used;
		bytes -= used;
		if (got && !take_frame(l, &f))
			return false;
	}
	return true;
}

/*
 * A head that lost a byte may claim a length that no frame has, and a receiver waits for its end. Ours gets zeros; the target's
 * gets frames that ask for nothing, which it finds again once the false one is full.
 */
static bool end_false_frames(struct line *l)
{
	static const uint8_t zeros[WIRE_LINE_FRAME_MAX];
	wire_text_fn text = l->in.text;
	bool ok;

	l->in.text = NULL;
	ok = !l->in.have || take_bytes(l, zeros, sizeof(zeros));
	l->in.text = text;
	for (uint32_t sent = 0; ok && sent < WIRE_LINE_FRAME_MAX; sent += WIRE_FRAME_HEADER)
		ok = put_ask(l, l->next, 0);
	return ok;
}

/* false: the line is at its end. */
static bool take_input(struct line *l)
{
	uint8_t buf[4096];
	ssize_t n = read(l->fd, buf, sizeof(buf));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n == 0 && l->datagrams)
		return true;
	if (n <= 0)
		return false;
	l->heard_ms = io_now_ms();
	return take_bytes(l, buf, (size_t)n);
}

/* Frames came damaged, or not at all: shorter ones have a better chance. */
static void note_damage(struct line *l)
{
	l->good = 0;
	if (l->piece > 64)
		l->piece /= 2;
}

/* The line is quiet: ask for every gap in the window, whatever end the target claims. */
static bool ask_gaps(struct line *l)
{
	uint32_t end = l->end - l->next < WINDOW ? l->end - l->next : WINDOW;

	for (uint32_t at = 0; at < end;) {
		uint32_t from = at;

		while (at < end && !l->has[at])
			at++;
		if (at > from && !put_ask(l, l->next + from, at - from))
			return false;
		while (at < end && l->has[at])
			at++;
	}
	l->asked_ms = io_now_ms();
	return true;
}

static int64_t patience(const struct line *l)
{
	int64_t ms = 3 * l->round_ms + QUIET_MS;

	ms = (ms < PATIENCE_MS ? ms : PATIENCE_MS) << (l->silent < 5 ? l->silent : 5);
	return ms < PATIENCE_MAX_MS ? ms : PATIENCE_MAX_MS;
}

/* Do what is due by the clock. */
static bool keep_time(struct line *l)
{
	int64_t now = io_now_ms(), last = l->heard_ms > l->asked_ms ? l->heard_ms : l->asked_ms;
	bool damaged = l->in.bad != l->bad_seen,
	     lacks = l->end != l->next || l->left || l->head_have;

	if (now - last >= (l->out_len ? patience(l) : PATIENCE_MS) && (l->out_len || l->waiting)) {
		l->silent++;
		l->sent_ms = 0;
		if (l->out_len)
			note_damage(l);
		if (l->silent > 1 && !end_false_frames(l))
			return false;
		return put_message(l) && put_ask(l, l->next, 0xffff);
	}
	if (now - last < QUIET_MS || l->heard_ms < l->asked_ms || !(lacks || damaged || l->out_len))
		return true;
	l->bad_seen = l->in.bad;
	l->sent_ms = 0;
	if (damaged || lacks)
		note_damage(l);
	if (l->end != l->next)
		return ask_gaps(l) && put_message(l);
	return put_message(l) && put_ask(l, l->next, 0xffff);
}

static void *carry(void *arg)
{
	struct line *l = arg;

	for (bool on = true; on;) {
		bool room = l->out_have < sizeof(l->out);
		struct pollfd p[2] = {{l->fd, POLLIN, 0}, {room ? l->pipe : -1, POLLIN, 0}};
		bool busy = l->out_len || l->end != l->next || l->left || l->head_have;

		if (poll(p, 2, busy ? 10 : l->waiting ? 100 : -1) < 0 && errno != EINTR)
			break;
		if (p[0].revents)
			on = take_input(l);
		if (on && p[1].revents) {
			ssize_t n =
				read(l->pipe, l->out + l->out_have, sizeof(l->out) - l->out_have);

			on = n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
			l->out_have += n > 0 ? (uint32_t)n : 0;
		}
		on = on && send_next(l) && keep_time(l);
	}
	close(l->pipe);
	close(l->fd);
	free(l);
	return NULL;
}

static void take_text(void *arg, const void *data, size_t bytes)
{
	struct line *l = arg;

	if (l->text_fd >= 0 && write(l->text_fd, data, bytes) < 0)
		l->text_fd = -1;
}

/* Wait until the target confirms the start of the streams. */
static bool start(struct line *l)
{
	uint8_t ask[WIRE_LINE_ASK] = {0};
	uint32_t first = (uint32_t)io_now_ms() * 2654435761u + (uint32_t)getpid();

	wire_p9_put(ask, l->piece, 2);
	/* One number for all tries: a target that answers late answers the one before, and takes those on their way first. */
	l->out_at = l->next = l->end = first;
	for (int i = 0; i < START_TRIES && !stop_signal(); i++) {
		int64_t end = io_now_ms() + START_MS;

		/* A client that left in the middle of a frame: the target waits for the rest. */
		if (i % 3 == 1 && !l->datagrams && !end_false_frames(l))
			return false;
		if (!put_frame(l, WIRE_FRAME_START, first, first, ask, sizeof(ask)))
			return false;
		while (io_now_ms() < end && !stop_signal()) {
			struct pollfd p = {l->fd, POLLIN, 0};

			if (poll(&p, 1, 50) > 0 && !take_input(l))
				return false;
			if (l->begun)
				return true;
		}
	}
	return false;
}

bool line_is_datagrams(int fd)
{
	int type = 0;
	socklen_t len = sizeof(type);

	return !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) && type == SOCK_DGRAM;
}

int line_open(int fd, int text_fd)
{
	struct line *l = calloc(1, sizeof(*l));
	int pair[2] = {-1, -1};
	pthread_attr_t attr;
	pthread_t thread;

	if (!l)
		return fd;
	l->fd = fd;
	l->datagrams = line_is_datagrams(fd);
	l->text_fd = text_fd;
	l->piece = PIECE_FIRST;
	l->round_ms = PATIENCE_MS;
	l->in.text = take_text;
	l->in.text_arg = l;
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	if (!start(l) || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
		free(l);
		return fd;
	}
	l->pipe = pair[1];
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attr, carry, l)) {
		close(pair[0]);
		close(pair[1]);
		free(l);
		pair[0] = fd;
	}
	pthread_attr_destroy(&attr);
	return pair[0];
}
