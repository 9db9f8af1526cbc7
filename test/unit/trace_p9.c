/* SPDX-License-Identifier: MIT */
/* trace_p9.c -- the 9P server: a session, reads that wait, flush, messages that are wrong. */
#include <errno.h>
#include <stdint.h>
#include "harness.h"
#define CREATE_TRACE_POINTS
#include "fathom/events/sched.h"
#include "fathom/p9.h"
#include "fathom/trace.h"
#include "wire/p9.h"

static char memory[8 << 20] __attribute__((aligned(4096)));
static struct fathom_p9 server;
static uint8_t out[65536]; /* what the server sent since the last look */
static size_t out_len;
static uint8_t msg[16384];
static uint32_t len;

static void sent(void *arg, const void *data, size_t bytes)
{
	(void)arg;
	if (out_len + bytes <= sizeof(out))
		memcpy(out + out_len, data, bytes);
	out_len += bytes;
}

static void begin(uint8_t type, uint16_t tag)
{
	len = WIRE_P9_HEAD;
	msg[4] = type;
	wire_p9_put(msg + 5, tag, 2);
}

static void num(uint64_t v, uint32_t bytes)
{
	wire_p9_put(msg + len, v, bytes);
	len += bytes;
}

static void str(const char *s)
{
	num(strlen(s), 2);
	memcpy(msg + len, s, strlen(s));
	len += (uint32_t)strlen(s);
}

/* Send it, in portions of a few bytes. The type of the answer, 0 if there was none. */
static uint8_t answer(void)
{
	out_len = 0;
	wire_p9_put(msg, len, 4);
	for (uint32_t at = 0; at < len; at += 5)
		fathom_p9_input(&server, msg + at, len - at < 5 ? len - at : 5);
	if (out_len >= WIRE_P9_HEAD)
		CHECK_EQ(wire_p9_get(out, 4), out_len);
	return out_len ? out[4] : 0;
}

/* The errno value of an Rerror, 0 of another answer. */
static int error(void)
{
	return out_len && out[4] == WIRE_P9_RERROR
		       ? fathom_p9_error_number((char *)out + 9, wire_p9_get(out + 7, 2))
		       : 0;
}

static void start(void)
{
	struct fathom_config config = {.memory = memory,
				       .memory_bytes = sizeof(memory),
				       .nr_cpus = 1,
				       .pages_per_cpu = 64};

	fathom_exit();
	CHECK_EQ(fathom_init(&config), 0);
	fathom_p9_init(&server, sent, NULL);
	begin(WIRE_P9_TVERSION, WIRE_P9_NOTAG);
	num(8192, 4);
	str("9P2000");
	CHECK_EQ(answer(), WIRE_P9_TVERSION + 1);
	begin(WIRE_P9_TATTACH, 1);
	num(0, 4);
	num(WIRE_P9_NOFID, 4);
	str("me");
	str("");
	CHECK_EQ(answer(), WIRE_P9_TATTACH + 1);
}

static uint8_t walk(uint32_t to, const char *a, const char *b)
{
	begin(WIRE_P9_TWALK, 2);
	num(0, 4);
	num(to, 4);
	num(b ? 2 : a ? 1 : 0, 2);
	if (a)
		str(a);
	if (b)
		str(b);
	return answer();
}

static uint8_t open_fid(uint32_t fid, uint8_t mode)
{
	begin(WIRE_P9_TOPEN, 3);
	num(fid, 4);
	num(mode, 1);
	return answer();
}

static uint8_t read_fid(uint16_t tag, uint32_t fid, uint64_t offset, uint32_t count)
{
	begin(WIRE_P9_TREAD, tag);
	num(fid, 4);
	num(offset, 8);
	num(count, 4);
	return answer();
}

static uint8_t write_fid(uint32_t fid, const char *text)
{
	begin(WIRE_P9_TWRITE, 4);
	num(fid, 4);
	num(0, 8);
	num(strlen(text), 4);
	memcpy(msg + len, text, strlen(text));
	len += (uint32_t)strlen(text);
	return answer();
}

