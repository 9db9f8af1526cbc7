/* SPDX-License-Identifier: MIT */
/* parquet_file.h -- a Parquet file, written row by row: groups of rows are encoded and compressed by another thread. */
#ifndef VIEW_PARQUET_FILE_H
#define VIEW_PARQUET_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 *	struct parquet *p = parquet_new(out, worker);
 *	int time = parquet_column(p, "time", PARQUET_INT, PARQUET_ALWAYS), set = parquet_set(p);
 *	int x = parquet_column(p, "x", PARQUET_INT, set);
 *
 *	for each row: parquet_row(p); parquet_int(p, time, t); parquet_in(p, set); parquet_int(p, x, v);
 *	parquet_close(p);
 *
 * Columns of a set have a value in the rows that are in it, and are null in others; those of PARQUET_ALWAYS are in all. A row
 * that is in the set, and has no value in one of its columns, says so with parquet_null().
 * Whole numbers are delta-encoded, texts dictionary-encoded, pages zstd-compressed; each group of rows has the least and the
 * greatest value of each column. The file says that it is sorted by its first column. Memory: two groups of rows.
 */
enum parquet_type {
	PARQUET_INT,
	PARQUET_UNSIGNED,
	PARQUET_TEXT, /* UTF-8; what is not becomes U+FFFD */
	PARQUET_BYTES,
};

#define PARQUET_ALWAYS 0
#define PARQUET_ROWS   (1u << 18) /* of a group */

struct parquet;
struct parquet_worker;

struct parquet_worker *parquet_worker_new(void);
/* After every file is closed. */
void parquet_worker_free(struct parquet_worker *w);

/* NULL: out of memory. */
struct parquet *parquet_new(FILE *out, struct parquet_worker *w);
/* -1: out of memory. Before the first row. A name that is empty, or taken, in any case, gets a number. */
int parquet_set(struct parquet *p);
int parquet_column(struct parquet *p, const char *name, enum parquet_type type, int set);
/* A word for the reader of the file. */
void parquet_note(struct parquet *p, const char *key, const char *value);

void parquet_row(struct parquet *p);
void parquet_in(struct parquet *p, int set);
void parquet_int(struct parquet *p, int column, uint64_t v);
void parquet_text(struct parquet *p, int column, const void *text, size_t n);
void parquet_null(struct parquet *p, int column);
/* Bytes that wait to be written. */
size_t parquet_pending(const struct parquet *p);
/* Write the rows there are as a group. */
void parquet_flush(struct parquet *p);
/* Writes the end, and frees it. 0 or a negative errno; of the stream's errors the opener finds out. */
int parquet_close(struct parquet *p);

#endif
