/* SPDX-License-Identifier: MIT */
/* record_qemu.c -- boot a kernel under QEMU, run commands in its shell, pull its ring pages meanwhile, write trace.dat. */
#include "capture/link.h"
#include "capture/qemu.h"
#include "capture/record.h"
#include "base/diag.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct session {
	const struct record_options *o;
	struct capture *c;
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
	struct session *s = arg;

	if (!qemu_console(&s->q))
		s->l.other = NULL;
}

/* The last lines of the console, for a person who wants to know why. */
static int fail(struct session *s, const char *what)
{
	char why[80];

	qemu_console(&s->q);

	size_t n = s->q.text.len, from = n > 600 ? n - 600 : 0;

	if (s->q.console < 0 && *qemu_end(&s->q, why, sizeof(why)))
		diag_error("%s: %s", what, why);
	else
		diag_error("%s", what);
	if (n)
		fprintf(stderr, "        the console's last words:\n%.*s\n", (int)(n - from),
			(const char *)s->q.text.data + from);
	return -1;
}

/*
 * A program in the background may print behind the prompt. When the console is quiet and something that looks like one has
 * come, an empty line asks for another.
 */
struct quiet {
	size_t len; /* of the console's text, when it last grew */
	int64_t since;
};

static int ask_again(struct session *s, size_t from, struct quiet *q)
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

static int wait_prompt(struct session *s, size_t from, bool pull)
{
	struct quiet quiet = {0};

	while (!qemu_prompt(&s->q, from)) {
		struct pollfd pfd = {.fd = s->q.console, .events = POLLIN};

		if (s->q.console < 0)
			return fail(s, "the kernel ended before its shell was ready again");
		if (now_s() > s->end)
			return fail(s, "the kernel's shell did not answer in time");
		if (ask_again(s, from, &quiet))
			return fail(s, "the kernel's shell cannot be reached any more");
		int came = pull ? link_pages(&s->l, s->c) : 0;

		if (came < 0)
			return fail(s, "the trace line failed");
		if (!came)
			poll(&pfd, 1, 20);
		qemu_console(&s->q);
	}
	return 0;
}

static int tracing(struct session *s, uint32_t on)
{
	struct wire_frame f;

	return link_ask(&s->l, WIRE_FRAME_TRACING, on, NULL, 0, &f);
}

/* Recording is off while sites are patched, so that the trace does not begin with that. */
static int enable(struct session *s, uint32_t on)
{
	static const char all[] = "*";
	const struct record_options *o = s->o;
	struct wire_frame f;

	if (tracing(s, 0))
		return -1;
	for (unsigned i = 0; i < (o->nr_events ? o->nr_events : 1); i++) {
		const char *pattern = o->nr_events ? o->events[i] : all;
		int err = link_ask(&s->l, WIRE_FRAME_ENABLE, on, pattern, (uint32_t)strlen(pattern),
				   &f);

		if (err || !f.arg) {
			diag_error("%s: %s", pattern, err ? strerror(-err) : "no such event");
			return -1;
		}
	}
	return on ? tracing(s, 1) : 0;
}

/* All of the guest's memory into a file beside the output, from which the rings are then read. */
static int take_memory(struct session *s)
{
	char path[4096], json[4608];
	int err;

	if (snprintf(path, sizeof(path), "%s.memory", s->o->output) >= (int)sizeof(path))
		return -1;
	char *full = realpath(".", NULL);

	if (!full)
		return -1;
	snprintf(json, sizeof(json),
		 "{\"execute\":\"pmemsave\",\"arguments\":{\"val\":0,\"size\":%llu,\"filename\":\"%"
		 "s%s%s\"}}",
		 (unsigned long long)s->o->memory_mib << 20, path[0] == '/' ? "" : full,
		 path[0] == '/' ? "" : "/", path);
	free(full);
	err = qemu_control(&s->q, json);
	if (!err)
		err = record_memory(s->o, path, s->c);
	unlink(path);
	return err;
}

/* The rest of the rings, once nothing is written any more. */
static int drain(struct session *s)
{
	int came;

	do {
		came = link_pages(&s->l, s->c);
		if (now_s() > s->end)
			return fail(s, "the rings were not empty in time");
	} while (came > 0);
	return came;
}

static int steer(struct session *s)
{
	uint32_t nr_events;
	int err = wait_prompt(s, 0, false);

	if (err)
		return err;
	err = link_hello(&s->l, s->c, &nr_events);
	if (err)
		return fail(s, "the kernel does not answer on the trace line");
	if ((!s->o->by_memory && link_formats(&s->l, s->c, nr_events)) || enable(s, 1))
		return fail(s, "could not switch tracing on");
	for (unsigned i = 0; i < s->o->nr_run; i++) {
		size_t from = s->q.text.len;

		if (qemu_type(&s->q, s->o->run[i]) || wait_prompt(s, from, !s->o->by_memory))
			return -1;
	}
	if (s->o->by_memory)
		return enable(s, 0) || link_stats(&s->l, s->c) || take_memory(s)
			       ? fail(s, "no memory image")
			       : 0;
	if (enable(s, 0) || drain(s) || link_stats(&s->l, s->c) || link_names(&s->l, s->c) ||
	    link_printks(&s->l, s->c))
		return fail(s, "the trace line failed");
	return 0;
}

/* Everything the ring counted must have arrived: told when it did not. */
static void check_loss(const struct session *s)
{
	for (uint32_t cpu = 0; cpu < s->c->nr_cpus; cpu++) {
		uint64_t missed = 0, got = capture_count(s->c, cpu, &missed);

		if (got != s->c->stats[cpu].read)
			diag_warn("cpu %u: the kernel sent %llu events, %llu arrived", cpu,
				  (unsigned long long)s->c->stats[cpu].read,
				  (unsigned long long)got);
	}
	if (s->l.in.skipped || s->l.resent)
		diag_warn("the line: %llu bytes damaged, %llu requests repeated",
			  (unsigned long long)s->l.in.skipped, (unsigned long long)s->l.resent);
}

int record_qemu(const struct record_options *o, struct capture *c)
{
	struct session s = {
		.o = o, .c = c, .q = {.log_path = o->console}, .end = now_s() + o->seconds};
	struct qemu_options qo = {o->kernel, o->append, o->smp, o->memory_mib};

	signal(SIGPIPE, SIG_IGN);
	if (qemu_start(&s.q, &qo))
		return -1;
	s.l = (struct link){
		.fd = s.q.trace, .other_fd = s.q.console, .other = read_console, .other_arg = &s};
	int err = steer(&s);

	if (!err && !o->by_memory) {
		check_loss(&s);
		err = capture_kallsyms(c, o->kernel) || capture_write(c, o->output);
	}
	qemu_stop(&s.q);
	return err ? -1 : 0;
}