static void clunk(uint32_t fid)
{
	begin(WIRE_P9_TCLUNK, 5);
	num(fid, 4);
	CHECK_EQ(answer(), WIRE_P9_TCLUNK + 1);
}

TEST(session)
{
	start();
	CHECK_EQ(walk(7, "tracing_on", NULL), WIRE_P9_TWALK + 1);
	CHECK_EQ(open_fid(7, WIRE_P9_ORDWR), WIRE_P9_TOPEN + 1);
	CHECK_EQ(read_fid(9, 7, 0, 100), WIRE_P9_TREAD + 1);
	CHECK_EQ(wire_p9_get(out + 7, 4), 2);
	CHECK(!memcmp(out + 11, "1\n", 2));
	CHECK_EQ(read_fid(9, 7, 2, 100), WIRE_P9_TREAD + 1);
	CHECK_EQ(wire_p9_get(out + 7, 4), 0);
	CHECK_EQ(write_fid(7, "0\n"), WIRE_P9_TWRITE + 1);
	CHECK_EQ(fathom_tracing_is_on(), 0);
	CHECK_EQ(write_fid(7, "x\n"), WIRE_P9_RERROR);
	CHECK_EQ(error(), EINVAL);
	clunk(7);
	CHECK_EQ(read_fid(9, 7, 0, 100), WIRE_P9_RERROR);
	CHECK_EQ(error(), EBADF);
	CHECK_EQ(walk(7, "nosuch", NULL), WIRE_P9_RERROR);
	CHECK_EQ(error(), ENOENT);
	CHECK_EQ(walk(7, "events", "nosuch"), WIRE_P9_TWALK + 1); /* half of the way: no fid */
	CHECK_EQ(wire_p9_get(out + 7, 2), 1);
	CHECK_EQ(open_fid(7, WIRE_P9_OREAD), WIRE_P9_RERROR);
}

/* Directory reads give whole entries; together all of them. */
TEST(directory)
{
	uint64_t at = 0;
	int entries = 0, trips = 0;

	start();
	CHECK_EQ(walk(1, NULL, NULL), WIRE_P9_TWALK + 1);
	CHECK_EQ(open_fid(1, WIRE_P9_OREAD), WIRE_P9_TOPEN + 1);
	do {
		uint32_t n, p;

		CHECK_EQ(read_fid(1, 1, at, 300), WIRE_P9_TREAD + 1);
		n = wire_p9_get(out + 7, 4);
		CHECK(n <= 300);
		for (p = 0; p + 2 <= n; p += 2 + wire_p9_get(out + 11 + p, 2))
			entries++;
		CHECK_EQ(p, n);
		at += n;
		trips++;
		if (!n)
			break;
	} while (trips < 100);
	CHECK(entries >= 28 && trips > 5);
	CHECK_EQ(read_fid(1, 1, 17, 300), WIRE_P9_RERROR); /* neither 0 nor where it stopped */
}

/* An entry that exactly fills what was asked for is sent; one byte less, and it is not. */
TEST(directory_entry_that_just_fits)
{
	uint32_t first;

	start();
	CHECK_EQ(walk(1, NULL, NULL), WIRE_P9_TWALK + 1);
	CHECK_EQ(open_fid(1, WIRE_P9_OREAD), WIRE_P9_TOPEN + 1);
	CHECK_EQ(read_fid(1, 1, 0, 4096), WIRE_P9_TREAD + 1);
	first = 2 + (uint32_t)wire_p9_get(out + 11, 2);
	CHECK_EQ(read_fid(1, 1, 0, first), WIRE_P9_TREAD + 1);
	CHECK_EQ(wire_p9_get(out + 7, 4), first);
}

