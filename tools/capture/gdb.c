/* SPDX-License-Identifier: MIT */
/* gdb.c -- a target's memory through GDB's remote serial protocol. */
#include "capture/gdb.h"
#include "capture/io.h"
#include "capture/stop.h"
#include "capture/target.h"
#include "base/diag.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * A packet is `$data#sum`. The receiver answers `+`, or `-` to get it again, until both agree to do without. `}` escapes a byte, `*`
 * repeats one. A target that runs answers nothing but the byte 3, which halts it; what it says then is the answer to `c`.
 */
#define PATIENCE_MS 5000
#define TRIES	    5	   /* for a packet that arrives damaged */
#define PACKET_LESS 400u   /* bytes of the longest packet of a stub that does not say */
#define PACKET_MOST 65536u /* more would be useless */
#define HALT	    "\3"

/* Small reads go through a few lines of a cache, which a target that runs makes void: most are next to each other. */
#define LINE  512u
#define LINES 16u

struct gdb_line {
	uint64_t at; /* no place: UINT64_MAX */
	uint8_t bytes[LINE];
};

struct gdb {
	int fd;
	bool no_ack, binary, vcont, has_map;
	bool runs;
	char dead[120]; /* why it is; "": it is not */
	size_t packet;	/* bytes of the longest one */
	/* received and not looked at yet */
	uint8_t in[4096];
	size_t in_at, in_len;
	/* the last answer, with a NUL after it */
	char *answer;
	size_t answer_len;
	struct gdb_line lines[LINES];
	struct gdb_stops stops;
	uint64_t halted_us;
};

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

const char *gdb_dead(const struct gdb *g)
{
	return g->dead[0] ? g->dead : NULL;
}

static __attribute__((format(printf, 2, 3))) int die(struct gdb *g, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (!g->dead[0])
		vsnprintf(g->dead, sizeof(g->dead), fmt, ap);
	va_end(ap);
	return -EIO;
}

/* ---- packets ---- */

static int put(struct gdb *g, const void *from, size_t n)
{
	if (gdb_dead(g))
		return -EIO;
	return io_write_all(g->fd, from, n, PATIENCE_MS) ? 0 : die(g, "the stub went away");
}

/* More bytes from the stub. The first signal lets a packet come to its end; the second does not. */
static int fill(struct gdb *g, int64_t end_ms)
{
	struct pollfd p[2] = {{.fd = g->fd, .events = POLLIN}, {.fd = stop_fd(), .events = POLLIN}};

	for (;;) {
		int64_t left = end_ms - io_now_ms();
		ssize_t n = read(g->fd, g->in, sizeof(g->in));

		g->in_at = 0;
		g->in_len = n > 0 ? (size_t)n : 0;
		if (n > 0)
			return 0;
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			return die(g, "the stub went away");
		if (stop_at_once())
			return die(g, "interrupted");
		if (left <= 0)
			return die(g, "the stub does not answer");
		p[1].revents = 0;
		if (poll(p, stop_signal() ? 1 : 2, (int)left) > 0 && p[1].revents)
			stop_take();
	}
}

static int byte_in(struct gdb *g, int64_t end_ms)
{
	if (g->in_at == g->in_len && (gdb_dead(g) || fill(g, end_ms)))
		return -1;
	return g->in[g->in_at++];
}

static int hex(int c)
{
	return c >= '0' && c <= '9' ? c - '0' : isxdigit(c) ? tolower(c) - 'a' + 10 : -1;
}

static bool keep(struct gdb *g, int c, int times)
{
	for (; times > 0 && g->answer_len < PACKET_MOST; times--)
		g->answer[g->answer_len++] = (char)c;
	return times <= 0;
}

