/* SPDX-License-Identifier: MIT */
/* dump.h -- seL4 trace dumps in a console log: find them, decode them, describe them as ftrace.meta does. */
#ifndef DECODE_SEL4_DUMP_H
#define DECODE_SEL4_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "decode/sel4/stream.h"

/* What a dump's header may say. Other lines between START and the first rule are other output. */
enum sel4_key {
	SEL4_KEY_TYPE,
	SEL4_KEY_VERSION,
	SEL4_KEY_ENTRIES,
	SEL4_KEY_TOTAL_ENTRIES,
	SEL4_KEY_TOTAL_LOGGED,
	SEL4_KEY_BLOCKS,
	SEL4_KEY_DICT_SIZE,
	SEL4_KEY_DATA_SIZE,
	SEL4_KEY_RAW_SIZE,
	SEL4_KEY_COMPRESSED_SIZE,
	SEL4_KEY_TOTAL_COMPRESSED,
	SEL4_KEY_DUMP_REASON_CODE,
	SEL4_KEY_OVERFLOW_EVENTS,
	SEL4_KEY_COMPRESS_FAIL_EVENTS,
	SEL4_KEY_CPU,
	SEL4_KEY_CLOCK_HZ,
	SEL4_KEY_OVERFLOW,
	SEL4_KEY_STORAGE_FULL,
	SEL4_KEY_DUMP_REASON,
	SEL4_KEY_CHECKSUM,
	SEL4_KEY_STACKS,
	SEL4_NR_KEYS,
};

enum sel4_key_kind {
	SEL4_KIND_INT,
	SEL4_KIND_BOOL, /* YES is true, all else false */
	SEL4_KIND_TEXT,
};

struct sel4_value {
	bool given;
	uint8_t order; /* of appearance */
	int64_t number;
	char text[64];
};

struct sel4_function {
	uint32_t index;
	uint64_t addr;
};

/* Words that are missing before `word`: a block that could not be decoded. */
struct sel4_gap {
	uint64_t word;
	uint64_t missing;
};

struct sel4_meta {
	struct sel4_value header[SEL4_NR_KEYS];
	unsigned nr_header;
	bool has_checksum;
	uint32_t checksum; /* as the dump says */
	struct sel4_function *functions;
	size_t nr_functions;
	struct sel4_gap *gaps;
	size_t nr_gaps;
	uint64_t raw_bytes;
};

struct sel4_dump {
	struct sel4_meta meta;
	uint8_t *raw;	 /* meta.raw_bytes of it: the stream */
	uint64_t offset; /* of the START line in the log */
	bool cut;	 /* the log ends, or another dump starts, before END */
	uint64_t nr_problems;
};

/* Called for everything that is wrong, with its place in the log. */
struct sel4_report {
	void (*problem)(void *arg, uint64_t offset, uint64_t bytes, const char *what);
	void *arg;
};

/*
 * All dumps of a log. 0, or -ENOMEM; *nr is 0 if there is none. Damaged blocks are reported and skipped; the rest is
 * kept, and the gap noted.
 */
int sel4_dumps_read(const char *text, size_t bytes, const struct sel4_report *report,
		    struct sel4_dump **out, size_t *nr);
void sel4_dumps_free(struct sel4_dump *d, size_t nr);
/* Whether there is a START line in these bytes. */
bool sel4_dump_start(const char *text, size_t bytes);

/* One body: base64 or base91 text of a block, put together from lines. */
struct sel4_body {
	struct sel4_line {
		const char *text;
		size_t len;
	} * lines;
	size_t nr_lines, room;
};

/* The `size` bytes that the lines encode (0: as many as there are) in *out, malloc'ed. Bytes, or -1 with *why. */
int64_t sel4_body_decode(const struct sel4_body *b, bool base91, uint64_t size, uint8_t **out,
			 const char **why);

/* ftrace.meta; `more` are members to begin with. Reading takes any JSON, and -EBADMSG with the offset of what is wrong in *at. */
const char *sel4_key_name(enum sel4_key key, enum sel4_key_kind *kind);
int sel4_meta_write(const struct sel4_meta *m, const char *more, FILE *to);
int sel4_meta_parse(const char *text, size_t bytes, struct sel4_meta *m, size_t *at);
void sel4_meta_free(struct sel4_meta *m);
/* The dictionary as a table, which is all zero before; what lies outside the range of function indices is skipped and counted. */
size_t sel4_meta_dict(const struct sel4_meta *m, struct sel4_dict *d);

#endif
