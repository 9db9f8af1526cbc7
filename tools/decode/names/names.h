/* SPDX-License-Identifier: MIT */
/* names.h -- tables of a trace: symbols by address, tasks by pid, printk formats by address, counts by pid, losses. */
#ifndef DECODE_NAMES_H
#define DECODE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- symbols ---- */

struct symbol {
	const char *name;
	const char *module; /* "" for the kernel or program itself */
	uint64_t start;
	uint64_t size;	 /* up to the next symbol; 0 if not known */
	uint64_t offset; /* of the address looked up */
};

/* Which of several names of one address: Linux prints the first of kallsyms, trace-cmd one that its search hits. */
enum symbols_alias {
	ALIAS_FIRST,
	ALIAS_TRACE_CMD,
};

struct symbols *symbols_new(void);
void symbols_free(struct symbols *t);
/* The strings are copied; module may be NULL. Any order; sorted on the first lookup. 0 or -ENOMEM. */
int symbols_add(struct symbols *t, uint64_t addr, uint64_t size, const char *name,
		size_t name_bytes, const char *module, size_t module_bytes);
/* Text of /proc/kallsyms or System.map. Lines that are neither are counted and skipped; returns how many were read. */
size_t symbols_add_kallsyms(struct symbols *t, const char *text, size_t bytes);
/* The same without a copy: the text lies `at` (not 0) bytes into malloc()ed memory, which has one more byte after it and
 * belongs to the table from now on. */
size_t symbols_take_kallsyms(struct symbols *t, char *memory, size_t at, size_t bytes);
/* Ask this before the table: for formats that find names in another way (ELF files, per task). Any thread may call it. */
void symbols_ask(struct symbols *t, bool (*ask)(void *arg, uint64_t addr, struct symbol *out),
		 void *arg);
/* What lies after a module's last data belongs to no one (ALIAS_FIRST): its code may have been freed. */
bool symbols_find(struct symbols *t, uint64_t addr, enum symbols_alias alias, struct symbol *out);
size_t symbols_count(const struct symbols *t);
/* The i-th by address; false past the end. */
bool symbols_at(struct symbols *t, size_t i, struct symbol *out);

/* The sorted table as two pieces of memory, for a file. Entries are opaque: another build may not know them (entry_bytes). */
struct symbols_packed {
	void *entries;
	size_t nr, entry_bytes;
	char *pool;
	size_t pool_bytes;
};

/* Both pieces are allocated. 0 or -ENOMEM. */
int symbols_pack(struct symbols *t, struct symbols_packed *out);
/* Use such pieces in place; every reference is checked. Then `map` belongs to the table. 0 or -EINVAL. */
int symbols_borrow(struct symbols *t, const struct symbols_packed *in, void *map, size_t map_bytes);

/* ---- tasks ---- */

struct tasks *tasks_new(void);
void tasks_free(struct tasks *t);
/* A later name of the same pid replaces the earlier. */
void tasks_set_comm(struct tasks *t, int32_t pid, const char *comm, size_t bytes);
void tasks_set_tgid(struct tasks *t, int32_t pid, int32_t tgid);
/* Text of saved_cmdlines ("PID COMM" lines) and of saved_tgids ("PID TGID"). */
void tasks_add_cmdlines(struct tasks *t, const char *text, size_t bytes);
void tasks_add_tgids(struct tasks *t, const char *text, size_t bytes);
/* NULL if not known. */
const char *tasks_comm(const struct tasks *t, int32_t pid);
int32_t tasks_tgid(const struct tasks *t, int32_t pid);
/* Call for each, in no order. */
void tasks_each(const struct tasks *t,
		void (*fn)(int32_t pid, const char *comm, int32_t tgid, void *arg), void *arg);

/* ---- printk formats: text of `printk_formats` (0xADDR : "text" lines, with C escapes) ---- */

struct printks *printks_new(void);
void printks_free(struct printks *t);
void printks_add_text(struct printks *t, const char *text, size_t bytes);
const char *printks_find(struct printks *t, uint64_t addr);

/* ---- counts by pid, made while scanning ---- */

struct pid_counts *pid_counts_new(void);
void pid_counts_free(struct pid_counts *t);
void pid_counts_add(struct pid_counts *t, int32_t pid, uint64_t n);
size_t pid_counts_nr(const struct pid_counts *t);
void pid_counts_each(const struct pid_counts *t, void (*fn)(int32_t pid, uint64_t n, void *arg),
		     void *arg);

#endif
