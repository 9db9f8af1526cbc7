/* SPDX-License-Identifier: MIT */
/* site_table.c -- makes a part of the table of sites from the compiler's sections, or from the names of functions. */
#include "fathom/trace.h"
#include "functions/sites.h"
#include "functions/tracers.h"

uint32_t fathom_site_hash(const char *name, size_t bytes)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	for (size_t i = 0; i < bytes; i++)
		h = (h ^ (uint8_t)name[i]) * 16777619u;
	return h;
}

int fathom_name_is_own(const char *name)
{
	static const char library[] = "fathom_", control[] = "ctl_";
	uint32_t i = 0, k = 0;

	while (library[i] && name[i] == library[i])
		i++;
	while (control[k] && name[k] == control[k])
		k++;
	return !library[i] || !control[k];
}

static uintptr_t table_entry(const uint8_t *at)
{
	uintptr_t v = 0;

	for (unsigned int i = 0; i < sizeof(v); i++)
		v |= (uintptr_t)at[i] << (8 * i); /* these targets are little endian */
	return v;
}

uint32_t fathom_table_entries(const struct site_table *t)
{
	return (uint32_t)((size_t)(t->to - t->from) / sizeof(uintptr_t));
}

/* Sort by the number that every kind of element begins with: heapsort, since nothing may recurse or allocate. */
static uintptr_t element_at(const uint8_t *base, size_t size, uint32_t i)
{
	return *(const uintptr_t *)(base + size * i);
}

static void element_swap(uint8_t *base, size_t size, uint32_t i, uint32_t j)
{
	for (size_t k = 0; k < size; k++) {
		uint8_t t = base[size * i + k];

		base[size * i + k] = base[size * j + k];
		base[size * j + k] = t;
	}
}

static void element_sink(uint8_t *base, size_t size, uint32_t i, uint32_t nr)
{
	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child >= nr)
			return;
		if (child + 1 < nr &&
		    element_at(base, size, child) < element_at(base, size, child + 1))
			child++;
		if (element_at(base, size, i) >= element_at(base, size, child))
			return;
		element_swap(base, size, i, child);
		i = child;
	}
}

static void element_sort(void *mem, size_t size, uint32_t nr)
{
	uint8_t *base = mem;

	for (uint32_t i = nr / 2; i-- > 0;)
		element_sink(base, size, i, nr);
	for (uint32_t end = nr; end > 1; end--) {
		element_swap(base, size, 0, end - 1);
		element_sink(base, size, 0, end - 1);
	}
}

static int site_usable(const struct site_part *p, uintptr_t at)
{
	uint8_t code[FATHOM_PATCH_BYTES_MAX];

	return at >= p->from && at < p->to && !fathom_site_forgotten(at) &&
	       fathom_arch_site_ok(at) && fathom_arch_site_code(at, FATHOM_ENTRY_ANY, code);
}

#define SITE_PREFIX_MAX 256 /* bytes of NOPs in front of a function */
#define SITE_LATE_MAX	16  /* a site in a function begins no later: behind a landing pad */

/*
 * -fpatchable-function-entry=N,M puts M of the N in front of the function, and the table says where these begin. Calls do
 * not come by there: the site is where the symbol is, behind a landing pad.
 */
static uintptr_t entry_behind_prefix(const struct site_part *p, uintptr_t entry)
{
	uintptr_t offset = 0, size = 0, at = entry;

	if (entry < p->from || entry >= p->to || !fathom_core.config.symbol ||
	    (fathom_core.config.symbol(at, &offset, &size) && offset < SITE_LATE_MAX &&
	     offset < size))
		return entry;
	while (at - entry < SITE_PREFIX_MAX && at < p->to) {
		size_t nop = fathom_arch_nop_bytes(at);

		if (!nop)
			break;
		at += nop;
		if (fathom_core.config.symbol(at, &offset, &size) && !offset)
			return at + fathom_arch_pad_bytes(at);
	}
	return entry;
}

/* Those of one table behind the `nr` that the part has. How many it has then. */
static uint32_t sites_collect(const struct site_part *p, const struct site_table *t, uint32_t nr)
{
	struct site *out = fathom_functions.site + p->first;

	for (uint32_t i = 0; i < fathom_table_entries(t); i++) {
		uintptr_t at = table_entry(t->from + i * sizeof(uintptr_t));

		if (!at)
			continue;
		at = fathom_arch_site_at(entry_behind_prefix(p, at));
		if (!site_usable(p, at)) {
			fathom_functions.dropped++;
			continue;
		}
		out[nr++].at = at;
	}
	return nr;
}

