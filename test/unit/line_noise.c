/* SPDX-License-Identifier: MIT */
/* line_noise.c -- 9P on a line that drops, doubles and flips 1 byte in 500 each way, with a console's text on it: both halves. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <fcntl.h>
#include <poll.h>
#include "harness.h"
#include "capture/p9.h"
#include "fathom/p9.h"
#include "fathom/trace.h"
#include "wire/frame.h"

/* `make line-noise` runs more of both. */
static unsigned int first_seed = 1, last_seed = 2, operations = 100;

static char memory[64 << 20] __attribute__((aligned(4096)));

/* The target's end of the line, and what the line does to the bytes. */
struct target {
	int fd;
	uint32_t random;
	uint32_t lines; /* of console text that it has printed */
	struct fathom_p9 tree;
	pthread_t thread;
};

static uint32_t roll(struct target *t)
{
	t->random = t->random * 1664525u + 1013904223u;
	return t->random >> 8;
}

#define ONE_IN 500
/* What arrives of the bytes; `to` has room for twice as many. */
static size_t spoil(struct target *t, const uint8_t *from, size_t bytes, uint8_t *to)
{
	size_t n = 0;

	for (size_t i = 0; i < bytes; i++) {
		uint32_t dice = roll(t);

		to[n++] = from[i];
		if (dice % ONE_IN)
			continue;
		switch (roll(t) % 3) {
		case 0: n--; break;
		case 1: to[n] = to[n - 1], n++; break;
		default: to[n - 1] ^= (uint8_t)(1u << roll(t) % 8);
		}
	}
	return n;
}

static void put_noisy(struct target *t, const void *data, size_t bytes)
{
	static uint8_t noisy[2 * 16384];
	size_t n = spoil(t, data, bytes, noisy), at = 0;

	while (at < n) {
		ssize_t put =
			send(t->fd, noisy + at, n - at, MSG_NOSIGNAL); /* the host may have left */

		if (put <= 0)
			return;
		at += (size_t)put;
	}
}

/* A console prints when it likes, but not into a frame. */
static void target_send(void *arg, const void *data, size_t bytes)
{
	struct target *t = arg;

	if (roll(t) % 3 == 0) {
		char line[48];
		int n = snprintf(line, sizeof(line), "[%u] console text\r\n", t->lines++);

		put_noisy(t, line, (size_t)n);
	}
	put_noisy(t, data, bytes);
}

/* What somebody typed. */
static void target_text(void *arg, const void *data, size_t bytes)
{
	(void)arg, (void)data, (void)bytes;
}

static void *target_run(void *arg)
{
	struct target *t = arg;
	uint8_t buf[512], noisy[1024];

	for (;;) {
		struct pollfd p = {t->fd, POLLIN, 0};
		ssize_t n;

		if (!poll(&p, 1, fathom_p9_tick(&t->tree) ? 5 : -1))
			continue;
		n = read(t->fd, buf, sizeof(buf));
		if (n <= 0)
			return NULL;
		fathom_p9_input(&t->tree, noisy, spoil(t, buf, (size_t)n, noisy));
	}
}

static struct p9 *target_start(struct target *t, uint32_t seed)
{
	struct fathom_config config = {.memory = memory,
				       .memory_bytes = sizeof(memory),
				       .nr_cpus = 16, /* threads, in this port */
				       .pages_per_cpu = 192};
	int pair[2];

	memset(t, 0, sizeof(*t));
	fathom_exit();
	CHECK_EQ(fathom_init(&config), 0);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	t->fd = pair[1];
	t->random = seed * 2654435761u;
	fathom_p9_init(&t->tree, target_send, t);
	t->tree.text = target_text;
	CHECK_EQ(pthread_create(&t->thread, NULL, target_run, t), 0);
	return p9_attach_line(pair[0], "line");
}

static void target_end(struct target *t, struct p9 *c)
{
	p9_close(c);
	pthread_join(t->thread, NULL);
	close(t->fd);
}

static size_t read_all(struct p9 *c, const char *path, char *to, size_t room)
{
	size_t n = 0;
	uint32_t fid;
	struct p9_stat st;

	if (p9_open(c, path, O_RDONLY, &fid, &st))
		return 0;
	while (n < room) {
		ssize_t got = p9_read(c, fid, to + n, room - n, n, false);

		if (got <= 0)
			break;
		n += (size_t)got;
	}
	p9_clunk(c, fid);
	return n;
}

