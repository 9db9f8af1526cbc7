/* SPDX-License-Identifier: MIT */
/* eventlist.h -- a source whose events are few and read at once: lists in memory, one per stream. */
#ifndef DECODE_EVENTLIST_H
#define DECODE_EVENTLIST_H

#include "decode/source.h"

#define EVENTLIST_BYTES 40u   /* of a record, common fields included */
#define EVENTLIST_BLOCK 4096u /* events */

struct listed {
	uint64_t time;
	uint64_t offset; /* in the file */
	uint64_t lost;	 /* before it */
	uint8_t record[EVENTLIST_BYTES];
	uint8_t *more; /* the whole record, if it is larger than that; its owner is who set it */
	uint32_t more_bytes;
};

struct eventlist {
	struct events {
		struct listed *list;
		size_t nr, room;
	} * streams;
	size_t nr_streams;
};

/* Room for one more event of a stream, zeroed but for the common fields; NULL when out of memory. */
struct listed *eventlist_add(struct eventlist *l, size_t stream, uint16_t id, int32_t pid);
/* Tell the source of the streams: one per list, on CPU i. 0 or -ENOMEM. */
int eventlist_streams(struct source *s);
/* A made-up schema: fields at offsets 8, 16 ... of the record, all u64 and named; print fmt given. */
int eventlist_schema(struct source *s, const char *system, const char *name, uint32_t id,
		     const char *fields, const char *print);

/* The ops; s->priv is the list. */
void eventlist_close(struct source *s);
int eventlist_init(struct cursor *c);
void eventlist_seek(struct cursor *c, uint64_t block);
bool eventlist_next(struct cursor *c, struct event *e);
uint64_t eventlist_block_time(struct source *s, uint32_t stream, uint64_t block);

#define EVENTLIST_OPS                                                                  \
	.close = eventlist_close, .cursor_bytes = sizeof(struct cursor),               \
	.cursor_init = eventlist_init, .seek = eventlist_seek, .next = eventlist_next, \
	.block_time = eventlist_block_time

#endif
