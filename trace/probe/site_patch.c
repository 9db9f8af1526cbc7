/* SPDX-License-Identifier: MIT */
/* site_patch.c -- function sites are patched to what their users want, or flagged where text cannot be written. */
#include "fathom/trace.h"
#include "probe/sites.h"
#include "probe/tracers.h"

static enum fathom_entry site_entry(const struct site *s)
{
	if (!s->users || s->flags & SITE_GONE)
		return FATHOM_ENTRY_OFF;
	if (s->users == SITE_FUNCTION && !fathom_functions.function_slow)
		return FATHOM_ENTRY_FUNCTION;
	if (s->users == SITE_GRAPH && !fathom_functions.graph_slow)
		return s->flags & SITE_HAS_RETURNS ? FATHOM_ENTRY_GRAPH : FATHOM_ENTRY_HIJACK;
	return FATHOM_ENTRY_ANY;
}

static uint8_t return_wanted(const struct return_site *r)
{
	const struct site *s = &fathom_functions.site[r->owner];

	return s->users & SITE_RETURNS && !(s->flags & SITE_GONE);
}

static uintptr_t entries_at(const void *arg, uint32_t i, size_t *bytes)
{
	(void)arg;
	*bytes = fathom_arch_site_bytes();
	return fathom_functions.site[i].at;
}

static size_t entries_code(const void *arg, uint32_t i, uint8_t out[FATHOM_PATCH_BYTES_MAX])
{
	const struct site *s = &fathom_functions.site[i];
	enum fathom_entry entry = site_entry(s);

	(void)arg;
	if (entry == s->entry)
		return 0;
	return fathom_arch_site_code(s->at, entry, out);
}

static uintptr_t returns_at(const void *arg, uint32_t i, size_t *bytes)
{
	(void)arg;
	*bytes = fathom_arch_site_bytes();
	return fathom_functions.ret[i].at;
}

static size_t returns_code(const void *arg, uint32_t i, uint8_t out[FATHOM_PATCH_BYTES_MAX])
{
	const struct return_site *r = &fathom_functions.ret[i];

	if (return_wanted(r) == r->on || (r->on && arg))
		return 0;
	return fathom_arch_site_code(r->at, r->on ? FATHOM_ENTRY_OFF : FATHOM_ENTRY_EXIT, out);
}

static int entries_patch(void)
{
	struct fathom_patch_set set = {fathom_functions.nr_sites, entries_at, entries_code, 0};
	int err = fathom_arch_patch_many(&set);

	for (uint32_t i = 0; err >= 0 && i < fathom_functions.nr_sites; i++)
		fathom_functions.site[i].entry = (uint8_t)site_entry(&fathom_functions.site[i]);
	return err < 0 ? err : 0;
}

/* Turn return sites on, and off too unless `only_on`. */
static int returns_patch(int only_on)
{
	static const uint8_t marker; /* any address that lives for ever */
	struct fathom_patch_set set = {fathom_functions.nr_rets, returns_at, returns_code,
				       only_on ? &marker : 0};
	int err = fathom_arch_patch_many(&set);

	for (uint32_t i = 0; err >= 0 && i < fathom_functions.nr_rets; i++)
		if (!only_on || !fathom_functions.ret[i].on)
			fathom_functions.ret[i].on = return_wanted(&fathom_functions.ret[i]);
	return err < 0 ? err : 0;
}

/* Text that cannot be written: what the sites lead to is decided at each call. */
static int sites_flag(void)
{
	int wanted = 0;

	for (uint32_t i = 0; i < fathom_functions.nr_sites; i++)
		wanted |= fathom_functions.site[i].users;
	fathom_instrument_sites(wanted);
	return 0;
}

/* Returns go on before entries and off after them: a call whose entry is seen will be seen to return. */
int fathom_sites_patch(void)
{
	int err;

	if (!fathom_functions.patched)
		return sites_flag();
	err = returns_patch(1);
	if (!err)
		err = entries_patch();
	return err ? err : returns_patch(0);
}

int fathom_sites_update(uint8_t mask, uint8_t (*want)(uint32_t index))
{
	if (!fathom_functions.nr_sites)
		return 0;
	for (uint32_t i = 0; i < fathom_functions.nr_sites; i++) {
		struct site *s = &fathom_functions.site[i];
		uint8_t wanted = want ? (uint8_t)(want(i) & mask) : 0;

		__atomic_store_n(&s->users, (uint8_t)((s->users & ~mask) | wanted),
				 __ATOMIC_RELAXED);
	}
	return fathom_sites_patch();
}

static uintptr_t fixed_at(const void *arg, uint32_t i, size_t *bytes)
{
	uint8_t code[FATHOM_PATCH_BYTES_MAX];
	uintptr_t where = 0;

	(void)arg;
	*bytes = fathom_arch_site_fixed(fathom_functions.site[i].at, code, &where);
	return where;
}

static size_t fixed_code(const void *arg, uint32_t i, uint8_t out[FATHOM_PATCH_BYTES_MAX])
{
	uintptr_t where;

	(void)arg;
	return fathom_arch_site_fixed(fathom_functions.site[i].at, out, &where);
}

int fathom_sites_normalise(void)
{
	struct fathom_patch_set fixed = {fathom_functions.nr_sites, fixed_at, fixed_code, 0};
	int err;

	if (!fathom_functions.patched)
		return 0;
	err = fathom_arch_patch_many(&fixed);
	if (err < 0)
		return err;
	for (uint32_t i = 0; i < fathom_functions.nr_sites; i++)
		fathom_functions.site[i].entry = FATHOM_ENTRY_EXIT; /* differs from OFF: write it */
	return entries_patch();
}
