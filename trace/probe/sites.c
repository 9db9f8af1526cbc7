/* SPDX-License-Identifier: MIT */
/* sites.c -- the table of function sites, built from the compiler's sections. */
#include "fathom/errno.h"
#include "fathom/trace.h"
#include "probe/sites.h"
#include "probe/tracers.h"

/*
 * -mrecord-mcount and -mrecord-return give one address per site in __mcount_loc and __return_loc, clang and
 * -fpatchable-function-entry in __patchable_function_entries. Entries may be unaligned, zero (ours, so that the
 * sections exist), doubled, or point to code that was garbage-collected or is no NOP: those are dropped and counted.
 */
extern const uint8_t __start___mcount_loc[], __stop___mcount_loc[];
extern const uint8_t __start___return_loc[], __stop___return_loc[];
extern const uint8_t __start___patchable_function_entries[], __stop___patchable_function_entries[];

#define SITES_PLACEHOLDER(name, sect) \
	static uintptr_t const name __attribute__((section(sect), used, FATHOM_RETAIN)) = 0
SITES_PLACEHOLDER(sites_no_entry, "__mcount_loc");
SITES_PLACEHOLDER(sites_no_return, "__return_loc");

struct fathom_functions fathom_functions;

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

static uint32_t table_entries(const uint8_t *from, const uint8_t *to)
{
	return (uint32_t)((size_t)(to - from) / sizeof(uintptr_t));
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

int fathom_site_find(uintptr_t ip)
{
	uint32_t lo = 0, hi = fathom_functions.nr_sites;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (fathom_functions.site[mid].at == ip)
			return (int)mid;
		if (fathom_functions.site[mid].at < ip)
			lo = mid + 1;
		else
			hi = mid;
	}
	return -1;
}

