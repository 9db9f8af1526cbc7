/* SPDX-License-Identifier: MIT */
/* unseen.c -- walk the CPUs that are not shown, beside those that are. */
#include "view/unseen.h"

#include <stdlib.h>

struct unseen_buffer {
	struct merge *merge;	  /* NULL: not begun */
	const struct event *next; /* of the merge */
	bool failed;		  /* no memory for the merge */
};

static bool shown(const struct unseen *u, uint32_t stream)
{
	return scan_stream(u->o->choice, u->source, stream);
}

bool unseen_init(struct unseen *u, struct source *s, const struct report_options *o)
{
	bool any = false;

	*u = (struct unseen){.source = s, .o = o};
	/* The streams of a buffer stand together: in one that is shown in part, two neighbours differ. */
	for (uint32_t i = 1; i < s->nr_streams && !any; i++)
		any = s->streams[i].buffer == s->streams[i - 1].buffer &&
		      shown(u, i) != shown(u, i - 1);
	if (any)
		u->buffers = calloc(s->nr_buffers, sizeof(*u->buffers));
	return u->buffers || !any;
}

void unseen_free(struct unseen *u)
{
	for (size_t i = 0; u->buffers && i < u->source->nr_buffers; i++)
		merge_close(u->buffers[i].merge);
	free(u->buffers);
	u->buffers = NULL;
}

struct choice {
	const struct unseen *u;
	uint32_t buffer;
};

static bool left_out(const struct source *s, uint32_t stream, void *arg)
{
	const struct choice *c = arg;

	return s->streams[stream].buffer == c->buffer && !shown(c->u, stream);
}

static void begin(struct unseen *u, uint32_t buffer, uint64_t time)
{
	struct choice c = {u, buffer};
	struct unseen_buffer *b = &u->buffers[buffer];

	b->merge = merge_open(u->source, left_out, &c);
	b->failed = !b->merge;
	if (b->failed)
		return;
	merge_seek_time(b->merge, time);
	b->next = merge_next(b->merge);
}

/* In the order of the merge of all. */
static bool before(const struct event *e, uint64_t time, uint32_t stream)
{
	return e->time != time ? e->time < time : e->stream < stream;
}

const struct event *unseen_between(struct unseen *u, uint64_t time, uint32_t stream,
				   const struct event *next)
{
	uint32_t buffer = u->source->streams[stream].buffer;
	struct unseen_buffer *b = &u->buffers[buffer];

	if (!b->merge && !b->failed)
		begin(u, buffer, time);
	while (b->next && before(b->next, time, stream))
		b->next = merge_next(b->merge);
	return b->next && (!next || before(b->next, next->time, next->stream)) ? b->next : NULL;
}

void unseen_drop(struct unseen *u, uint32_t stream)
{
	struct unseen_buffer *b = &u->buffers[u->source->streams[stream].buffer];

	b->next = merge_next(b->merge);
}
