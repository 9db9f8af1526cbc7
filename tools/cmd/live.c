/* SPDX-License-Identifier: MIT */
/* live.c -- a target that is recorded by a thread while others look at it. */
#include "cmd/live.h"
#include "base/diag.h"
#include "capture/stop.h"

#include <errno.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define FUSE_MAGIC 0x65735546 /* as `fathom mount` shows a tree */
#define LOOK_MS	   50

struct record_options live_asked;

static bool add_event(const char *value)
{
	if (live_asked.nr_events == RECORD_LIST_MAX) {
		diag_error("at most %d events can be named; use patterns to name more",
			   RECORD_LIST_MAX);
		return false;
	}
	live_asked.events[live_asked.nr_events++] = (struct record_event){.name = value};
	return true;
}

struct option_call live_add_event = {add_event};

const char *live_this_linux(void)
{
	if (!access(LIVE_TRACEFS "/per_cpu", F_OK))
		return LIVE_TRACEFS;
	if (!access("/sys/kernel/debug/tracing/per_cpu", F_OK))
		return "/sys/kernel/debug/tracing";
	(void)!mount("tracefs", LIVE_TRACEFS, "tracefs", 0, NULL);
	return LIVE_TRACEFS;
}

static bool is_tree(const char *name)
{
	struct statfs fs;
	char path[4200];

	snprintf(path, sizeof(path), "%.4096s/per_cpu/cpu0/trace_pipe_raw", name);
	return !access(path, F_OK) && !statfs(name, &fs) &&
	       (fs.f_type == TRACEFS_MAGIC || fs.f_type == FUSE_MAGIC);
}

bool live_is_target(const char *name)
{
	const char *colon = strrchr(name, ':');
	char device[4096];
	struct stat st;

	if (!strncmp(name, "unix:", 5) || !strncmp(name, "tcp:", 4))
		return true;
	if (!stat(name, &st))
		return S_ISSOCK(st.st_mode) || (S_ISCHR(st.st_mode) && strcmp(name, "-") != 0) ||
		       (S_ISDIR(st.st_mode) && is_tree(name));
	if (*name && strspn(name, "0123456789") == strlen(name))
		return true;
	if (!colon || (size_t)(colon - name) >= sizeof(device))
		return false;
	memcpy(device, name, (size_t)(colon - name));
	device[colon - name] = 0;
	return !stat(device, &st) && S_ISCHR(st.st_mode);
}

static void *record(void *arg)
{
	struct live *l = arg;
	int status;

	l->err = record_run(&l->record, &l->c, &status);
	return NULL;
}

int live_start(struct live *l, const char *target)
{
	int err;

	l->record = live_asked;
	l->record.target = target;
	l->record.live = &l->state;
	capture_init(&l->c);
	stop_watch();
	err = pthread_create(&l->thread, NULL, record, l);
	if (err)
		diag_error("%s: cannot start a thread: %s", target, strerror(err));
	l->running = !err;
	return err ? -1 : 0;
}

bool live_wait(int ms)
{
	struct pollfd p = {.fd = stop_fd(), .events = POLLIN};

	if (!stop_signal())
		poll(&p, 1, ms);
	return !stop_signal();
}

/* As follow_file.look() says; pairs with the releases of the recorder. */
static bool look(void *arg, uint64_t *whole, uint64_t *empty, uint32_t nr_cpus)
{
	struct record_live *s = &((struct live *)arg)->state;
	bool over = __atomic_load_n(&s->over, __ATOMIC_ACQUIRE);

	*whole = __atomic_load_n(&s->whole, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < nr_cpus && *whole && i < s->nr_cpus; i++)
		empty[i] = __atomic_load_n(&s->empty[i], __ATOMIC_RELAXED);
	return !over;
}

struct follow *live_follow(struct live *l)
{
	struct follow_file file = {.path = l->state.file, .look = look, .arg = l};
	struct follow *f = NULL;
	int err;

	while ((err = follow_open(&file, &f)) == -EAGAIN && live_wait(LOOK_MS))
		if (__atomic_load_n(&l->state.over, __ATOMIC_ACQUIRE) && !l->state.whole) {
			if (!l->err)
				diag_error("%s: nothing was recorded", l->record.target);
			break;
		}
	return err ? NULL : f;
}

/* The target may answer the last calls late or never: a second signal ends the program at once. */
static void join(struct live *l)
{
	for (bool said = false;; said = true) {
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec++;
		if (!pthread_timedjoin_np(l->thread, NULL, &until))
			return;
		if (stop_at_once())
			_exit(128 + stop_signal());
		if (!said)
			fprintf(stderr,
				"fathom: ending the recording of %s; Ctrl-C again does not wait\n",
				l->record.target);
	}
}

int live_stop(struct live *l)
{
	if (!l->running)
		return -1;
	if (!stop_signal())
		raise(SIGINT);
	join(l);
	l->running = false;
	free(l->state.empty);
	capture_free(&l->c);
	return l->err;
}
