/* SPDX-License-Identifier: MIT */
/* recording.h -- the file of a recording: there from the start, whole at any moment, a plain trace.dat at the end. */
#ifndef CAPTURE_RECORDING_H
#define CAPTURE_RECORDING_H

#include "base/output.h"
#include "capture/capture.h"

/*
 *   recording_open    the output can be written, but is not visible yet
 *   recording_begin   the head is written, and the file has its name: from here on it can be opened (wire/recording.h)
 *   recording_pages   as often as there are any; memory does not grow
 *   recording_end     what is known only now: counters, names, and how it ended
 *   recording_close   the file becomes a trace.dat of version 6 that every tool reads
 *
 * A recorder that dies in between leaves a file that holds every page written. An output that is no file (a pipe) gets its bytes
 * at the end; until then they lie in a nameless file. Calls return 0 or a negative errno.
 */
#ifndef RECORDING_SPLICE_PAGES	   /* less where many recordings are begun: fuzz targets */
#define RECORDING_SPLICE_PAGES 16u /* most in one recording_splice() */
#endif

struct recording {
	const char *path;
	struct output out; /* while it is recorded */
	int fd;		   /* -1: not open */
	bool begun, is_file;
	bool is_kept; /* else it is removed at the end */
	bool big;
	uint32_t page_bytes;
	uint64_t at;	  /* where the next record goes */
	uint64_t reserve; /* where the room for the end lies */
	uint32_t reserve_bytes;
	uint64_t nr_pages;
	int err; /* the first error of the file */
	/* The record of pages that no longer fitted: it goes into the room for the end. */
	struct bytes unsaved;
};

/* `path` NULL: it is only viewed while it is recorded. */
int recording_open(struct recording *r, const char *path);
int recording_begin(struct recording *r, const struct capture *c);
/* Whole pages of one CPU. */
int recording_pages(struct recording *r, uint32_t cpu, const void *pages, size_t bytes);
/* One page, of which `bytes` are given: a target cuts a page after its data. */
int recording_page(struct recording *r, uint32_t cpu, const void *page, size_t bytes);
/* The same from a pipe that holds them. */
int recording_splice(struct recording *r, uint32_t cpu, int pipe, size_t bytes);
int recording_end(struct recording *r, const struct capture *c);
/* The name by which it can be opened while it is recorded. */
const char *recording_file(const struct recording *r, char buf[32]);
/* Reports what went wrong; a recording that did not begin leaves nothing. 0 if the file holds everything, in whatever form. */
int recording_close(struct recording *r);

#endif
