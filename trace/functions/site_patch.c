/* SPDX-License-Identifier: MIT */
/* site_patch.c -- function sites are patched to what their users want, or flagged where text cannot be written. */
#include "events/lock.h"
#include "fathom/trace.h"
#include "functions/sites.h"
#include "functions/tracers.h"

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

	return s->wanted & SITE_RETURNS && !(s->flags & SITE_GONE);
}

/*
 * A set that is patched is a part, which lives for ever, as a breakpoint handler needs it. One that asks late may ask for
 * a site that the part has no more.
 */
static const struct site *part_site(const struct site_part *p, uint32_t i)
{
	uint32_t at = fathom_load(&p->first) + i;

	return &fathom_functions.site[at < fathom_functions.room_sites ? at : 0];
}

static const struct return_site *part_return(const struct site_part *p, uint32_t i)
{
	uint32_t at = fathom_load(&p->first_ret) + i;

	return &fathom_functions.ret[at < fathom_functions.room_rets ? at : 0];
}

static uintptr_t entries_at(const void *arg, uint32_t i, size_t *bytes)
{
	*bytes = fathom_arch_site_bytes();
	return part_site(arg, i)->at;
}

static size_t entries_code(const void *arg, uint32_t i, uint8_t out[FATHOM_PATCH_BYTES_MAX])
{
	const struct site *s = part_site(arg, i);
	enum fathom_entry entry = site_entry(s);

	if (entry == s->entry)
		return 0;
	return fathom_arch_site_code(s->at, entry, out);
}

static uintptr_t returns_at(const void *arg, uint32_t i, size_t *bytes)
{
	*bytes = fathom_arch_site_bytes();
	return part_return(arg, i)->at;
}

static uint8_t returns_only_on; /* while patching: those that are on stay */
static uint8_t returns_went_off;

static size_t returns_code(const void *arg, uint32_t i, uint8_t out[FATHOM_PATCH_BYTES_MAX])
{
	const struct return_site *r = part_return(arg, i);

	if (return_wanted(r) == r->on || (r->on && returns_only_on))
		return 0;
	return fathom_arch_site_code(r->at, r->on ? FATHOM_ENTRY_OFF : FATHOM_ENTRY_EXIT, out);
}

/* Nothing to write is no reason to stop the CPUs. */
static int part_patch(const struct fathom_patch_set *set)
{
	uint8_t code[FATHOM_PATCH_BYTES_MAX];

	for (uint32_t i = 0; i < set->nr; i++)
		if (set->code(set->arg, i, code))
			return fathom_arch_patch_many(set);
	return 0;
}

static int entries_patch(const struct site_part *p)
{
	struct fathom_patch_set set = {p->nr, entries_at, entries_code, p};
	int err = part_patch(&set);

	for (uint32_t i = p->first; err >= 0 && i < p->first + p->nr; i++)
		fathom_functions.site[i].entry = (uint8_t)site_entry(&fathom_functions.site[i]);
	return err < 0 ? err : 0;
}

/* Turn return sites on, and off too unless `returns_only_on`. */
static int returns_patch(const struct site_part *p)
{
	struct fathom_patch_set set = {p->nr_rets, returns_at, returns_code, p};
	int err = part_patch(&set);

	for (uint32_t i = p->first_ret; err >= 0 && i < p->first_ret + p->nr_rets; i++) {
		struct return_site *r = &fathom_functions.ret[i];

		if (r->on && returns_only_on)
			continue;
		if (r->on && !return_wanted(r)) {
			fathom_store(&fathom_functions.site[r->owner].off_since,
				     fathom_graph_next());
			returns_went_off = 1;
		}
		r->on = return_wanted(r);
	}
	return err < 0 ? err : 0;
}

static int parts_patch(int (*patch)(const struct site_part *p))
{
	int err = 0;

	for (uint32_t i = 0; i < fathom_functions.nr_parts && !err; i++)
		if (fathom_functions.part[i].to)
			err = patch(&fathom_functions.part[i]);
	return err;
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

static void users_publish(void)
{
	for (uint32_t i = 0; i < fathom_functions.nr_sites; i++) {
		struct site *s = &fathom_functions.site[i];

		if (s->wanted)
			s->flags |= SITE_TOUCHED;
		fathom_store(&s->users, s->wanted);
	}
}

/* Returns go on before entries and off after them: a call whose entry is seen will be seen to return. */
int fathom_sites_patch(void)
{
	int err;

	FATHOM_LOCKED();
	if (!fathom_functions.patched) {
		users_publish();
		return sites_flag();
	}
	fathom_store(&fathom_functions.changing, 1);
	returns_only_on = 1;
	err = parts_patch(returns_patch);
	if (!err) {
		users_publish();
		err = parts_patch(entries_patch);
	}
	returns_only_on = 0;
	if (!err)
		err = parts_patch(returns_patch);
	if (returns_went_off)
		fathom_graph_advance(); /* calls of theirs that are open now will not be seen to return */
	returns_went_off = 0;
	fathom_store(&fathom_functions.changing, 0);
	return err;
}

int fathom_sites_update(uint8_t mask, uint8_t (*want)(uint32_t index))
{
	if (!fathom_functions.nr_sites)
		return 0;
	for (uint32_t i = 0; i < fathom_functions.nr_sites; i++) {
		struct site *s = &fathom_functions.site[i];
		uint8_t wanted = want && !fathom_site_is_gone(i) ? (uint8_t)(want(i) & mask) : 0;

		s->wanted = (uint8_t)((s->wanted & ~mask) | wanted);
	}
	return fathom_sites_patch();
}

static uintptr_t fixed_at(const void *arg, uint32_t i, size_t *bytes)
{
	uint8_t code[FATHOM_PATCH_BYTES_MAX];
	uintptr_t where = 0;

	*bytes = fathom_arch_site_fixed(part_site(arg, i)->at, code, &where);
	return where;
}

static int text_equals(uintptr_t at, const uint8_t *code, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (((const volatile uint8_t *)at)[i] != code[i])
			return 0;
	return 1;
}

/* Text that is right already is not written: in a process it stays shared. */
static size_t fixed_code(const void *arg, uint32_t i, uint8_t out[FATHOM_PATCH_BYTES_MAX])
{
	uintptr_t where;
	size_t bytes = fathom_arch_site_fixed(part_site(arg, i)->at, out, &where);

	return bytes && text_equals(where, out, bytes) ? 0 : bytes;
}

static int site_is_nop(const struct site *s)
{
	uint8_t code[FATHOM_PATCH_BYTES_MAX];
	size_t bytes = fathom_arch_site_code(s->at, FATHOM_ENTRY_OFF, code);

	return text_equals(s->at, code, bytes);
}

int fathom_sites_normalise(const struct site_part *p)
{
	struct fathom_patch_set fixed = {p->nr, fixed_at, fixed_code, p};
	int err;

	if (!fathom_functions.patched)
		return 0;
	err = part_patch(&fixed);
	if (err < 0)
		return err;
	for (uint32_t i = p->first; i < p->first + p->nr; i++) {
		struct site *s = &fathom_functions.site[i];

		if (!site_is_nop(s))
			s->entry = FATHOM_ENTRY_EXIT; /* differs from OFF: write it */
	}
	return entries_patch(p);
}
