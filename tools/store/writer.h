/* SPDX-License-Identifier: MIT */
/* writer.h -- trace.dat from any source, versions 6 and 7. */
#ifndef STORE_WRITER_H
#define STORE_WRITER_H

#include <stdio.h>

#include "decode/compress.h"
#include "store/pages.h"

struct writer_options {
	uint32_t version;		  /* 6 or 7 */
	enum compression compression;	  /* of version 7 */
	const struct scan_choice *choice; /* which events */
	/* Called with the pages written of about all; may be NULL. */
	void (*progress)(void *arg, const char *what, uint64_t done, uint64_t total);
	void *arg;
};

/* `out` is a new, seekable file. 0 or a negative errno. Events too large for a page are counted. */
int writer_tracedat(struct source *s, const struct writer_options *o, FILE *out,
		    uint64_t *too_large);

/* ---- inside tools/store: what both versions write ---- */

struct writer_text {
	const char *text;
	size_t bytes;
	char *owned;
};

struct writer_buffer {
	const char *name, *clock;
	uint32_t *streams; /* stream of each CPU, UINT32_MAX: none */
};

struct writer_meta {
	struct source *s;
	const struct writer_options *o;
	uint32_t page_bytes;
	bool copied;
	struct writer_text header_page, header_event, kallsyms, printk, cmdlines;
	const struct schema **schemas; /* by system; those of `ftrace` first */
	size_t nr_schemas, nr_ftrace;
	uint32_t nr_systems; /* other than ftrace */
	uint32_t nr_cpus;
	struct writer_buffer *buffers;
	size_t nr_buffers;
	uint64_t *too_large;
	uint64_t pages, all_pages; /* written, of about all, for progress */
	char *stats; /* option CPUSTAT, of a source that knows its losses and has no such text; or NULL */
};

/* Does an option of the source go into the new file? Corrections of time do not if they were already applied. */
bool writer_keeps(const struct writer_meta *m, uint16_t id);
int writer_v6(struct writer_meta *m, FILE *out);
int writer_v7(struct writer_meta *m, FILE *out);
/* Pages of one CPU of a buffer. */
int writer_pages(struct writer_meta *m, const struct writer_buffer *b, uint32_t cpu,
		 int (*put)(void *arg, const void *page, uint32_t bytes), void *arg);

#endif
