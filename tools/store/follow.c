/* SPDX-License-Identifier: MIT */
/* follow.c -- the events of a recording while it is recorded, in the order of time, as soon as that order is certain. */
#include "store/follow.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STEPS \
	64u /* how often the file may grow between two times that a ring is found empty, before older ones are forgotten */

/* The file up to `bytes` has events up to `last`. */
struct step {
	uint64_t bytes, last;
};

struct follow {
	struct follow_file file;
	struct source *s;
	struct merge *merge;
	uint64_t *empty;  /* by CPU: as look() says */
	uint64_t *last;	  /* by stream: time of its last event */
	uint64_t *blocks; /* by stream: looked at */
	struct tally tally;
	struct step steps[STEPS];
	uint32_t nr_steps;
	uint64_t settled; /* events up to this time are all here */
	bool over;	  /* no more data will come: F3 */
};

static bool look(struct follow *f, uint64_t *whole)
{
	return f->file.look(f->file.arg, whole, f->empty, f->s ? (uint32_t)f->s->nr_streams : 0);
}

/* The last time of the pages that came, by stream. Times of a page may go back where interrupts nest. */
static int note_times(struct follow *f)
{
	for (uint32_t i = 0; i < f->s->nr_streams; i++) {
		struct cursor *c = NULL;

		if (f->blocks[i] < f->s->streams[i].nr_blocks && !(c = cursor_open(f->s, i)))
			return -ENOMEM;
		for (; f->blocks[i] < f->s->streams[i].nr_blocks; f->blocks[i]++) {
			f->tally.nr_events = f->tally.max_time = 0;
			cursor_tally(c, f->blocks[i], &f->tally);
			if (f->tally.nr_events && f->tally.max_time > f->last[i])
				f->last[i] = f->tally.max_time;
		}
		cursor_close(c);
	}
	return 0;
}

static void add_step(struct follow *f)
{
	uint64_t last = 0;

	for (uint32_t i = 0; i < f->s->nr_streams; i++)
		if (f->last[i] > last)
			last = f->last[i];
	if (f->nr_steps && f->steps[f->nr_steps - 1].last == last)
		return; /* it was so before: the earlier the better */
	if (f->nr_steps == STEPS)
		memmove(f->steps, f->steps + 1, sizeof(*f->steps) * --f->nr_steps);
	f->steps[f->nr_steps++] = (struct step){f->s->map_bytes, last};
}

/* F1 */
static uint64_t known_to(const struct follow *f, uint32_t stream)
{
	uint64_t known = f->last[stream];

	for (uint32_t i = f->nr_steps; i--;)
		if (f->steps[i].bytes <= f->empty[stream])
			return f->steps[i].last > known ? f->steps[i].last : known;
	return known;
}

static void settle(struct follow *f)
{
	uint64_t t = UINT64_MAX;

	for (uint32_t i = 0; i < f->s->nr_streams && !f->over; i++) {
		uint64_t known = known_to(f, i);

		t = known < t ? known : t;
	}
	if (t > f->settled)
		f->settled = t;
}

int follow_grow(struct follow *f)
{
	uint64_t whole;
	int err;

	f->over = !look(f, &whole);
	err = source_grow(f->s, whole);
	if (!err)
		err = note_times(f);
	if (err)
		return err;
	add_step(f);
	settle(f);
	merge_resume(f->merge);
	return 0;
}

const struct event *follow_next(struct follow *f)
{
	const struct event *e = merge_next(f->merge);

	if (!e || e->time <= f->settled)
		return e;
	merge_unget(f->merge);
	return NULL;
}

bool follow_ended(const struct follow *f)
{
	return f->over;
}

struct source *follow_source(struct follow *f)
{
	return f->s;
}

int follow_open(const struct follow_file *file, struct follow **out)
{
	struct follow *f = calloc(1, sizeof(*f));
	struct source_options o = {0};
	int err = f ? 0 : -ENOMEM;

	if (f) {
		f->file = *file;
		look(f, &o.grows);
		err = !o.grows ? -EAGAIN : source_open(file->path, &o, &f->s);
	}
	if (!err) {
		size_t n = f->s->nr_streams + 1;

		f->empty = calloc(n, sizeof(*f->empty));
		f->last = calloc(n, sizeof(*f->last));
		f->blocks = calloc(n, sizeof(*f->blocks));
		f->tally.by_type = calloc(SOURCE_ID_FAST, sizeof(uint64_t));
		f->tally.losses = losses_new();
		f->merge = merge_open(f->s, NULL, NULL);
		if (!f->empty || !f->last || !f->blocks || !f->tally.by_type || !f->tally.losses ||
		    !f->merge)
			err = -ENOMEM;
	}
	if (err)
		follow_close(f);
	else
		*out = f;
	return err;
}

void follow_close(struct follow *f)
{
	if (!f)
		return;
	merge_close(f->merge);
	if (f->tally.losses)
		losses_free(f->tally.losses);
	free(f->tally.by_type);
	free(f->empty);
	free(f->last);
	free(f->blocks);
	if (f->s)
		source_close(f->s);
	free(f);
}
