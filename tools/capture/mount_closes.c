/* SPDX-License-Identifier: MIT */
/* mount_closes.c -- files that were closed and of which the server does not know it yet, and waiting for that word. */
#include "capture/mount_closes.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#define CLOSE_SECONDS 5	 /* for that notice, on a busy machine */
#define LOOK_MS	      50 /* check for an interrupted caller this often */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t moved;
	unsigned leaving, done;
} closes = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};

void mount_close_told(struct mount_close *f)
{
	pthread_mutex_lock(&closes.lock);
	closes.leaving += !f->leaving;
	f->leaving = true;
	pthread_mutex_unlock(&closes.lock);
}

static void stays(struct mount_close *f, bool done)
{
	pthread_mutex_lock(&closes.lock);
	closes.leaving -= f->leaving;
	closes.done += done;
	f->leaving = false;
	pthread_cond_broadcast(&closes.moved);
	pthread_mutex_unlock(&closes.lock);
}

void mount_close_taken(struct mount_close *f)
{
	stays(f, false);
}

void mount_close_done(struct mount_close *f)
{
	stays(f, true);
}

void mount_patience_start(struct mount_patience *p)
{
	pthread_mutex_lock(&closes.lock);
	*p = (struct mount_patience){.done = closes.done};
	pthread_mutex_unlock(&closes.lock);
}

/* The caller holds the lock. */
static void wait_a_moment(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += LOOK_MS * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&closes.moved, &closes.lock, &until);
}

bool mount_refused_again(int ret, struct mount_patience *p, bool (*stop)(void))
{
	bool again;

	/* Shrinking a buffer whose `trace` is open gives ENOMEM. */
	if (ret != -EBUSY && ret != -ENOMEM)
		return false;
	pthread_mutex_lock(&closes.lock);
	while (closes.leaving && closes.done == p->done && p->waited_ms < CLOSE_SECONDS * 1000 &&
	       !stop()) {
		wait_a_moment();
		p->waited_ms += LOOK_MS;
	}
	again = closes.done != p->done;
	p->done = closes.done;
	pthread_mutex_unlock(&closes.lock);
	return again;
}
