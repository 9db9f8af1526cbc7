/* SPDX-License-Identifier: MIT */
/* record_tree.c -- record from a live target through its control tree: steer it, pull its pages, write trace.dat. */
#include "capture/io.h"
#include "capture/record.h"
#include "capture/tree.h"
#include "base/diag.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT_MAX (64u << 20) /* of one file of the tree */
#define IDLE_MS	 20	     /* between two looks at empty rings */

struct session {
	const struct record_options *o;
	struct capture *c;
	struct tree *t;
	struct tree_file raw[CAPTURE_CPUS_MAX];
	char *tracer, *on; /* as they were before */
};

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static int complain(const struct session *s, const char *path, int err)
{
	if (err < 0)
		diag_error("%s: %s: %s", s->o->target, path, strerror(-err));
	return err < 0 ? -1 : 0;
}

static int set(struct session *s, const char *path, const char *text)
{
	return complain(s, path, tree_write(s->t, path, text));
}

static int count_cpu(void *arg, const char *name, bool is_dir)
{
	uint32_t *nr = arg, cpu;
	char end;

	if (is_dir && sscanf(name, "cpu%u%c", &cpu, &end) == 1 && cpu < CAPTURE_CPUS_MAX &&
	    cpu >= *nr)
		*nr = cpu + 1;
	return 0;
}

/* Directories are collected before the next is listed. */
static int add_dir(void *arg, const char *name, bool is_dir)
{
	return is_dir ? tree_names_add(arg, name) : 0;
}

static int take_format(struct session *s, const char *system, const char *event)
{
	char path[512];
	size_t bytes;
	char *text;
	int err;

	if (snprintf(path, sizeof(path), "events/%s/%s/format", system, event) >= (int)sizeof(path))
		return 0;
	text = tree_load(s->t, path, TEXT_MAX, &bytes, &err);
	if (!text)
		return err == -ENOENT ? 0 : complain(s, path, err);
	err = capture_format(s->c, system, text, bytes);
	free(text);
	return err;
}

static int take_formats(struct session *s)
{
	struct tree_names systems = {NULL, 0};
	int err = complain(s, "events", tree_list(s->t, "events", add_dir, &systems));

	for (size_t i = 0; i < systems.nr && !err; i++) {
		struct tree_names events = {NULL, 0};
		char path[300];

		snprintf(path, sizeof(path), "events/%s", systems.name[i]);
		err = complain(s, path, tree_list(s->t, path, add_dir, &events));
		for (size_t k = 0; k < events.nr && !err; k++)
			err = take_format(s, systems.name[i], events.name[k]);
		tree_names_free(&events);
	}
	tree_names_free(&systems);
	return err;
}

/* Events on or off. None given: all, unless it is a tracer that was asked for. */
static int events(struct session *s, bool on)
{
	const struct record_options *o = s->o;

	if (!o->nr_events && !o->tracer)
		return set(s, "events/enable", on ? "1" : "0");
	for (unsigned i = 0; i < o->nr_events; i++) {
		const char *pattern = strcmp(o->events[i], "*") ? o->events[i] : "*:*";
		char text[256];
		int err;

		snprintf(text, sizeof(text), "%s%s", on ? "" : "!", pattern);
		err = tree_append(s->t, "set_event", text);
		if (err == -EINVAL) {
			diag_error("%s: %s: no such event", o->target, o->events[i]);
			return -1;
		}
		if (complain(s, "set_event", err))
			return -1;
	}
	return 0;
}

static int open_pipes(struct session *s)
{
	for (uint32_t cpu = 0; cpu < s->c->nr_cpus; cpu++) {
		char path[64];

		snprintf(path, sizeof(path), "per_cpu/cpu%u/trace_pipe_raw", cpu);
		if (complain(s, path, tree_file_open(s->t, path, &s->raw[cpu]))) {
			while (cpu--)
				tree_file_close(&s->raw[cpu]);
			return -1;
		}
	}
	return 0;
}

static void close_pipes(struct session *s)
{
	for (uint32_t cpu = 0; cpu < s->c->nr_cpus; cpu++)
		tree_file_close(&s->raw[cpu]);
}

/* A page of each CPU that has one: how many came, or -1 with the reason told. */
static int pull(struct session *s)
{
	uint8_t page[4096];
	int came = 0;

	for (uint32_t cpu = 0; cpu < s->c->nr_cpus; cpu++) {
		ssize_t n = tree_file_read(&s->raw[cpu], page, sizeof(page), 0);

		if (n == -EAGAIN || n == -EINTR || n == 0)
			continue;
		if (n < 0)
			return complain(s, "trace_pipe_raw", (int)n);
		if (capture_page(s->c, cpu, page, (size_t)n)) {
			diag_error("%s: cpu %u: %zd bytes that are no page", s->o->target, cpu, n);
			return -1;
		}
		came++;
	}
	return came;
}

static pid_t start_command(const struct session *s)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	execvp(s->o->command[0], s->o->command);
	diag_error("%s: %s", s->o->command[0], strerror(errno));
	_exit(127);
}

