/* SPDX-License-Identifier: MIT */
/* p9_link.c -- the 9P client's pipe: messages out, answers in, matched by tag. */
#include "capture/p9_int.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "base/diag.h"
#include "capture/io.h"
#include "capture/line.h"
#include "capture/stop.h"

#define P9_POLL_MS	 50  /* how soon a waiting call sees that it was asked to stop */
#define P9_MOMENT_MAX_MS 500 /* how much of a wait counts as the target's silence */
#define P9_FLUSH_MS \
	2000 /* a target that does not even answer Tflush for so long is not waited for */
#define P9_SILENT_MS 30000 /* a target from which nothing came for so long, though asked, is gone */

/* All of it before `end`, or until p9_close(): a line that is silent for ever must not keep the thread. A signal ends only a wait that has an end. */
static bool read_until(struct p9 *c, uint8_t *to, size_t n, int64_t end)
{
	while (n) {
		struct pollfd p = {c->fd, POLLIN, 0};
		ssize_t got;

		if (c->stop || io_now_ms() > end || (end != INT64_MAX && stop_came()))
			return false;
		if (poll(&p, 1, 100) <= 0)
			continue;
		got = read(c->fd, to, n);
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got <= 0)
			return false;
		__atomic_store_n(&c->heard_ms, io_now_ms(), __ATOMIC_RELAXED);
		to += got;
		n -= (size_t)got;
	}
	return true;
}

static bool read_all(struct p9 *c, uint8_t *to, size_t n)
{
	return read_until(c, to, n, INT64_MAX);
}

/* Bytes left over on a serial line stand before the first answer: skip to what can only be an Rversion. */
static bool sync_first(struct p9 *c, uint8_t head[WIRE_P9_HEAD], int64_t end)
{
	if (!read_until(c, head, WIRE_P9_HEAD, end))
		return false;
	while (wire_p9_get(head, 4) > 64 || wire_p9_get(head, 4) < WIRE_P9_HEAD + 6 ||
	       head[4] != WIRE_P9_TVERSION + 1 || wire_p9_get(head + 5, 2) != WIRE_P9_NOTAG) {
		if (c->may_frame && !memcmp(head,
					    "\xf5"
					    "FTM",
					    4)) {
			c->frames_came = true;
			return false;
		}
		memmove(head, head + 1, WIRE_P9_HEAD - 1);
		if (!read_until(c, head + WIRE_P9_HEAD - 1, 1, end))
			return false;
	}
	return true;
}

static void all_dead(struct p9 *c)
{
	pthread_mutex_lock(&c->lock);
	c->dead = true;
	for (uint32_t i = 0; i < P9_TAGS; i++) {
		struct p9_tag *t = &c->tag[i];

		if (t->state == P9_NOTIFIES) {
			t->state = P9_FREE;
			t->ready(t->arg);
		}
	}
	pthread_cond_broadcast(&c->answered);
	pthread_mutex_unlock(&c->lock);
}

/* Put an answer where it belongs; one nobody waits for is dropped. */
static void deliver(struct p9 *c, uint32_t tag, uint8_t type, const uint8_t *body, uint32_t len)
{
	void (*ready)(void *) = NULL;
	void *arg = NULL;

	pthread_mutex_lock(&c->lock);
	if (tag < P9_TAGS) {
		struct p9_tag *t = &c->tag[tag];

		if (t->state == P9_WAITS) {
			memcpy(t->body, body, len);
			t->len = len;
			t->type = type;
			t->state = P9_DONE;
			pthread_cond_broadcast(&c->answered);
		} else if (t->state == P9_NOTIFIES) {
			ready = t->ready;
			arg = t->arg;
			t->state = P9_FREE;
		} else if (t->state == P9_ABANDONED) {
			t->state = P9_FREE;
			pthread_cond_broadcast(&c->answered);
		}
	}
	pthread_mutex_unlock(&c->lock);
	if (ready)
		ready(arg);
}

