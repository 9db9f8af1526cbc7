/* SPDX-License-Identifier: MIT */
/* symbols.c -- names of functions, from the symbol tables of the program and its libraries. Loaded once, then read only. */
#include <elf.h>
#include <errno.h>
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
	const char *object;
};

static struct symbol *symbols;
static uint32_t nr_symbols;

static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* `bytes` at `offset` of the file; NULL if the file is shorter. */
static const void *inside(const uint8_t *file, size_t file_bytes, uint64_t offset, uint64_t bytes)
{
	return offset <= file_bytes && bytes <= file_bytes - offset ? file + offset : NULL;
}

/* The file of an object, and where it lies. */
struct object {
	const char *name;
	uintptr_t base;
};

static void take_table(const uint8_t *file, size_t bytes, const Elf64_Shdr *table,
		       const Elf64_Shdr *strings, const struct object *o)
{
	const Elf64_Sym *sym = inside(file, bytes, table->sh_offset, table->sh_size);
	const char *text = inside(file, bytes, strings->sh_offset, strings->sh_size);
	uint64_t n = table->sh_size / sizeof(*sym);
	struct symbol *more;

	if (!sym || !text || !strings->sh_size || text[strings->sh_size - 1])
		return;
	more = realloc(symbols, (nr_symbols + n) * sizeof(*symbols));
	if (!more)
		return;
	symbols = more;
	for (uint64_t i = 0; i < n; i++) {
		if (ELF64_ST_TYPE(sym[i].st_info) != STT_FUNC || !sym[i].st_value ||
		    sym[i].st_name >= strings->sh_size)
			continue;
		symbols[nr_symbols++] = (struct symbol){o->base + sym[i].st_value, sym[i].st_size,
							text + sym[i].st_name, o->name};
	}
}

/* The full table if the program has one, else that of the dynamic linker. */
static void take_tables(const uint8_t *file, size_t bytes, const struct object *o)
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
		take_table(file, bytes, &sh[best], &sh[sh[best].sh_link], o);
}

/* The file stays mapped: names point into it, also from a signal handler. */
static void take_file(const char *path, const struct object *o)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *file;

	if (fd < 0)
		return;
	if (!fstat(fd, &st) && st.st_size > 0) {
		file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (file != MAP_FAILED)
			take_tables(file, (size_t)st.st_size, o);
	}
	close(fd);
}

/* The first object of the list is the program itself. */
static int take_object(struct dl_phdr_info *info, size_t bytes, void *libraries)
{
	const char *path = info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
	const char *slash = strrchr(path, '/');
	struct object o = {program_invocation_short_name, info->dlpi_addr};

	(void)bytes;
	if (info->dlpi_name[0])
		o.name = strdup(slash ? slash + 1 : path);
	take_file(path, &o);
	return !*(int *)libraries;
}

/*
 * A library tells only of the functions it offers, and who reads the file takes what lies behind one for its inside: so
 * the space up to the next gets the library's name.
 */
static void name_gaps(void)
{
	struct symbol *all = malloc(2 * nr_symbols * sizeof(*all));
	uint32_t n = 0;

	if (!all)
		return;
	for (uint32_t i = 0; i < nr_symbols; i++) {
		const struct symbol *s = &symbols[i];

		all[n++] = *s;
		if (s->size && (i + 1 == nr_symbols || s->at + s->size < s[1].at))
			all[n++] = (struct symbol){s->at + s->size, 0, s->object, s->object};
	}
	free(symbols);
	symbols = all;
	nr_symbols = n;
}

void user_symbols_load(int libraries)
{
	if (symbols)
		return;
	dl_iterate_phdr(take_object, &libraries);
	if (!symbols)
		return;
	qsort(symbols, nr_symbols, sizeof(*symbols), by_address);
	if (libraries)
		name_gaps();
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
