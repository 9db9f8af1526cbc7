/* SPDX-License-Identifier: MIT */
/* recording.h -- a trace.dat while it is recorded: version 6 up to its list of CPUs, then records in the order they came. */
#ifndef WIRE_RECORDING_H
#define WIRE_RECORDING_H

#include <stdint.h>

/*
 * Version 6 states the size of each CPU's pages before the pages, so it can only be written when all of them are known. A
 * recorder writes this form instead, which can be read whenever the recorder ends, and makes a version 6 of it at the
 * end. Where version 6 has "flyrecord" and its list stand
 *
 *   WIRE_RECORDING_MARK   10 bytes with the NUL
 *   the clock             u64 size, "[name]", as after version 6's list
 *   zeros                 up to the next multiple of WIRE_RECORDING_ALIGN
 *   records               each begins with struct wire_recording_head at a multiple of 8; zeros fill up to the next
 *
 * Numbers are in the byte order of the file. The first record is a WIRE_RECORDING_VOID: room for what is said at the end,
 * should the disk be full by then. A recording without the option FATHOM_DAT_END was killed.
 */
#define WIRE_RECORDING_MARK  "fathomlog"
#define WIRE_RECORDING_ALIGN 4096u
#define WIRE_RECORDING_MAGIC 0x474f4c46u /* "FLOG" */

struct wire_recording_head {
	uint32_t magic;
	uint32_t kind;	/* enum wire_recording_kind */
	uint32_t arg;	/* PAGES: the CPU; OPTION: its number */
	uint32_t bytes; /* after this head */
};

enum wire_recording_kind {
	WIRE_RECORDING_VOID = 0,
	WIRE_RECORDING_PAGES = 1, /* whole pages of one CPU */
	WIRE_RECORDING_OPTION = 2,
	/* A text in place of the one that stands before the mark. */
	WIRE_RECORDING_KALLSYMS = 3,
	WIRE_RECORDING_PRINTK = 4,
	WIRE_RECORDING_CMDLINES = 5,
	/* Pages that did not fit after the others: they stand in the room for the end and come after all. At most one. */
	WIRE_RECORDING_LAST_PAGES = 6,
};

#endif
