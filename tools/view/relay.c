/* SPDX-License-Identifier: MIT */
/* relay.c -- items that one thread makes and another takes, some hundred at a time. */
#include "view/relay.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH	512u /* items: a lock per batch is not felt */
#define BATCHES 4u   /* so that neither waits for the other's hiccups */

struct relay {
	void (*take)(void *arg, const void *item);
	void *arg;
	size_t size;
	bool threaded;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t made, taken; /* batches; under the lock */
	bool ended;	      /* under the lock */
	uint32_t nr[BATCHES]; /* items of a batch: the maker's until it is made, then the taker's */
	_Alignas(16) char items[];
};

static char *batch(struct relay *r, uint64_t n)
{
	return r->items + n % BATCHES * BATCH * r->size;
}

static void *work(void *arg)
{
	struct relay *r = arg;

	pthread_mutex_lock(&r->lock);
	for (;;) {
		uint64_t n = r->taken;

		if (n == r->made) {
			if (r->ended)
				break;
			pthread_cond_wait(&r->changed, &r->lock);
			continue;
		}
		pthread_mutex_unlock(&r->lock);
		for (uint32_t i = 0; i < r->nr[n % BATCHES]; i++)
			r->take(r->arg, batch(r, n) + i * r->size);
		pthread_mutex_lock(&r->lock);
		r->taken++;
		pthread_cond_signal(&r->changed);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

struct relay *relay_new(size_t item_size, void (*take)(void *arg, const void *item), void *arg)
{
	struct relay *r = calloc(1, sizeof(*r) + BATCHES * BATCH * item_size);

	if (!r)
		return NULL;
	r->take = take;
	r->arg = arg;
	r->size = item_size;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->changed, NULL);
	r->threaded =
		sysconf(_SC_NPROCESSORS_ONLN) > 1 && !pthread_create(&r->thread, NULL, work, r);
	return r;
}

/* The batch is full: the next one may be filled when the taker is done with it. */
static void hand_over(struct relay *r)
{
	pthread_mutex_lock(&r->lock);
	r->made++;
	pthread_cond_signal(&r->changed);
	while (r->made - r->taken == BATCHES)
		pthread_cond_wait(&r->changed, &r->lock);
	r->nr[r->made % BATCHES] = 0;
	pthread_mutex_unlock(&r->lock);
}

void relay_put(struct relay *r, const void *item)
{
	uint32_t *nr = &r->nr[r->made % BATCHES]; /* only this thread writes `made` */

	if (!r->threaded) {
		r->take(r->arg, item);
		return;
	}
	memcpy(batch(r, r->made) + *nr * r->size, item, r->size);
	if (++*nr == BATCH)
		hand_over(r);
}

void relay_end(struct relay *r)
{
	if (!r)
		return;
	if (r->threaded) {
		hand_over(r);
		pthread_mutex_lock(&r->lock);
		r->ended = true;
		pthread_cond_signal(&r->changed);
		pthread_mutex_unlock(&r->lock);
		pthread_join(r->thread, NULL);
	}
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->changed);
	free(r);
}
