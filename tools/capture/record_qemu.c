/* SPDX-License-Identifier: MIT */
/* record_qemu.c -- boot a kernel under QEMU, run commands in its shell, pull its ring pages meanwhile, write trace.dat. */
#include "capture/io.h"
#include "capture/link.h"
#include "capture/qemu.h"
#include "capture/record.h"
#include "capture/stop.h"
#include "base/diag.h"
#include "base/file.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HURRY_MS \
	2000 /* for the pages that are left when a signal ends the recording, and for the names after them */
#define BETWEEN_PAGES_MS 20
#define BETWEEN_MS \
	1000 /* for the pages that one command left, before the next may clear the rings */

struct qemu_session {
	const struct record_options *o;
	struct capture *c;
	struct recording *r;
	struct qemu q;
	struct link l;
	int64_t end; /* seconds, monotonic: when to give up */
};

static int64_t now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

static void read_console(void *arg)
{
	struct qemu_session *s = arg;

	if (!qemu_console(&s->q))
		s->l.other = NULL;
}

/* Print the last lines of the console, which may show the cause. */
static int fail(struct qemu_session *s, const char *what)
{
	char why[80];

	qemu_console(&s->q);

	size_t n = s->q.text.len, from = n > 600 ? n - 600 : 0;

	if (s->q.console >= 0)
		why[0] = '\0';
	else
		qemu_end(&s->q, why, sizeof(why));
	snprintf(s->c->ended, sizeof(s->c->ended), "%s%s%s", what, *why ? ": " : "", why);
	diag_error("%s", s->c->ended);
	if (n)
		fprintf(stderr, "        the console's last words:\n%.*s\n", (int)(n - from),
			(const char *)s->q.text.data + from);
	return -1;
}

/* A call on the trace line returned `err`: a signal is not a failure, and the file's own errors are reported at the end. */
static int line_failed(struct qemu_session *s, int err)
{
	if (err == -EINTR && stop_signal())
		return -EINTR;
	return s->r->err ? -1 : fail(s, "the trace line failed");
}

/*
 * A program in the background may print after the prompt. When the console is quiet and something that looks like one has
 * come, an empty line asks for another.
 */
struct quiet {
	size_t len; /* of the console's text, when it last grew */
	int64_t since;
};

static int ask_again(struct qemu_session *s, size_t from, struct quiet *q)
{
	static const char prompt[] = "\n# ";
	const char *text = (const char *)s->q.text.data + from;

	if (s->q.text.len != q->len)
		*q = (struct quiet){s->q.text.len, now_s()};
	if (now_s() < q->since + 2 || !memmem(text, s->q.text.len - from, prompt, strlen(prompt)))
		return 0;
	q->since = now_s();
	return qemu_type(&s->q, "");
}

/* Until the shell prompts again. 0, -EINTR on a signal, or -1 with the reason reported. */
static int wait_prompt(struct qemu_session *s, size_t from, bool pull)
{
	struct quiet quiet = {0};

	while (!qemu_prompt(&s->q, from)) {
		struct pollfd pfd[2] = {{.fd = s->q.console, .events = POLLIN},
					{.fd = stop_fd(), .events = POLLIN}};

		if (stop_signal())
			return -EINTR;
		if (s->q.console < 0)
			return fail(s, "the kernel ended before its shell was ready again");
		if (now_s() > s->end)
			return fail(s, "the kernel's shell did not answer in time");
		if (ask_again(s, from, &quiet))
			return fail(s, "the kernel's shell no longer answers");
		bool full = false;
		int came = pull ? link_pages(&s->l, s->r, s->c->nr_cpus, &full) : 0;

		if (came < 0)
			return line_failed(s, came);
		if (!full) /* taking pages that have just begun would fill the trace with the reading itself */
			poll(pfd, 2, BETWEEN_PAGES_MS);
		qemu_console(&s->q);
	}
	return 0;
}

static int tracing(struct qemu_session *s, uint32_t on)
{
	struct wire_frame f;

	return link_ask(&s->l, WIRE_FRAME_TRACING, on, NULL, 0, &f);
}

/* Recording is off while sites are patched, so that the trace does not begin with that. */
static int enable(struct qemu_session *s, uint32_t on)
{
	static const char all[] = "*";
	const struct record_options *o = s->o;
	struct wire_frame f;

	if (tracing(s, 0))
		return -1;
	for (unsigned i = 0; i < (o->nr_events ? o->nr_events : 1); i++) {
		const char *pattern = o->nr_events ? o->events[i].name : all;
		int err = link_ask(&s->l, WIRE_FRAME_ENABLE, on, pattern, (uint32_t)strlen(pattern),
				   &f);

		if (err || !f.arg) {
			diag_error("%s: %s", pattern, err ? strerror(-err) : "no such event");
			return -1;
		}
	}
	return on ? tracing(s, 1) : 0;
}

