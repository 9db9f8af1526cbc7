/* SPDX-License-Identifier: MIT */
/* elf.h -- names from ELF files: symbols, build-id, inlined frames and source lines, C++ names made readable. */
#ifndef DECODE_ELF_H
#define DECODE_ELF_H

#include "decode/names/names.h"

bool elf_is(const char *path);

/*
 * Add the symbols of .symtab (.dynsym if there is none): all with a size, and code symbols without one (assembler entry
 * points), which reach to the next symbol. 0, or a negative errno with a message.
 */
int elf_add_symbols(struct symbols *t, const char *path, const char *module);

#define BUILD_ID_TEXT 65
/* The build-id as hex; false if the file has none. */
bool elf_build_id(const char *path, char out[BUILD_ID_TEXT]);

/* DWARF of one file, opened once. NULL if it has none. */
struct elf_dwarf *elf_dwarf_open(const char *path);
void elf_dwarf_close(struct elf_dwarf *d);
/* The functions inlined at addr, outermost first (the real function itself not among them); how many there are. */
size_t elf_dwarf_inlined(struct elf_dwarf *d, uint64_t addr, const char **names, size_t max);
/* Source line of addr: file, line. */
bool elf_dwarf_line(struct elf_dwarf *d, uint64_t addr, const char **file, int *line);

/* A C++ name made readable; the name itself (copied) if it is none. The caller frees it. */
char *elf_demangle(const char *name);

#endif
