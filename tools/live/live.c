/* SPDX-License-Identifier: MIT */
/* live.c -- a target that is recorded by a thread while others look at it. */
#include "live/live.h"
#include "base/diag.h"
#include "capture/stop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOOK_MS 50

static void *record(void *arg)
{
	struct live *l = arg;
	int status;

	l->err = record_run(&l->record, &l->c, &status);
	return NULL;
}

int live_start(struct live *l, const struct record_options *asked, const char *target)
{
	int err;

	l->record = *asked;
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
