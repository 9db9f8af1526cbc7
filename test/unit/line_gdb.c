/* SPDX-License-Identifier: MIT */
/* line_gdb.c -- a target recorded through a stub of GDB's protocol, of every kind: both halves in one process, which is its own target. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>
#include "harness.h"
#include "capture/record.h"
#include "decode/source.h"
#define CREATE_TRACE_POINTS
#include "fathom/tracepoint.h"
#include "fathom/save.h"
#include "fathom/trace.h"

TRACE_DEFINE(gdb, tick, "n=%u", (U32, n))

#define PAGES 8 /* of the ring: 1,600 ticks */

static char memory[1 << 20] __attribute__((aligned(4096)));
static char dir[] = "/tmp/fathom-gdb-XXXXXX";
static char output[64]; /* the trace */

/* How a stub may be. */
enum {
	QUIET = 1,     /* without acknowledgements */
	BINARY = 2,    /* has the packet `x` */
	REPEATS = 4,   /* abbreviates bytes that are repeated */
	SHORT = 8,     /* sends less than it was asked for */
	NOISY = 16,    /* packets are damaged on the way, both ways */
	PHYSICAL = 32, /* as QEMU's */
	PLAIN = 64,    /* says nothing about itself, and has no vCont */
	MAP = 2048,    /* tells where its RAM is */
	/* hostile ones */
	TOO_LONG = 128, /* sends more than it was asked for */
	NO_HEX = 256,
	CLOSES = 512,	/* goes away while the target runs */
	ENDLESS = 1024, /* sends a packet without an end */
};

struct stub {
	int listen, fd;
	unsigned kind;
	uint32_t random, packets;
	uint32_t written, rounds;
	const char *kernel; /* NULL: this program */
	uint64_t base;	    /* where its memory is, if the user says so */
	bool late;	    /* the target has not said where its beacon is */
	bool detached;	    /* the target was told to run alone */
};

static uint32_t roll(struct stub *s)
{
	s->random = s->random * 1664525u + 1013904223u;
	return s->random >> 8;
}

static void put(struct stub *s, const void *data, size_t n)
{
	if (n && send(s->fd, data, n, MSG_NOSIGNAL) != (ssize_t)n)
		s->kind |= CLOSES;
}

/* A packet of `n` bytes, escaped, its runs abbreviated. */
static size_t pack(const struct stub *s, const char *data, size_t n, char *to)
{
	size_t at = 0;

	to[at++] = '$';
	for (size_t i = 0; i < n;) {
		size_t run = 1;

		while (i + run < n && data[i + run] == data[i] && run < 90)
			run++;
		if (strchr("$#}*", data[i]) && data[i]) {
			to[at++] = '}';
			to[at++] = (char)(data[i++] ^ 0x20);
			continue;
		}
		to[at++] = data[i++];
		/* a count of 6 or 7 more would be # or $ */
		if (s->kind & REPEATS && run > 8) {
			to[at++] = '*';
			to[at++] = (char)(run - 1 + 29);
			i += run - 1;
		}
	}
	return at;
}

static void reply(struct stub *s, const char *data, size_t n)
{
	static char packet[200000];
	size_t len = pack(s, data, n, packet);
	uint8_t sum = 0;
	char ack = '+';

	for (size_t i = 1; i < len; i++)
		sum = (uint8_t)(sum + (uint8_t)packet[i]);
	len += (size_t)sprintf(packet + len, "#%02x", sum);
	if (s->kind & NOISY && ++s->packets % 5 == 0) {
		packet[len - 1] ^= 1;
		put(s, packet, len);
		packet[len - 1] ^= 1;
		if (read(s->fd, &ack, 1) != 1 || ack != '-')
			s->kind |= CLOSES;
	}
	put(s, packet, len);
	if (!(s->kind & QUIET) && read(s->fd, &ack, 1) == 1)
		CHECK_EQ(ack, '+');
}

static void say(struct stub *s, const char *text)
{
	reply(s, text, strlen(text));
}

static void read_memory(struct stub *s, const char *request)
{
	static const char digits[] = "0123456789abcdef";
	unsigned long at = 0, n = 0;
	char bytes[8192], text[2 * sizeof(bytes) + 1] = "b";
	struct iovec to = {bytes, 0}, from;
	bool binary = request[0] == 'x';

	if (sscanf(request + 1, "%lx,%lx", &at, &n) != 2 || n > sizeof(bytes)) {
		say(s, "E22");
		return;
	}
	if (s->kind & SHORT && n > 7)
		n = n / 2 + roll(s) % (n / 2);
	from = (struct iovec){(void *)at, n};
	to.iov_len = n;
	if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != (ssize_t)n) {
		say(s, at & 1 ? "E.there is no memory" : "E14");
		return;
	}
	memcpy(text + 1, bytes, n);
	for (size_t i = 0; i < n && !binary; i++) {
		text[2 * i] = digits[(uint8_t)bytes[i] >> 4];
		text[2 * i + 1] = digits[bytes[i] & 15];
	}
	if (s->kind & NO_HEX)
		text[0] = 'x';
	reply(s, text, (binary ? n + 1 : 2 * n) + (s->kind & TOO_LONG ? 2 : 0));
}

