/* SPDX-License-Identifier: MIT */
/* slim.h -- scheduler events that name no tasks (fathom/events/sched_slim.h), shown as Linux's, with names. */
#ifndef DECODE_SLIM_H
#define DECODE_SLIM_H

#include "decode/source.h"

/* Of an expanded record. */
#define SLIM_BYTES 64u

struct slim;

/*
 * Look for such events and give them Linux's formats; s->slim is NULL if there are none. The schemas are sorted already.
 * 0 or -ENOMEM.
 */
int slim_open(struct source *s);
void slim_close(struct source *s);

/*
 * If the event is one of those, its record becomes Linux's, made in `room` (SLIM_BYTES). A record that is too short for its
 * fields is left as it is. Any thread.
 */
void slim_expand(struct source *s, struct event *e, uint8_t *room);

#endif
