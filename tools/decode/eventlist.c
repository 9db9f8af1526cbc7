/* SPDX-License-Identifier: MIT */
/* eventlist.c -- a source whose events are few and read at once: lists in memory, one per stream. */
#include "decode/eventlist.h"
#include "wire/record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct listed *eventlist_add(struct eventlist *l, size_t stream, uint16_t id, int32_t pid)
{
	struct wire_common common = {.type = id, .pid = pid};
	struct events *e;

	if (stream >= l->nr_streams) {
		e = realloc(l->streams, (stream + 1) * sizeof(*e));
		if (!e)
			return NULL;
		memset(e + l->nr_streams, 0, (stream + 1 - l->nr_streams) * sizeof(*e));
		l->streams = e;
		l->nr_streams = stream + 1;
	}
	e = &l->streams[stream];
	if (e->nr == e->room) {
		size_t room = e->room ? e->room * 2 : 1024;
		struct listed *list = realloc(e->list, room * sizeof(*list));

		if (!list)
			return NULL;
		e->list = list;
		e->room = room;
	}
	memset(&e->list[e->nr], 0, sizeof(*e->list));
	memcpy(e->list[e->nr].record, &common, sizeof(common));
	return &e->list[e->nr++];
}

int eventlist_streams(struct source *s)
{
	struct eventlist *l = s->priv;

	if (!source_add_buffer(s, "", ""))
		return -ENOMEM;
	for (size_t i = 0; i < l->nr_streams; i++) {
		struct stream *st = source_add_stream(s, (uint32_t)i);

		if (!st)
			return -ENOMEM;
		st->nr_blocks = (l->streams[i].nr + EVENTLIST_BLOCK - 1) / EVENTLIST_BLOCK;
		st->bytes = l->streams[i].nr * EVENTLIST_BYTES;
	}
	s->info.nr_cpus = (uint32_t)l->nr_streams;
	return 0;
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

	for (size_t i = 0; l && i < l->nr_streams; i++)
		free(l->streams[i].list);
	if (l)
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

bool eventlist_next(struct cursor *c, struct event *e)
{
	const struct events *v = &((struct eventlist *)c->source->priv)->streams[c->stream];
	uint64_t i = c->next.block * EVENTLIST_BLOCK + c->next.skip;
	struct wire_common common;

	if (i >= v->nr)
		return false;
	memcpy(&common, v->list[i].record, sizeof(common));
	*e = (struct event){.time = v->list[i].time,
			    .data = v->list[i].more ? v->list[i].more : v->list[i].record,
			    .size = v->list[i].more ? v->list[i].more_bytes : EVENTLIST_BYTES,
			    .lost = v->list[i].lost,
			    .stream = c->stream,
			    .cpu = c->cpu,
			    .pid = common.pid,
			    .type = common.type,
			    .offset = v->list[i].offset,
			    .at = c->next};
	if (++c->next.skip == EVENTLIST_BLOCK)
		c->next = (struct position){.block = c->next.block + 1};
	return true;
}

uint64_t eventlist_block_time(struct source *s, uint32_t stream, uint64_t block)
{
	const struct events *v = &((struct eventlist *)s->priv)->streams[stream];

	return v->list[block * EVENTLIST_BLOCK].time;
}
