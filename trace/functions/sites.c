/* SPDX-License-Identifier: MIT */
/* sites.c -- the table of function sites: the program's, and those of modules that come and go. */
#include "fathom/inside/errno.h"
#include "fathom/trace.h"
#include "events/modules.h"
#include "functions/probes.h"
#include "functions/sites.h"
#include "functions/tracers.h"

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

static int part_find(const struct site_part *p, uintptr_t ip)
{
	uint32_t lo = fathom_load(&p->first), hi = lo + fathom_load(&p->nr);

	if (hi > fathom_functions.room_sites)
		return -1; /* of two modules: S3 */
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		uintptr_t at = fathom_load(&fathom_functions.site[mid].at);

		if (at == ip)
			return (int)mid;
		if (at < ip)
			lo = mid + 1;
		else
			hi = mid;
	}
	return -1;
}

int fathom_site_find(uintptr_t ip)
{
	for (uint32_t i = 0; i < fathom_load(&fathom_functions.nr_parts); i++) {
		const struct site_part *p = &fathom_functions.part[i];
		/* Pairs with the release in part_publish(). */
		uintptr_t to = __atomic_load_n(&p->to, __ATOMIC_ACQUIRE);
		int at = ip < to && ip >= fathom_load(&p->from) ? part_find(p, ip) : -1;

		if (at >= 0)
			return at;
	}
	return -1;
}

const struct site_part *fathom_part_of(uint32_t index)
{
	for (uint32_t i = 0; i <= FATHOM_MODULES_MAX; i++) {
		const struct site_part *p = &fathom_functions.part[i];

		if (p->to && index >= p->first && index - p->first < p->nr)
			return p;
	}
	return 0;
}

