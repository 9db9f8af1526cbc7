/* SPDX-License-Identifier: MIT */
/* profile.c -- the function profile: hits, total, average and variance per function and CPU. */
#include "fathom/inside/errno.h"
#include "fathom/trace.h"
#include "functions/sites.h"
#include "functions/tracers.h"
#include "wire/div.h"
#include "wire/text_graph.h"

/* Counts are written by their CPU; an interrupt between load and store of the times may lose one, as in Linux. */
static struct {
	struct fathom_profile_count *count; /* [nr_cpus][room_sites] */
	uint8_t on;
} profile;

static struct fathom_profile_count *profile_at(uint32_t cpu, uint32_t site)
{
	return &profile.count[(size_t)cpu * fathom_functions.room_sites + site];
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
	struct fathom_profile_count *c;
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

static void profile_clear(int only_gone)
{
	struct fathom_profile_count zero = {0, 0, 0};

	for (uint32_t cpu = 0; cpu < fathom_core.nr_cpus; cpu++)
		for (uint32_t i = 0; i < fathom_functions.nr_sites; i++)
			if (!only_gone || fathom_site_is_gone(i))
				*profile_at(cpu, i) = zero;
}

void fathom_profile_forget(void)
{
	if (profile.count)
		profile_clear(1);
}

int fathom_profile_set(int on)
{
	int err = on ? fathom_functions_check() : 0;

	if (err)
		return err;
	if (on && !profile.count)
		profile.count =
			fathom_memory_take((size_t)fathom_core.nr_cpus *
					   fathom_functions.room_sites * sizeof(*profile.count));
	if (on && !profile.count)
		return -FATHOM_ENOMEM;
	if (on && !profile.on) {
		profile_clear(0);
		/* Calls that were open when it went off are still on the stacks where their returns were not seen. */
		if (!fathom_tracer_wants.graph)
			fathom_graph_reset();
	}
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

/* A call may return on another CPU than it was made on, which then has its time and not its hit: nothing of it is hidden. */
static int profile_shown(const struct fathom_profile_count *c)
{
	return c->hits || c->ns;
}

/* Longest first; functions with equal times by address. Is a before b? */
static int profile_before(uint32_t cpu, uint32_t a, uint32_t b)
{
	uint64_t ta = profile_at(cpu, a)->ns, tb = profile_at(cpu, b)->ns;

	return ta != tb ? ta > tb : a < b;
}

/* Let the i-th of a heap whose top is the last of all sink to its place. */
static void profile_sink(uint32_t cpu, uint32_t *order, uint32_t i, uint32_t nr)
{
	for (uint32_t child; (child = 2 * i + 1) < nr; i = child) {
		uint32_t t = order[i];

		if (child + 1 < nr && profile_before(cpu, order[child], order[child + 1]))
			child++;
		if (!profile_before(cpu, order[i], order[child]))
			return;
		order[i] = order[child];
		order[child] = t;
	}
}

/* Counts may change meanwhile: then the order is nearly right, and still of all of them. */
uint32_t fathom_profile_order(uint32_t cpu, uint32_t *order)
{
	uint32_t nr = 0;

	if (!profile.count || cpu >= fathom_core.nr_cpus)
		return 0;
	for (uint32_t i = 0; i < fathom_functions.nr_sites; i++)
		if (profile_shown(profile_at(cpu, i)))
			order[nr++] = i;
	for (uint32_t i = nr / 2; i-- > 0;)
		profile_sink(cpu, order, i, nr);
	for (uint32_t end = nr; end > 1; end--) {
		uint32_t t = order[0];

		order[0] = order[end - 1];
		order[end - 1] = t;
		profile_sink(cpu, order, 0, end - 1);
	}
	return nr;
}

void fathom_profile_text(const struct fathom_profile_count *c, uint32_t function,
			 struct fathom_text *out)
{
	const char *name = fathom_function_name(function);
	uint64_t variance = 0, squares = c->hits * c->squared, square = c->ns * c->ns;
	size_t start = out->len, width;

	if (c->hits > 1 && squares > square)
		variance =
			profile_divide(squares - square, (uint64_t)c->hits * (c->hits - 1) * 1000);
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
	fathom_graph_duration(out, profile_divide(c->ns, c->hits ? c->hits : 1));
	fathom_text_str(out, "    ");
	fathom_graph_duration(out, variance);
	fathom_text_char(out, '\n');
}

void fathom_profile_head(struct fathom_text *out)
{
	fathom_text_str(out, "  Function                               Hit    Time            Avg"
			     "             s^2\n"
			     "  --------                               ---    ----            ---"
			     "             ---\n");
}

int fathom_profile_get(uint32_t cpu, uint32_t function, struct fathom_profile_count *out)
{
	*out = (struct fathom_profile_count){0};
	if (profile.count && cpu < fathom_core.nr_cpus)
		*out = *profile_at(cpu, function);
	return profile_shown(out);
}

void fathom_profile_line(uint32_t cpu, uint32_t function, struct fathom_text *out)
{
	struct fathom_profile_count c;

	if (fathom_profile_get(cpu, function, &c))
		fathom_profile_text(&c, function, out);
}