/* All of the guest's memory into a file without a name, from which the rings are then read. */
static int take_memory(struct qemu_session *s)
{
	struct record_options o = *s->o;
	int fd = file_nameless(), err = -1;
	char json[200], path[32];

	if (fd < 0) {
		diag_error("cannot store the guest's memory: %s", strerror(errno));
		return -1;
	}
	snprintf(json, sizeof(json),
		 "{\"execute\":\"pmemsave\",\"arguments\":{\"val\":%llu,\"size\":%llu,"
		 "\"filename\":\"/proc/%d/fd/%d\"}}",
		 (unsigned long long)s->q.ram, (unsigned long long)s->o->memory_mib << 20,
		 (int)getpid(), fd);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	o.base = s->q.ram;
	if (!qemu_control(&s->q, json))
		err = record_memory(&o, path, s->c, s->r);
	close(fd);
	return err;
}

/* Read the rest of the rings, once nothing more is written. */
static int drain(struct qemu_session *s)
{
	bool full;
	int came;

	do {
		came = link_pages(&s->l, s->r, s->c->nr_cpus, &full);
		if (came > 0 && now_s() > s->end)
			return -ETIMEDOUT;
	} while (came > 0);
	return came;
}

/* What the rings still hold, and what only the kernel knows. */
static int finish(struct qemu_session *s)
{
	int err = enable(s, 0) ? -EIO : 0, rest = 0;

	if (!err)
		rest = drain(s);
	if (!err)
		err = link_stats(&s->l, s->c);
	if (!err)
		err = link_names(&s->l, s->c, s->r);
	if (!err)
		err = link_printks(&s->l, s->c);
	return err ? err : rest;
}

/* Asked to end: take what is there, without waiting long for it. */
static int interrupted(struct qemu_session *s)
{
	snprintf(s->c->ended, sizeof(s->c->ended), "interrupted by SIG%s",
		 sigabbrev_np(stop_signal()));
	if (!s->r->begun)
		return -1;
	s->l.hurry = true;
	s->l.end_ms = io_now_ms() + 2 * HURRY_MS;
	s->end = now_s() + HURRY_MS / 1000;
	if (finish(s))
		diag_warn("the kernel's last pages were not waited for");
	return 0;
}

static void tell_line(const struct qemu_session *s)
{
	if (s->l.in.skipped || s->l.resent)
		diag_warn("the line: %llu bytes damaged, %llu requests repeated",
			  (unsigned long long)s->l.in.skipped, (unsigned long long)s->l.resent);
}

/* The shell is ready: ask for the kernel's events and enable them. */
static int start(struct qemu_session *s)
{
	uint32_t nr_events;
	int err = wait_prompt(s, 0, false);

	if (err)
		return err;
	err = link_hello(&s->l, s->c, &nr_events);
	if (err == -EINTR)
		return err;
	if (err)
		return fail(s, s->o->by_serial
				       ? "the kernel does not answer on its second serial port"
				       : "the kernel does not answer on the virtio console (--via "
					 "serial: on its second serial port)");
	if (!s->o->by_memory) {
		err = link_formats(&s->l, s->c, nr_events);
		if (err)
			return line_failed(s, err);
		if (capture_kallsyms(s->c, s->o->kernel) || recording_begin(s->r, s->c))
			return -1;
	}
	return enable(s, 1) ? fail(s, "could not switch tracing on") : 0;
}

/* Most of what the rings hold: a command in the background may fill them as fast as they are read. */
static int catch_up(struct qemu_session *s)
{
	int64_t end = io_now_ms() + BETWEEN_MS;
	bool full;
	int came;

	do {
		came = link_pages(&s->l, s->r, s->c->nr_cpus, &full);
	} while (came > 0 && full && io_now_ms() < end);
	return came < 0 ? line_failed(s, came) : 0;
}

/* One command, until the shell prompts again. */
static int run_command(struct qemu_session *s, const char *line)
{
	size_t from = s->q.text.len;
	int err = s->o->by_memory ? 0 : catch_up(s);

	if (err)
		return err;
	if (qemu_type(&s->q, line))
		return fail(s, "the kernel's shell no longer answers");
	return wait_prompt(s, from, !s->o->by_memory);
}

static int steer(struct qemu_session *s)
{
	int err = start(s);

	for (unsigned i = 0; i < s->o->nr_run && !err; i++)
		err = run_command(s, s->o->run[i]);
	if (err)
		return err;
	snprintf(s->c->ended, sizeof(s->c->ended), "the commands ended");
	if (s->o->by_memory)
		return enable(s, 0) || link_stats(&s->l, s->c) || take_memory(s)
			       ? fail(s, "no memory image")
			       : 0;
	err = finish(s);
	tell_line(s);
	return err ? line_failed(s, err) : 0;
}

int record_qemu(const struct record_options *o, struct capture *c, struct recording *r)
{
	struct qemu_session s = {
		.o = o, .c = c, .r = r, .q = {.log_path = o->console}, .end = now_s() + o->seconds};
	struct qemu_options qo = {o->kernel, o->append, o->smp, o->memory_mib, o->by_serial};

	if (qemu_start(&s.q, &qo))
		return -1;
	s.l = (struct link){
		.fd = s.q.trace, .other_fd = s.q.console, .other = read_console, .other_arg = &s};
	int err = steer(&s);

	if (err == -EINTR)
		err = interrupted(&s);
	qemu_stop(&s.q);
	return err ? -1 : 0;
}