TEST(walks_that_are_refused)
{
	start();
	CHECK_EQ(walk(1, "events", NULL), WIRE_P9_TWALK + 1);
	CHECK_EQ(open_fid(1, WIRE_P9_OREAD), WIRE_P9_TOPEN + 1);
	begin(WIRE_P9_TWALK, 2); /* from a fid that is open */
	num(1, 4);
	num(2, 4);
	num(0, 2);
	CHECK_EQ(answer(), WIRE_P9_RERROR);
	CHECK_EQ(error(), EBADF);
	begin(WIRE_P9_TWALK, 2); /* of more names than a walk may have */
	num(0, 4);
	num(3, 4);
	num(WIRE_P9_WALK_MAX + 1, 2);
	for (uint32_t i = 0; i <= WIRE_P9_WALK_MAX; i++)
		str(".");
	CHECK_EQ(answer(), WIRE_P9_RERROR);
	CHECK_EQ(error(), EINVAL);
}

TEST(fids_and_sizes)
{
	start();
	begin(WIRE_P9_TATTACH, 1); /* a fid that is in use */
	num(0, 4);
	num(WIRE_P9_NOFID, 4);
	str("me");
	str("");
	CHECK_EQ(answer(), WIRE_P9_RERROR);
	CHECK_EQ(fathom_event_enable("sched_switch", 1), 1);
	for (int i = 0; i < 500; i++) /* a file of some 50 KiB */
		trace_sched_switch("a", 1, 120, 1, "b", i, 120);
	CHECK_EQ(walk(1, "trace", NULL), WIRE_P9_TWALK + 1);
	CHECK_EQ(open_fid(1, WIRE_P9_OREAD), WIRE_P9_TOPEN + 1);
	CHECK_EQ(read_fid(1, 1, 0, UINT32_MAX), WIRE_P9_TREAD + 1);
	CHECK(out_len > 4096 && out_len <= 8192);
	CHECK_EQ(walk(2, "events", NULL), WIRE_P9_TWALK + 1);
	CHECK_EQ(open_fid(2, WIRE_P9_OREAD), WIRE_P9_TOPEN + 1);
	CHECK_EQ(read_fid(1, 2, 0, UINT32_MAX), WIRE_P9_TREAD + 1);
	CHECK(out_len <= 8192);
}

/* A read of trace_pipe waits until something comes; a flushed one is never answered. */
TEST(waiting)
{
	start();
	CHECK_EQ(walk(1, "trace_pipe", NULL), WIRE_P9_TWALK + 1);
	CHECK_EQ(open_fid(1, WIRE_P9_OREAD), WIRE_P9_TOPEN + 1);
	CHECK_EQ(read_fid(11, 1, WIRE_P9_NOWAIT, 4096), WIRE_P9_RERROR);
	CHECK_EQ(error(), EAGAIN);
	CHECK_EQ(read_fid(11, 1, 0, 4096), 0);
	CHECK(fathom_p9_tick(&server));
	CHECK_EQ(out_len, 0);
	/* The tree answers others meanwhile. */
	CHECK_EQ(walk(2, "trace_marker", NULL), WIRE_P9_TWALK + 1);
	CHECK_EQ(open_fid(2, WIRE_P9_OWRITE), WIRE_P9_TOPEN + 1);
	CHECK_EQ(write_fid(2, "hello"), WIRE_P9_TWRITE + 1);
	out_len = 0;
	fathom_p9_tick(&server);
	CHECK_EQ(out[4], WIRE_P9_TREAD + 1);
	CHECK_EQ(wire_p9_get(out + 5, 2), 11);
	out[out_len] = '\0';
	CHECK(strstr((char *)out + 11, "tracing_mark_write: hello\n") != NULL);
	CHECK(!fathom_p9_tick(&server));

	CHECK_EQ(read_fid(12, 1, 0, 4096), 0);
	begin(WIRE_P9_TFLUSH, 13);
	num(12, 2);
	CHECK_EQ(answer(), WIRE_P9_TFLUSH + 1);
	CHECK(!fathom_p9_tick(&server));
	CHECK_EQ(write_fid(2, "more"), WIRE_P9_TWRITE + 1);
	out_len = 0;
	fathom_p9_tick(&server);
	CHECK_EQ(out_len, 0);

	/* POLL: told without data, once it is there. */
	CHECK_EQ(read_fid(14, 1, WIRE_P9_POLL, 0), WIRE_P9_TREAD + 1);
	CHECK_EQ(read_fid(14, 1, WIRE_P9_NOWAIT, 4096), WIRE_P9_TREAD + 1);
	CHECK_EQ(read_fid(14, 1, WIRE_P9_POLL, 0), 0);
	clunk(1); /* under the waiting poll: it ends with an error */
	out_len = 0;
	fathom_p9_tick(&server);
	CHECK_EQ(error(), EBADF);
}

