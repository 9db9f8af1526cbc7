/* SPDX-License-Identifier: MIT */
/* tracedat_write.h -- write a trace.dat (version 6) through a callback: no heap, no seeking, no libc. */
#ifndef WIRE_TRACEDAT_WRITE_H
#define WIRE_TRACEDAT_WRITE_H

#include <stddef.h>
#include <stdint.h>
#include "wire/text.h"

/*
 * The file is written from its start to its end; every size is written before its bytes. The calls, in this order:
 *
 *   fathom_dat_begin      magic, byte order, page size
 *   fathom_dat_header     header_page and header_event
 *   fathom_dat_ftrace     the number of formats of the `ftrace` system, then fathom_dat_format() for each
 *   fathom_dat_systems    the number of other systems; for each fathom_dat_system(), then fathom_dat_format() for each
 *   fathom_dat_kallsyms   text of kallsyms
 *   fathom_dat_printk     text of printk_formats
 *   fathom_dat_cmdlines   text of saved_cmdlines
 *   fathom_dat_cpus       the number of CPUs
 *   fathom_dat_option     none or more: FATHOM_DAT_UNAME ... ; FATHOM_DAT_CLOCK is one of fathom_dat_data()
 *   fathom_dat_data       the clock and the bytes of each CPU's pages; then fathom_dat_bytes() for the pages of CPU 0, 1 ...
 *
 * Where a text is made piece by piece, give NULL for it with its length and follow with fathom_dat_bytes().
 * The first error of the callback is kept in `err`; everything after it is a no-op, so check once at the end.
 * May be used in a signal handler if the callback may. Context: any; cost: the callback's.
 */

/* 0, or a negative errno that ends the writing. */
typedef int (*fathom_dat_sink)(void *arg, const void *bytes, size_t n);

struct fathom_dat {
	fathom_dat_sink write;
	void *arg;
	uint64_t at; /* bytes written so far: the offset in the file */
	uint32_t page_bytes;
	int err;
	uint8_t big;	/* byte order of the file, and of the pages that are put into it */
	uint8_t longs;	/* bytes of a long: 4 or 8 */
	uint8_t opened; /* the list of options was begun */
};

enum fathom_dat_option_id {
	FATHOM_DAT_DATE = 1,
	FATHOM_DAT_CPUSTAT = 2,
	FATHOM_DAT_BUFFER = 3, /* of an instance: u64 place, name; see fathom_dat_instance() */
	FATHOM_DAT_CLOCK = 4,
	FATHOM_DAT_UNAME = 5,
	FATHOM_DAT_OFFSET = 7,
	FATHOM_DAT_CPUCOUNT = 8,
	FATHOM_DAT_VERSION = 9,
	FATHOM_DAT_TRACEID = 11,
	FATHOM_DAT_TIME_SHIFT = 12,
	FATHOM_DAT_GUEST = 13,
	FATHOM_DAT_TSC2NSEC = 14,
	FATHOM_DAT_END = 0xfa01, /* Fathom's own: how the recording ended, as text */
};

/* `big` and `longs` are those of the machine that made the pages; page_bytes of one page, a power of two. */
void fathom_dat_begin(struct fathom_dat *d, fathom_dat_sink write, void *arg, uint32_t page_bytes,
		      int big, int longs);
void fathom_dat_bytes(struct fathom_dat *d, const void *bytes, size_t n);
/* A text of 0 bytes: what this library's ring has. */
void fathom_dat_header(struct fathom_dat *d, const char *header_page, size_t page_text_bytes,
		       const char *header_event, size_t event_text_bytes);
void fathom_dat_ftrace(struct fathom_dat *d, uint32_t nr_formats);
void fathom_dat_systems(struct fathom_dat *d, uint32_t nr_systems);
void fathom_dat_system(struct fathom_dat *d, const char *name, uint32_t nr_formats);
void fathom_dat_format(struct fathom_dat *d, const char *text, size_t n);
void fathom_dat_kallsyms(struct fathom_dat *d, const char *text, size_t n);
void fathom_dat_printk(struct fathom_dat *d, const char *text, size_t n);
void fathom_dat_cmdlines(struct fathom_dat *d, const char *text, size_t n);
void fathom_dat_cpus(struct fathom_dat *d, uint32_t nr_cpus);
void fathom_dat_option(struct fathom_dat *d, uint32_t id, const void *data, uint32_t n);
/* Option FATHOM_DAT_BUFFER: an instance whose list will begin at `place`; see fathom_dat_instance(). */
void fathom_dat_buffer(struct fathom_dat *d, uint64_t place, const char *name);
/*
 * `clock` is the name ("local", "mono", "x86-tsc"); it is written as option and after the list, where trace-cmd looks
 * for it. Pages follow at once: cpu_bytes[i] bytes for each CPU, each a multiple of the page size.
 */
void fathom_dat_data(struct fathom_dat *d, const char *clock, const uint64_t *cpu_bytes,
		     uint32_t nr_cpus);
/* Instead of fathom_dat_data(): a recording whose pages are not known yet; wire/recording.h says what follows. */
void fathom_dat_recording(struct fathom_dat *d, const char *clock);
/*
 * After the pages of the main buffer: an instance, at the place that its FATHOM_DAT_BUFFER option gave. The place must be
 * known when the option is written: write twice, the first time into a sink that counts.
 */
void fathom_dat_instance(struct fathom_dat *d, const char *clock, const uint64_t *cpu_bytes,
			 uint32_t nr_cpus);
/* What fathom_dat_data() or _instance() will add before the first page: the bytes of list and padding from `at` on. */
uint64_t fathom_dat_list_bytes(const char *clock, uint32_t nr_cpus);

/* The page and event headers of this library's ring, as tracefs shows them. */
void fathom_dat_header_page(struct fathom_text *t, uint32_t page_bytes);
extern const char fathom_dat_header_event[];

#endif
