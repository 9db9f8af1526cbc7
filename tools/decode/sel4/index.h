/* SPDX-License-Identifier: MIT */
/* index.h -- the sparse index of a seL4 stream: checkpoints, and lists of the rare events with their operands. */
#ifndef DECODE_SEL4_INDEX_H
#define DECODE_SEL4_INDEX_H

#include "decode/sel4/stream.h"

/*
 * Functions are one word each, so between two rare events the place of an event follows from its number. The index keeps
 * per 64 Ki words a checkpoint (place, event number, state), and per rare type the list of its events with operands: a
 * query by type reads nothing but its list. A type that is not rare (more than one word in 256, and more than 64 Ki
 * events) has no list and is found by scanning; switches of threads always have one, which says what threads there are.
 *
 * On disk (FILE.fidx), little endian: struct sel4_index_head, then the parts it points to, each 8-byte aligned.
 */
#define SEL4_INDEX_MAGIC   "FTHMSEL4"
#define SEL4_INDEX_VERSION 2u /* 1: no threads, if they switch often */
#define SEL4_BLOCK_WORDS   65536u
#define SEL4_LIST_MIN	   65536u
#define SEL4_LIST_SHARE	   256u
#define SEL4_THREADS_MAX   32768u
#define SEL4_NO_EVENT	   UINT64_MAX

/* Room for the words of a block of a stream this long, and those carried over. */
static inline size_t sel4_block_room(uint64_t nr_words)
{
	return (nr_words < SEL4_BLOCK_WORDS ? (size_t)nr_words : SEL4_BLOCK_WORDS) + SEL4_AHEAD;
}

struct sel4_part {
	uint64_t offset; /* in the index file */
	uint64_t nr;
};

struct sel4_index_head {
	char magic[8];
	uint32_t version;
	uint32_t head_bytes;
	uint64_t index_bytes;
	uint64_t file_bytes; /* of the stream: an index of another file is stale */
	int64_t file_time_ns;
	uint64_t nr_words;
	uint64_t nr_events;
	uint64_t first_vmid_event; /* SEL4_NO_EVENT: there is none */
	uint64_t count[WIRE_SEL4_NR_TYPES];
	/* struct sel4_posting + operands; offset 0: no list */
	struct sel4_part list[WIRE_SEL4_NR_TYPES];
	struct sel4_part checkpoints; /* struct sel4_checkpoint */
	struct sel4_part threads;     /* uint64_t: TCB addresses in the order of appearance */
	uint32_t pad;
	uint32_t crc; /* CRC-32 of the head up to here */
};

/* The state before a block; the fields of struct sel4_state. */
struct sel4_checkpoint {
	uint64_t word;
	uint64_t event;
	uint64_t time;
	uint64_t time_raw;
	uint64_t entry_time;
	uint64_t tcb;
	int32_t depth;
	int16_t vmid;
	uint16_t flags; /* enum sel4_checkpoint_flags */
	uint32_t wraps;
	uint32_t pad;
};

enum sel4_checkpoint_flags {
	SEL4_AT_TIME = 1,
	SEL4_AT_ENTRY = 2,
	SEL4_AT_DEPTH = 4,
};

/* One event of a list; its words, without the first, follow: room for 0, 4 or 8 of them by type. */
struct sel4_posting {
	uint64_t event;
	uint64_t word : 48;
	int64_t vmid : 16; /* -1: not known */
	uint16_t operand[];
};

static inline uint32_t sel4_posting_bytes(uint32_t type)
{
	uint32_t operands = wire_sel4_words(type) - 1;

	return (uint32_t)sizeof(struct sel4_posting) + (operands + 3u) / 4u * 8u;
}

/* Where the words are: in memory, or in a file that is read piece by piece. Gaps are places where blocks are missing. */
struct sel4_input {
	const uint16_t *words; /* NULL: read fd */
	int fd;
	uint64_t nr_words;
	const struct sel4_dict *dict;
	const uint64_t *gaps; /* ascending word numbers */
	size_t nr_gaps;
	uint64_t file_bytes;
	int64_t file_time_ns;
	unsigned nr_threads;	/* 0: as many as there are CPUs, at most 8 */
	uint32_t segment_words; /* of the pieces that threads take; 0: 4 Mi */
};

struct sel4_index {
	const struct sel4_index_head *head;
	const struct sel4_checkpoint *checkpoints;
	const uint64_t *threads;
	uint8_t *image;
	size_t bytes;
	bool mapped;
};

/* Walk the stream and make the index in memory. 0 or a negative errno. */
int sel4_index_build(const struct sel4_input *in, struct sel4_index **out);
/* Count the events by type, nothing else: the scan as it is measured, and what the index's counts are checked with. */
int sel4_count(const struct sel4_input *in, uint64_t count[WIRE_SEL4_NR_TYPES]);
/* Put it beside the file, under a temporary name first. 0 or a negative errno. */
int sel4_index_write(const struct sel4_index *ix, const char *path);
/* -ENOENT, -ESTALE if it belongs to another file, -EBADMSG if it is damaged. */
int sel4_index_open(const char *path, uint64_t file_bytes, int64_t file_time_ns,
		    struct sel4_index **out);
/* Take over an image (malloc'ed or mapped) after checking that every part lies inside. NULL: -EBADMSG. */
struct sel4_index *sel4_index_adopt(uint8_t *image, size_t bytes, bool mapped);
void sel4_index_free(struct sel4_index *ix);

uint32_t sel4_index_crc(const struct sel4_index_head *h);

/* The last checkpoint that is not after the event; the block number. */
uint64_t sel4_index_block(const struct sel4_index *ix, uint64_t event);
void sel4_index_state(const struct sel4_index *ix, uint64_t block, struct sel4_state *st);
/* NULL: the type has no list, or not that many events. */
const struct sel4_posting *sel4_index_posting(const struct sel4_index *ix, uint32_t type,
					      uint64_t n);

/* End of the words that belong together with `word`: the next gap or the end. */
uint64_t sel4_input_limit(const struct sel4_input *in, uint64_t word);
/* How many words after `end`, of the block at `first`, belong to it as well. */
size_t sel4_input_ahead(const struct sel4_input *in, uint64_t first, uint64_t end);
/* Whether words are missing right before this one. */
bool sel4_input_is_gap(const struct sel4_input *in, uint64_t word);

#endif
