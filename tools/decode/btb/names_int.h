/* SPDX-License-Identifier: MIT */
/* names_int.h -- inside btb_names.c and btb_labels.c: tasks, what is mapped into them, labels that were made. */
#ifndef DECODE_BTB_NAMES_INT_H
#define DECODE_BTB_NAMES_INT_H

#include "decode/btb/names.h"
#include "base/idmap.h"
#include "decode/names/elf.h"

#define BTB_KERNEL "KERNEL" /* the name of the binary that is the kernel */

struct btb_binary {
	char *name;
	char *path; /* of the ELF file, from binaries.list; NULL if not listed */
	struct symbols *symbols;
	struct elf_dwarf *dwarf;
	bool tried, tried_dwarf;
};

struct btb_mapping {
	struct btb_binary *binary;
	uint64_t base, from, until;
};

struct btb_task {
	uint64_t id;
	struct btb_mapping *maps; /* in order of first mapping; the kernel after the first */
	size_t nr, cap;
	struct idmap labels; /* that were made, by address; not kept if it moves */
	bool moves;	     /* something was unmapped or mapped twice: labels depend on time */
	char *text;
};

struct btb_names {
	struct btb_names_options o;
	char *tables;
	struct btb_binary **binaries;
	size_t nr_binaries;
	struct btb_task *tasks;
	size_t nr_tasks, cap_tasks;
	struct idmap by_id;	      /* 1 + the index of a task */
	struct source_label **labels; /* every label made, to be freed */
	size_t nr_labels, cap_labels;
};

/* Read its symbols, once. */
void btb_binary_load(struct btb_names *n, struct btb_binary *b);
/* NULL if there is none, and none is to be made or can be. */
struct btb_task *btb_task_of(struct btb_names *n, uint64_t id, bool make);

/* The lines of a table of symbols, NUL-terminated, which are changed; the build that the table is of, or "". */
void btb_symt_add(struct symbols *t, const char *path, char *text, char id[BUILD_ID_TEXT]);

#endif