int fathom_site_is_gone(uint32_t index)
{
	return index >= fathom_functions.nr_sites || fathom_functions.site[index].flags & SITE_GONE;
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

int fathom_site_forgotten(uintptr_t at)
{
	if (at >= fathom_core.config.init_text && at < fathom_core.config.init_text_end)
		return 1;
	for (uint32_t i = 0; i < nr_forgotten && i < FORGOTTEN_MAX; i++)
		if (at >= forgotten[i].from && at < forgotten[i].to)
			return 1;
	return nr_forgotten > FORGOTTEN_MAX;
}

/* Pieces of one block, 16-aligned; without a block it only measures. */
static void *block_piece(uint8_t *block, size_t *at, size_t bytes)
{
	void *piece = block ? block + *at : 0;

	*at += (bytes + 15) & ~(size_t)15;
	return piece;
}

/* A set has a bit more than functions: see fathom_sets_forget(). */
static size_t sites_lay_out(uint8_t *block, uint32_t nr_sites, uint32_t nr_rets)
{
	size_t at = 0;

	fathom_functions.site = block_piece(block, &at, nr_sites * sizeof(struct site));
	fathom_functions.ret = block_piece(block, &at, nr_rets * sizeof(struct return_site));
	fathom_functions.named = block_piece(block, &at, nr_sites * sizeof(struct named_site));
	fathom_functions.room_sites = nr_sites;
	fathom_functions.room_rets = nr_rets;
	for (int i = 0; i < FATHOM_SET_NR; i++)
		fathom_functions.set[i].word = block_piece(block, &at, fathom_function_set_bytes());
	return at;
}

/*
 * A placeholder for the third section. Linkers tie it to the code it names and ask for that tie under --gc-sections;
 * clang's assembler wants to know that code by then, so it stands inside it.
 */
#define SITES_PLACEHOLDER_PATCHABLE(function)                                               \
	__asm__ volatile(                                                                   \
		".pushsection __patchable_function_entries, \"ao\", %%progbits, " #function \
		"\n.balign 8\n.quad 0\n.popsection" ::)

/* ---- modules ---- */

static struct site_tables module_tables(const struct fathom_module *m)
{
	return (struct site_tables){.entries = {m->entries, m->entries_end},
				    .returns = {m->returns, m->returns_end}};
}

static void part_publish(struct site_part *p, uintptr_t to)
{
	uint32_t nr_sites = 0, nr_parts = 0;

	p->born = ++fathom_functions.epoch;
	__atomic_store_n(&p->to, to, __ATOMIC_RELEASE);
	for (uint32_t i = 0; i <= FATHOM_MODULES_MAX; i++) {
		p = &fathom_functions.part[i];
		if (!p->to)
			continue;
		nr_parts = i + 1;
		if (p->first + p->nr > nr_sites)
			nr_sites = p->first + p->nr;
	}
	fathom_functions.nr_sites = nr_sites;
	fathom_store(&fathom_functions.nr_parts, nr_parts);
}

/* Where `nr` functions have room, or returns; the end of the room if nowhere. */
static uint32_t room_find(uint32_t nr, int returns)
{
	uint32_t room = returns ? fathom_functions.room_rets : fathom_functions.room_sites;

	for (uint32_t i = 0; i <= FATHOM_MODULES_MAX; i++) {
		const struct site_part *p = &fathom_functions.part[i];
		uint32_t at = returns ? p->first_ret + p->nr_rets : p->first + p->nr, k = 0;

		if (!p->to || nr > room - at)
			continue;
		for (; k <= FATHOM_MODULES_MAX; k++) {
			uint32_t from, end;

			p = &fathom_functions.part[k];
			from = returns ? p->first_ret : p->first;
			end = from + (returns ? p->nr_rets : p->nr);
			if (p->to && from < at + nr && at < end)
				break;
		}
		if (k > FATHOM_MODULES_MAX)
			return at;
	}
	return room;
}

static struct site_part *part_free(void)
{
	for (uint32_t i = 1; i <= FATHOM_MODULES_MAX; i++)
		if (!fathom_functions.part[i].to)
			return &fathom_functions.part[i];
	return 0;
}

static struct site_part *part_of_module(const struct fathom_module *m)
{
	for (uint32_t i = 1; i <= FATHOM_MODULES_MAX; i++) {
		struct site_part *p = &fathom_functions.part[i];

		if (p->to && p->from == m->from)
			return p;
	}
	return 0;
}

static void sites_erase(uint32_t first, uint32_t nr)
{
	for (uint32_t i = first; i < first + nr; i++)
		fathom_functions.site[i] = (struct site){.flags = SITE_GONE};
}

void fathom_sites_remove(const struct fathom_module *m)
{
	struct site_part *p = part_of_module(m);

	if (!p)
		return;
	fathom_part_unname(p);
	sites_erase(p->first, p->nr);
	part_publish(p, 0);
}

int fathom_sites_add(const struct fathom_module *m)
{
	struct site_tables t = module_tables(m);
	uint32_t nr = fathom_table_entries(&t.entries), nr_rets = fathom_table_entries(&t.returns);
	uint32_t first = room_find(nr, 0), first_ret = room_find(nr_rets, 1);
	struct site_part *p = part_free(), fresh = {m->from, m->to, first, 0, first_ret, 0, 0};
	int err;

	if (!nr)
		return 0;
	if (!p || first == fathom_functions.room_sites ||
	    (nr_rets && first_ret == fathom_functions.room_rets)) {
		fathom_functions.refused += nr;
		return -FATHOM_ENOSPC;
	}
	__builtin_memset(fathom_functions.site + first, 0, nr * sizeof(struct site));
	fathom_part_fill(&fresh, &t);
	sites_erase(first + fresh.nr, nr - fresh.nr);
	fresh.to = 0;
	*p = fresh;
	part_publish(p, m->to);
	err = fathom_sites_normalise(p);
	if (err)
		fathom_sites_remove(m);
	return err;
}

/* ---- all of them ---- */

static int sites_make(uint32_t nr, uint32_t nr_rets)
{
	struct site_part *program = &fathom_functions.part[0];
	uint32_t later = fathom_core.config.module_functions;
	uint8_t *block;

	for (const struct fathom_module *m = fathom_module_list(); m; m = m->next) {
		struct site_tables t = module_tables(m);

		nr += fathom_table_entries(&t.entries);
		nr_rets += fathom_table_entries(&t.returns);
	}
	nr += later;
	nr_rets += 2 * later;
	block = fathom_memory_take(sites_lay_out(0, nr, nr_rets));
	if (!block)
		return -FATHOM_ENOMEM;
	sites_lay_out(block, nr, nr_rets);
	*program = (struct site_part){.to = UINTPTR_MAX};
	return 0;
}

/* The sections of the program. Modules that are here already come behind. */
static int sites_from_tables(void)
{
	struct site_tables t = {{__start___mcount_loc, __stop___mcount_loc},
				{__start___patchable_function_entries,
				 __stop___patchable_function_entries},
				{__start___return_loc, __stop___return_loc}};
	uint32_t nr = fathom_table_entries(&t.entries) + fathom_table_entries(&t.more_entries);
	int err = sites_make(nr, fathom_table_entries(&t.returns));

	if (err)
		return err;
	fathom_part_fill(&fathom_functions.part[0], &t);
	fathom_functions.room_sites -= nr - fathom_functions.part[0].nr; /* modules have theirs */
	return 0;
}

/* Text that is not patched, and has no tables: what the port has names for. */
static int sites_from_names(uintptr_t from, uintptr_t to)
{
	int err = sites_make(fathom_sites_by_symbol(from, to, 0), 0);

	if (!err)
		fathom_part_finish(&fathom_functions.part[0],
				   fathom_sites_by_symbol(from, to, fathom_functions.site));
	return err;
}

void fathom_sites_init(void)
{
	struct site_part *program = &fathom_functions.part[0];
	uintptr_t from, to;
	int err = -FATHOM_ENOSYS, named = fathom_instrument_text(&from, &to);

	SITES_PLACEHOLDER_PATCHABLE(fathom_sites_init);
	if (named)
		err = sites_from_names(from, to);
	else if (fathom_arch_can_patch() || fathom_instrument_has_sites())
		err = sites_from_tables();
	if (!err) {
		fathom_functions.patched = !named && fathom_arch_can_patch();
		fathom_functions.ready = 1;
		part_publish(program, UINTPTR_MAX);
		err = fathom_sites_normalise(program);
	}
	for (const struct fathom_module *m = fathom_module_list(); m && !err; m = m->next)
		fathom_sites_add(m); /* one that cannot be traced does not hinder the others */
	if (!err && !fathom_functions.nr_sites)
		err = -FATHOM_ENOSYS;
	fathom_functions.why_none = err;
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
	return fathom_site_is_gone(index) ? 0 : fathom_functions.site[index].at;
}

const char *fathom_function_name(uint32_t index)
{
	uintptr_t offset, size;
	const char *name = 0;

	if (index < fathom_functions.nr_sites && fathom_core.config.symbol)
		name = fathom_core.config.symbol(fathom_functions.site[index].at, &offset, &size);
	return name; /* cppcheck-suppress returnDanglingLifetime ; the port's string, not &offset */
}

uint32_t fathom_function_users(uint32_t index)
{
	uint32_t users = fathom_site_is_gone(index) ? 0 : fathom_functions.site[index].users, n = 0;

	if (users & SITE_LISTENER)
		n = fathom_listeners_want(index);
	for (users &= ~(uint32_t)SITE_LISTENER; users; users &= users - 1)
		n++;
	return n;
}

int fathom_function_is_touched(uint32_t index)
{
	return !fathom_site_is_gone(index) && fathom_functions.site[index].flags & SITE_TOUCHED;
}

void fathom_function_way(uint32_t index, uintptr_t *entry, uintptr_t *handler)
{
	enum fathom_entry now = (enum fathom_entry)fathom_functions.site[index].entry;

	*entry = 0;
	switch (fathom_functions.patched ? now : FATHOM_ENTRY_OFF) {
	case FATHOM_ENTRY_FUNCTION: *handler = (uintptr_t)fathom_function_enter; break;
	case FATHOM_ENTRY_GRAPH: *handler = (uintptr_t)fathom_graph_enter; break;
	case FATHOM_ENTRY_HIJACK: *handler = (uintptr_t)fathom_graph_enter_hijack; break;
	case FATHOM_ENTRY_ANY: *handler = (uintptr_t)fathom_function_any; return;
	default: *handler = (uintptr_t)fathom_function_named; return;
	}
	*entry = fathom_arch_entry_address(now);
}

void fathom_sites_forget(uintptr_t from, uintptr_t to)
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
	if (!fathom_functions.nr_sites)
		return;
	fathom_sites_patch();
	fathom_probe_forget();
	fathom_sets_forget();
	fathom_profile_forget();
}

void fathom_function_forget(uintptr_t from, uintptr_t to)
{
	fathom_lock();
	fathom_sites_forget(from, to);
	fathom_unlock();
}