/* The functions that config.symbol names in [at, to), by asking behind the end of each; `out` NULL: only their number. */
uint32_t fathom_sites_by_symbol(uintptr_t at, uintptr_t to, struct site *out)
{
	uint32_t nr = 0;

	while (at < to) {
		uintptr_t offset = 0, size = 0, next = at + 1;

		if (fathom_core.config.symbol(at, &offset, &size) && size > offset) {
			if (!fathom_site_forgotten(at - offset)) {
				if (out)
					out[nr].at = at - offset;
				nr++;
			}
			next = at - offset + size;
		}
		at = next;
	}
	return nr;
}

static uint32_t sites_unique(struct site *s, uint32_t nr)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < nr; i++)
		if (!kept || s[kept - 1].at != s[i].at)
			s[kept++] = s[i];
	return kept;
}

/* ---- names ---- */

static const char *site_name(uintptr_t at)
{
	uintptr_t offset, size;
	const char *name = 0;

	if (fathom_core.config.symbol)
		name = fathom_core.config.symbol(at, &offset, &size);
	return name; /* cppcheck-suppress returnDanglingLifetime ; the port's string, not &offset */
}

uint32_t fathom_site_first_named(uint32_t hash)
{
	uint32_t lo = 0, hi = fathom_functions.nr_named;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (fathom_functions.named[mid].hash < hash)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int part_has(const struct site_part *p, uint32_t site)
{
	return site >= p->first && site - p->first < p->nr;
}

/* The sites of the part get their names, and those of the library's own functions go. */
static void sites_name(struct site_part *p, uint32_t nr)
{
	struct site *site = fathom_functions.site + p->first;
	struct named_site *named = fathom_functions.named + fathom_functions.nr_named;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < nr; i++) {
		const char *name = site_name(site[i].at);

		if (name && fathom_name_is_own(name))
			continue;
		site[kept] = site[i];
		named[kept].hash = name ? fathom_site_hash(name, fathom_strlen(name)) : 0;
		named[kept].site = p->first + kept;
		kept++;
	}
	p->nr = kept;
	fathom_functions.nr_named += p->nr;
	element_sort(fathom_functions.named, sizeof(*named), fathom_functions.nr_named);
}

void fathom_part_unname(const struct site_part *p)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < fathom_functions.nr_named; i++)
		if (!part_has(p, fathom_functions.named[i].site))
			fathom_functions.named[kept++] = fathom_functions.named[i];
	fathom_functions.nr_named = kept;
}

void fathom_part_finish(struct site_part *p, uint32_t nr)
{
	struct site *site = fathom_functions.site + p->first;

	element_sort(site, sizeof(*site), nr);
	sites_name(p, sites_unique(site, nr));
}

/* ---- returns ---- */

/* gcc moves unlikely code of `f` away and calls it `f.cold`: returns there belong to f. */
static int cold_owner(const struct site_part *p, const char *name)
{
	size_t n = fathom_strlen(name);
	uint32_t hash;

	if (n < 6 || name[n - 5] != '.' || name[n - 4] != 'c' || name[n - 3] != 'o' ||
	    name[n - 2] != 'l' || name[n - 1] != 'd')
		return -1;
	hash = fathom_site_hash(name, n - 5);
	for (uint32_t i = fathom_site_first_named(hash); i < fathom_functions.nr_named; i++) {
		const struct named_site *s = &fathom_functions.named[i];

		if (s->hash != hash)
			return -1;
		if (part_has(p, s->site))
			return (int)s->site;
	}
	return -1;
}

/* The last function of the part at or before `at`, or -1. */
static int site_before(const struct site_part *p, uintptr_t at)
{
	uint32_t lo = 0, hi = p->nr;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (fathom_functions.site[p->first + mid].at <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? (int)(p->first + lo) - 1 : -1;
}

static int return_owner(const struct site_part *p, uintptr_t at)
{
	const char *name = site_name(at);
	int owner = -1;

	if (name && fathom_name_is_own(name))
		return -1;
	if (name)
		owner = cold_owner(p, name);
	return owner >= 0 ? owner : site_before(p, at);
}

static void returns_collect(struct site_part *p, const struct site_table *t)
{
	struct return_site *ret = fathom_functions.ret + p->first_ret;

	p->nr_rets = 0;
	for (uint32_t i = 0; i < fathom_table_entries(t); i++) {
		uintptr_t at = table_entry(t->from + i * sizeof(uintptr_t));
		int owner;

		if (!at)
			continue;
		owner = site_usable(p, at) ? return_owner(p, at) : -1;
		if (owner < 0) {
			fathom_functions.dropped++;
			continue;
		}
		ret[p->nr_rets++] = (struct return_site){at, (uint32_t)owner, 0};
		fathom_functions.site[owner].flags |= SITE_HAS_RETURNS;
	}
	element_sort(ret, sizeof(*ret), p->nr_rets);
}

void fathom_part_fill(struct site_part *p, const struct site_tables *t)
{
	uint32_t nr = sites_collect(p, &t->entries, 0);

	fathom_part_finish(p, sites_collect(p, &t->more_entries, nr));
	returns_collect(p, &t->returns);
}
