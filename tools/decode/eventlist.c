/* SPDX-License-Identifier: MIT */
/* eventlist.c -- a source whose events are read at once into lists, one per stream, and kept in a spool. */
#include "decode/eventlist.h"
#include "base/vec.h"
#include "wire/record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES (EVENTLIST_BLOCK * sizeof(struct listed))

static struct events *stream_of(struct eventlist *l, size_t stream)
{
	struct events *e;

	while (stream >= l->nr_streams) {
		if (!VEC_MORE(l->streams, l->nr_streams))
			return NULL;
		l->streams[l->nr_streams++] = (struct events){0};
	}
	e = &l->streams[stream];
	if (!e->last)
		e->last = malloc(BLOCK_BYTES);
	return e->last ? e : NULL;
}

/* Put the last block of a stream, full or not, to the others. */
static int keep_block(struct eventlist *l, struct events *e)
{
	size_t in_last = e->nr - e->nr_blocks * EVENTLIST_BLOCK;

	if (!in_last)
		return 0;
	if (!VEC_MORE(e->blocks, e->nr_blocks))
		return -ENOMEM;
	return spool_append(&l->spool, e->last, in_last * sizeof(*e->last),
			    &e->blocks[e->nr_blocks++]);
}

struct listed *eventlist_add(struct eventlist *l, size_t stream, uint16_t id, int32_t pid)
{
	struct wire_common common = {.type = id, .pid = pid};
	struct events *e = stream_of(l, stream);
	struct listed *n;

	if (!e || (e->nr == (e->nr_blocks + 1) * EVENTLIST_BLOCK && keep_block(l, e)))
		return NULL;
	n = &e->last[e->nr++ % EVENTLIST_BLOCK];
	memset(n, 0, sizeof(*n));
	memcpy(n->record, &common, sizeof(common));
	return n;
}

int eventlist_record(struct eventlist *l, struct listed *e, const void *record, uint32_t bytes)
{
	e->more_bytes = bytes;
	return spool_append(&l->spool, record, bytes, &e->more);
}

#define PID_AT 4u /* of a record */

/* Events of a block; *nr of them have the pid and were changed. */
static int set_pids(struct eventlist *l, struct listed *e, size_t nr, int32_t from, int32_t to,
		    size_t *changed)
{
	int err = 0;

	for (*changed = 0; *changed < nr && !err; (*changed)++, e++) {
		int32_t was;

		memcpy(&was, e->record + PID_AT, sizeof(was));
		if (was != from)
			break;
		memcpy(e->record + PID_AT, &to, sizeof(to));
		if (e->more_bytes)
			err = spool_patch(&l->spool, e->more + PID_AT, &to, sizeof(to));
	}
	return err;
}

int eventlist_set_pid(struct eventlist *l, size_t stream, int32_t from, int32_t to)
{
	struct events *e = stream < l->nr_streams ? &l->streams[stream] : NULL;
	size_t changed = EVENTLIST_BLOCK;
	struct listed *block;
	int err = 0;

	if (!e || !e->nr)
		return 0;
	block = malloc(BLOCK_BYTES);
	if (!block)
		return -ENOMEM;
	for (size_t i = 0; i < e->nr_blocks && changed == EVENTLIST_BLOCK && !err; i++) {
		err = spool_read(&l->spool, e->blocks[i], block, BLOCK_BYTES);
		if (!err)
			err = set_pids(l, block, EVENTLIST_BLOCK, from, to, &changed);
		if (!err)
			err = spool_patch(&l->spool, e->blocks[i], block, BLOCK_BYTES);
	}
	free(block);
	if (changed == EVENTLIST_BLOCK && !err)
		err = set_pids(l, e->last, e->nr - e->nr_blocks * EVENTLIST_BLOCK, from, to,
			       &changed);
	return err;
}

int eventlist_streams(struct source *s)
{
	struct eventlist *l = s->priv;
	int err = source_add_buffer(s, "", "") ? 0 : -ENOMEM;

	for (size_t i = 0; i < l->nr_streams && !err; i++) {
		struct events *e = &l->streams[i];
		struct stream *st = source_add_stream(s, (uint32_t)i);

		err = st ? keep_block(l, e) : -ENOMEM;
		free(e->last);
		e->last = NULL;
		if (err)
			break;
		st->nr_blocks = e->nr_blocks;
		st->bytes = e->nr * EVENTLIST_BYTES;
	}
	s->info.nr_cpus = (uint32_t)l->nr_streams;
	return err ? err : spool_finish(&l->spool);
}

int eventlist_schema(struct source *s, const char *system, const char *name, uint32_t id,
		     const char *fields, const char *print)
{
	char text[1536];
	int n = snprintf(text, sizeof(text), SOURCE_COMMON "%s\nprint fmt: %s\n", name, id, fields,
			 print);

	return n < (int)sizeof(text) ? source_add_schema(s, system, text, (size_t)n, true)
				     : -EINVAL;
}

void eventlist_close(struct source *s)
{
	struct eventlist *l = s->priv;

	if (!l)
		return;
	for (size_t i = 0; i < l->nr_streams; i++) {
		free(l->streams[i].blocks);
		free(l->streams[i].last);
	}
	spool_free(&l->spool);
	free(l->streams);
	free(l);
}

int eventlist_init(struct cursor *c)
{
	eventlist_seek(c, 0);
	return 0;
}

void eventlist_seek(struct cursor *c, uint64_t block)
{
	c->next = (struct position){.block = block};
}

static const struct listed *listed_at(const struct eventlist *l, uint32_t stream, uint64_t block)
{
	return (const struct listed *)(const void *)(l->spool.map +
						     l->streams[stream].blocks[block]);
}

bool eventlist_next(struct cursor *c, struct event *e)
{
	struct eventlist *l = c->source->priv;
	const struct listed *n;
	struct wire_common common;

	if (c->next.block * EVENTLIST_BLOCK + c->next.skip >= l->streams[c->stream].nr)
		return false;
	if (!c->next.skip)
		spool_walk(&l->spool, BLOCK_BYTES);
	n = listed_at(l, c->stream, c->next.block) + c->next.skip;
	memcpy(&common, n->record, sizeof(common));
	*e = (struct event){.time = n->time,
			    .data = n->more_bytes ? l->spool.map + n->more : n->record,
			    .size = n->more_bytes ? n->more_bytes : EVENTLIST_BYTES,
			    .lost = n->lost,
			    .stream = c->stream,
			    .cpu = c->cpu,
			    .pid = common.pid,
			    .type = common.type,
			    .offset = n->offset,
			    .at = c->next};
	if (++c->next.skip == EVENTLIST_BLOCK)
		c->next = (struct position){.block = c->next.block + 1};
	return true;
}

uint64_t eventlist_block_time(struct source *s, uint32_t stream, uint64_t block)
{
	return listed_at(s->priv, stream, block)->time;
}
