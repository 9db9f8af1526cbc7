/* SPDX-License-Identifier: MIT */
/*
 * symbols.c -- copy me: names of functions for config.symbol and config.lookup. Link the kernel once with an empty table, make the
 * table from that image by symbols.awk, link again: it lies after the text, which therefore does not move.
 */
#include <stddef.h>
#include <stdint.h>

struct symbol {
	unsigned long at;
	const char *name;
};
extern const struct symbol symbols[]; /* by address, and one more */
extern const unsigned nr_symbols;

const char *symbol_name(uintptr_t at, uintptr_t *offset, uintptr_t *size);
uintptr_t symbol_lookup(const char *name);

const char *symbol_name(uintptr_t at, uintptr_t *offset, uintptr_t *size)
{
	unsigned lo = 0, hi = nr_symbols;

	while (hi - lo > 1) {
		unsigned mid = (lo + hi) / 2;

		if (symbols[mid].at <= at)
			lo = mid;
		else
			hi = mid;
	}
	if (!nr_symbols || at < symbols[lo].at || symbols[lo + 1].at == ~0ul)
		return NULL;
	*offset = at - symbols[lo].at;
	*size = symbols[lo + 1].at - symbols[lo].at;
	return symbols[lo].name;
}

uintptr_t symbol_lookup(const char *name)
{
	for (unsigned i = 0; i < nr_symbols; i++) {
		const char *a = symbols[i].name, *b = name;

		while (*a && *a == *b)
			a++, b++;
		if (*a == *b)
			return symbols[i].at;
	}
	return 0;
}
