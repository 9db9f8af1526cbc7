/* SPDX-License-Identifier: MIT */
/* symbols.c -- names of functions, from the symbol tables of the program and its libraries. */
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
	uintptr_t at; /* from the table's base */
	uintptr_t size;
	const char *name; /* in the mapped file */
	const char *object;
};

/*
 * The first table is of all that is there at the start; a library that comes later has one of its own. Readers take no
 * lock (they may be signal handlers), so tables are never freed. That of a library that went keeps its names for what is
 * recorded, until another library lies there; the library finds it again when it comes back.
 */
struct table {
	struct symbol *symbols; /* by address */
	uint32_t nr;
	uintptr_t base;
	uintptr_t from, to; /* where the object lies; `to` 0: nowhere */
	int gone;
	dev_t dev;
	ino_t ino;
	struct timespec changed;
	struct table *next;
};

static struct table first = {.to = UINTPTR_MAX};

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

static void take_table(struct table *to, const uint8_t *file, size_t bytes, const Elf64_Shdr *table,
		       const Elf64_Shdr *strings, const struct object *o)
{
	const Elf64_Sym *sym = inside(file, bytes, table->sh_offset, table->sh_size);
	const char *text = inside(file, bytes, strings->sh_offset, strings->sh_size);
	uint64_t n = table->sh_size / sizeof(*sym);
	struct symbol *more;

	if (!sym || !text || !strings->sh_size || text[strings->sh_size - 1])
		return;
	more = realloc(to->symbols, (to->nr + n) * sizeof(*more));
	if (!more)
		return;
	to->symbols = more;
	for (uint64_t i = 0; i < n; i++) {
		if (ELF64_ST_TYPE(sym[i].st_info) != STT_FUNC || !sym[i].st_value ||
		    sym[i].st_name >= strings->sh_size)
			continue;
		more[to->nr++] = (struct symbol){o->base + sym[i].st_value, sym[i].st_size,
						 text + sym[i].st_name, o->name};
	}
}

/* The full table if the program has one, else that of the dynamic linker. */
static void take_tables(struct table *to, const uint8_t *file, size_t bytes, const struct object *o)
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
		take_table(to, file, bytes, &sh[best], &sh[sh[best].sh_link], o);
}

/* The file stays mapped: names point into it, also from a signal handler. */
static void take_file(struct table *to, const char *path, const struct object *o)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *file;

	if (fd < 0)
		return;
	if (!fstat(fd, &st) && st.st_size > 0) {
		file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (file != MAP_FAILED)
			take_tables(to, file, (size_t)st.st_size, o);
	}
	close(fd);
}

struct user_text user_text_of(const struct dl_phdr_info *info)
{
	struct user_text t = {info->dlpi_name, info->dlpi_addr, UINTPTR_MAX, 0};

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t from = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		t.from = from < t.from ? from : t.from;
		t.to = from + p->p_memsz > t.to ? from + p->p_memsz : t.to;
	}
	return t;
}

/* Code before the first function that has a name, all of a stripped program's: it has the object's. */
static void name_text(const struct dl_phdr_info *info, const struct object *o)
{
	struct user_text text = user_text_of(info);
	struct symbol *more = realloc(first.symbols, (first.nr + 1) * sizeof(*more));

	if (!more)
		return;
	first.symbols = more;
	if (text.to)
		more[first.nr++] = (struct symbol){text.from, 0, o->name, o->name};
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
	take_file(&first, path, &o);
	if (*(int *)libraries)
		name_text(info, &o);
	return !*(int *)libraries;
}

/*
 * A library tells only of the functions it offers, and who reads the file takes what lies behind one for its inside: so
 * the space up to the next gets the library's name.
 */
static void name_gaps(void)
{
	struct symbol *all = malloc(2 * first.nr * sizeof(*all));
	uint32_t n = 0;

	if (!all)
		return;
	for (uint32_t i = 0; i < first.nr; i++) {
		const struct symbol *s = &first.symbols[i];

		all[n++] = *s;
		if (s->size && (i + 1 == first.nr || s->at + s->size + 1 < s[1].at))
			all[n++] = (struct symbol){s->at + s->size + 1, 0, s->object, s->object};
	}
	free(first.symbols);
	first.symbols = all;
	first.nr = n;
}

static void table_sort(struct table *t)
{
	if (t->nr)
		qsort(t->symbols, t->nr, sizeof(*t->symbols), by_address);
}

void user_symbols_load(int libraries)
{
	if (first.symbols)
		return;
	dl_iterate_phdr(take_object, &libraries);
	table_sort(&first);
	if (libraries && first.symbols)
		name_gaps();
}

