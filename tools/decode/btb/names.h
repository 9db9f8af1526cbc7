/* SPDX-License-Identifier: MIT */
/* names.h -- names for the frames of a backtrace buffer: tasks, the binaries mapped into them, their symbols. */
#ifndef DECODE_BTB_NAMES_H
#define DECODE_BTB_NAMES_H

#include "decode/btb/btb.h"
#include "decode/source.h"

struct btb_names;

/*
 * Where names come from. `tables`: a folder of NAME.symt files, also written there by `fathom symbols save`;
 * `binaries`: a list of `NAME: PATH` lines. NULL: beside the capture, `STEM/` and `binaries.list`, if they exist.
 */
struct btb_names_options {
	const char *tables;
	const char *binaries;
	bool inlines; /* show functions that DWARF says are inlined as frames of their own */
	bool lines;   /* add file:line to each name */
};

struct btb_names *btb_names_open(const struct btb *b, const char *capture,
				 const struct btb_names_options *o);
void btb_names_close(struct btb_names *n);

/*
 * The label of a frame: BINARY`function, or TASK/ADDRESS in hex if no symbol is known. Inlined functions are appended
 * after ';'. Valid until close.
 */
const struct source_label *btb_names_label(struct btb_names *n, uint64_t task, uint64_t ip,
					   uint64_t time);
/* The symbol at an address of any task: the first that knows it. The name stays valid until close. */
bool btb_names_symbol(struct btb_names *n, uint64_t ip, struct symbol *out);
/*
 * Write a table of each binary that the trace knows into `dir`, NAME.symt with its build-id, so that the trace can be
 * read without the binaries. How many were written; binaries whose symbols are not to be had are reported.
 */
size_t btb_names_save(struct btb_names *n, const char *dir);
/* "rom/hello, KERNEL, rom/libc.so" or "<task 7 has no binaries>". */
const char *btb_names_task(struct btb_names *n, uint64_t task);
/* The task's program: its first binary, without the folder; NULL if none is known. */
const char *btb_names_program(struct btb_names *n, uint64_t task);

#endif
