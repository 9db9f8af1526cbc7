/* SPDX-License-Identifier: MIT */
/* event_sites.c -- the call sites of events become jumps or NOPs, many of them with one round of syncs. */
#include "wire/cold.h"
#include "events/registry.h"
#include "fathom/inside/patch.h"
#include "fathom/object.h"
#include "fathom/tracepoint.h"

/* Whatever FATHOM_PATCH this file was built with: call sites are in the objects that were built with 1. */
#ifdef FATHOM_SITE_ASM

#define SITES_AT_ONCE 32u

/*
 * Sites that are about to change, by ascending address. A breakpoint handler may look for one after it was changed, and
 * while others take its place: that one is over then, and its handler runs the site again (patch.c, P2).
 */
static struct {
	uint32_t nr;
	struct {
		uintptr_t at, target; /* 0: a NOP */
	} site[SITES_AT_ONCE];
} sites;

static uintptr_t site_place(const int32_t *member)
{
	return *member ? (uintptr_t)member + (uintptr_t)(intptr_t)*member : 0;
}

static uintptr_t site_at(const void *arg, uint32_t i, size_t *bytes)
{
	(void)arg;
	*bytes = FATHOM_SITE_BYTES;
	return sites.site[i].at;
}

static size_t site_code(const void *arg, uint32_t i, uint8_t out[FATHOM_PATCH_BYTES_MAX])
{
	(void)arg;
	fathom_site_code(out, sites.site[i].at, sites.site[i].target);
	return FATHOM_SITE_BYTES;
}

static int sites_flush(void)
{
	struct fathom_patch_set set = {sites.nr, site_at, site_code, 0};
	int n = sites.nr ? fathom_arch_patch_many(&set) : 0;

	sites.nr = 0;
	return n < 0 ? n : 0;
}

static int site_is(uintptr_t at, uintptr_t target)
{
	const volatile uint8_t *text = (const volatile uint8_t *)at;
	uint8_t code[FATHOM_SITE_BYTES];

	fathom_site_code(code, at, target);
	for (uint32_t i = 0; i < FATHOM_SITE_BYTES; i++)
		if (text[i] != code[i])
			return 0;
	return 1;
}

static int sites_add(uintptr_t at, uintptr_t target)
{
	int err = sites.nr == SITES_AT_ONCE ? sites_flush() : 0;
	uint32_t i;

	if (err)
		return err;
	for (i = sites.nr++; i && sites.site[i - 1].at > at; i--)
		sites.site[i] = sites.site[i - 1];
	sites.site[i].at = at;
	sites.site[i].target = target;
	return 0;
}

static int sites_of_object(const struct fathom_object *o,
			   int (*want)(const struct fathom_event *ev, const void *arg),
			   const void *arg)
{
	int err = 0;

	for (const struct fathom_site *s = o->sites; !err && (uintptr_t)s < (uintptr_t)o->sites_end;
	     s++) {
		uintptr_t at = site_place(&s->at), to;
		int on;

		if (!at) /* the entry that makes the section exist */
			continue;
		on = want((const struct fathom_event *)site_place(&s->event), arg);
		to = on > 0 ? site_place(&s->target) : 0;
		if (on >= 0 && !site_is(at, to))
			err = sites_add(at, to);
	}
	return err;
}

int fathom_event_sites(int (*want)(const struct fathom_event *ev, const void *arg), const void *arg)
{
	const struct fathom_object *o = NULL;
	int err = 0;

	while (!err && (o = fathom_object_next(o)))
		err = sites_of_object(o, want, arg);
	if (err)
		sites.nr = 0;
	return err ? err : sites_flush();
}

/* A site that is not aligned cannot be replaced by one store: the linker script or the compiler moved it. */
int fathom_event_sites_ok(const struct fathom_object *o)
{
	for (const struct fathom_site *s = o->sites; (uintptr_t)s < (uintptr_t)o->sites_end; s++)
		if (site_place(&s->at) % FATHOM_SITE_ALIGN)
			return 0;
	return 1;
}

#else

int fathom_event_sites(int (*want)(const struct fathom_event *ev, const void *arg), const void *arg)
{
	(void)want, (void)arg;
	return 0;
}

int fathom_event_sites_ok(const struct fathom_object *o)
{
	(void)o;
	return 1;
}

#endif
