/* SPDX-License-Identifier: MIT */
/* user.c -- the cold half of the user port: starts from FATHOM_TRACE, saves at exit and on a crash. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <sys/uio.h>
#include <unistd.h>
#include "fathom/fs.h"
#include "fathom/object.h"
#include "fathom/save.h"
#include "fathom/trace.h"
#include "fathom/task.h"
#include "fathom_port.h"
#include "fathom_serve.h"
#include "fathom_user.h"
#include "port.h"

/* It stands here because every traced program needs it: the linker then takes this file, and at_start(), out of the archive. */
__thread uint32_t fathom_user_cpu = FATHOM_USER_NONE;

static struct user_options user;
static void *user_memory;
static size_t user_memory_bytes;
static int user_running;
static _Atomic int user_saving; /* one saver: the exit, or the first thread that crashed */
static uint64_t user_start_ticks, user_start_ns; /* one moment on both clocks */
static pid_t user_pid;
int user_elsewhere;
uint32_t user_preload_functions;

/* What ends a program; the last three only of one that `fathom record` runs and that does not catch them. */
static const int user_ends[] = {SIGSEGV, SIGBUS,  SIGILL, SIGFPE, SIGABRT,
				SIGSYS,	 SIGTERM, SIGINT, SIGHUP};
#define NR_ENDS	   (sizeof(user_ends) / sizeof(user_ends[0]))
#define NR_CRASHES (NR_ENDS - 3)
static struct sigaction user_old[NR_ENDS];

/* The first thread's stack may be what is broken. Others run the handler on their own. */
static char user_crash_stack[64 * 1024];

uint64_t user_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t tai_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_TAI, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The counter itself in nanoseconds, which nobody adjusts; Linux's trace_clock calls it mono_raw. */
static uint64_t raw_ns(void)
{
#ifdef __x86_64__
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
#else
	return user_now_ns();
#endif
}

/*
 * Both clocks at one moment: of several looks the one that took least, for a look may be interrupted, and the first one
 * waits until the dynamic linker has found clock_gettime().
 */
static void clock_look(uint64_t *ticks, uint64_t *ns)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 8; i++) {
		uint64_t before = fathom_port_clock(), now = raw_ns();
		uint64_t took = fathom_port_clock() - before;

		if (took >= least)
			continue;
		least = took;
		*ticks = before + took / 2;
		*ns = now;
	}
}

/* The rate of the clock, from what has passed on both since the start: the longer, the better. */
static uint64_t clock_hz(void)
{
#ifdef __x86_64__
	uint64_t ticks = 0, ns = 0;

	clock_look(&ticks, &ns);
	ticks -= user_start_ticks;
	ns -= user_start_ns;
	return ns ? (uint64_t)((double)ticks * 1e9 / (double)ns + 0.5) : 0;
#else
	return 0;
#endif
}

static void clock_start(void)
{
	clock_look(&user_start_ticks, &user_start_ns);
#ifdef __x86_64__
	while (raw_ns() - user_start_ns < 1000000)
		;
#endif
}

static void to_stderr(void *arg, const char *text, size_t bytes)
{
	(void)arg;
	while (bytes) {
		ssize_t n = write(2, text, bytes);

		if (n <= 0)
			return;
		text += n;
		bytes -= (size_t)n;
	}
}

/* The file being written, by one saver at a time: small pieces that follow each other go out together. */
static struct {
	int fd;
	uint64_t at; /* where `bytes` go */
	size_t nr;
	char bytes[1 << 16];
} save_file;

static int write_all(const char *from, size_t n, uint64_t at)
{
	while (n) {
		ssize_t put = pwrite(save_file.fd, from, n, (off_t)at);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put ? -errno : -EIO;
		from += put;
		at += (uint64_t)put;
		n -= (size_t)put;
	}
	return 0;
}

static int write_rest(void)
{
	size_t n = save_file.nr;

	save_file.nr = 0;
	return write_all(save_file.bytes, n, save_file.at);
}

static int write_at(void *unused, uint64_t at, const void *bytes, size_t n)
{
	int err = 0;

	(void)unused;
	if (at != save_file.at + save_file.nr || n > sizeof(save_file.bytes) - save_file.nr)
		err = write_rest();
	if (err || n > sizeof(save_file.bytes))
		return err ? err : write_all(bytes, n, at);
	if (!save_file.nr)
		save_file.at = at;
	memcpy(save_file.bytes + save_file.nr, bytes, n);
	save_file.nr += n;
	return 0;
}

/*
 * Async-signal-safe: open, pwrite, close, and the library's own code. No link is followed: in a folder that others may
 * write to, it could be theirs.
 */
