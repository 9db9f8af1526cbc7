/* SPDX-License-Identifier: MIT */
/* textlog.h -- the text of `trace`, trace_pipe or trace-cmd report as a source, inside: lines and what is learned of them. */
#ifndef DECODE_TEXTLOG_H
#define DECODE_TEXTLOG_H

#include "decode/source.h"

struct span {
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
	struct span comm, name, info;
	int32_t pid, tgid; /* tgid -1: not told */
	uint32_t cpu;
	uint8_t flags, preempt;
	uint64_t time;
	bool ticks; /* the time has no point */
	uint64_t lost;
};

#define TEXT_CPU_MAX 4096u

void text_parse_line(const char *p, const char *end, struct text_line *out);
/* The line is an event of another CPU for sure: half the work of text_parse_line(). */
bool text_of_another_cpu(const char *p, const char *end, uint32_t cpu);

/* What the events of one name have been seen to carry: key=value pairs, numbers where all were numbers. */
#define TEXT_KEYS_MAX 32u

struct text_key {
	struct span name;
	bool text;
	uint32_t offset; /* in the record */
};

struct text_type {
	struct span name;
	uint32_t id;
	uint32_t nr_keys;
	uint32_t fixed; /* bytes of the record before its strings */
	bool function;	/* "name <-parent" */
	struct text_key keys[TEXT_KEYS_MAX];
};

#define TEXT_TYPES_MAX 4096u
#define TEXT_FIRST_ID  1000u

struct textlog {
	struct text_type *types; /* by id - TEXT_FIRST_ID */
	uint32_t nr_types, cap_types;
	uint32_t *hash; /* of names, 1 + index; 2 * TEXT_TYPES_MAX slots */
};

/* The next key=value in [*p, end); false if there is none. */
bool text_next_pair(const char **p, const char *end, struct span *key, struct span *value);
bool text_number(struct span s, int64_t *out);
bool text_types_init(struct textlog *t);
void text_types_free(struct textlog *t);
/* Valid until the next one is added. */
struct text_type *text_type_of(struct textlog *t, struct span name, bool add);
/* Learn from an event's info; lay out the record when all are seen. */
void text_learn(struct text_type *k, struct span info);
int text_add_schema(struct source *s, struct text_type *k);
#define TEXT_RECORD_MAX 65536u
/* The record of a line whose text ends at text_end, into TEXT_RECORD_MAX bytes; its size. */
uint32_t text_make_record(uint8_t *record, const struct text_type *k, const struct text_line *l,
			  const char *text_end);
/* The part of a line behind its columns: name and info. */
void text_parse_info(const char *p, const char *end, struct text_line *out);
/* The flags column: irqs, resched, context, preempt depth, migrate-disable. */
void text_parse_flags(const char *p, const char *end, struct text_line *out);
/* "comm-pid" with blanks around it. False: it is not. */
bool text_parse_task(const char *p, const char *end, struct text_line *out);

#endif