static void *receiver(void *arg)
{
	struct p9 *c = arg;
	uint8_t head[WIRE_P9_HEAD], *body = malloc(P9_MSIZE);

	while (body && !c->stop) {
		uint32_t size;

		if (!read_all(c, head, sizeof(head)))
			break;
		size = wire_p9_get(head, 4);
		if (size < WIRE_P9_HEAD || size > c->msize) {
			diag_error("%s: does not speak 9P: a message of %u bytes", c->name, size);
			break;
		}
		if (!read_all(c, body, size - WIRE_P9_HEAD))
			break;
		deliver(c, wire_p9_get(head + 5, 2), head[4], body, size - WIRE_P9_HEAD);
	}
	all_dead(c);
	free(body);
	return NULL;
}

int p9_call_begin(struct p9_call *m, struct p9 *c, uint8_t type)
{
	*m = (struct p9_call){
		.c = c, .buf = malloc(P9_MSIZE), .len = WIRE_P9_HEAD, .type = type, .tag = -1};
	if (!m->buf)
		return -ENOMEM;
	m->buf[4] = type;
	return 0;
}

void p9_call_end(struct p9_call *m)
{
	free(m->buf);
	m->buf = NULL;
}

void p9_call_u(struct p9_call *m, uint64_t v, uint32_t bytes)
{
	if (m->len + bytes > m->c->msize) {
		m->bad = true;
		return;
	}
	wire_p9_put(m->buf + m->len, v, bytes);
	m->len += bytes;
}

void p9_call_text(struct p9_call *m, const char *s, size_t n)
{
	if (n > 0xffff || m->len + 2 + n > m->c->msize) {
		m->bad = true;
		return;
	}
	p9_call_u(m, n, 2);
	memcpy(m->buf + m->len, s, n);
	m->len += (uint32_t)n;
}

uint64_t p9_call_get(struct p9_call *m, uint32_t bytes)
{
	uint64_t v;

	if (bytes > m->len - m->at) {
		m->bad = true;
		return 0;
	}
	v = wire_p9_get(m->buf + m->at, bytes < 4 ? bytes : 4);
	if (bytes == 8)
		v |= (uint64_t)wire_p9_get(m->buf + m->at + 4, 4) << 32;
	m->at += bytes;
	return v;
}

static int take_tag(struct p9 *c)
{
	for (uint32_t i = 0; i < P9_TAGS; i++)
		if (c->tag[i].state == P9_FREE)
			return (int)i;
	return -EAGAIN;
}

/* Give the message a tag that `like` says the rest of, and send it. The tag, or a negative errno value. */
static int send_call(struct p9_call *m, struct p9_tag like)
{
	struct p9 *c = m->c;
	bool sent;
	int tag;

	if (m->bad)
		return -EMSGSIZE;
	pthread_mutex_lock(&c->lock);
	while (!c->dead && (tag = take_tag(c)) < 0)
		pthread_cond_wait(&c->answered, &c->lock);
	if (c->dead) {
		pthread_mutex_unlock(&c->lock);
		return -EIO;
	}
	c->tag[tag] = like;
	pthread_mutex_unlock(&c->lock);
	wire_p9_put(m->buf, m->len, 4);
	wire_p9_put(m->buf + 5, (uint32_t)tag, 2);
	pthread_mutex_lock(&c->out);
	sent = io_write_all(c->fd, m->buf, m->len, P9_SILENT_MS);
	pthread_mutex_unlock(&c->out);
	if (!sent)
		all_dead(c);
	return tag;
}

/* Called with the lock, which it gives away meanwhile: up to P9_POLL_MS, less if an answer comes. */
static void wait_a_moment(struct p9 *c)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += P9_POLL_MS * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_cond_timedwait(&c->answered, &c->lock, &until);
}

/* Nothing was heard for so long. Called with the lock, which it gives away meanwhile. */
static void give_up_if_silent(struct p9 *c, int64_t silent_ms)
{
	if (silent_ms < c->patience_ms || c->dead)
		return;
	pthread_mutex_unlock(&c->lock);
	diag_error("%s: no answer for %lld s", c->name, (long long)c->patience_ms / 1000);
	all_dead(c);
	pthread_mutex_lock(&c->lock);
}

