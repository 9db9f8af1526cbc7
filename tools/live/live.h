/* SPDX-License-Identifier: MIT */
/* live.h -- a target that is recorded by a thread while others look at it. */
#ifndef LIVE_LIVE_H
#define LIVE_LIVE_H

#include "capture/record.h"
#include "store/follow.h"

#include <pthread.h>

struct live {
	struct record_options record;
	struct record_live state;
	struct capture c;
	pthread_t thread;
	bool running;
	int err;
};

/* Start to record as `asked` says. 0, or -1 with a message. From here on signals end the recording: stop_signal(). */
int live_start(struct live *l, const struct record_options *asked, const char *target);
/* Wait until there is something to follow, the recording fails, or a signal comes. NULL: there is nothing, with a message. */
struct follow *live_follow(struct live *l);
/* Wait this long, or until a signal comes. False: a signal came. */
bool live_wait(int ms);
/* End the recording and switch off what it switched on. 0, or -1: it failed, with a message. A second signal ends the program. */
int live_stop(struct live *l);

#endif
