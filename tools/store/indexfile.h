/* SPDX-License-Identifier: MIT */
/* indexfile.h -- the layout of FILE.fidx; wire/FORMAT.md describes it for people. */
#ifndef STORE_INDEXFILE_H
#define STORE_INDEXFILE_H

#include <stddef.h>
#include <stdint.h>

#define INDEX_MAGIC	    "FATHIDX\n"
#define INDEX_VERSION	    1u
/* Symbols are kept if the events are this many times larger. */
#define INDEX_SYMBOLS_RATIO 8u
#define INDEX_ALIGN	    4096u
/* Read as a number by a machine of the other byte order it is another one: the file is then not used but rebuilt. */
#define INDEX_ORDER	    0x01020304u

enum index_table {
	INDEX_STREAMS,
	INDEX_STEPS,
	INDEX_TYPES,
	INDEX_POSTINGS,
	INDEX_PIDS,
	INDEX_LOSSES,
	INDEX_TABLES,
};

struct index_header {
	char magic[8];
	uint32_t version;
	uint32_t order;
	uint32_t step_blocks; /* STORE_STEP */
	uint32_t pad;
	/* Of the trace that was indexed. */
	uint64_t trace_bytes;
	int64_t trace_mtime_ns;
	uint64_t trace_sample; /* hash of parts of its content */
	/* Of this file. */
	uint64_t nr_events, first_time, last_time;
	uint64_t nr[INDEX_TABLES]; /* entries; the tables follow each other in this order */
	/* The symbols of a trace that has many, at the next multiple of 4096: entries, then strings. 0: not kept. */
	uint64_t nr_symbols, symbol_bytes, string_bytes;
	uint64_t symbols_check; /* hash of both */
	uint64_t check;		/* hash of the tables */
	uint64_t head_check;	/* hash of the header up to here */
};

/* Set the checks of a file that lies in memory. */
void indexfile_seal(void *file, size_t bytes);

#endif