/* Wait for the answer, at most until `end`. Called with the lock. true: the caller was asked to stop. */
static bool wait_answer(struct p9 *c, const struct p9_tag *t, bool patient, int64_t end)
{
	int64_t silent = 0, heard = -1, last = io_now_ms(), now;

	while (t->state == P9_WAITS && !c->dead && io_now_ms() < end) {
		wait_a_moment(c);
		/* The clock goes on while this process is stopped, and an answer may lie there when it runs again. */
		now = io_now_ms();
		silent += now - last < P9_MOMENT_MAX_MS ? now - last : P9_MOMENT_MAX_MS;
		last = now;
		now = __atomic_load_n(&c->heard_ms, __ATOMIC_RELAXED);
		silent = now == heard ? silent : 0;
		heard = now;
		if (t->state != P9_WAITS)
			break;
		if (c->told_to_stop && c->told_to_stop() && (end == INT64_MAX || stop_at_once()))
			return true;
		if (!patient)
			give_up_if_silent(c, silent);
	}
	return false;
}

/*
 * The call is not wanted any more. Called with the lock. true: the target knows and will not answer it; what came before
 * that counts.
 */
static bool flush(struct p9 *c, uint32_t tag)
{
	struct p9_tag *t;
	struct p9_call m;
	bool done;
	int mine;

	pthread_mutex_unlock(&c->lock);
	mine = p9_call_begin(&m, c, WIRE_P9_TFLUSH);
	if (!mine) {
		p9_call_u(&m, tag, 2);
		mine = send_call(&m, (struct p9_tag){.state = P9_WAITS, .body = m.buf});
	}
	pthread_mutex_lock(&c->lock);
	if (mine < 0) {
		p9_call_end(&m);
		return false;
	}
	t = &c->tag[mine];
	wait_answer(c, t, true, io_now_ms() + c->flush_ms);
	done = t->state == P9_DONE;
	__atomic_store_n(&c->silent_ms, done ? 0 : io_now_ms(), __ATOMIC_RELAXED);
	t->state = done || c->dead ? P9_FREE : P9_ABANDONED;
	p9_call_end(&m);
	return done;
}

/* What an answer says of the call. */
static int answer_error(struct p9_call *m, uint8_t type)
{
	uint32_t n;

	if (type == m->type + 1)
		return 0;
	if (type != WIRE_P9_RERROR)
		return -EPROTO;
	n = (uint32_t)p9_call_get(m, 2);
	if (n > m->len - m->at)
		n = m->len - m->at;
	return -fathom_p9_error_number((const char *)m->buf + m->at, n);
}

/* Asked to stop, and the target did not even answer that a call is not wanted any more: nothing new is asked. */
static bool is_pointless(struct p9 *c)
{
	int64_t silent = __atomic_load_n(&c->silent_ms, __ATOMIC_RELAXED);

	return silent && __atomic_load_n(&c->heard_ms, __ATOMIC_RELAXED) < silent &&
	       c->told_to_stop && c->told_to_stop();
}

int p9_call_send(struct p9_call *m)
{
	if (is_pointless(m->c))
		return -EINTR;
	m->tag = send_call(m, (struct p9_tag){.state = P9_WAITS, .body = m->buf});
	return m->tag < 0 ? m->tag : 0;
}

int p9_call_wait(struct p9_call *m, bool patient)
{
	struct p9 *c = m->c;
	struct p9_tag *t = &c->tag[m->tag];
	bool known; /* that no answer will come any more */
	int ret;

	pthread_mutex_lock(&c->lock);
	known = !wait_answer(c, t, patient, INT64_MAX) ||
		(!is_pointless(c) && flush(c, (uint32_t)m->tag));
	m->at = 0;
	m->len = t->len;
	if (t->state == P9_DONE)
		ret = answer_error(m, t->type);
	else
		ret = c->dead ? -EIO : -EINTR;
	t->state = t->state == P9_DONE || known || c->dead ? P9_FREE : P9_ABANDONED;
	pthread_cond_broadcast(&c->answered);
	pthread_mutex_unlock(&c->lock);
	return ret;
}

int p9_call_run(struct p9_call *m, bool patient)
{
	int ret = p9_call_send(m);

	return ret ? ret : p9_call_wait(m, patient);
}

