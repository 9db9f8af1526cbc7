/* SPDX-License-Identifier: MIT */
/* format.h -- an event's `format` file: name, id, fields with their places, and the text of its print fmt. */
#ifndef DECODE_FORMAT_H
#define DECODE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

enum format_flags {
	FORMAT_SIGNED = 1 << 0,
	FORMAT_ARRAY = 1 << 1, /* T name[n]; n may be 0: runs to the end of the record */
	/* u32: low 16 bits offset from the record's start, high 16 bits length */
	FORMAT_DATA_LOC = 1 << 2,
	FORMAT_REL_LOC = 1 << 3, /* the same, but the offset counts from the end of this field */
	FORMAT_STRING = 1 << 4,	 /* char elements: array or dynamic */
	FORMAT_POINTER = 1 << 5,
	FORMAT_LONG = 1 << 6, /* `long` of the traced machine */
};

#define FORMAT_DYNAMIC (FORMAT_DATA_LOC | FORMAT_REL_LOC)

struct format_field {
	const char *type; /* without the name and "[n]": "unsigned int", "__data_loc char[]" */
	const char *name; /* without "[n]" */
	uint32_t offset;
	uint32_t size;
	uint32_t elem_size; /* of one element; size for a plain field */
	uint32_t nr_elems;  /* 1 for a plain field, 0 for a dynamic or open one */
	uint32_t flags;
};

/* The largest numbers a file may claim. Larger ones are refused as damage. */
#define FORMAT_FIELDS_MAX 512u
#define FORMAT_TEXT_MAX	  (1u << 20)
#define FORMAT_OFFSET_MAX (1u << 20)

struct format {
	const char *system; /* "" if not known */
	const char *name;
	const char *print_fmt; /* "" if there is none */
	uint32_t id;
	uint32_t nr_common; /* this many fields at the beginning are common_* */
	uint32_t nr_fields; /* all */
	struct format_field *fields;
};

struct format_error {
	size_t offset; /* in the text */
	const char *what;
};

/*
 * One allocation holds everything; format_free() gives it back. NULL and *err (may be NULL) if the text is not a
 * format file. The text need not end in NUL. `system` may be NULL.
 */
struct format *format_parse(const char *text, size_t bytes, const char *system,
			    struct format_error *err);
void format_free(struct format *f);
/* NULL if there is none. A leading "common_" may be omitted for the common fields. */
const struct format_field *format_field(const struct format *f, const char *name);

/* `events/header_page`: where a ring page keeps its time, its commit word and its data. */
struct format_page {
	uint32_t time_offset, time_size;
	uint32_t commit_offset, commit_size;
	uint32_t data_offset, data_size;
};

/* 0, or -1 and *err; sizes are checked to be possible (commit 4 or 8, data after both). */
int format_parse_page(const char *text, size_t bytes, struct format_page *page,
		      struct format_error *err);

#endif