/* The rest of a packet whose first byte has come, unescaped. 1: it is good, 0: damaged, or a negative errno. */
static int rest_of_packet(struct gdb *g, int64_t end_ms)
{
	uint8_t sum = 0;
	int c, high, low;

	g->answer_len = 0;
	while ((c = byte_in(g, end_ms)) >= 0 && c != '#') {
		int times = 1;

		if (c == '$') { /* the end of the one before was lost */
			g->answer_len = 0;
			sum = 0;
			continue;
		}
		sum = (uint8_t)(sum + c);
		if (c == '}' || (c == '*' && g->answer_len)) {
			int next = byte_in(g, end_ms);

			sum = (uint8_t)(sum + next);
			times = c == '*' ? next - 29 : 1;
			c = c == '*' ? g->answer[g->answer_len - 1] : next ^ 0x20;
		}
		if (!keep(g, c, times))
			return die(g, "the stub sends a packet of more than %u bytes", PACKET_MOST);
	}
	high = hex(byte_in(g, end_ms));
	low = hex(byte_in(g, end_ms));
	g->answer[g->answer_len] = 0;
	if (gdb_dead(g))
		return -EIO;
	return high >= 0 && low >= 0 && (high << 4 | low) == sum;
}

/* The next packet, whatever stands before it. */
static int receive(struct gdb *g, int64_t end_ms)
{
	for (int tries = 0; tries < TRIES;) {
		int c = byte_in(g, end_ms), good;

		if (c < 0)
			return -EIO;
		if (c != '$' && c != '%')
			continue;
		good = rest_of_packet(g, end_ms);
		if (good < 0)
			return good;
		if (c == '%') /* a notification: of something that was not asked for */
			continue;
		if (!g->no_ack && put(g, good ? "+" : "-", 1))
			return -EIO;
		if (good)
			return 0;
		tries++;
	}
	return die(g, "the stub's packets arrive damaged");
}

static int send_packet(struct gdb *g, const char *data)
{
	char packet[256];
	uint8_t sum = 0;
	int n, c = '-';

	for (const char *p = data; *p; p++)
		sum = (uint8_t)(sum + (uint8_t)*p);
	n = snprintf(packet, sizeof(packet), "$%s#%02x", data, sum);
	if (g->no_ack)
		return put(g, packet, (size_t)n);
	for (int tries = 0; tries < TRIES && c == '-'; tries++) {
		int64_t end = io_now_ms() + PATIENCE_MS;

		if (put(g, packet, (size_t)n))
			return -EIO;
		while ((c = byte_in(g, end)) >= 0 && c != '+' && c != '-')
			if (c == '$') { /* QEMU says that it halted for us before it is asked */
				g->in_at--;
				if (receive(g, end))
					return -EIO;
			}
	}
	return c == '-' ? die(g, "the stub takes no packet") : c < 0 ? -EIO : 0;
}

