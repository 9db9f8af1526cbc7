/* SPDX-License-Identifier: MIT */
/* textlog.h -- the text of `trace`, trace_pipe or trace-cmd report as a source, inside: lines and what is learned of them. */
#ifndef DECODE_TEXTLOG_H
#define DECODE_TEXTLOG_H

#include "base/strmap.h"
#include "base/spool.h"
#include "decode/source.h"

struct words {
	const char *p;
	uint32_t n;
};

/*
 *     bash-57      (     57) [001] d..2.    13.715963: sched_switch: prev_comm=swapper/0 ...
 *     comm-pid       tgid    cpu   flags      time     name          info
 */
struct text_line {
	enum {
		LINE_OTHER, /* a continuation of the event before it, or nothing */
		LINE_COMMENT,
		LINE_EVENT,
		LINE_LOST,
	} kind;
	struct words comm, name, info;
	int32_t pid, tgid; /* tgid -1: not known */
	uint32_t cpu;
	uint8_t flags, preempt;
	uint64_t time;
	bool ticks; /* the time has no point */
	uint64_t lost;
};

#define TEXT_CPU_MAX 4096u
#define TEXT_BLOCK   65536u /* bytes of the text; a place in it fits into 16 bits */

void text_parse_line(const char *p, const char *end, struct text_line *out);

/* What the events of one name have been seen to carry: key=value pairs, numbers where all were numbers. */
#define TEXT_KEYS_MAX 32u

struct text_key {
	struct words name;
	bool text;
	uint32_t offset; /* in the record */
};

struct text_type {
	struct words name;
	uint32_t id;
	uint32_t nr_keys;
	uint32_t fixed; /* bytes of the record before its strings */
	bool function;	/* "name <-parent" */
	struct text_key keys[TEXT_KEYS_MAX];
};

#define TEXT_TYPES_MAX 4096u
#define TEXT_FIRST_ID  1000u

/*
 * Where the lines of each CPU are, so that a stream need not look at those of all others: of each block the CPUs that have
 * lines in it, with the number of them up to and with that CPU, then the places of the lines in the block, CPU by CPU.
 */
struct text_lines {
	struct spool spool;
	uint64_t *blocks; /* where it lies in the spool; the same number as blocks of the text */
	uint64_t nr;
};

struct text_share { /* of one CPU in a block */
	uint16_t cpu;
	uint16_t end;
};

struct textlog {
	struct text_lines lines;
	size_t walked;		 /* of the map, by all cursors: file_map_walked() */
	struct text_type *types; /* by id - TEXT_FIRST_ID */
	uint32_t nr_types;
	struct strmap names; /* their numbers are those of the types */
};

/* What is gathered of a block while the text is read for the first time. */
struct text_gather {
	uint32_t nr;
	uint16_t cpu[TEXT_BLOCK / 8], at[TEXT_BLOCK / 8]; /* no event fits into eight bytes */
	uint16_t end[TEXT_CPU_MAX];
	uint16_t out[1 + 2 * TEXT_CPU_MAX + TEXT_BLOCK / 8];
};

/* A line of a CPU begins at `offset` of the text; offsets grow. 0 or a negative errno. */
int text_lines_add(struct text_lines *t, struct text_gather *g, uint64_t offset, uint32_t cpu);
/* All lines of a text of this many blocks were added. */
int text_lines_finish(struct text_lines *t, struct text_gather *g, uint64_t blocks);
void text_lines_free(struct text_lines *t);
/* The places of a CPU's lines in a block; *nr of them. */
const uint16_t *text_lines_of(struct text_lines *t, uint64_t block, uint32_t cpu, uint32_t *nr);

/* The next key=value in [*p, end); false if there is none. */
bool text_next_pair(const char **p, const char *end, struct words *key, struct words *value);
bool text_number(struct words s, int64_t *out);
void text_types_free(struct textlog *t);
/* Valid until the next one is added. */
struct text_type *text_type_of(struct textlog *t, struct words name, bool add);
/* Learn from an event's info; lay out the record when all are seen. */
void text_learn(struct text_type *k, struct words info);
int text_add_schema(struct source *s, struct text_type *k);
#define TEXT_RECORD_MAX 65536u
/* The record of a line whose text ends at text_end, into TEXT_RECORD_MAX bytes; its size. *cut: not all of it fits. */
uint32_t text_make_record(uint8_t *record, const struct text_type *k, const struct text_line *l,
			  const char *text_end, bool *cut);
/* Notes that the event at `offset` is longer than a record can be. */
void text_was_cut(struct source *s, uint64_t offset, uint64_t bytes);
/* The part of a line after its columns: name and info. */
void text_parse_info(const char *p, const char *end, struct text_line *out);
/* The flags column: irqs, resched, context, preempt depth, migrate-disable. */
void text_parse_flags(const char *p, const char *end, struct text_line *out);
/* "comm-pid" with blanks around it. False: it is not. */
bool text_parse_task(const char *p, const char *end, struct text_line *out);

#endif
