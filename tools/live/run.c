/* SPDX-License-Identifier: MIT */
/* run.c -- a program inside a live target, through its control tree. */
#include "live/sessions.h"

#include "base/diag.h"
#include "capture/p9.h"
#include "capture/record.h"
#include "capture/stop.h"
#include "capture/tree.h"
#include "program/live.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#define TEXT_MAX (64u << 20) /* of one file of the tree */

struct run_session {
	struct tree *tree;
	struct tree_file events;
	bool events_open;
};

static char *load(void *arg, const char *path, int *err)
{
	return tree_load(((struct run_session *)arg)->tree, path, TEXT_MAX, NULL, err);
}

/* Without bytes: as `> PATH` does. Otherwise the contents stay: the bytes are appended, or are a command. */
static int store(void *arg, const char *path, const void *data, size_t bytes)
{
	struct tree *t = ((struct run_session *)arg)->tree;

	return bytes ? tree_store(t, path, data, bytes, false) : tree_clear(t, path);
}

static int make(void *arg, const char *path)
{
	return tree_mkdir(((struct run_session *)arg)->tree, path);
}

static int discard(void *arg, const char *path)
{
	struct run_session *s = arg;

	if (s->events_open)
		tree_file_close(&s->events);
	s->events_open = false;
	return tree_rmdir(s->tree, path);
}

static int events_open(void *arg, const char *path)
{
	struct run_session *s = arg;
	int err = tree_file_open(s->tree, path, &s->events);

	s->events_open = !err;
	return err;
}

static ssize_t events_read(void *arg, void *buf, size_t bytes)
{
	return tree_file_read(&((struct run_session *)arg)->events, buf, bytes, 0);
}

static bool wait_for(void *arg, int64_t ms)
{
	struct pollfd p = {.fd = stop_fd(), .events = POLLIN};

	(void)arg;
	if (!stop_signal() && poll(&p, 1, (int)ms) > 0)
		stop_take();
	return stop_signal() != 0;
}

/* The target's events as an empty trace, which the compiler queries like any other. */
static struct source *describe(const char *target, struct tree *t, struct capture *c,
			       struct recording *r)
{
	struct source *s = NULL;
	char file[32];
	int err;

	if (record_describe(target, t, c) || recording_open(r, "-") || recording_begin(r, c))
		return NULL;
	err = source_open(recording_file(r, file), NULL, &s);
	if (err)
		diag_error("%s: %s", target, strerror(-err));
	return err ? NULL : s;
}

int live_run_program(const char *target, const struct program_options *p, uint32_t seconds)
{
	struct run_session session = {.tree = tree_open(target)};
	struct live_tree tree = {.arg = &session,
				 .target = target,
				 .process = p9_is_process(target),
				 .load = load,
				 .store = store,
				 .make = make,
				 .remove = discard,
				 .events_open = events_open,
				 .events_read = events_read,
				 .wait = wait_for};
	struct recording r = {.fd = -1};
	struct capture c;
	struct source *s;
	int err = -1;

	if (!session.tree)
		return -1;
	stop_watch();
	capture_init(&c);
	s = describe(target, session.tree, &c, &r);
	if (s) {
		source_want_names(s);
		err = live_run(s, p, &tree, seconds, stdout);
		source_close(s);
	}
	if (r.out.f)
		fclose(r.out.f);
	capture_free(&c);
	tree_close(session.tree);
	return err ? -1 : 0;
}