/* An answer of "" says that the stub does not know the request. */
static int ask(struct gdb *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int ask(struct gdb *g, const char *fmt, ...)
{
	char data[240];
	va_list ap;
	int err;

	va_start(ap, fmt);
	vsnprintf(data, sizeof(data), fmt, ap);
	va_end(ap);
	err = send_packet(g, data);
	return err ? err : receive(g, io_now_ms() + PATIENCE_MS);
}

static bool is_ok(const struct gdb *g)
{
	return !strcmp(g->answer, "OK");
}

/* ---- memory ---- */

/* `n` bytes at most, of which the answer may have fewer. How many, or a negative errno. */
static ssize_t read_hex(struct gdb *g, uint64_t at, uint8_t *to, size_t n)
{
	int err = ask(g, "m%llx,%zx", (unsigned long long)at, n);
	size_t got = g->answer_len / 2;

	if (err)
		return err;
	if (!got || g->answer_len % 2 || !strncmp(g->answer, "E.", 2))
		return -EFAULT; /* E and two digits, or E. and a text */
	if (got > n)
		return die(g, "the stub sends more memory than it was asked for");
	for (size_t i = 0; i < got; i++) {
		int high = hex(g->answer[2 * i]), low = hex(g->answer[2 * i + 1]);

		if (high < 0 || low < 0)
			return die(g, "the stub sends memory that is no hexadecimal number");
		to[i] = (uint8_t)(high << 4 | low);
	}
	return (ssize_t)got;
}

static ssize_t read_binary(struct gdb *g, uint64_t at, uint8_t *to, size_t n)
{
	int err = ask(g, "x%llx,%zx", (unsigned long long)at, n);

	if (err)
		return err;
	if (g->answer[0] != 'b' || g->answer_len < 2)
		return -EFAULT;
	if (g->answer_len - 1 > n)
		return die(g, "the stub sends more memory than it was asked for");
	memcpy(to, g->answer + 1, g->answer_len - 1);
	return (ssize_t)g->answer_len - 1;
}

static int read_now(struct gdb *g, uint64_t at, uint8_t *to, size_t n)
{
	size_t most = g->packet / 2 - 4; /* each byte may be two */

	while (n) {
		ssize_t got = (g->binary ? read_binary : read_hex)(g, at, to, n < most ? n : most);

		if (got < 0)
			return (int)got;
		at += (size_t)got;
		to += got;
		n -= (size_t)got;
	}
	return 0;
}

static void forget_lines(struct gdb *g)
{
	for (size_t i = 0; i < LINES; i++)
		g->lines[i].at = UINT64_MAX;
}

static const struct gdb_line *line_of(struct gdb *g, uint64_t at)
{
	struct gdb_line *l = &g->lines[at / LINE % LINES];

	at -= at % LINE;
	if (l->at == at)
		return l;
	l->at = UINT64_MAX;
	if (read_now(g, at, l->bytes, LINE))
		return NULL;
	l->at = at;
	return l;
}

int gdb_read(struct gdb *g, uint64_t at, void *to, size_t n)
{
	const struct gdb_line *l = NULL;

	if (n && at > UINT64_MAX - (n - 1))
		return -EFAULT;
	if (n && at / LINE == (at + n - 1) / LINE)
		l = line_of(g, at);
	if (!l) /* long, or at the edge of what is there */
		return read_now(g, at, to, n);
	memcpy(to, l->bytes + at % LINE, n);
	return 0;
}

int gdb_physical(struct gdb *g, bool on)
{
	int err;

	forget_lines(g);
	err = ask(g, "Qqemu.PhyMemMode:%d", on);
	return err ? err : is_ok(g) ? 0 : -ENOSYS;
}

/* ---- halting ---- */

static void count_stop(struct gdb *g)
{
	uint64_t us = now_us() - g->halted_us;

	g->stops.nr++;
	g->stops.total += us;
	if (us > g->stops.longest)
		g->stops.longest = us;
}

int gdb_run(struct gdb *g)
{
	int err;

	forget_lines(g);
	err = send_packet(g, g->vcont ? "vCont;c" : "c");
	if (err)
		return err;
	count_stop(g);
	g->runs = true;
	return 0;
}

/* The answer to `c`: is the target halted now? What it prints meanwhile is not ours. 1, 0, or a negative errno. */
static int take_stop(struct gdb *g, int64_t end_ms, unsigned *signal)
{
	int err = receive(g, end_ms);

	if (err)
		return err;
	switch (g->answer[0]) {
	case 'T':
	case 'S':
		g->runs = false;
		*signal = (unsigned)strtoul((char[3]){g->answer[1], g->answer[2]}, NULL, 16);
		return 1;
	case 'W':
	case 'X': return die(g, "the target ended");
	case 'F':
		return die(g, "the target wants files of its debugger (semihosting: QEMU takes "
			      "target=native)");
	default: return 0;
	}
}

int gdb_halt(struct gdb *g)
{
	int64_t end = io_now_ms() + PATIENCE_MS;
	unsigned signal;
	int got = 0;

	if (!g->runs)
		return 0;
	g->halted_us = now_us();
	if (put(g, HALT, 1))
		return -EIO;
	g->runs = false;
	while (!got)
		got = take_stop(g, end, &signal);
	return got < 0 ? got : 0;
}

int gdb_wait(struct gdb *g, int ms, unsigned *signal)
{
	struct pollfd p[2] = {{.fd = g->fd, .events = POLLIN}, {.fd = stop_fd(), .events = POLLIN}};

	if (g->in_at == g->in_len && poll(p, 2, ms) > 0 && p[1].revents)
		stop_take();
	if (g->in_at == g->in_len && !p[0].revents)
		return 0;
	g->halted_us = now_us();
	return take_stop(g, io_now_ms() + PATIENCE_MS, signal);
}

/* ---- what the stub offers ---- */

static bool offers(const struct gdb *g, const char *what)
{
	size_t n = strlen(what);

	for (const char *p = g->answer; p; p = strchr(p, ';')) {
		p += *p == ';';
		if (!strncmp(p, what, n) && p[n] == '+')
			return true;
	}
	return false;
}

static void take_packet_size(struct gdb *g)
{
	const char *p = strstr(g->answer, "PacketSize=");
	unsigned long n = p ? strtoul(p + strlen("PacketSize="), NULL, 16) : PACKET_LESS;

	g->packet = n < 64 ? 64 : n > PACKET_MOST ? PACKET_MOST : n;
}

static int greet(struct gdb *g)
{
	unsigned signal;
	bool quiet;
	int got;

	if (put(g, "+", 1) || ask(g, "qSupported:swbreak-;hwbreak-"))
		return -EIO;
	take_packet_size(g);
	g->binary = offers(g, "binary-upload");
	g->has_map = offers(g, "qXfer:memory-map:read");
	quiet = offers(g, "QStartNoAckMode");
	if (quiet) {
		if (ask(g, "QStartNoAckMode"))
			return -EIO;
		g->no_ack = is_ok(g);
	}
	if (ask(g, "vCont?"))
		return -EIO;
	g->vcont = !strncmp(g->answer, "vCont", 5) && strstr(g->answer, ";c");
	if (send_packet(g, "?"))
		return -EIO;
	got = take_stop(g, io_now_ms() + PATIENCE_MS, &signal);
	return got < 0 ? got : got ? 0 : die(g, "the stub does not say why the target is halted");
}

struct gdb *gdb_attach(int fd, const char *target)
{
	struct gdb *g = calloc(1, sizeof(*g));

	if (!g || !(g->answer = malloc(PACKET_MOST + 1))) {
		diag_error("%s: %s", target, strerror(ENOMEM));
		close(fd);
		free(g);
		return NULL;
	}
	g->fd = fd;
	g->halted_us = now_us();
	forget_lines(g);
	if (!greet(g))
		return g;
	diag_error("%s: %s (is it a stub of GDB's remote protocol?)", target, g->dead);
	gdb_close(g);
	return NULL;
}

struct gdb *gdb_open(const char *target)
{
	int fd = target_open(target, target + strlen(GDB_TARGET), true);

	return fd < 0 ? NULL : gdb_attach(fd, target);
}

struct gdb_stops gdb_close(struct gdb *g)
{
	struct gdb_stops stops;

	if (!gdb_dead(g) && !gdb_halt(g) && !ask(g, "D"))
		count_stop(g);
	else if (!g->runs) /* no answer is waited for, but the target should run */
		io_write_all(g->fd, "$D#44", 5, 0);
	close(g->fd);
	stops = g->stops;
	free(g->answer);
	free(g);
	return stops;
}

/* ---- ranges of RAM ---- */

static uint64_t attribute(const char *tag, const char *end, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = tag; p + n + 2 < end; p++)
		if (p[-1] == ' ' && !strncmp(p, name, n) && p[n] == '=')
			return strtoull(p + n + 2, NULL, 0);
	return 0;
}