int p9_call_drop(struct p9_call *m)
{
	int tag = send_call(m, (struct p9_tag){.state = P9_ABANDONED});

	return tag < 0 ? tag : 0;
}

int p9_call_notify(struct p9_call *m, uint32_t fid, void (*ready)(void *arg), void *arg)
{
	int tag = send_call(
		m, (struct p9_tag){.state = P9_NOTIFIES, .ready = ready, .arg = arg, .fid = fid});

	return tag < 0 ? tag : 0;
}

uint32_t p9_new_fid(struct p9 *c)
{
	uint32_t fid;

	pthread_mutex_lock(&c->lock);
	fid = ++c->next_fid;
	if (fid == WIRE_P9_NOFID - 1)
		c->next_fid = P9_ROOT;
	pthread_mutex_unlock(&c->lock);
	return fid;
}

static bool send_version(struct p9 *c)
{
	struct p9_call m;
	bool ok;

	if (p9_call_begin(&m, c, WIRE_P9_TVERSION))
		return false;
	p9_call_u(&m, P9_MSIZE, 4);
	p9_call_text(&m, WIRE_P9_VERSION, strlen(WIRE_P9_VERSION));
	wire_p9_put(m.buf, m.len, 4);
	wire_p9_put(m.buf + 5, WIRE_P9_NOTAG, 2);
	ok = io_write_all(c->fd, m.buf, m.len, P9_SILENT_MS);
	p9_call_end(&m);
	return ok;
}

/* A target may wait for the rest of a message whose sender died: what is no message ends any. */
static bool send_nonsense(struct p9 *c)
{
	uint8_t nonsense[8192 + WIRE_P9_HEAD];

	memset(nonsense, 0xff, sizeof(nonsense));
	return io_write_all(c->fd, nonsense, sizeof(nonsense), P9_SILENT_MS);
}

/* The first message and its answer, before the receiver runs. */
static int negotiate(struct p9 *c)
{
	uint8_t head[WIRE_P9_HEAD], body[64];
	uint32_t size;

	if (!send_version(c))
		return -EPROTO;
	if (!sync_first(c, head, io_now_ms() + 1500) &&
	    (c->frames_came || !send_nonsense(c) || !send_version(c) ||
	     !sync_first(c, head, io_now_ms() + 20000)))
		return -EPROTO;
	size = wire_p9_get(head, 4) - WIRE_P9_HEAD;
	if (!read_until(c, body, size, io_now_ms() + 5000) ||
	    wire_p9_get(body + 4, 2) != strlen(WIRE_P9_VERSION) ||
	    size != 6 + strlen(WIRE_P9_VERSION) ||
	    memcmp(body + 6, WIRE_P9_VERSION, strlen(WIRE_P9_VERSION)) != 0)
		return -EPROTO;
	c->msize = wire_p9_get(body, 4);
	return c->msize < WIRE_P9_MSIZE_MIN || c->msize > P9_MSIZE ? -EPROTO : 0;
}

static int attach_root(struct p9 *c)
{
	struct p9_call m;
	int ret = p9_call_begin(&m, c, WIRE_P9_TATTACH);

	if (ret)
		return ret;
	p9_call_u(&m, P9_ROOT, 4);
	p9_call_u(&m, WIRE_P9_NOFID, 4);
	p9_call_text(&m, "root", 4);
	p9_call_text(&m, "", 0);
	ret = p9_call_run(&m, false);
	p9_call_end(&m);
	return ret;
}

/* What a connection leads to, the same for all that lead there; 0: nothing is known of it. */
static size_t peer_key(int fd, char *key, size_t size)
{
	struct sockaddr_storage at;
	socklen_t len = sizeof(at), cred_len = sizeof(struct ucred);
	struct ucred who;
	size_t n = 0;

	if (getpeername(fd, (struct sockaddr *)&at, &len))
		return 0; /* a serial line, which is locked as a file */
	if (at.ss_family == AF_UNIX && !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &cred_len))
		return (size_t)snprintf(key, size, "pid %d", (int)who.pid);
	for (socklen_t i = 0; i < len && n + 2 < size; i++)
		n += (size_t)snprintf(key + n, size - n, "%02x", ((uint8_t *)&at)[i]);
	return n;
}

