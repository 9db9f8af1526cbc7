/* SPDX-License-Identifier: MIT */
/* record.h -- seL4 events as records with schemas, as fixed 16-byte records, and as the note's text. */
#ifndef DECODE_SEL4_RECORD_H
#define DECODE_SEL4_RECORD_H

#include "decode/sel4/index.h"
#include "decode/source.h"
#include "wire/record.h"

/*
 * Functions are Linux's funcgraph_entry and funcgraph_exit, so that every view of calls works on them. All others are
 * system `sel4`, one schema per type with the id SEL4_ID_FIRST + type. Own fields, the same in all of them: vmid (-1:
 * not known) and number, the event's place in the stream.
 */
#define SEL4_ID_FIRST	  1200u
#define SEL4_RECORD_BYTES 56u

static inline uint32_t sel4_id(uint32_t type)
{
	return type == WIRE_SEL4_FUNC_ENTER  ? WIRE_ID_FUNCGRAPH_ENTRY
	       : type == WIRE_SEL4_FUNC_EXIT ? WIRE_ID_FUNCGRAPH_EXIT
					     : SEL4_ID_FIRST + type;
}

/* WIRE_SEL4_NR_TYPES: not one of ours. */
uint32_t sel4_type_of_id(uint32_t id);
/* func_enter, kernel_entry ... as the note's summary prints them. */
const char *sel4_type_name(uint32_t type);

int sel4_add_schemas(struct source *s);

/* One decoded event, with what a record needs beyond its words. */
struct sel4_event {
	uint64_t number;
	uint32_t type;
	uint32_t nr_words;
	const uint16_t *w;
	int32_t vmid;
	int32_t pid;
	uint64_t func; /* functions: the address, or the index if it is not in the dictionary */
	int32_t depth;
	uint64_t calltime, rettime;
};

/* Fill a record of SEL4_RECORD_BYTES; the bytes used. */
uint32_t sel4_record(const struct sel4_event *e, uint8_t *out);
/* The note's line for a record made by sel4_record(): `?:[51517274] KENTRY Syscall Call cap=1 tag=42`. Its length. */
int sel4_print(struct source *s, const struct event *e, char *buf, size_t size);

#endif