/* Until the command ends, the time is up, or somebody interrupts. */
static int run(struct session *s)
{
	pid_t pid = s->o->command ? start_command(s) : 0;
	int64_t end = s->o->seconds ? io_now_ms() + s->o->seconds * 1000ll : INT64_MAX;
	int came = 0;

	if (pid < 0) {
		diag_error("%s: %s", s->o->command[0], strerror(errno));
		return -1;
	}
	while (came >= 0 && !stop && io_now_ms() < end) {
		if (pid && waitpid(pid, NULL, WNOHANG) == pid) {
			pid = 0;
			break;
		}
		came = pull(s);
		if (!came)
			poll(NULL, 0, IDLE_MS);
	}
	if (pid) {
		kill(pid, SIGTERM);
		waitpid(pid, NULL, 0);
	}
	return came < 0 ? -1 : 0;
}

static int record(struct session *s)
{
	int err = set(s, "tracing_on", "0"), came;

	if (!err)
		err = set(s, "trace", "") || events(s, true) ||
		      (s->o->tracer && set(s, "current_tracer", s->o->tracer));
	if (err || open_pipes(s))
		return -1;
	err = set(s, "tracing_on", "1") || run(s) || set(s, "tracing_on", "0");
	do
		came = err ? 0 : pull(s);
	while (came > 0);
	close_pipes(s);
	return err || came < 0 ? -1 : 0;
}

/* What was changed goes back, whether or not recording worked. */
static void restore(struct session *s)
{
	if (s->tracer && s->o->tracer)
		tree_write(s->t, "current_tracer", s->tracer);
	events(s, false);
	if (s->on)
		tree_write(s->t, "tracing_on", s->on);
}

/* The number in the line of a text that begins with `name`. */
static uint64_t number_of(const char *text, const char *name)
{
	size_t n = strlen(name);

	while (text && strncmp(text, name, n) != 0) {
		text = strchr(text, '\n');
		text += text != NULL;
	}
	return text ? strtoull(text + n, NULL, 10) : 0;
}

static void take_stats(struct session *s)
{
	int err;
	char *tracers = tree_load(s->t, "tracer_stats", TEXT_MAX, NULL, &err); /* Fathom's alone */

	s->c->calls_lost = number_of(tracers, "shadow stack full: ");
	free(tracers);
	for (uint32_t cpu = 0; cpu < s->c->nr_cpus; cpu++) {
		struct wire_stats *w = &s->c->stats[cpu];
		char path[64], *text;

		snprintf(path, sizeof(path), "per_cpu/cpu%u/stats", cpu);
		text = tree_load(s->t, path, TEXT_MAX, NULL, &err);
		w->entries = number_of(text, "entries: ");
		w->overwritten = number_of(text, "overrun: ");
		w->nested = number_of(text, "commit overrun: ");
		w->full = number_of(text, "dropped events: ");
		w->read = number_of(text, "read events: ");
		w->written = w->entries + w->read + w->overwritten;
		free(text);
	}
}

static void take_text(struct session *s, const char *path, struct bytes *to)
{
	size_t bytes;
	int err;
	char *text = tree_load(s->t, path, TEXT_MAX, &bytes, &err);

	if (text)
		bytes_add(to, text, bytes);
	free(text);
}

/* The target's own symbols: from its file if it was given, else as the tree lists them. */
static int take_symbols(struct session *s)
{
	if (s->o->kernel)
		return capture_kallsyms(s->c, s->o->kernel);
	take_text(s, "kallsyms", &s->c->kallsyms);
	if (!s->c->kallsyms.len)
		diag_warn("%s: has no symbols; functions will be addresses (--kernel ELF)",
			  s->o->target);
	return 0;
}

/* The name in brackets: the unit of the pages that follow. */
static void take_clock(struct session *s)
{
	int err;
	char *text = tree_load(s->t, "trace_clock", TEXT_MAX, NULL, &err);
	const char *name = text ? strchr(text, '[') : NULL;
	size_t n = name ? strcspn(++name, "]\n") : 0;

	if (n && n < sizeof(s->c->clock))
		memcpy(s->c->clock, name, n);
	free(text);
}

static int take_all(struct session *s)
{
	s->c->nr_cpus = 0;
	if (complain(s, "per_cpu", tree_list(s->t, "per_cpu", count_cpu, &s->c->nr_cpus)) ||
	    take_formats(s))
		return -1;
	if (!s->c->nr_cpus) {
		diag_error("%s: has no CPUs", s->o->target);
		return -1;
	}
	take_clock(s);
	if (record(s))
		return -1;
	take_stats(s);
	take_text(s, "saved_cmdlines", &s->c->cmdlines);
	take_text(s, "printk_formats", &s->c->printks);
	return take_symbols(s);
}

static char *load_word(struct tree *t, const char *path)
{
	int err;
	char *text = tree_load(t, path, 256, NULL, &err);

	if (text)
		text[strcspn(text, "\n")] = '\0';
	return text;
}

int record_tree(const struct record_options *o, struct capture *c)
{
	struct sigaction sa = {.sa_handler = on_signal};
	struct session s = {.o = o, .c = c, .t = tree_open(o->target)};
	int err;

	if (!s.t)
		return -1;
	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	s.tracer = load_word(s.t, "current_tracer");
	s.on = load_word(s.t, "tracing_on");
	err = take_all(&s);
	restore(&s);
	if (!err)
		err = capture_write(c, o->output);
	free(s.tracer);
	free(s.on);
	tree_close(s.t);
	return err ? -1 : 0;
}
