/* SPDX-License-Identifier: MIT */
/* internal.h -- the records of the `ftrace` system, and their descriptors. `unsigned long` is the format's own word here. */
#ifndef FATHOM_INTERNAL_H
#define FATHOM_INTERNAL_H

#include "fathom/inside/event.h"
#include "fathom/inside/local.h"

/* A record lies at the ring's alignment, which may be less than its members' own; padding is spelled out. */
#define FATHOM_RECORD __attribute__((__packed__, __aligned__(FATHOM_RING_ALIGN)))
#if UINTPTR_MAX > 0xffffffffu
#define FATHOM_RECORD_PAD uint32_t pad;
#else
#define FATHOM_RECORD_PAD
#endif

/* struct wire_common as two words. */
struct fathom_common_words {
	uint32_t type_and_context;
	int32_t pid;
} __attribute__((__may_alias__));

/* What every record begins with. */
static inline FATHOM_NOTRACE void fathom_common_put(void *record, uint16_t id, uint32_t context,
						    int32_t pid)
{
#if defined(__x86_64__)
	uint64_t word = id | (context & 0xffffu) << 16 | (uint64_t)(uint32_t)pid << 32;

	__builtin_memcpy(record, &word, sizeof(word)); /* one store instead of four */
#elif __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	struct fathom_common_words *to = record; /* two: to put them together takes more */

	to->type_and_context = id | context << 16;
	to->pid = pid;
#else
	struct wire_common *c = record;

	c->type = id;
	c->flags = (uint8_t)context;
	c->preempt_count = (uint8_t)(context >> 8);
	c->pid = pid;
#endif
}

struct fathom_rec_function {
	struct wire_common ent;
	uintptr_t ip;
	uintptr_t parent_ip;
} FATHOM_RECORD;
struct fathom_rec_funcgraph_entry {
	struct wire_common ent;
	uintptr_t func;
	int32_t depth;
} FATHOM_RECORD;
struct fathom_rec_funcgraph_exit {
	struct wire_common ent;
	uintptr_t func;
	int32_t depth;
	uint32_t overrun;
	uint64_t calltime;
	uint64_t rettime;
} FATHOM_RECORD;
struct fathom_rec_switch { /* context_switch and wakeup */
	struct wire_common ent;
	uint32_t prev_pid;
	uint32_t next_pid;
	uint32_t next_cpu;
	uint8_t prev_prio;
	uint8_t prev_state;
	uint8_t next_prio;
	uint8_t next_state;
} FATHOM_RECORD;
struct fathom_rec_stack {
	struct wire_common ent;
	int32_t size; /* callers */
	FATHOM_RECORD_PAD
	uintptr_t caller[];
} FATHOM_RECORD;
struct fathom_rec_user_stack {
	struct wire_common ent;
	uint32_t tgid;
	FATHOM_RECORD_PAD
	uintptr_t caller[];
} FATHOM_RECORD;
struct fathom_rec_print {
	struct wire_common ent;
	uintptr_t ip;
	char buf[];
} FATHOM_RECORD;
struct fathom_rec_bprint {
	struct wire_common ent;
	uintptr_t ip;
	const char *fmt;
	uint32_t buf[];
} FATHOM_RECORD;
struct fathom_rec_bputs {
	struct wire_common ent;
	uintptr_t ip;
	const char *str;
} FATHOM_RECORD;
struct fathom_rec_raw {
	struct wire_common ent;
	uint32_t id;
	char buf[];
} FATHOM_RECORD;
struct fathom_rec_repeats {
	struct wire_common ent;
	uintptr_t ip;
	uintptr_t parent_ip;
	uint16_t count;
	uint16_t top_delta_ts;
	uint32_t bottom_delta_ts;
} FATHOM_RECORD;

/*
 * What args.c adds where it was asked for, at a word's boundary: the words of args[] behind a call, which may begin with the
 * return address (then their number is odd), and one word of value behind a return, if it is known.
 */
#define FATHOM_FUNCTION_ARGS ((uint32_t)sizeof(struct fathom_rec_function))
#define FATHOM_ENTRY_ARGS    ((uint32_t)(sizeof(struct wire_common) + 2 * sizeof(uintptr_t)))
#define FATHOM_EXIT_RETVAL   ((uint32_t)sizeof(struct fathom_rec_funcgraph_exit))
/* Its format names the value while funcgraph-retval is on: readers that go by it would take the next record for one. */
#define FATHOM_EXIT_FIELDS   5

extern struct fathom_event fathom_ev_function, fathom_ev_funcgraph_entry, fathom_ev_funcgraph_exit,
	fathom_ev_context_switch, fathom_ev_wakeup, fathom_ev_kernel_stack, fathom_ev_user_stack,
	fathom_ev_print, fathom_ev_bprint, fathom_ev_bputs, fathom_ev_raw_data,
	fathom_ev_func_repeats;

#endif
