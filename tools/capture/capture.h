/* SPDX-License-Identifier: MIT */
/* capture.h -- what was taken from a target, before it becomes a trace.dat: formats, names, symbols, pages, counters. */
#ifndef CAPTURE_CAPTURE_H
#define CAPTURE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "wire/frame.h"

#define CAPTURE_CPUS_MAX 64

/* Bytes that grow; `failed` once memory ran out, then nothing is added. */
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

struct capture {
	uint32_t nr_cpus;
	uint32_t ns_mult, ns_shift; /* ns = ticks * mult >> shift; mult 0: the clock counts ns */
	char clock
		[32]; /* its name in trace_clock; "": `local`, or ticks if ns_mult says how to convert them */
	char release[64];
	struct capture_format *formats;
	size_t nr_formats;
	struct bytes kallsyms, printks, cmdlines;
	struct bytes pages[CAPTURE_CPUS_MAX]; /* whole pages of 4096 bytes, oldest first */
	struct wire_stats stats[CAPTURE_CPUS_MAX];
	uint64_t calls_lost; /* not followed by function_graph: the target's tracer_stats */
	int32_t *pids;	     /* seen in the pages, sorted, each once */
	size_t nr_pids;
};

void capture_free(struct capture *c);
/* One page of a CPU, cut behind its data or whole; -1 if it is no page. */
int capture_page(struct capture *c, uint32_t cpu, const void *page, size_t bytes);
int capture_format(struct capture *c, const char *system, const char *text, size_t bytes);
/* Records in the pages of a CPU; events reported missing in front of them are added to *missed. */
uint64_t capture_count(const struct capture *c, uint32_t cpu, uint64_t *missed);
/* Every data record of every page, CPU by CPU. */
void capture_each(const struct capture *c,
		  void (*fn)(void *arg, const uint8_t *record, uint32_t bytes), void *arg);
/* The pids in the pages, into c->pids. */
void capture_find_pids(struct capture *c);
/* The text of kallsyms from the symbols of a kernel's ELF file. */
int capture_kallsyms(struct capture *c, const char *elf);
/* trace.dat, version 6. 0, or -1 with the reason told. */
int capture_write(struct capture *c, const char *path);

#endif
