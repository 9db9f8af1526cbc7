/* SPDX-License-Identifier: MIT */
/* capture.h -- what is known of a target whose trace is taken: formats, names, symbols, clock, counters. */
#ifndef CAPTURE_CAPTURE_H
#define CAPTURE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "wire/frame.h"

#define CAPTURE_CPUS_MAX 4096u

/* Bytes that grow; `failed` is set once memory has run out, and nothing more is added. */
struct bytes {
	uint8_t *data;
	size_t len, size;
	bool failed;
};

void bytes_add(struct bytes *b, const void *data, size_t n);
void bytes_text(struct bytes *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void bytes_free(struct bytes *b);

struct capture_format {
	char *system;
	char *text;
};

/* Of one CPU. */
struct capture_cpu {
	struct wire_stats stats;
	char *stats_text; /* the target's per_cpu/cpuN/stats; NULL: made from `stats` */
	bool counted;	  /* `stats` are the target's */
	/* stats.read and stats.cleared when the recording began */
	uint64_t read_before, cleared_before;
	uint64_t taken;	      /* events that another reader took from the target */
	uint64_t cleared;     /* events that the target discarded unread ... */
	bool cleared_unknown; /* ... and how many is not known */
	/* in the file: capture_count() */
	uint64_t events, missed;
	bool missed_unknown; /* an unknown number of events is missing */
};

struct capture {
	uint32_t nr_cpus;
	struct capture_cpu *cpus;   /* nr_cpus */
	uint32_t ns_mult, ns_shift; /* ns = ticks * mult >> shift; mult 0: the clock counts ns */
	/* its name in trace_clock; "": `local`, or ticks if ns_mult says how to convert them */
	char clock[32];
	char release[320];
	/* The layout of the target's pages. */
	bool big;
	uint32_t long_bytes, page_bytes;
	struct bytes header_page; /* the header_page text; empty: this library's layout */
	struct capture_format *formats;
	size_t nr_formats;
	struct bytes kallsyms, printks, cmdlines;
	uint64_t calls_lost; /* not followed by function_graph: the target's tracer_stats */
	uint64_t nr_pages;   /* in the file */
	/* A target whose memory is read while it is halted: how often, and how much of the recording's time. */
	uint64_t stops, stopped_us, longest_stop_us, recorded_us;
	char ended[160]; /* how the recording ended */
};

/* Defaults: little endian, 8-byte longs, pages of 4 KiB. */
void capture_init(struct capture *c);
void capture_free(struct capture *c);
/* Call it before anything else about CPUs. 0 or -ENOMEM. */
int capture_set_cpus(struct capture *c, uint32_t nr_cpus);
int capture_format(struct capture *c, const char *system, const char *text, size_t bytes);
/* Makes the text of kallsyms from the symbols of a kernel's ELF file. */
int capture_kallsyms(struct capture *c, const char *elf);

/* The number in the line of a text that begins with `name`; 0: there is none. The text may be NULL. */
uint64_t capture_number(const char *text, const char *name);
/* The counters in the text of per_cpu/cpuN/stats, which may be NULL. */
void capture_read_stats(const char *text, struct wire_stats *to);

/* Count what is in a recording, finished or not, per CPU. 0 or a negative errno. */
int capture_count(struct capture *c, const char *file);
/* The pids in it, without repeats; to be freed. NULL: it cannot be read. */
int32_t *capture_pids(const char *file, size_t *nr);

#endif