TEST(instances)
{
	start();
	CHECK_EQ(walk(1, "instances", NULL), WIRE_P9_TWALK + 1);
	begin(WIRE_P9_TCREATE, 1);
	num(1, 4);
	str("foo");
	num(WIRE_P9_DIR | 0750, 4);
	num(0, 1);
	CHECK_EQ(answer(), WIRE_P9_TCREATE + 1);
	clunk(1);
	CHECK_EQ(walk(1, "instances", "foo"), WIRE_P9_TWALK + 1);
	begin(WIRE_P9_TREMOVE, 1);
	num(1, 4);
	CHECK_EQ(answer(), WIRE_P9_TREMOVE + 1);
	CHECK_EQ(walk(1, "instances", "foo"), WIRE_P9_TWALK + 1);
	CHECK_EQ(wire_p9_get(out + 7, 2), 1);
	CHECK_EQ(walk(1, "tracing_on", NULL), WIRE_P9_TWALK + 1);
	begin(WIRE_P9_TREMOVE, 1);
	num(1, 4);
	CHECK_EQ(answer(), WIRE_P9_RERROR);
	CHECK_EQ(error(), EPERM);
}

/* Garbage in front, sizes that lie, strings that reach out of the message, more fids than there are. */
TEST(hostile)
{
	uint8_t junk[512];

	start();
	memset(junk, 0xff, sizeof(junk));
	out_len = 0;
	fathom_p9_input(&server, junk, sizeof(junk));
	CHECK_EQ(out_len, 0);
	begin(WIRE_P9_TVERSION, WIRE_P9_NOTAG);
	num(8192, 4);
	str("9P2000");
	CHECK_EQ(answer(), WIRE_P9_TVERSION + 1);      /* a client can always start over */
	CHECK_EQ(walk(3, NULL, NULL), WIRE_P9_RERROR); /* but everything it had is gone */

	start();
	begin(WIRE_P9_TWALK, 1);
	num(0, 4);
	num(1, 4);
	num(1, 2);
	num(60000, 2); /* a name of so many bytes */
	CHECK_EQ(answer(), WIRE_P9_RERROR);
	begin(WIRE_P9_TWALK, 1);
	num(0, 4);
	num(1, 4);
	num(65535, 2);
	CHECK_EQ(answer(), WIRE_P9_RERROR);
	begin(WIRE_P9_TWRITE, 1);
	num(0, 4);
	num(0, 8);
	num(0xffffffff, 4);
	CHECK_EQ(answer(), WIRE_P9_RERROR);
	begin(200, 1);
	CHECK_EQ(answer(), WIRE_P9_RERROR);
	for (uint32_t i = 1; i < FATHOM_P9_FIDS; i++)
		CHECK_EQ(walk(i, NULL, NULL), WIRE_P9_TWALK + 1);
	CHECK_EQ(walk(100000, NULL, NULL), WIRE_P9_RERROR);
	CHECK_EQ(error(), ENFILE);
	fathom_p9_reset(&server);
}

TEST_MAIN