static int save_to(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	struct fathom_save save = {.write_at = write_at,
				   .symbol = user_symbol_at,
				   .task = user_thread_at,
				   .moment_ticks = user_start_ticks,
				   .moment_ns = user_start_ns};
	struct fathom_tracer_stats st;
	int err;

	if (fd < 0)
		return -errno;
	save_file.fd = fd;
	save_file.at = save_file.nr = 0;
	user_threads_look();
	fathom_tracer_stats(&st);
	save.calls_lost = st.shadow_full;
	err = fathom_save(&save);
	if (!err)
		err = write_rest();
	if (close(fd) && !err)
		err = -errno;
	return err;
}

/* In one write: other threads and processes may be writing too. */
void user_say(const char *what, const char *more, const char *why)
{
	char line[512];
	int n = snprintf(line, sizeof(line), "fathom: %s%s%s\n", what, more, why);

	if (n >= (int)sizeof(line)) {
		n = sizeof(line) - 1;
		line[n - 1] = '\n';
	}
	to_stderr(NULL, line, (size_t)n);
}

/* What the file will hold, and what was lost; taken before it is written, which reads the rings. */
static void user_count(uint64_t *events, uint64_t *lost)
{
	struct fathom_ring_stats st;

	*events = 0;
	*lost = fathom_user_refused();
	for (uint32_t i = 0; i < user.cpus; i++) {
		fathom_cpu_stats(i, &st);
		*events += st.entries;
		*lost += st.overwritten + st.full + st.nested + st.too_big;
	}
}

static void say_saved(int err, uint64_t events, uint64_t lost)
{
	char text[64];

	if (err) {
		user_say(user.out, ": could not be written: ", strerror(-err));
		return;
	}
	if (user.quiet)
		return;
	snprintf(text, sizeof(text), lost ? ": %llu events, %llu lost" : ": %llu events",
		 (unsigned long long)events, (unsigned long long)lost);
	user_say(user.out, text, "");
}

/* At exit and on a crash, once. Recording ends. `orderly`: not in a signal handler. */
static void finish(int orderly)
{
	uint64_t refused, events, lost;
	char number[24];

	if (!user_running || atomic_exchange(&user_saving, 1))
		return;
	if (user.sample_us)
		user_sample_stop();
	fathom_tracing_off();
	if (orderly && user.sample_us)
		user_symbols_more();
	fathom_clock_hz_set(clock_hz());
	if (user.dump)
		fathom_dump(0);
	user_count(&events, &lost);
	if (user.out[0]) {
		int err = save_to(user.out);

		say_saved(err, events, lost);
		if (!err)
			user_rings_done(user.rings);
	}
	refused = fathom_user_refused();
	if (refused) {
		snprintf(number, sizeof(number), "%llu", (unsigned long long)refused);
		user_say(number, " events were refused: more threads traced at a time than ",
			 "cpus= allows");
	}
}

int fathom_user_save(const char *path)
{
	int err;

	if (!user_running)
		return -EINVAL;
	if (atomic_exchange(&user_saving, 1))
		return -EBUSY;
	fathom_clock_hz_set(clock_hz());
	err = save_to(path ? path : user.out);
	atomic_store(&user_saving, 0);
	return err;
}

/* _exit(): a child of vfork() has the memory of its parent, and ends nothing. */
void user_exiting(void)
{
	if (user_running && user_pid == getpid())
		finish(0);
}

static void on_crash(int sig, siginfo_t *info, void *context)
{
	struct sigaction *old = NULL;

	for (size_t i = 0; i < NR_ENDS; i++)
		if (user_ends[i] == sig)
			old = &user_old[i];
	finish(0);
	if (old && old->sa_flags & SA_SIGINFO) {
		old->sa_sigaction(sig, info, context);
	} else if (old && old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN) {
		old->sa_handler(sig);
	} else {
		signal(sig, SIG_DFL);
		raise(sig);
	}
}

static void catch_crashes(void)
{
	struct sigaction sa = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	stack_t ss = {.ss_sp = user_crash_stack, .ss_size = sizeof(user_crash_stack)}, old;

	sigemptyset(&sa.sa_mask);
	if (!sigaltstack(NULL, &old) && (old.ss_flags & SS_DISABLE))
		sigaltstack(&ss, NULL);
	for (size_t i = 0; i < NR_ENDS; i++)
		if (i < NR_CRASHES ||
		    (user.only_pid && !sigaction(user_ends[i], NULL, &user_old[i]) &&
		     user_old[i].sa_handler == SIG_DFL))
			sigaction(user_ends[i], &sa, &user_old[i]);
}

/*
 * Nobody steers while the process forks: the child would have the lock of a thread that it does not have, for ever, and
 * functions that were half patched.
 */
static void before_fork(void)
{
	user_lock(NULL);
}

static void in_parent(void)
{
	user_unlock(NULL);
}