/* The last function at or before `at`, or -1. */
static int site_before(uintptr_t at)
{
	uint32_t lo = 0, hi = fathom_functions.nr_sites;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (fathom_functions.site[mid].at <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (int)lo - 1;
}

/*
 * Text that was given away, also before there was a table: what lies there now is not even looked at. If there are more
 * ranges than room, no text is trusted.
 */
#define FORGOTTEN_MAX 16
static struct {
	uintptr_t from, to;
} forgotten[FORGOTTEN_MAX];
static uint32_t nr_forgotten;

static int site_forgotten(uintptr_t at)
{
	for (uint32_t i = 0; i < nr_forgotten && i < FORGOTTEN_MAX; i++)
		if (at >= forgotten[i].from && at < forgotten[i].to)
			return 1;
	return nr_forgotten > FORGOTTEN_MAX;
}

static int site_usable(uintptr_t at)
{
	uint8_t code[FATHOM_PATCH_BYTES_MAX];

	return !site_forgotten(at) && fathom_arch_site_ok(at) &&
	       fathom_arch_site_code(at, FATHOM_ENTRY_ANY, code);
}

static uint32_t sites_collect(const uint8_t *from, const uint8_t *to, struct site *out, uint32_t nr)
{
	for (; (size_t)(to - from) >= sizeof(uintptr_t); from += sizeof(uintptr_t)) {
		uintptr_t at = table_entry(from);

		if (!at)
			continue;
		at = fathom_arch_site_at(at);
		if (!site_usable(at)) {
			fathom_functions.dropped++;
			continue;
		}
		out[nr++].at = at;
	}
	return nr;
}

/* The functions that config.symbol names in [at, to), by asking behind the end of each; `out` NULL: only their number. */
static uint32_t sites_by_symbol(uintptr_t at, uintptr_t to, struct site *out)
{
	uint32_t nr = 0;

	while (at < to) {
		uintptr_t offset = 0, size = 0, next = at + 1;

		if (fathom_core.config.symbol(at, &offset, &size) && size > offset) {
			if (!site_forgotten(at - offset)) {
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

static size_t name_length(const char *name)
{
	size_t n = 0;

	while (name[n])
		n++;
	return n;
}

uint32_t fathom_site_first_named(uint32_t hash)
{
	uint32_t lo = 0, hi = fathom_functions.nr_sites;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (fathom_functions.named[mid].hash < hash)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* gcc moves unlikely code of `f` away and calls it `f.cold`: returns there belong to f. */
static int cold_owner(const char *name)
{
	size_t n = name_length(name);
	uint32_t hash, at;

	if (n < 6 || name[n - 5] != '.' || name[n - 4] != 'c' || name[n - 3] != 'o' ||
	    name[n - 2] != 'l' || name[n - 1] != 'd')
		return -1;
	hash = fathom_site_hash(name, n - 5);
	at = fathom_site_first_named(hash);
	if (at == fathom_functions.nr_sites || fathom_functions.named[at].hash != hash)
		return -1;
	return (int)fathom_functions.named[at].site;
}

static int return_owner(uintptr_t at)
{
	uintptr_t offset, size;
	const char *name = 0;
	int owner = -1;

	if (fathom_core.config.symbol)
		name = fathom_core.config.symbol(at, &offset, &size);
	if (name && fathom_name_is_own(name))
		return -1;
	if (name)
		owner = cold_owner(name);
	return owner >= 0 ? owner : site_before(at);
}

static void returns_collect(void)
{
	uint32_t nr = 0, all = table_entries(__start___return_loc, __stop___return_loc);

	for (uint32_t i = 0; i < all; i++) {
		uintptr_t at = table_entry(__start___return_loc + i * sizeof(uintptr_t));
		int owner;

		if (!at)
			continue;
		owner = site_usable(at) ? return_owner(at) : -1;
		if (owner < 0) {
			fathom_functions.dropped++;
			continue;
		}
		fathom_functions.ret[nr].at = at;
		fathom_functions.ret[nr++].owner = (uint32_t)owner;
		fathom_functions.site[owner].flags |= SITE_HAS_RETURNS;
	}
	fathom_functions.nr_rets = nr;
	element_sort(fathom_functions.ret, sizeof(*fathom_functions.ret), nr);
}

/* Names, and without the library's own functions. */
static void sites_name(void)
{
	struct named_site *named = fathom_functions.named;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < fathom_functions.nr_sites; i++) {
		const char *name = fathom_function_name(i);

		if (name && fathom_name_is_own(name))
			continue;
		fathom_functions.site[kept] = fathom_functions.site[i];
		named[kept].hash = name ? fathom_site_hash(name, name_length(name)) : 0;
		named[kept].site = kept;
		kept++;
	}
	fathom_functions.nr_sites = kept;
	element_sort(named, sizeof(*named), kept);
}

/* Pieces of one block, 16-aligned; without a block it only measures. */
static void *block_piece(uint8_t *block, size_t *at, size_t bytes)
{
	void *piece = block ? block + *at : 0;

	*at += (bytes + 15) & ~(size_t)15;
	return piece;
}

static size_t sites_lay_out(uint8_t *block, uint32_t nr_sites, uint32_t nr_rets)
{
	size_t at = 0;

	fathom_functions.site = block_piece(block, &at, nr_sites * sizeof(struct site));
	fathom_functions.ret = block_piece(block, &at, nr_rets * sizeof(struct return_site));
	fathom_functions.named = block_piece(block, &at, nr_sites * sizeof(struct named_site));
	for (int i = 0; i < FATHOM_SET_NR; i++)
		fathom_functions.set[i].word = block_piece(block, &at, (nr_sites + 31) / 32 * 4);
	return at;
}

/*
 * A placeholder for the third section. Linkers tie it to the code it names and ask for that tie under --gc-sections;
 * clang's assembler wants to know that code by then, so it stands inside it.
 */
#define SITES_PLACEHOLDER_PATCHABLE(function)                                                \
	__asm__ volatile(                                                                    \
		".pushsection __patchable_function_entries, \"awo\", %%progbits, " #function \
		"\n.balign 8\n.quad 0\n.popsection" ::)

static int sites_make(uint32_t nr, uint32_t nr_rets)
{
	uint8_t *block = fathom_memory_take(sites_lay_out(0, nr, nr_rets));

	if (!block)
		return -FATHOM_ENOMEM;
	sites_lay_out(block, nr, nr_rets);
	return 0;
}

static void sites_finish(uint32_t nr)
{
	element_sort(fathom_functions.site, sizeof(struct site), nr);
	fathom_functions.nr_sites = sites_unique(fathom_functions.site, nr);
	sites_name();
	fathom_functions.ready = 1;
}

/* From the tables that the compiler left. */
static int sites_from_tables(void)
{
	uint32_t nr = table_entries(__start___mcount_loc, __stop___mcount_loc) +
		      table_entries(__start___patchable_function_entries,
				    __stop___patchable_function_entries);
	int err = sites_make(nr, table_entries(__start___return_loc, __stop___return_loc));

	if (err)
		return err;
	nr = sites_collect(__start___mcount_loc, __stop___mcount_loc, fathom_functions.site, 0);
	nr = sites_collect(__start___patchable_function_entries,
			   __stop___patchable_function_entries, fathom_functions.site, nr);
	sites_finish(nr);
	returns_collect();
	return 0;
}

int fathom_sites_init(void)
{
	uintptr_t from, to;
	int err;

	SITES_PLACEHOLDER_PATCHABLE(fathom_sites_init);
	if (fathom_functions.ready)
		return fathom_functions.nr_sites ? 0 : -FATHOM_ENOSYS;
	if (fathom_instrument_text(&from, &to)) {
		err = sites_make(sites_by_symbol(from, to, 0), 0);
		if (!err)
			sites_finish(sites_by_symbol(from, to, fathom_functions.site));
	} else if (fathom_arch_can_patch() || fathom_instrument_has_sites()) {
		err = sites_from_tables();
	} else {
		err = -FATHOM_ENOSYS;
	}
	if (err)
		return err;
	fathom_functions.patched = !fathom_instrument_text(&from, &to) && fathom_arch_can_patch();
	return fathom_functions.nr_sites ? fathom_sites_normalise() : -FATHOM_ENOSYS;
}

void fathom_sites_exit(void)
{
	fathom_sites_update(0xff, 0);
	fathom_functions = (struct fathom_functions){0};
}

/* ---- what control/ lists ---- */

uint32_t fathom_function_count(void)
{
	return fathom_functions.nr_sites;
}

uintptr_t fathom_function_address(uint32_t index)
{
	if (index >= fathom_functions.nr_sites || fathom_functions.site[index].flags & SITE_GONE)
		return 0;
	return fathom_functions.site[index].at;
}

const char *fathom_function_name(uint32_t index)
{
	uintptr_t offset, size;
	const char *name = 0;

	if (index < fathom_functions.nr_sites && fathom_core.config.symbol)
		name = fathom_core.config.symbol(fathom_functions.site[index].at, &offset, &size);
	return name; /* cppcheck-suppress returnDanglingLifetime ; the port's string, not &offset */
}

uint32_t fathom_function_users(uint32_t index, int *graph)
{
	uint32_t n = 0;
	uint8_t users = index < fathom_functions.nr_sites ? fathom_functions.site[index].users : 0;

	for (int i = 0; i < 8; i++)
		n += (uint32_t)users >> i & 1;
	*graph = (users & SITE_RETURNS) != 0;
	return n;
}

void fathom_function_forget(uintptr_t from, uintptr_t to)
{
	if (!fathom_functions.ready) {
		if (nr_forgotten < FORGOTTEN_MAX) {
			forgotten[nr_forgotten].from = from;
			forgotten[nr_forgotten].to = to;
		}
		nr_forgotten += nr_forgotten <= FORGOTTEN_MAX;
		return;
	}
	for (uint32_t i = 0; i < fathom_functions.nr_sites; i++)
		if (fathom_functions.site[i].at >= from && fathom_functions.site[i].at < to)
			fathom_functions.site[i].flags |= SITE_GONE;
	if (fathom_functions.nr_sites)
		fathom_sites_patch();
}