/* The target runs: it traces, and is halted, by the recorder or, in the end, by itself. */
static void run(struct stub *s)
{
	bool begun = !access(output, F_OK);
	uint32_t most = !begun ? 10 : !s->rounds ? 1 : s->rounds % 4 ? 700 : 4000;
	uint32_t n = roll(s) % most;
	char halt;

	if (s->late) {
		s->late = false;
		CHECK_EQ(fathom_beacon(0), 0);
	} else {
		for (; n; n--)
			trace_tick(s->written++);
	}
	if (s->kind & CLOSES) {
		shutdown(s->fd, SHUT_RDWR);
	} else if (!s->rounds) {
		say(s, "T05thread:01;");
	} else if (read(s->fd, &halt, 1) == 1) {
		s->rounds -= begun;
		CHECK_EQ(halt, 3);
		say(s, s->kind & PLAIN ? "S02" : "T02thread:01;");
	}
}

static void answer(struct stub *s, const char *request)
{
	char text[200];

	if (s->kind & ENDLESS && request[0] == 'm') {
		put(s, "$", 1);
		while (!(s->kind & CLOSES))
			put(s, "0000000000000000", 16);
	} else if (!strncmp(request, "qSupported", 10)) {
		snprintf(text, sizeof(text), "PacketSize=%x%s%s%s", 4096,
			 s->kind & QUIET ? ";QStartNoAckMode+" : "",
			 s->kind & BINARY ? ";binary-upload+" : "",
			 s->kind & MAP ? ";qXfer:memory-map:read+" : "");
		say(s, s->kind & PLAIN ? "" : text);
	} else if (!strcmp(request, "vCont?")) {
		say(s, s->kind & PLAIN ? "" : "vCont;c;C;s;S");
	} else if (!strcmp(request, "vCont;c") || !strcmp(request, "c")) {
		run(s);
	} else if (!strncmp(request, "Qqemu.PhyMemMode:", 17)) {
		say(s, s->kind & PHYSICAL ? "OK" : "");
	} else if (!strncmp(request, "qXfer:memory-map:read::", 23)) {
		/* in two parts */
		snprintf(text, sizeof(text),
			 "%c<memory-map><memory type=\"%s\" start=\"%#lx\" length=\"%#lx\"/>",
			 request[23] == '0' ? 'm' : 'l', request[23] == '0' ? "rom" : "ram",
			 (unsigned long)memory, sizeof(memory));
		say(s, text);
	} else if (request[0] == 'm' || (request[0] == 'x' && s->kind & BINARY)) {
		read_memory(s, request);
	} else {
		s->detached |= request[0] == 'D';
		say(s, request[0] == '?'			? "T05thread:01;"
		       : request[0] == 'D' || request[0] == 'Q' ? "OK"
								: "");
	}
}

/* In the thread of the test: the target is one CPU, as threads are in this port. */
static void serve(struct stub *s)
{
	char request[512], c;
	size_t n = 0;

	s->fd = accept(s->listen, NULL, NULL);
	say(s, "T02thread:01;"); /* as QEMU does */
	while (read(s->fd, &c, 1) == 1) {
		if (c == '$')
			n = 0;
		else if (c == '#' && read(s->fd, request + n, 2) == 2) {
			bool quiet = s->kind & QUIET && strncmp(request, "qSup", 4) &&
				     strncmp(request, "QSta", 4);

			request[n] = 0;
			if (s->kind & NOISY && ++s->packets % 7 == 0) {
				put(s, "-", 1);
				continue;
			}
			if (!quiet)
				put(s, "+", 1);
			answer(s, request);
		} else if (n + 3 < sizeof(request))
			request[n++] = c;
	}
	close(s->fd);
}

static void target_start(bool late)
{
	struct fathom_config config = {.memory = memory,
				       .memory_bytes = sizeof(memory),
				       .nr_cpus = 4,
				       .pages_per_cpu = PAGES};

	fathom_exit();
	fathom_beacon_at = NULL;
	memset(memory, 0, sizeof(memory));
	REQUIRE(!fathom_init(&config));
	REQUIRE(late || !fathom_beacon(0));
	fathom_event_enable("gdb:tick", 1);
}

struct recorder {
	struct record_options o;
	struct capture *c;
	int err;
};

static void *recorder(void *arg)
{
	struct recorder *r = arg;
	int status;

	capture_init(r->c);
	r->err = record_run(&r->o, r->c, &status);
	return NULL;
}

