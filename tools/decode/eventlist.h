/* SPDX-License-Identifier: MIT */
/* eventlist.h -- a source whose events are read at once into lists, one per stream, and kept in a spool. */
#ifndef DECODE_EVENTLIST_H
#define DECODE_EVENTLIST_H

#include "base/spool.h"
#include "decode/source.h"

#define EVENTLIST_BYTES 40u  /* of a record, common fields included */
#define EVENTLIST_BLOCK 256u /* events */

struct listed {
	uint64_t time;
	uint64_t offset; /* in the file */
	uint64_t lost;	 /* before it */
	uint8_t record[EVENTLIST_BYTES];
	uint32_t
		more_bytes; /* not 0: the record is larger than that and lies at `more` of the spool */
	uint64_t more;
};

/* Blocks that are full are in the spool; the last one of a stream is in memory until all are read. */
struct eventlist {
	struct events {
		uint64_t *blocks; /* in the spool */
		size_t nr_blocks, cap_blocks;
		struct listed *last; /* the block that is not full */
		uint64_t nr;	     /* of all events */
	} * streams;
	size_t nr_streams;
	struct spool spool;
};

/* One more event of a stream, zeroed but for the common fields, to be filled before the next is added; NULL: no room. */
struct listed *eventlist_add(struct eventlist *l, size_t stream, uint16_t id, int32_t pid);
/* Give the event its whole record. 0 or a negative errno. */
int eventlist_record(struct eventlist *l, struct listed *e, const void *record, uint32_t bytes);
/* The events of a stream that have the pid `from`, up to the first that has another, get `to`. 0 or a negative errno. */
int eventlist_set_pid(struct eventlist *l, size_t stream, int32_t from, int32_t to);
/* All events are read. Add the streams to the source: one per list, on CPU i. 0 or a negative errno. */
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
