/* SPDX-License-Identifier: MIT */
/* lanes_live.h -- lanes of a recording while it is recorded: the same as of a file, and they grow. */
#ifndef VIEW_PAGE_LANES_LIVE_H
#define VIEW_PAGE_LANES_LIVE_H

#include "store/follow.h"
#include "view/page/lanes.h"

#include <pthread.h>

/*
 *   G1  The number of a task or a name never changes: new ones come after the others. A page asks for what is new.
 *   G4  Of tasks that are over, the lanes of the last 1,024 are kept; a lane that is new may take the number of one that was given up.
 *       Each step has a number, its turn: a page asks for what has changed since the turn of its last answer.
 *   G2  Lanes, and the source they are made of, change only in lanes_live_step(), which has the lock alone; a thread that reads them shares
 *       the lock meanwhile.
 *   G3  The scale does not change with the span: a tile that was asked for is the same piece of time later.
 */
struct lanes_live;

/* 0 or a negative errno. The choice, whose window is all, and what is followed must outlive it. */
int lanes_live_open(struct follow *f, const struct scan_choice *choice, struct lanes_live **out);
void lanes_live_close(struct lanes_live *l);
const struct lanes *lanes_live_lanes(const struct lanes_live *l);
/* Take in what came, up to some 100,000 events. 1: there is more of it; 0, or a negative errno. */
int lanes_live_step(struct lanes_live *l);
void lanes_live_share(struct lanes_live *l);
void lanes_live_done(struct lanes_live *l);
/* Members of a JSON object: types, tasks that were named after a turn (0: all), names from this one on, what was lost. To be called with
 * the lock. */
void lanes_live_names(const struct lanes_live *l, uint32_t first_name, uint32_t turn, FILE *out);
/* Is the lane another one since this turn, or none? */
bool lanes_live_is_new(const struct lanes_live *l, uint64_t lane, uint32_t turn);
/* Did anything of the lane come after this time? */
bool lanes_live_changed(const struct lanes_live *l, uint64_t lane, uint64_t since);

#endif
