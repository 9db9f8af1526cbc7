/* SPDX-License-Identifier: MIT */
/* profile.c -- the function profile: hits, total, average and variance per function and CPU. */
#include "fathom/errno.h"
#include "fathom/trace.h"
#include "probe/sites.h"
#include "probe/tracers.h"
#include "wire/div.h"
#include "wire/text_graph.h"

/* Written by its CPU; an interrupt between load and store of the times may lose one, as in Linux. */
struct profile_count {
	unsigned long hits;
	uint64_t ns;
	uint64_t squared; /* sum of ns * ns, as Linux keeps it: wraps for very long calls */
};

static struct {
	struct profile_count *count; /* [nr_cpus][nr_sites] */
	uint8_t on;
} profile;

/* Where a walk over the lines stands: the function printed last. */
static struct {
	uint32_t cpu, line, site;
} profile_walk;

static struct profile_count *profile_at(uint32_t cpu, uint32_t site)
{
	return &profile.count[(size_t)cpu * fathom_functions.nr_sites + site];
}

void fathom_profile_enter(uint32_t site)
{
	uint32_t cpu = fathom_port_cpu();

	if (cpu < fathom_core.nr_cpus)
		fathom_local_add(&profile_at(cpu, site)->hits, 1);
}

void fathom_profile_leave(uintptr_t func, uint64_t ticks, uint64_t self_ticks)
{
	uint32_t cpu = fathom_port_cpu();
	int site = fathom_site_find(func);
	struct profile_count *c;
	uint64_t ns;

	if (cpu >= fathom_core.nr_cpus || site < 0 || !profile.count)
		return;
	if (!(fathom_load(&fathom_tracer_option_bits) & FATHOM_OPT_GRAPH_GRAPH_TIME))
		ticks = self_ticks;
	ns = fathom_to_ns(ticks);
	c = profile_at(cpu, (uint32_t)site);
	c->ns += ns;
	c->squared += ns * ns;
}

static void profile_clear(void)
{
	struct profile_count zero = {0, 0, 0};

	for (uint32_t cpu = 0; cpu < fathom_core.nr_cpus; cpu++)
		for (uint32_t i = 0; i < fathom_functions.nr_sites; i++)
			*profile_at(cpu, i) = zero;
}

int fathom_profile_set(int on)
{
	int err = on ? fathom_function_prepare() : 0;

	if (err)
		return err;
	if (on && !profile.count)
		profile.count =
			fathom_memory_take((size_t)fathom_core.nr_cpus * fathom_functions.nr_sites *
					   sizeof(*profile.count));
	if (on && !profile.count)
		return -FATHOM_ENOMEM;
	if (on && !profile.on)
		profile_clear();
	profile.on = on != 0;
	fathom_want_switches();
	return fathom_tracer_refresh();
}

int fathom_profile_is_on(void)
{
	return profile.on;
}

void fathom_profile_exit(void)
{
	profile.count = 0;
	profile.on = 0;
}

/* 64-bit division by any number without libgcc. */
static uint64_t profile_divide(uint64_t v, uint64_t d)
{
#if UINTPTR_MAX > 0xffffffffu
	return v / d;
#else
	uint64_t q = 0, r = 0;

	for (int i = 63; i >= 0; i--) {
		r = r << 1 | (v >> i & 1);
		if (r >= d) {
			r -= d;
			q |= 1ull << i;
		}
	}
	return q;
#endif
}

/* Longest first; functions with equal times by address. Is a before b? */
static int profile_before(uint32_t cpu, uint32_t a, uint32_t b)
{
	uint64_t ta = profile_at(cpu, a)->ns, tb = profile_at(cpu, b)->ns;

	return ta != tb ? ta > tb : a < b;
}

/* The function that comes right behind `last` (nr_sites: the first); -1 if that was the last with a hit. */
static int profile_after(uint32_t cpu, uint32_t last)
{
	int best = -1;

	for (uint32_t i = 0; i < fathom_functions.nr_sites; i++) {
		if (!profile_at(cpu, i)->hits)
			continue;
		if (last < fathom_functions.nr_sites && !profile_before(cpu, last, i))
			continue;
		if (best < 0 || profile_before(cpu, i, (uint32_t)best))
			best = (int)i;
	}
	return best;
}

static void profile_text(const struct profile_count *c, const char *name, struct fathom_text *out)
{
	uint64_t variance = 0;
	size_t start = out->len, width;

	if (c->hits > 1)
		variance = profile_divide(c->hits * c->squared - c->ns * c->ns,
					  (uint64_t)c->hits * (c->hits - 1) * 1000);
	fathom_text_str(out, "  ");
	for (int i = 0; name && name[i] && i < 30; i++)
		fathom_text_char(out, name[i]);
	width = out->len - start;
	fathom_text_fill(out, ' ', width < 32 ? 32 - width : 0);
	fathom_text_str(out, "  ");
	fathom_text_u64(out, c->hits, 10, ' ');
	fathom_text_str(out, "    ");
	fathom_graph_duration(out, c->ns);
	fathom_text_str(out, "    ");
	fathom_graph_duration(out, profile_divide(c->ns, c->hits));
	fathom_text_str(out, "    ");
	fathom_graph_duration(out, variance);
	fathom_text_char(out, '\n');
}

int fathom_profile_line(uint32_t cpu, uint32_t line, struct fathom_text *out)
{
	int site;

	if (line == 0)
		fathom_text_str(
			out, "  Function                               Hit    Time            Avg"
			     "             s^2\n");
	if (line == 1)
		fathom_text_str(
			out, "  --------                               ---    ----            ---"
			     "             ---\n");
	if (line < 2)
		return 1;
	if (!profile.count || cpu >= fathom_core.nr_cpus)
		return 0;
	if (line == 2 || profile_walk.cpu != cpu || profile_walk.line + 1 != line) {
		profile_walk.cpu = cpu;
		profile_walk.line = 1;
		profile_walk.site = fathom_functions.nr_sites;
	}
	do {
		site = profile_after(cpu, profile_walk.site);
		if (site < 0)
			return 0;
		profile_walk.site = (uint32_t)site;
	} while (++profile_walk.line < line);
	profile_text(profile_at(cpu, (uint32_t)site), fathom_function_name((uint32_t)site), out);
	return 1;
}
