/* SPDX-License-Identifier: MIT */
/* parquet_int.h -- inside the Parquet writer: bytes that grow, Thrift's compact protocol, encodings, a group of rows. */
#ifndef VIEW_PARQUET_INT_H
#define VIEW_PARQUET_INT_H

#include "view/parquet_file.h"

/* ---- parquet_encode.c ---- */

struct pbytes {
	uint8_t *v;
	size_t nr, cap;
	bool failed;
};

/* Room for n more; NULL: out of memory. */
uint8_t *pbytes_room(struct pbytes *b, size_t n);
void pbytes_add(struct pbytes *b, const void *data, size_t n);
void pbytes_varint(struct pbytes *b, uint64_t v);

/* Thrift's compact protocol: a struct's fields, each by its number; *last is the number of the one before. */
void thrift_int(struct pbytes *b, int *last, int field, int64_t v, bool is_64);
void thrift_bool(struct pbytes *b, int *last, int field, bool v);
void thrift_text(struct pbytes *b, int *last, int field, const void *text, size_t n);
void thrift_struct(struct pbytes *b, int *last,
		   int field); /* its fields follow, then thrift_stop() */
void thrift_list(struct pbytes *b, int *last, int field, int type, size_t n);
void thrift_stop(struct pbytes *b);
enum {
	THRIFT_I32 = 5,
	THRIFT_BINARY = 8,
	THRIFT_STRUCT = 12,
};

/* DELTA_BINARY_PACKED. */
void encode_deltas(struct pbytes *b, const uint64_t *v, size_t n);
/* The hybrid of runs and packed bits, without a length before it. */
void encode_indices(struct pbytes *b, const uint32_t *v, size_t n, unsigned width);
/* One bit for each of `rows`: set in those of `at`, in order. */
void encode_levels(struct pbytes *b, const uint32_t *at, size_t n, size_t rows);

/* ---- words of a column, each once ---- */

struct pwords {
	struct pbytes bytes;
	uint32_t *end;	/* of word i, in bytes */
	uint32_t *slot; /* 1 + word, by hash */
	size_t nr, cap, slots;
};

/* The number of the word; UINT32_MAX: out of memory. */
uint32_t pwords_add(struct pwords *w, const void *text, size_t n);
const uint8_t *pwords_at(const struct pwords *w, size_t i, size_t *n);
void pwords_free(struct pwords *w);

/* ---- a group of rows ---- */

struct prows {
	uint32_t *at;
	size_t nr, cap;
};

struct pcolumn {
	uint64_t *v;	/* numbers */
	uint32_t *word; /* or words */
	size_t nr, cap;
	struct pwords words;
	struct prows *own; /* some rows of its set do not have it: these do */
};

struct pgroup {
	size_t rows, bytes;
	struct prows *sets; /* [0] is not used: all rows */
	struct pcolumn *columns;
};

struct pschema {
	char *name;
	enum parquet_type type;
	int set;
};

struct parquet {
	FILE *out;
	struct parquet_worker *worker;
	struct pschema *schema;
	size_t nr_columns, nr_sets;
	struct pgroup *group;
	bool no_memory;
	/* the worker's, while it has a group of it */
	uint64_t offset, rows;
	bool failed;
	struct pbytes groups, notes; /* of the metadata */
	size_t nr_groups, nr_notes;
};

void pgroup_free(const struct parquet *p, struct pgroup *g);
/* parquet_write.c: encode, compress and write a group; the end of the file. */
void parquet_write_group(struct parquet *p, const struct pgroup *g);
void parquet_write_end(struct parquet *p);

#endif
