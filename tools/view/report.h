/* SPDX-License-Identifier: MIT */
/* report.h -- a trace as text: what `trace-cmd report` prints, and what the kernel's `trace` shows. */
#ifndef VIEW_REPORT_H
#define VIEW_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "store/scan.h"

struct report_options {
	const struct scan_choice *choice; /* which events */
	unsigned threads; /* that make text; 0: as many as there are CPUs, at most 8 */
	int fd;		  /* where the text goes */
	bool colour;	  /* trace-cmd's form: names of events and losses stand out */
	/* Called by one thread at a time, now and then, with the blocks read of all; may be NULL. */
	void (*progress)(void *arg, const char *what, uint64_t done, uint64_t total);
	void *progress_arg;
	/* trace-cmd's options */
	bool like_31;	  /* as trace-cmd 3.1 prints: no flags column, its letters of task states */
	bool raw;	  /* -R: fields instead of print fmts */
	bool no_plugins;  /* -N: print fmts for all events */
	bool nanoseconds; /* -t: full time stamps */
	bool latency;	  /* -l: the flags column */
	bool first_alias; /* of several names at an address the one that all other views show */
	/* the kernel's `trace` */
	const char *tracer; /* NULL: what the source says, or nop */
	const char *
		trace_options; /* "sym-offset,noirq-info": over what the source says; may be NULL */
	const char *
		banner; /* of the latency form: "release=6.1,cpu=1,...", over what the source says; may be NULL */
	uint64_t start;	  /* when the buffer was cleared; UINT64_MAX: the first event */
	uint64_t written; /* entries ever written; UINT64_MAX: what the source's stats say */
};

/* 0, -EPIPE if the reader is gone, or another negative errno with the message printed. */
int report_trace_cmd(struct source *s, const struct report_options *o);
int report_kernel(struct source *s, const struct report_options *o);
/*
 * The line that report_trace_cmd() prints, for events that are found one by one: text and its end, valid until the next call.
 * Each event is a line, so a call and its end are not joined; functions are indented by what was asked for before.
 */
struct report_line;
struct report_line *report_line_new(struct source *s, const struct report_options *o);
void report_line_free(struct report_line *l);
const char *report_line(struct report_line *l, const struct event *e, size_t *bytes);
/* The event's own part of it: without columns, name and newline. */
const char *report_text(struct report_line *l, const struct event *e, size_t *bytes);
/* Buffers of a latency tracer that were saved as text, as they are. 0 or a negative errno. */
int report_texts(const struct source *s, int fd);

#endif