static int record(struct stub *s, struct capture *c)
{
	struct recorder r = {.o = {.kernel = s->kernel ? s->kernel : "/proc/self/exe",
				   .base = s->base,
				   .memory_mib = sizeof(memory) >> 20},
			     .c = c};
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	char target[64];
	pthread_t thread;

	snprintf(output, sizeof(output), "%s/t.dat", dir);
	unlink(output);
	snprintf(target, sizeof(target), "gdb:unix:%s/stub", dir);
	strcpy(at.sun_path, target + 9);
	unlink(at.sun_path);
	s->listen = socket(AF_UNIX, SOCK_STREAM, 0);
	REQUIRE(!bind(s->listen, (struct sockaddr *)&at, sizeof(at)) && !listen(s->listen, 1));
	r.o.output = output;
	r.o.target = target;
	REQUIRE(!pthread_create(&thread, NULL, recorder, &r));
	serve(s);
	pthread_join(thread, NULL);
	close(s->listen);
	return r.err;
}

/* Every tick is there once, in order, or the file says that it is missing. How many are there. */
static uint32_t check_file(uint32_t written)
{
	struct source *s;
	struct event e;
	uint64_t n, next = 0, time = 0;
	uint32_t seen = 0;

	REQUIRE(!source_open(output, NULL, &s));
	CHECK_EQ(s->damage_total, 0);
	for (uint32_t cpu = 0; cpu < s->info.nr_cpus; cpu++) {
		struct cursor *c = cursor_open(s, cpu);

		while (cursor_next(c, &e)) {
			REQUIRE(source_field(s, &e, "n", &n));
			CHECK_EQ(n, next + e.lost);
			CHECK(e.time >= time);
			time = e.time;
			next = n + 1;
			seen++;
		}
		cursor_close(c);
	}
	CHECK_EQ(next, written);
	source_close(s);
	return seen;
}

static void check_recording(struct stub *s)
{
	uint64_t missed = 0, overwritten = 0, events = 0;
	struct capture c;

	target_start(s->late);
	CHECK_EQ(record(s, &c), 0);
	for (uint32_t cpu = 0; cpu < c.nr_cpus; cpu++) {
		missed += c.cpus[cpu].missed;
		events += c.cpus[cpu].events;
		overwritten += c.cpus[cpu].stats.overwritten;
	}
	CHECK_EQ(events, check_file(s->written));
	CHECK_EQ(events + missed, s->written);
	CHECK_EQ(missed, overwritten);
	CHECK(s->detached);
	CHECK(strstr(c.ended, "halted by signal 5"));
	CHECK(c.stops > 2 && c.longest_stop_us && c.longest_stop_us <= c.stopped_us);
	capture_free(&c);
}

TEST(a_target_of_every_kind)
{
	static const unsigned kinds[] = {0,
					 QUIET,
					 BINARY,
					 REPEATS,
					 SHORT,
					 NOISY,
					 PHYSICAL,
					 PLAIN,
					 QUIET | BINARY | SHORT,
					 NOISY | PLAIN | REPEATS,
					 NOISY | PHYSICAL | BINARY | SHORT};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct stub s = {.kind = kinds[i], .random = (uint32_t)i, .rounds = 4};

		check_recording(&s);
	}
}

TEST(a_target_that_is_recorded_for_long)
{
	struct stub s = {.random = 7, .rounds = 40};

	check_recording(&s);
	CHECK(s.written > 10 * PAGES * 200);
}

/* Whoever does not say where the beacon is has to be searched: where the user says, where the stub does, in the kernel. */
TEST(a_target_that_is_searched)
{
	char command[128], kernel[64];

	snprintf(kernel, sizeof(kernel), "%s/kernel", dir);
	snprintf(command, sizeof(command), "objcopy -N fathom_beacon_at /proc/%d/exe %s", getpid(),
		 kernel);
	REQUIRE(!system(command));
	for (int how = 0; how < 6; how++) {
		struct stub s = {.kernel = kernel,
				 .rounds = 2,
				 .kind = (how & 1 ? PHYSICAL : 0) | (how / 2 == 1 ? MAP : 0),
				 .base = how / 2 == 2 ? (uintptr_t)memory : 0};

		check_recording(&s);
	}
}

TEST(a_target_that_has_only_begun)
{
	struct stub s = {.rounds = 4, .late = true};

	check_recording(&s);
}

/* What was taken before is in the file, which can be opened. */
TEST(a_stub_that_goes_away)
{
	struct stub s = {.kind = CLOSES, .rounds = 4};
	struct capture c;

	target_start(false);
	s.written = 100;
	for (uint32_t i = 0; i < s.written; i++)
		trace_tick(i);
	CHECK_EQ(record(&s, &c), 0);
	CHECK_EQ(check_file(100), 100);
	CHECK_STR(c.ended, "the stub went away");
	capture_free(&c);
}

TEST(hostile_stubs)
{
	static const unsigned kinds[] = {TOO_LONG, TOO_LONG | BINARY, NO_HEX, ENDLESS};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct stub s = {.kind = kinds[i], .rounds = 1};
		struct capture c;

		target_start(false);
		CHECK(record(&s, &c) < 0);
		CHECK(strstr(c.ended, "the stub sends"));
		capture_free(&c);
	}
}

TEST(nothing_is_left)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	CHECK_EQ(system(command), 0);
}

__attribute__((constructor)) static void make_dir(void)
{
	if (!mkdtemp(dir))
		abort();
}

TEST_MAIN