/* The child shares the file's name but not the rings: it traces nothing. */
static void in_child(void)
{
	user_rings_in_child();
	user_unlock(NULL);
	user_serve_in_child();
	if (!user_running)
		return;
	user_running = 0;
	fathom_tracing_off();
}

static int reserve_memory(struct fathom_config *c)
{
	uint32_t pages = (uint32_t)(((uint64_t)user.buffer_kb << 10) / WIRE_PAGE_DATA +
				    1); /* as buffer_size_kb counts */
	int err = 0;

	if (pages > FATHOM_RING_PAGES_MAX) /* the largest buffer_kb, with the heads of its pages */
		pages = FATHOM_RING_PAGES_MAX;
	c->nr_cpus = user.cpus;
	c->pages_per_cpu = pages;
	c->module_functions = user.functions + user_preload_functions;
	c->module_events = user.library_events;
	/* Four times: a snapshot, instances and histograms fit too. Pages are real only once they are used. */
	user_memory_bytes = 4 * fathom_memory_need(user.cpus, pages);
	user_memory_bytes +=
		(size_t)c->module_functions * (128 + 24 * user.cpus); /* and a profile */
	user_memory_bytes += (size_t)user.library_events * 256;	      /* in some instances too */
	if (user.rings[0]) {
		user_memory = user_rings_map(user.rings, user_memory_bytes,
					     fathom_memory_need(user.cpus, pages), &err);
		if (err)
			user_say(user.rings, ": the rings cannot lie in it: ", strerror(-err));
	} else {
		user_memory = mmap(NULL, user_memory_bytes, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		err = user_memory == MAP_FAILED ? -ENOMEM : 0;
	}
	if (err)
		return err;
	c->memory = user_memory;
	c->memory_bytes = user_memory_bytes;
	return 0;
}

/* `*`, which is meant when nothing is said, is all there are: there may be none but trace_printk(). */
static int enable_events(void)
{
	for (const char *p = user.events; *p; p += strlen(p) + 1) {
		int n = fathom_event_enable(p, 1);

		if (n < 0 && !(n == -EINVAL && !strcmp(p, "*"))) {
			user_say("no event matches, or it cannot be switched: ", p, "");
			return n;
		}
	}
	return 0;
}

int user_is_running(void)
{
	return user_running;
}

/* A library that comes later: what was asked for is asked of it too, and need not be there. */
int user_events_join(struct fathom_object *o)
{
	int err = fathom_object_add(o);

	if ((err && err != -ENOSPC) || !user_running)
		return err;
	for (const char *p = user.events; *p; p += strlen(p) + 1)
		fathom_event_enable(p, 1);
	return err;
}

/* One more word into a file of the tree that is a list. */
static int append(const char *path, const char *word)
{
	struct fathom_node node;
	struct fathom_file f;
	int err = fathom_fs_lookup(path, &node);

	if (!err)
		err = fathom_fs_open(&f, &node, FATHOM_O_WRONLY | FATHOM_O_APPEND);
	if (err)
		return err;
	err = fathom_fs_write(&f, word, strlen(word));
	if (err >= 0)
		err = fathom_fs_write(
			&f, "\n", 1); /* only then is the word known to be whole, and looked at */
	fathom_fs_close(&f);
	return err < 0 ? err : 0;
}

/* NAME or noNAME; options/ has those of every tracer, also of one that does not run yet. */
static int set_options(void)
{
	for (const char *p = user.options; *p; p += strlen(p) + 1) {
		int off = !strncmp(p, "no", 2);
		char path[80];
		int err = -EINVAL;

		if (snprintf(path, sizeof(path), "options/%s", off ? p + 2 : p) < (int)sizeof(path))
			err = fathom_set(path, off ? "0" : "1");
		if (err) {
			user_say("option=", p, ": there is no such trace option");
			return err;
		}
	}
	return 0;
}

/* The options and filters first, so that the tracer starts with them. */
static int start_tracer(void)
{
	struct fathom_node functions;
	int err = set_options();

	if (err)
		return err;

	if (user.only_pid && !fathom_fs_lookup("available_filter_functions", &functions))
		strcpy(user.tracer, "function_graph");
	if (!user.tracer[0] && !user.filter[0])
		return 0;
	for (const char *p = user.filter; *p && !err; p += strlen(p) + 1) {
		err = append("set_ftrace_filter", p);
		if (err)
			user_say("no function matches: ", p, "");
	}
	if (!err && user.tracer[0])
		err = fathom_set("current_tracer", user.tracer);
	if (err && fathom_fs_lookup("available_filter_functions", &functions))
		err = -ENOSYS;
	if (err == -ENOSYS)
		user_say(user.tracer, ": no function has sites; see -pg in docs/USER-PORT.md", "");
	else if (err)
		user_say(user.tracer, ": cannot be started", "");
	return err;
}

/*
 * config.lock: its holder is let in again. Not PTHREAD_MUTEX_RECURSIVE, which a forked child, whose thread has another number,
 * could not release.
 */
static struct {
	pthread_mutex_t mutex;
	pthread_t
		owner; /* meaningful while depth is not 0; only its own thread finds itself here */
	uint32_t depth;
} user_holder = {.mutex = PTHREAD_MUTEX_INITIALIZER};

void user_lock(void *unused)
{
	(void)unused;
	if (!__atomic_load_n(&user_holder.depth, __ATOMIC_RELAXED) ||
	    !pthread_equal(__atomic_load_n(&user_holder.owner, __ATOMIC_RELAXED), pthread_self())) {
		pthread_mutex_lock(&user_holder.mutex);
		__atomic_store_n(&user_holder.owner, pthread_self(), __ATOMIC_RELAXED);
	}
	__atomic_store_n(&user_holder.depth, user_holder.depth + 1, __ATOMIC_RELAXED);
}

void user_unlock(void *unused)
{
	(void)unused;
	if (user_holder.depth == 1)
		__atomic_store_n(&user_holder.owner, (pthread_t)0, __ATOMIC_RELAXED);
	__atomic_store_n(&user_holder.depth, user_holder.depth - 1, __ATOMIC_RELAXED);
	if (!user_holder.depth)
		pthread_mutex_unlock(&user_holder.mutex);
}

/* A system call reads what may not be there. Async-signal-safe. */
static int user_peek(void *to, uintptr_t from, size_t bytes)
{
	struct iovec here = {to, bytes}, there = {(void *)from, bytes};
	int err = errno;
	ssize_t n = process_vm_readv(getpid(), &here, 1, &there, 1, 0);

	errno = err;
	return n == (ssize_t)bytes ? 0 : -EFAULT;
}

static int start_tracing(void)
{
	struct fathom_config c = {.sink = to_stderr,
				  .init_live = 1, /* a program may start it late */
				  .lock = user_lock,
				  .unlock = user_unlock,
				  .text_map = user_text_map,
				  .text_unmap = user_text_unmap,
				  .symbol = user_symbol,
				  .lookup = user_symbol_lookup,
				  .task_name = user_thread_name,
				  .task_group = user_thread_group,
				  .programs = &fathom_programs,
				  .dynamic = &fathom_dynamic,
				  .peek = user_peek,
				  .release = "process"};
	int err = reserve_memory(&c);

	if (err)
		return err;
	clock_start();
	user_symbols_load(user.sample_us != 0);
	user_libraries_start();
	c.clock_hz = clock_hz();
#ifdef __x86_64__
	c.clock_name = "x86-tsc";
#endif
	c.mono_ns = user_now_ns;
	c.tai_ns = tai_ns;
	c.sync = user_poke_start() ? user_sync : NULL;
	err = fathom_init(&c);
	if (!err)
		err = user_rings_describe();
	if (err)
		return err;
	if (user.discard)
		fathom_set("options/overwrite", "0");
	if (user.off)
		fathom_tracing_off();
	user_threads_start(c.nr_cpus);
	return 0;
}

int fathom_user_start(const char *options)
{
	static int first = 1;
	char why[USER_WHY];
	int err;

	if (user_running)
		return -EBUSY;
	err = user_options_parse(options, &user, why);
	if (err) {
		user_say("FATHOM_TRACE: ", why, "");
		return err;
	}
	if (user.only_pid && (pid_t)user.only_pid != getpid())
		return -ECANCELED;
	user_pid = getpid();
	err = start_tracing();
	if (err) {
		user_say("tracing could not be started: ", strerror(-err), "");
		return err;
	}
	user_running = 1;
	atomic_store(&user_saving, 0);
	if (first) {
		pthread_atfork(before_fork, in_parent, in_child);
		catch_crashes();
		first = 0;
	}
	if (user.serve && (err = fathom_user_serve()))
		user_say("the control tree cannot be served: ", strerror(-err), "");
	err = enable_events();
	if (!err)
		err = start_tracer();
	if (!err && user.sample_us && (err = user_sample_start(user.sample_us)))
		user_say("stacks cannot be sampled: ", strerror(-err), "");
	if (err) {
		user.out[0] = 0; /* there is nothing to save */
		fathom_user_stop();
	}
	return err;
}

void fathom_user_stop(void)
{
	if (!user_running)
		return;
	fathom_user_serve_stop();
	finish(1);
	user_running = 0;
	fathom_exit();
}

__attribute__((constructor)) static void at_start(void)
{
	const char *options = secure_getenv("FATHOM_TRACE"); /* a set-uid program's user may not */

	if (options && *options && strcmp(options, "0") && !user_elsewhere)
		fathom_user_start(options);
}

__attribute__((destructor)) static void at_exit(void)
{
	fathom_user_serve_stop();
	finish(1);
}
