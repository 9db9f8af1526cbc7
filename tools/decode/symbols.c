/* SPDX-License-Identifier: MIT */
/* symbols.c -- symbols by address: kallsyms, System.map, or added one by one. */
#include "decode/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Strings live in one growing pool and are kept as offsets, so that growing does not break them. */
struct entry {
	uint64_t addr;
	uint64_t size;
	uint32_t name;
	uint32_t module;
	uint32_t order; /* of adding */
	uint32_t skip;	/* trace-cmd does not take it: absolute, or ARM's mapping symbols */
};

struct symbols {
	struct entry *e;
	size_t nr, cap;
	char *pool;
	size_t pool_bytes, pool_cap;
	struct entry *tc; /* the order trace-cmd searches in: by address, then last added first */
	size_t nr_tc;
	bool sorted;
};

#define POOL_MAX (1u << 30)

struct symbols *symbols_new(void)
{
	return calloc(1, sizeof(struct symbols));
}

void symbols_free(struct symbols *t)
{
	if (!t)
		return;
	free(t->e);
	free(t->pool);
	free(t->tc);
	free(t);
}

static int pool_add(struct symbols *t, const char *s, size_t bytes, uint32_t *at)
{
	if (t->pool_bytes + bytes + 1 > t->pool_cap) {
		size_t cap = t->pool_cap ? t->pool_cap * 2 : 65536;
		char *p;

		while (cap < t->pool_bytes + bytes + 1)
			cap *= 2;
		if (cap > POOL_MAX || !(p = realloc(t->pool, cap)))
			return -ENOMEM;
		t->pool = p;
		t->pool_cap = cap;
	}
	*at = (uint32_t)t->pool_bytes;
	memcpy(t->pool + t->pool_bytes, s, bytes);
	t->pool[t->pool_bytes + bytes] = 0;
	t->pool_bytes += bytes + 1;
	return 0;
}

int symbols_add(struct symbols *t, uint64_t addr, uint64_t size, const char *name,
		size_t name_bytes, const char *module, size_t module_bytes)
{
	struct entry *n;

	if (t->nr == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 4096;

		n = realloc(t->e, cap * sizeof(*n));
		if (!n)
			return -ENOMEM;
		t->e = n;
		t->cap = cap;
	}
	n = &t->e[t->nr];
	*n = (struct entry){.addr = addr, .size = size, .order = (uint32_t)t->nr};
	if (!t->pool_bytes && pool_add(t, "", 0, &n->module))
		return -ENOMEM;
	if (pool_add(t, name, name_bytes, &n->name))
		return -ENOMEM;
	if (module && module_bytes && pool_add(t, module, module_bytes, &n->module))
		return -ENOMEM;
	t->nr++;
	t->sorted = false;
	return 0;
}

static const char *hex(const char *p, const char *end, uint64_t *v)
{
	const char *start = p;

	for (*v = 0; p < end && p - start < 16; p++) {
		unsigned d = (unsigned char)*p;

		if (d - '0' < 10)
			d -= '0';
		else if ((d | 32) - 'a' < 6)
			d = (d | 32) - 'a' + 10;
		else
			break;
		*v = *v << 4 | d;
	}
	return p == start ? NULL : p;
}

/* "ffffffff81000000 T name\t[module]" */
static bool kallsyms_line(struct symbols *t, const char *p, const char *end)
{
	const char *name, *name_end, *mod = NULL;
	size_t mod_bytes = 0;
	uint64_t addr;
	char type;

	p = hex(p, end, &addr);
	if (!p || end - p < 4 || p[0] != ' ' || p[2] != ' ')
		return false;
	type = p[1];
	name = p + 3;
	for (name_end = name; name_end < end && *name_end != '\t' && *name_end != ' ';)
		name_end++;
	if (name_end == name)
		return false;
	for (p = name_end; p < end && (*p == '\t' || *p == ' ');)
		p++;
	if (p < end && *p == '[') {
		const char *close = memchr(p, ']', (size_t)(end - p));

		if (close) {
			mod = p + 1;
			mod_bytes = (size_t)(close - mod);
		}
	}
	if (symbols_add(t, addr, 0, name, (size_t)(name_end - name), mod, mod_bytes))
		return false;
	t->e[t->nr - 1].skip = *name == '$' || type == 'a' || type == 'A';
	return true;
}

size_t symbols_add_kallsyms(struct symbols *t, const char *text, size_t bytes)
{
	const char *p = text, *end = text + bytes;
	size_t n = 0;

	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		const char *stop = nl ? nl : end;

		n += kallsyms_line(t, p, stop);
		p = stop + 1;
	}
	return n;
}

static int by_address(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int by_address_last_first(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->order > y->order ? -1 : x->order < y->order;
}

static void sort(struct symbols *t)
{
	if (t->sorted)
		return;
	qsort(t->e, t->nr, sizeof(*t->e), by_address);
	free(t->tc);
	t->nr_tc = 0;
	t->tc = malloc((t->nr + 1) * sizeof(*t->tc));
	for (size_t i = 0; t->tc && i < t->nr; i++)
		if (!t->e[i].skip)
			t->tc[t->nr_tc++] = t->e[i];
	if (t->tc)
		qsort(t->tc, t->nr_tc, sizeof(*t->tc), by_address_last_first);
	t->sorted = true;
}

/* The last entry whose address is <= addr, or nr. */
static size_t last_before(const struct entry *e, size_t nr, uint64_t addr)
{
	size_t lo = 0, hi = nr;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (e[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? lo - 1 : nr;
}

/* C's bsearch() halves [0, nr): which of several equal addresses it meets is part of what trace-cmd prints. */
static size_t trace_cmd_search(const struct symbols *t, uint64_t addr)
{
	size_t lo = 0, hi = t->nr_tc;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		const struct entry *e = &t->tc[mid];
		bool last = mid + 1 == t->nr_tc;

		if (addr == e->addr || (addr > e->addr && !last && addr < e[1].addr))
			return mid;
		if (addr < e->addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return t->nr_tc;
}

static void fill(const struct symbols *t, const struct entry *list, size_t nr, size_t i,
		 uint64_t addr, struct symbol *out)
{
	size_t n = i + 1;

	while (n < nr && list[n].addr == list[i].addr)
		n++;
	out->name = t->pool + list[i].name;
	out->module = t->pool + list[i].module;
	out->start = list[i].addr;
	out->size = list[i].size ? list[i].size : n < nr ? list[n].addr - list[i].addr : 0;
	out->offset = addr - list[i].addr;
}

bool symbols_find(struct symbols *t, uint64_t addr, enum symbols_alias alias, struct symbol *out)
{
	size_t i;

	if (!t || !t->nr)
		return false;
	sort(t);
	if (alias == ALIAS_TRACE_CMD) {
		i = t->tc ? trace_cmd_search(t, addr) : t->nr_tc;
		if (i == t->nr_tc)
			return false;
		fill(t, t->tc, t->nr_tc, i, addr, out);
		return true;
	}
	i = last_before(t->e, t->nr, addr);
	if (i == t->nr)
		return false;
	while (i && t->e[i - 1].addr == t->e[i].addr)
		i--;
	fill(t, t->e, t->nr, i, addr, out);
	return !out->size || out->offset < out->size || !t->e[i].size;
}

size_t symbols_count(const struct symbols *t)
{
	return t ? t->nr : 0;
}

bool symbols_at(struct symbols *t, size_t i, struct symbol *out)
{
	if (i >= symbols_count(t))
		return false;
	sort(t);
	fill(t, t->e, t->nr, i, t->e[i].addr, out);
	return true;
}