/* A busy target may answer the question for frames when it has been asked without them: then it ignores all else. */
static int reach(struct p9 *c, int fd, bool line)
{
	int err;

	for (int tries = 3; tries; tries--) {
		c->fd = line ? line_open(fd, -1) : fd;
		c->framed = c->fd != fd;
		c->may_frame = line && !c->framed;
		c->frames_came = false;
		fcntl(c->fd, F_SETFL, fcntl(c->fd, F_GETFL) | O_NONBLOCK);
		/* Without frames nothing says in which order datagrams were sent. */
		err = !c->framed && line_is_datagrams(c->fd) ? -EPROTO : negotiate(c);
		if (!c->frames_came || stop_came())
			break;
	}
	return err;
}

static struct p9 *attach(int fd, const char *name, bool line)
{
	struct p9 *c = calloc(1, sizeof(*c));
	int err;

	if (!c) {
		close(fd);
		return NULL;
	}
	c->key_len = peer_key(fd, c->key, sizeof(c->key));
	c->name = strdup(name);
	c->msize = P9_MSIZE;
	c->claim = -1;
	p9_patience(c, P9_SILENT_MS, P9_FLUSH_MS);
	pthread_mutex_init(&c->lock, NULL);
	pthread_mutex_init(&c->out, NULL);
	pthread_cond_init(&c->answered, NULL);
	p9_stop_when(c, stop_came);
	err = reach(c, fd, line);
	if (err && stop_came()) {
		/* nobody waits for it any more */
	} else if (err) {
		diag_error("%s: no 9P answer: check that the control tree is served there and that "
			   "no other client uses the line",
			   name);
	} else if ((err = -pthread_create(&c->thread, NULL, receiver, c))) {
		diag_error("%s: cannot start a thread: %s", name, strerror(-err));
	} else if ((err = attach_root(c))) {
		if (!stop_came())
			diag_error("%s: 9P attach: %s", name, strerror(-err));
		p9_close(c);
		return NULL;
	}
	p9_stop_when(c, NULL);
	if (!err)
		return c;
	close(c->fd);
	free(c->name);
	free(c);
	return NULL;
}

struct p9 *p9_attach(int fd, const char *name)
{
	return attach(fd, name, false);
}

struct p9 *p9_attach_line(int fd, const char *name)
{
	return attach(fd, name, true);
}

bool p9_is_framed(const struct p9 *c)
{
	return c->framed;
}

void p9_stop_when(struct p9 *c, bool (*told_to_stop)(void))
{
	c->told_to_stop = told_to_stop;
}

void p9_patience(struct p9 *c, int64_t silent_ms, int64_t flush_ms)
{
	c->patience_ms = silent_ms;
	c->flush_ms = flush_ms;
}

int p9_claim(struct p9 *c)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	size_t n = c->key_len;

	if (!n)
		return 0;
	memcpy(name.sun_path + 15, c->key, n);
	/* A name in the abstract space is given back by the kernel when its owner ends. */
	memcpy(name.sun_path + 1, "fathom-record ", 14);
	c->claim = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->claim < 0)
		return 0;
	return bind(c->claim, (struct sockaddr *)&name,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 15 + n)) &&
			       errno == EADDRINUSE
		       ? -EBUSY
		       : 0;
}

void p9_close(struct p9 *c)
{
	if (!c)
		return;
	if (c->claim >= 0)
		close(c->claim);
	c->stop = true;
	shutdown(c->fd, SHUT_RDWR);
	pthread_join(c->thread, NULL);
	close(c->fd);
	free(c->name);
	free(c);
}

bool p9_is_dead(struct p9 *c)
{
	bool dead;

	pthread_mutex_lock(&c->lock);
	dead = c->dead;
	pthread_mutex_unlock(&c->lock);
	return dead;
}

uint32_t p9_waiting(struct p9 *c)
{
	uint32_t n = 0;

	pthread_mutex_lock(&c->lock);
	for (uint32_t i = 0; i < P9_TAGS; i++)
		n += c->tag[i].state == P9_WAITS || c->tag[i].state == P9_DONE;
	pthread_mutex_unlock(&c->lock);
	return n;
}