/* ---- libraries that come later ---- */

static struct table *table_next(struct table *t)
{
	return __atomic_load_n(&t->next, __ATOMIC_ACQUIRE); /* pairs with table_new() */
}

/* Those of libraries that went and were where [from, to) is now name nothing any more. */
static void tables_clear(uintptr_t from, uintptr_t to)
{
	for (struct table *t = first.next; t; t = t->next)
		if (t->gone && t->from < to && from < t->to)
			__atomic_store_n(&t->to, 0, __ATOMIC_RELEASE);
}

static struct table *table_of_file(const struct stat *st)
{
	for (struct table *t = first.next; t; t = t->next)
		if (t->gone && t->dev == st->st_dev && t->ino == st->st_ino &&
		    !memcmp(&t->changed, &st->st_mtim, sizeof(t->changed)))
			return t;
	return NULL;
}

static struct table *table_new(const char *path, const struct stat *st)
{
	struct table *t = calloc(1, sizeof(*t)), *last = &first;
	struct object o = {NULL, 0};

	if (!t)
		return NULL;
	take_file(t, path, &o);
	table_sort(t);
	t->dev = st->st_dev;
	t->ino = st->st_ino;
	t->changed = st->st_mtim;
	while (last->next)
		last = last->next;
	__atomic_store_n(&last->next, t, __ATOMIC_RELEASE);
	return t;
}

void user_symbols_add(const struct user_text *text)
{
	struct stat st;
	struct table *t;

	tables_clear(text->from, text->to);
	if (stat(text->path, &st))
		return;
	t = table_of_file(&st);
	if (!t)
		t = table_new(text->path, &st);
	if (!t)
		return;
	__atomic_store_n(&t->to, 0, __ATOMIC_RELEASE);
	t->gone = 0;
	t->base = text->base;
	t->from = text->from;
	__atomic_store_n(&t->to, text->to, __ATOMIC_RELEASE);
}

/* One that no table is of: it was opened since, and did not join. */
static int take_later(struct dl_phdr_info *info, size_t bytes, void *unused)
{
	struct user_text text = user_text_of(info);
	int known = 0;

	(void)bytes;
	(void)unused;
	for (struct table *t = first.next; t; t = t->next)
		known |= !t->gone && t->from == text.from;
	for (uint32_t i = 0; i < first.nr && !known; i++)
		known = first.symbols[i].at >= text.from && first.symbols[i].at < text.to;
	if (!known && text.to && text.path[0])
		user_symbols_add(&text);
	return 0;
}

void user_symbols_more(void)
{
	user_lock(NULL);
	dl_iterate_phdr(take_later, NULL);
	user_unlock(NULL);
}

void user_symbols_gone(uintptr_t from)
{
	for (struct table *t = first.next; t; t = t->next)
		if (t->from == from)
			t->gone = 1;
}

/* ---- asked ---- */

/*
 * What lies right behind a function is its own if nothing else begins there: a call that does not return (abort, longjmp)
 * may be a function's last instruction.
 */
static const struct symbol *table_find(const struct table *t, uintptr_t at)
{
	const struct symbol *s;
	uint32_t lo = 0, hi = t->nr;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (t->symbols[mid].at <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	s = lo ? &t->symbols[lo - 1] : NULL;
	return s && s->size && at - s->at <= s->size ? s : NULL;
}

const char *user_symbol(uintptr_t at, uintptr_t *offset, uintptr_t *size)
{
	for (struct table *t = &first; t; t = table_next(t)) {
		uintptr_t to = __atomic_load_n(&t->to, __ATOMIC_ACQUIRE), base = t->base;
		const struct symbol *s = at >= t->from && at < to ? table_find(t, at - base) : NULL;

		if (!s)
			continue;
		*offset = at - base - s->at;
		*size = s->size;
		return s->name;
	}
	return NULL;
}

uintptr_t user_symbol_lookup(const char *name)
{
	for (struct table *t = &first; t; t = table_next(t))
		for (uint32_t i = 0; i < t->nr && t->to && !t->gone; i++)
			if (!strcmp(t->symbols[i].name, name))
				return t->base + t->symbols[i].at;
	return 0;
}

int user_symbol_at(uint32_t index, uintptr_t *at, const char **name)
{
	for (struct table *t = &first; t; t = table_next(t)) {
		uint32_t nr = t->to ? t->nr : 0;

		if (index < nr) {
			*at = t->base + t->symbols[index].at;
			*name = t->symbols[index].name;
			return 1;
		}
		index -= nr;
	}
	return 0;
}
