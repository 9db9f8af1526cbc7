/* SPDX-License-Identifier: MIT */
/* record_tree.c -- record from a live target through its control tree: ask what it has, steer it, pull its pages. */
#include "capture/io.h"
#include "capture/names.h"
#include "capture/pull.h"
#include "capture/record.h"
#include "capture/setup.h"
#include "capture/stop.h"
#include "base/diag.h"
#include "decode/format.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT_MAX    (64u << 20) /* of one file of the tree */
#define PATIENCE_MS 30000	/* a target that is silent this long is gone */
#define FLUSH_MS \
	5000 /* ... when the recording was asked to end: what it had begun to send is lost otherwise */
#define FINISH_MS  5000
#define SUSPECT_MS 1000 /* ... and it left the last call unanswered */
#define RESTORE_MS 10000
#define WATCHED_MS 2000 /* after a live view ends, wait this long for the rest of the pages */
#define AGAIN_MS   300	/* between two tries to reach a target that went away */

struct session {
	const struct record_options *o;
	struct capture *c;
	struct recording *r;
	struct steer steer;
	struct pull pull;
};

static int complain(const struct session *s, const char *path, int err)
{
	if (err < 0)
		diag_error("%s: %s: %s", s->o->target, path, strerror(-err));
	return err < 0 ? -1 : 0;
}

/* ---- what the target has ---- */

static int count_cpu(void *arg, const char *name, bool is_dir)
{
	uint32_t *nr = arg, cpu;
	char end;

	if (is_dir && sscanf(name, "cpu%u%c", &cpu, &end) == 1 && cpu < UINT32_MAX && cpu >= *nr)
		*nr = cpu + 1;
	return 0;
}

static int take_cpus(struct session *s)
{
	char path[512];
	uint32_t nr = 0;

	steer_path(&s->steer, "per_cpu", path);
	if (complain(s, path, tree_list(s->steer.t, path, count_cpu, &nr)))
		return -1;
	if (!nr || nr > CAPTURE_CPUS_MAX) {
		diag_error("%s: has %u CPUs; 1 to %u can be recorded", s->o->target, nr,
			   CAPTURE_CPUS_MAX);
		return -1;
	}
	return capture_set_cpus(s->c, nr);
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
	text = tree_load(s->steer.t, path, TEXT_MAX, &bytes, &err);
	if (!text)
		return err == -ENOENT ? 0 : complain(s, path, err);
	err = capture_format(s->c, system, text, bytes);
	free(text);
	return err;
}

static int take_formats(struct session *s)
{
	struct tree_names systems = {NULL, 0};
	int err = complain(s, "events", tree_list(s->steer.t, "events", add_dir, &systems));

	for (size_t i = 0; i < systems.nr && !err && !stop_signal(); i++) {
		struct tree_names events = {NULL, 0};
		char path[300];

		snprintf(path, sizeof(path), "events/%s", systems.name[i]);
		err = complain(s, path, tree_list(s->steer.t, path, add_dir, &events));
		for (size_t k = 0; k < events.nr && !err; k++)
			err = take_format(s, systems.name[i], events.name[k]);
		tree_names_free(&events);
	}
	tree_names_free(&systems);
	return err;
}

static void take_text(struct session *s, const char *path, struct bytes *to)
{
	size_t bytes;
	int err;
	char *text = tree_load(s->steer.t, path, TEXT_MAX, &bytes, &err);

	if (text) {
		to->len = 0;
		bytes_add(to, text, bytes);
	}
	free(text);
}

/* The layout of its pages. A target that does not describe it has this library's, of 4 KiB. */
static int take_page_form(struct session *s)
{
	struct bytes *b = &s->c->header_page;
	struct format_error err;
	struct format_page page;

	take_text(s, "events/header_page", b);
	if (!b->len)
		return 0;
	if (format_parse_page((const char *)b->data, b->len, &page, &err) ||
	    page.data_size > (16u << 20)) {
		diag_error("%s: events/header_page: offset %zu: %s", s->o->target, err.offset,
			   err.what);
		return -1;
	}
	s->c->long_bytes = page.commit_size;
	s->c->page_bytes = page.data_offset + page.data_size;
	return 0;
}

