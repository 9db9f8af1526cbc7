/* SPDX-License-Identifier: MIT */
/* relay.h -- items that one thread makes and another takes, some hundred at a time. */
#ifndef VIEW_RELAY_H
#define VIEW_RELAY_H

#include <stddef.h>

struct relay;

/*
 * `take` gets every item in order: in a thread of its own, or where there is one CPU or no thread to be had, at once. What it
 * uses belongs to it until relay_end(). NULL: out of memory.
 */
struct relay *relay_new(size_t item_size, void (*take)(void *arg, const void *item), void *arg);
void relay_put(struct relay *r, const void *item);
/* All items are taken when it returns. */
void relay_end(struct relay *r);

#endif
