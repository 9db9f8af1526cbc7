/* SPDX-License-Identifier: MIT */
/* follow.h -- the events of a recording while it is recorded, in the order of time, as soon as that order is certain. */
#ifndef STORE_FOLLOW_H
#define STORE_FOLLOW_H

#include "decode/source.h"

/*
 * A CPU that has nothing to say sends no page, so the newest event of another CPU may not be the next one of all. The recorder knows
 * more: when it last found the ring of a CPU empty, everything that the CPU had written by then was in the file.
 *
 *   F1  What a CPU wrote up to a time T is here if its own stream has an event after T, or if its ring was found empty when the file
 *       already held an event after T.
 *   F2  An event is given when F1 holds for its time on all CPUs. An event that was written late, by an interrupt that nested in another
 *       writer, is given late; none is dropped.
 *   F3  When the recording is over, everything is given.
 */
struct follow_file {
	const char *path;
	/* How many bytes of the file are whole, and how many there were when the ring of each CPU was last found empty. False: the
	 * recording is over, and *whole is all of it. */
	bool (*look)(void *arg, uint64_t *whole, uint64_t *empty, uint32_t nr_cpus);
	void *arg;
};

struct follow;

/* 0; -EAGAIN: the recording has not begun; or another negative errno with a message. */
int follow_open(const struct follow_file *f, struct follow **out);
void follow_close(struct follow *f);
struct source *follow_source(struct follow *f);
/* Take in what came since the last call; nobody may use the source meanwhile. 0 or a negative errno. */
int follow_grow(struct follow *f);
/* The next event whose turn it is; NULL: none yet. Valid until the next call. */
const struct event *follow_next(struct follow *f);
/* The recording was over when it was looked at last: when follow_next() has no more, there is no more. */
bool follow_ended(const struct follow *f);

#endif
