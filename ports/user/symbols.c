/* SPDX-License-Identifier: MIT */
/* symbols.c -- names of the program's functions, from the symbol table of its own file. Loaded once, then read only. */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "port.h"

struct symbol {
	uintptr_t at;
	uintptr_t size;
	const char *name; /* in the mapped file */
};

static struct symbol *symbols;
static uint32_t nr_symbols;

static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* The first object of the list is the program itself. */
static int note_base(struct dl_phdr_info *info, size_t bytes, void *base)
{
	(void)bytes;
	*(uintptr_t *)base = info->dlpi_addr;
	return 1;
}

/* `bytes` at `offset` of the file; NULL if the file is shorter. */
static const void *inside(const uint8_t *file, size_t file_bytes, uint64_t offset, uint64_t bytes)
{
	return offset <= file_bytes && bytes <= file_bytes - offset ? file + offset : NULL;
}

static void take_table(const uint8_t *file, size_t bytes, const Elf64_Shdr *table,
		       const Elf64_Shdr *strings)
{
	const Elf64_Sym *sym = inside(file, bytes, table->sh_offset, table->sh_size);
	const char *text = inside(file, bytes, strings->sh_offset, strings->sh_size);
	uint64_t n = table->sh_size / sizeof(*sym);
	uintptr_t base = 0;

	if (!sym || !text || !strings->sh_size || text[strings->sh_size - 1])
		return;
	symbols = malloc(n * sizeof(*symbols));
	if (!symbols)
		return;
	dl_iterate_phdr(note_base, &base);
	for (uint64_t i = 0; i < n; i++) {
		if (ELF64_ST_TYPE(sym[i].st_info) != STT_FUNC || !sym[i].st_value ||
		    sym[i].st_name >= strings->sh_size)
			continue;
		symbols[nr_symbols++] = (struct symbol){base + sym[i].st_value, sym[i].st_size,
							text + sym[i].st_name};
	}
	qsort(symbols, nr_symbols, sizeof(*symbols), by_address);
}

/* The full table if the program has one, else that of the dynamic linker. */
static void take_file(const uint8_t *file, size_t bytes)
{
	const Elf64_Ehdr *head = inside(file, bytes, 0, sizeof(*head));
	const Elf64_Shdr *sh;
	uint32_t best = 0;

	if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) ||
	    head->e_ident[EI_CLASS] != ELFCLASS64)
		return;
	sh = inside(file, bytes, head->e_shoff, (uint64_t)head->e_shnum * sizeof(*sh));
	if (!sh)
		return;
	for (uint32_t i = 0; i < head->e_shnum; i++)
		if (sh[i].sh_type == SHT_SYMTAB || (sh[i].sh_type == SHT_DYNSYM && !best))
			best = i;
	if (best && sh[best].sh_link < head->e_shnum)
		take_table(file, bytes, &sh[best], &sh[sh[best].sh_link]);
}

/* The file stays mapped: names point into it, also from a signal handler. */
void user_symbols_load(void)
{
	int fd;
	struct stat st;
	void *file;

	if (symbols)
		return;
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (!fstat(fd, &st) && st.st_size > 0) {
		file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (file != MAP_FAILED)
			take_file(file, (size_t)st.st_size);
	}
	close(fd);
}

const char *user_symbol(uintptr_t at, uintptr_t *offset, uintptr_t *size)
{
	uint32_t lo = 0, hi = nr_symbols;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (symbols[mid].at <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || at - symbols[lo - 1].at >= symbols[lo - 1].size)
		return NULL;
	*offset = at - symbols[lo - 1].at;
	*size = symbols[lo - 1].size;
	return symbols[lo - 1].name;
}

uintptr_t user_symbol_lookup(const char *name)
{
	for (uint32_t i = 0; i < nr_symbols; i++)
		if (!strcmp(symbols[i].name, name))
			return symbols[i].at;
	return 0;
}

int user_symbol_at(uint32_t index, uintptr_t *at, const char **name)
{
	if (index >= nr_symbols)
		return 0;
	*at = symbols[index].at;
	*name = symbols[index].name;
	return 1;
}