/* The name in brackets: the unit of the pages that follow. */
static void take_clock(struct session *s)
{
	char path[512];
	int err;
	char *text = tree_load(s->steer.t, steer_path(&s->steer, "trace_clock", path), TEXT_MAX,
			       NULL, &err);
	const char *name = text ? strchr(text, '[') : NULL;
	size_t n = name ? strcspn(++name, "]\n") : 0;

	if (n && n < sizeof(s->c->clock))
		memcpy(s->c->clock, name, n);
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

static void take_release(struct session *s)
{
	struct utsname u;

	if (tree_is_local(s->steer.t) && !uname(&u))
		snprintf(s->c->release, sizeof(s->c->release), "%s %s %s %s", u.sysname, u.nodename,
			 u.release, u.machine);
}

/* Before anything is changed. */
static int take_all(struct session *s)
{
	if (take_cpus(s) || take_page_form(s) || take_formats(s) || take_symbols(s))
		return -1;
	take_release(s);
	take_text(s, "saved_cmdlines", &s->c->cmdlines);
	take_text(s, "printk_formats", &s->c->printks);
	return stop_signal() ? -1 : 0;
}

int record_describe(const char *target, struct tree *t, struct capture *c)
{
	const struct record_options o = {.target = target};
	struct session s = {.o = &o, .c = c, .steer = {.t = t, .target = target}};

	if (take_all(&s))
		return -1;
	take_clock(&s);
	return 0;
}

/* ---- steering ---- */

static int set_up(struct session *s)
{
	char path[512];

	if (steer_set(&s->steer, "tracing_on", "0") || setup_target(&s->steer, s->o, s->c))
		return -1;
	return complain(s, "trace",
			tree_write(s->steer.t, steer_path(&s->steer, "trace", path), ""));
}

/*
 * A second recorder of one target would take half of the pages. It gets an instance of its own where the target can have
 * them, and is refused where not.
 */
static int claim(struct session *s)
{
	char name[32];

	if (s->o->instance) {
		if (steer_use_instance(&s->steer, s->o->instance))
			return -1;
		if (s->steer.made)
			return 0;
	}
	if (!tree_claim(s->steer.t))
		return 0;
	snprintf(name, sizeof(name), "fathom-%d", (int)getpid());
	diag_warn("%s: another recorder is running; recording in a separate instance",
		  s->o->target);
	if (!steer_make_instance(&s->steer, name))
		return 0;
	diag_error("%s: is being recorded by another program", s->o->target);
	return -1;
}

/* ---- the command ---- */

/* The child waits until it is released, when tracing is on. The parent closes `go`. */
static void run_command(const struct record_options *o, int go, int report)
{
	char c;
	int err;

	(void)!read(go, &c, 1);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	if (o->preload)
		preload_environment(o->preload);
	execvp(o->command[0], o->command);
	err = errno;
	(void)!write(report, &err, sizeof(err));
	_exit(127);
}

/* Fork the command; writing to *go or closing it starts it. *report then says why it could not run. */
static int prepare_command(struct session *s, int *go, int *report)
{
	int go_pipe[2], report_pipe[2];

	if (pipe2(go_pipe, O_CLOEXEC) || pipe2(report_pipe, O_CLOEXEC))
		return complain(s, s->o->command[0], -errno);
	s->pull.child = fork();
	if (!s->pull.child) {
		close(go_pipe[1]);
		run_command(s->o, go_pipe[0], report_pipe[1]);
	}
	close(go_pipe[0]);
	close(report_pipe[1]);
	*go = go_pipe[1];
	*report = report_pipe[0];
	return s->pull.child < 0 ? complain(s, s->o->command[0], -errno) : 0;
}

/* Start it. A command that cannot be run is an error. */
static int start_command(struct session *s, int go, int report)
{
	int err = 0;

	close(go);
	if (read(report, &err, sizeof(err)) != (ssize_t)sizeof(err))
		err = 0;
	close(report);
	if (!err)
		return 0;
	diag_error("%s: %s", s->o->command[0], strerror(err));
	snprintf(s->c->ended, sizeof(s->c->ended), "the command could not be run: %s",
		 strerror(err));
	return -1;
}

/* The recording ended before the command. */
static void end_command(struct pull *p)
{
	if (p->child <= 0 || p->child_ended)
		return;
	kill(p->child, SIGTERM);
	for (int i = 0; i < 200 && !p->child_ended && !stop_at_once(); i++) {
		p->child_ended = waitpid(p->child, &p->status, WNOHANG) == p->child;
		if (!p->child_ended)
			usleep(10000);
	}
	if (!p->child_ended) {
		kill(p->child, SIGKILL);
		waitpid(p->child, &p->status, 0);
	}
}

/* ---- recording ---- */

static int64_t deadline;

static bool told_to_stop(void)
{
	return stop_signal() || io_now_ms() >= deadline;
}

static bool is_gone(const struct session *s, int err)
{
	return err == -EIO || err == -ENOTCONN || err == -ENODEV || tree_is_dead(s->steer.t);
}

/* Reading failed: the target is gone, or the file is full, which is reported with the file. */
static int broke(struct session *s, int err)
{
	if (s->r->err)
		return -1;
	if (is_gone(s, err))
		snprintf(s->c->ended, sizeof(s->c->ended), "the target went away");
	else
		snprintf(s->c->ended, sizeof(s->c->ended), "trace_pipe_raw: %s", strerror(-err));
	diag_warn("%s: %s; the trace ends there", s->o->target, s->c->ended);
	return tree_is_dead(s->steer.t) || err == -ENOTCONN || err == -ENODEV ? 0 : -1;
}

/* per_cpu/cpuN/stats; NULL: the target does not say. */
static char *load_stats(struct session *s, uint32_t cpu)
{
	char file[64], path[512];
	int err;

	if (tree_is_dead(s->steer.t))
		return NULL;
	snprintf(file, sizeof(file), "per_cpu/cpu%u/stats", cpu);
	return tree_load(s->steer.t, steer_path(&s->steer, file, path), TEXT_MAX, NULL, &err);
}

static void take_stats(struct session *s)
{
	int err;
	char *tracers =
		tree_load(s->steer.t, "tracer_stats", TEXT_MAX, NULL, &err); /* Fathom's alone */

	s->c->calls_lost = capture_number(tracers, "shadow stack full: ");
	free(tracers);
	for (uint32_t cpu = 0; cpu < s->c->nr_cpus; cpu++) {
		struct capture_cpu *p = &s->c->cpus[cpu];

		p->stats_text = load_stats(s, cpu);
		p->counted = p->stats_text != NULL;
		capture_read_stats(p->stats_text, &p->stats);
	}
}

/* Note what was read and cleared before this recording. */
static void note_read_before(struct session *s)
{
	for (uint32_t cpu = 0; cpu < s->c->nr_cpus && !stop_signal(); cpu++) {
		char *text = load_stats(s, cpu);

		s->c->cpus[cpu].read_before = capture_number(text, "read events: ");
		s->c->cpus[cpu].cleared_before = capture_number(text, "cleared events: ");
		free(text);
	}
}

/* Read what is left of the pages, while nobody writes new ones. */
static void read_rest(struct session *s)
{
	int got = pull_rest(&s->pull);

	if (got < 0)
		broke(s, got);
	else if (got)
		diag_warn("%s: not all of its last pages were read in time", s->o->target);
}

/* Read the rest of the pages, and what only the target knows. */
static void finish(struct session *s)
{
	char path[512];

	if (tree_is_dead(s->steer.t))
		return;
	/* Calls wait again, but not long: the target may have stopped answering at this very moment. */
	tree_stop_when(s->steer.t, stop_at_once);
	tree_patience(s->steer.t, s->pull.unanswered ? SUSPECT_MS : FINISH_MS, FLUSH_MS);
	if (tree_write(s->steer.t, steer_path(&s->steer, "tracing_on", path), "0")) {
		diag_warn("%s: no longer answers; its last pages are missing", s->o->target);
		snprintf(s->c->ended + strlen(s->c->ended),
			 sizeof(s->c->ended) - strlen(s->c->ended),
			 ", the target no longer answered");
		return;
	}
	tree_patience(s->steer.t, FINISH_MS, FLUSH_MS);
	if (s->o->live && !s->r->is_kept)
		return;
	s->pull.rest_ms = s->o->live ? io_now_ms() + WATCHED_MS : INT64_MAX;
	if (!s->r->err)
		read_rest(s);
	take_stats(s);
	take_text(s, "saved_cmdlines", &s->c->cmdlines);
	take_text(s, "printk_formats", &s->c->printks);
}

/* ---- a line that is cut ---- */

/* One try. The target must be as it was left: a restarted one is another trace. 0, -EAGAIN, or -1. */
static int try_again(struct session *s)
{
	char unsaid[256], path[512], *on;
	struct tree *t;
	int err;

	diag_keep(unsaid, sizeof(unsaid));
	t = tree_open(s->o->target);
	diag_keep(NULL, 0);
	if (!t)
		return -EAGAIN;
	tree_close(s->steer.t);
	s->steer.t = t;
	tree_stop_when(t, told_to_stop);
	tree_patience(t, PATIENCE_MS, FLUSH_MS);
	tree_claim(t);
	on = tree_load(t, steer_path(&s->steer, "tracing_on", path), TEXT_MAX, NULL, &err);
	if (on && on[0] != '1') {
		snprintf(s->c->ended, sizeof(s->c->ended), "the target was restarted");
		err = -1;
	} else {
		err = on && !pull_open(&s->pull) ? 0 : -EAGAIN;
	}
	free(on);
	return err;
}

/* The target went away during a live view: wait until it returns. Its rings keep what they can meanwhile, and count the rest. */
static int wait_for_target(struct session *s)
{
	struct record_live *l = s->o->live;
	struct pollfd stop = {.fd = stop_fd(), .events = POLLIN};
	int err = -EAGAIN;

	pull_close(&s->pull);
	__atomic_add_fetch(&l->cuts, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&l->away, true, __ATOMIC_RELAXED);
	diag_warn("%s: the target went away; waiting for it to return", s->o->target);
	while (err == -EAGAIN && !told_to_stop()) {
		poll(&stop, 1, AGAIN_MS);
		err = try_again(s);
	}
	if (!err) {
		__atomic_store_n(&l->away, false, __ATOMIC_RELAXED);
		diag_warn("%s: the target is back", s->o->target);
	}
	return err;
}

static int pull_pages(struct session *s)
{
	int err = pull_run(&s->pull);

	while (err < 0 && s->o->live && !s->r->err && is_gone(s, err)) {
		if (wait_for_target(s))
			break;
		err = pull_run(&s->pull);
	}
	return err < 0 && !s->c->ended[0] ? broke(s, err) : err < 0 ? -1 : 0;
}

static int begin_live(struct session *s)
{
	struct record_live *l = s->o->live;

	if (!l)
		return 0;
	l->empty = calloc(s->c->nr_cpus, sizeof(*l->empty));
	l->nr_cpus = s->c->nr_cpus;
	recording_file(s->r, l->file);
	return l->empty ? 0 : -1;
}

static int record(struct session *s)
{
	int err = 0, go = -1, report = -1;

	if (claim(s) || set_up(s))
		return -1;
	take_clock(s);
	note_read_before(s);
	if (recording_begin(s->r, s->c) || begin_live(s) || pull_open(&s->pull))
		return -1;
	if ((s->o->command && prepare_command(s, &go, &report)) ||
	    setup_pids(&s->steer, s->o, s->o->only_command ? s->pull.child : 0))
		return -1;
	s->pull.end_ms = deadline =
		s->o->seconds ? io_now_ms() + s->o->seconds * 1000ll : INT64_MAX;
	tree_stop_when(s->steer.t, told_to_stop);
	tree_patience(s->steer.t, PATIENCE_MS, FLUSH_MS);
	if (steer_set(&s->steer, "tracing_on", "1") ||
	    (s->o->command && start_command(s, go, report)))
		err = -1;
	if (!err)
		err = pull_pages(s);
	finish(s);
	end_command(&s->pull);
	return err;
}

/* ---- the last boot ---- */

/* Has the target such a trace? Its last_boot_info says why not. Linux's says other things, and only if it has one. */
static int has_last_boot(struct session *s)
{
	char path[512], *info;
	uint64_t damaged;
	bool none;
	int err;

	if (steer_use_instance(&s->steer, s->o->instance ? s->o->instance : "boot_map"))
		return -1;
	info = tree_load(s->steer.t, steer_path(&s->steer, "last_boot_info", path), TEXT_MAX, NULL,
			 &err);
	damaged = capture_number(info, "damaged pages: ");
	none = !info || !strncmp(info, "# no", 4) || strstr(info, "given up\n");
	if (!info)
		diag_error("%s: has no %s: it keeps nothing over a reset", s->o->target, path);
	else if (none)
		diag_error("%s: %.*s", s->o->target, (int)strcspn(info, "\n") - 2, info + 2);
	else if (damaged)
		diag_warn("%s: damaged pages were skipped: %llu", s->o->target,
			  (unsigned long long)damaged);
	free(info);
	return none ? -1 : 0;
}

/* Nothing is switched or cleared: the pages are read, and are gone from the target then. */
static int record_last_boot(struct session *s)
{
	char file[32];

	s->c->cmdlines.len = 0; /* of tasks of this boot */
	if (has_last_boot(s))
		return -1;
	take_clock(s);
	note_read_before(s);
	if (recording_begin(s->r, s->c) || pull_open(&s->pull))
		return -1;
	s->pull.rest_ms = INT64_MAX;
	read_rest(s);
	take_stats(s);
	capture_names(s->c, recording_file(s->r, file));
	if (!s->c->ended[0])
		snprintf(s->c->ended, sizeof(s->c->ended), "what the last boot left was read");
	return 0;
}

/* A command's status, as a shell has it. */
static int shell_status(const struct pull *p)
{
	if (!p->child_ended)
		return 0;
	return WIFSIGNALED(p->status) ? 128 + WTERMSIG(p->status) : WEXITSTATUS(p->status);
}

/* Something failed, or a signal came, before the first page was asked for. */
static void say_not_begun(struct capture *c)
{
	if (stop_signal())
		snprintf(c->ended, sizeof(c->ended), "interrupted by SIG%s before it began",
			 sigabbrev_np(stop_signal()));
	else
		snprintf(c->ended, sizeof(c->ended), "the recording could not begin");
}

int record_tree(const struct record_options *o, struct capture *c, struct recording *r, int *status)
{
	struct session s = {.o = o, .c = c, .r = r, .steer = {.target = o->target}};
	int err = -1;

	s.steer.t = tree_open(o->target);
	if (!s.steer.t)
		return -1;
	s.pull =
		(struct pull){.steer = &s.steer, .c = c, .r = r, .pipe = {-1, -1}, .live = o->live};
	tree_stop_when(s.steer.t, told_to_stop);
	deadline = INT64_MAX;
	if (!take_all(&s))
		err = o->last_boot ? record_last_boot(&s) : record(&s);
	if (err && !c->ended[0])
		say_not_begun(c);
	/* Settings are restored even after a signal, unless the target does not answer. */
	tree_stop_when(s.steer.t, stop_at_once);
	tree_patience(s.steer.t, err ? SUSPECT_MS : RESTORE_MS, FLUSH_MS);
	pull_close(&s.pull);
	if (tree_is_dead(s.steer.t))
		steer_forget(&s.steer);
	else
		steer_restore(&s.steer);
	*status = shell_status(&s.pull);
	tree_close(s.steer.t);
	return err;
}
