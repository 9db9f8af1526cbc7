/* SPDX-License-Identifier: MIT */
/* ringchunks.c -- the compressed chunks of a stream, unpacked when needed or ahead by other threads. */
#include "decode/ring/ringchunks.h"
#include "base/vec.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_MAX   32u
/* Larger chunks than any writer makes are left to the owner, so that memory is bounded by what is believed of one. */
#define AHEAD_BYTES (1u << 20)

enum slot_state {
	SLOT_EMPTY,
	SLOT_BUSY,
	SLOT_READY,
};

struct slot {
	enum slot_state state;
	size_t chunk;
	uint8_t *data;
	size_t cap;
};

struct ring_window {
	struct source *source;
	const struct ring_set *set;
	struct ring_stream *stream;
	uint32_t cpu;
	unsigned nr_slots;
	size_t at; /* the owner's chunk */
	pthread_mutex_t lock;
	pthread_cond_t ready;
	struct slot slots[SLOTS_MAX];
};

size_t ring_chunk_of(const struct ring_stream *t, uint64_t block)
{
	size_t lo = 0, hi = t->nr_chunks;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (t->chunks[mid].first_block <= block)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? lo - 1 : 0;
}

struct ring_window *ring_window_new(struct source *s, const struct ring_set *set, uint32_t stream)
{
	struct ring_window *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->source = s;
	w->set = set;
	w->stream = &set->streams[stream];
	w->cpu = s->streams[stream].cpu;
	w->nr_slots = 1;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->ready, NULL);
	return w;
}

void ring_window_free(struct ring_window *w)
{
	if (!w)
		return;
	for (unsigned i = 0; i < SLOTS_MAX; i++)
		free(w->slots[i].data);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->ready);
	free(w);
}

void ring_window_widen(struct ring_window *w, unsigned slots)
{
	struct slot s = w->slots[0];

	if (slots < 2 || w->nr_slots > 1)
		return;
	w->nr_slots = slots < SLOTS_MAX ? slots : SLOTS_MAX;
	/* The owner may still read its chunk: the bytes stay where they are, only the slot becomes another. */
	w->slots[0] = w->slots[s.chunk % w->nr_slots];
	w->slots[s.chunk % w->nr_slots] = s;
}

/* Fill a slot that is BUSY by this thread; W1. */
static bool unpack(struct ring_window *w, struct slot *s, size_t n)
{
	const struct ring_chunk *k = &w->stream->chunks[n];
	const uint8_t *in = w->source->map + k->offset;
	int err;

	if (k->out_bytes > s->cap) {
		if (!vec_resize(&s->data, k->out_bytes, 1))
			return false;
		s->cap = k->out_bytes;
	}
	if (w->nr_slots > 1)
		err = decompress_apart(w->set->compression, in, k->bytes, s->data, k->out_bytes);
	else
		err = decompress(w->set->compression, in, k->bytes, s->data, k->out_bytes);
	if (err) {
		source_damage(w->source, k->offset, k->out_bytes,
			      "cpu %u: a compressed chunk of %u bytes does not decompress to %u",
			      w->cpu, k->bytes, k->out_bytes);
		memset(s->data, 0, k->out_bytes);
	}
	return true;
}

/* Called and left with the lock held. */
static bool fill(struct ring_window *w, struct slot *s, size_t n)
{
	bool ok;

	s->state = SLOT_BUSY;
	s->chunk = n;
	pthread_mutex_unlock(&w->lock);
	ok = unpack(w, s, n);
	pthread_mutex_lock(&w->lock);
	s->state = ok ? SLOT_READY : SLOT_EMPTY;
	pthread_cond_signal(&w->ready);
	return ok;
}

const uint8_t *ring_window_chunk(struct ring_window *w, size_t n)
{
	struct slot *s = &w->slots[n % w->nr_slots];
	bool ok = true;

	pthread_mutex_lock(&w->lock);
	w->at = n;
	while (s->state == SLOT_BUSY)
		pthread_cond_wait(&w->ready, &w->lock);
	if (s->state != SLOT_READY || s->chunk != n)
		ok = fill(w, s, n);
	pthread_mutex_unlock(&w->lock);
	return ok ? s->data : NULL;
}

bool ring_window_ahead(struct ring_window *w, unsigned distance)
{
	bool done = false;
	struct slot *s;
	size_t n;

	if (!distance || distance >= w->nr_slots)
		return false;
	pthread_mutex_lock(&w->lock);
	n = w->at + distance;
	s = &w->slots[n % w->nr_slots];
	if (n < w->stream->nr_chunks && w->stream->chunks[n].out_bytes <= AHEAD_BYTES &&
	    s->state != SLOT_BUSY && (s->state != SLOT_READY || s->chunk != n))
		done = fill(w, s, n);
	pthread_mutex_unlock(&w->lock);
	return done;
}