/* <memory type="ram" start="0x20000000" length="0x20000"/> */
static int each_ram(const char *text, int (*each)(void *arg, uint64_t at, uint64_t bytes),
		    void *arg)
{
	int err = 0;

	for (const char *p = text; !err && (p = strstr(p, "<memory ")); p++) {
		const char *end = strchr(p, '>'), *ram = strstr(p, "\"ram\"");

		if (!end)
			break;
		if (ram && ram < end)
			err = each(arg, attribute(p + 8, end, "start"),
				   attribute(p + 8, end, "length"));
	}
	return err;
}

int gdb_ram(struct gdb *g, int (*each)(void *arg, uint64_t at, uint64_t bytes), void *arg)
{
	char text[16384];
	size_t n = 0;
	int err = g->has_map ? 0 : -ENOSYS;

	/* 'm' and a part of it, 'l' and the last */
	do {
		if (!err)
			err = ask(g, "qXfer:memory-map:read::%zx,%zx", n, g->packet / 2);
		if (err || !g->answer_len || n + g->answer_len > sizeof(text))
			return err ? err : -EPROTO;
		memcpy(text + n, g->answer + 1, g->answer_len - 1);
		n += g->answer_len - 1;
		text[n] = 0;
	} while (g->answer[0] == 'm' && g->answer_len > 1);
	return each_ram(text, each, arg);
}