/* Each operation takes effect once, in order; a long answer comes out byte for byte. */
static void one_seed(uint32_t seed)
{
	static char text[4 << 20], plain[65536], noisy[65536];
	struct target *t = malloc(sizeof(*t));
	struct p9 *c = target_start(t, seed);
	size_t n, want;
	char *at = text;

	CHECK(c);
	if (!c)
		return;
	for (unsigned int i = 0; i < operations; i++) {
		char mark[700];
		int len = snprintf(mark, sizeof(mark), "mark %u.", i);

		if (i % 8 == 0) { /* a request of many frames */
			memset(mark + len, 'x', sizeof(mark) - (size_t)len);
			len = sizeof(mark);
		}
		CHECK_EQ(p9_store(c, "trace_marker", O_WRONLY, mark, (size_t)len), 0);
	}
	n = read_all(c, "trace", text, sizeof(text) - 1);
	text[n] = 0;
	for (unsigned int i = 0; i < operations; i++) {
		char mark[32];

		snprintf(mark, sizeof(mark), ": mark %u.", i);
		at = strstr(at, ": mark ");
		CHECK(at && !strncmp(at, mark, strlen(mark)));
		if (!at)
			break;
		at += strlen(mark);
	}
	CHECK(at && !strstr(at, ": mark "));
	want = (size_t)fathom_get("available_events", plain, sizeof(plain));
	n = read_all(c, "available_events", noisy, sizeof(noisy));
	CHECK_EQ(n, want);
	CHECK(!memcmp(plain, noisy, n));
	CHECK(t->tree.frames.bad || operations < 80); /* the line was bad indeed */
	target_end(t, c);
	free(t);
}

TEST(operations_come_out_right)
{
	for (uint32_t seed = first_seed; seed <= last_seed; seed++)
		one_seed(seed);
}

/* The same server for a client without frames. */
static void plain_send(void *arg, const void *data, size_t bytes)
{
	CHECK_EQ(write(*(int *)arg, data, bytes), (ssize_t)bytes);
}

static void *plain_run(void *arg)
{
	static struct fathom_p9 server;
	uint8_t buf[512];
	ssize_t n;

	fathom_p9_init(&server, plain_send, arg);
	while ((n = read(*(int *)arg, buf, sizeof(buf))) > 0)
		fathom_p9_input(&server, buf, (size_t)n);
	return NULL;
}

TEST(a_client_without_frames)
{
	static const char sync[] = "\xf5\x46\x54\x4d and \xf5"; /* bytes that look like a frame's */
	char text[4096];
	pthread_t thread;
	struct p9 *c;
	int pair[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	CHECK_EQ(pthread_create(&thread, NULL, plain_run, &pair[1]), 0);
	c = p9_attach(pair[0], "plain");
	CHECK(c);
	if (c) {
		CHECK(read_all(c, "current_tracer", text, sizeof(text)) > 0);
		CHECK_EQ(p9_store(c, "trace_marker", O_WRONLY, sync, sizeof(sync) - 1), 0);
		p9_close(c);
	}
	pthread_join(thread, NULL);
	close(pair[1]);
}

/* A target on a good line that is deaf at first, and answers late. */
struct late {
	int fd;
	int64_t deaf_ms, late_ms, due_ms[4096];
	uint8_t byte[4096]; /* on their way, each for late_ms */
	uint32_t put, got;
	bool half_frame; /* the client before left in the middle of one */
};

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void late_send(void *arg, const void *data, size_t bytes)
{
	struct late *t = arg;

	for (size_t i = 0; i < bytes; i++, t->put++) {
		t->byte[t->put % 4096] = ((const uint8_t *)data)[i];
		t->due_ms[t->put % 4096] = now_ms() + t->late_ms;
	}
	CHECK(t->put - t->got <= 4096);
}

static void *late_run(void *arg)
{
	static struct fathom_p9 server;
	static uint8_t buf[WIRE_FRAME_MAX];
	struct late *t = arg;
	ssize_t n;

	fathom_p9_init(&server, late_send, t);
	server.text = target_text;
	if (t->half_frame) {
		fathom_frame_seal(buf, WIRE_FRAME_STREAM, 1, 1, 1000);
		fathom_p9_input(&server, buf, 50);
	}
	usleep((useconds_t)t->deaf_ms * 1000);
	for (;;) {
		struct pollfd p = {t->fd, POLLIN, 0};

		for (; t->got != t->put && t->due_ms[t->got % 4096] <= now_ms(); t->got++)
			if (send(t->fd, &t->byte[t->got % 4096], 1, MSG_NOSIGNAL) != 1)
				return NULL;
		if (!poll(&p, 1, 10))
			continue;
		n = read(t->fd, buf, 512);
		if (n <= 0)
			return NULL;
		fathom_p9_input(&server, buf, (size_t)n);
	}
}

static void reached(struct late t)
{
	pthread_t thread;
	struct p9 *c;
	int pair[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	t.fd = pair[1];
	CHECK_EQ(pthread_create(&thread, NULL, late_run, &t), 0);
	c = p9_attach_line(pair[0], "line");
	CHECK(c && p9_is_framed(c));
	p9_close(c);
	pthread_join(thread, NULL);
	close(pair[1]);
}

TEST(after_a_client_that_left_in_a_frame)
{
	reached((struct late){.half_frame = true});
}

TEST(a_target_that_answers_later_than_it_is_asked_again)
{
	reached((struct late){.late_ms = 900});
}

TEST(a_target_that_answers_when_it_is_asked_without_frames)
{
	reached((struct late){.deaf_ms = 5500});
}

__attribute__((constructor)) static void how_many(void)
{
	if (getenv("SEED"))
		first_seed = last_seed = (unsigned int)atoi(getenv("SEED"));
	operations = getenv("OPERATIONS") ? (unsigned int)atoi(getenv("OPERATIONS")) : operations;
}

TEST_MAIN
