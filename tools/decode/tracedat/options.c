/* SPDX-License-Identifier: MIT */
/* options.c -- the options of trace.dat that both versions have: clock, date, uname, corrections of time ... */
#include "decode/tracedat/tracedat.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

/* A string that need not end in NUL, as a C string. */
static char *text_of(const uint8_t *data, uint32_t bytes)
{
	return strndup((const char *)data, bytes);
}

static void set_text(char **to, const uint8_t *data, uint32_t bytes)
{
	char *n = text_of(data, bytes);

	if (!n)
		return;
	free(*to);
	*to = n;
}

static void append_text(char **to, const uint8_t *data, uint32_t bytes)
{
	size_t have = strlen(*to), more = strnlen((const char *)data, bytes);

	if (have + more > (1u << 20) || !vec_resize(to, have + more + 1, 1))
		return;
	memcpy(*to + have, data, more);
	(*to)[have + more] = 0;
}

char *tracedat_clock_name(const char *text, size_t bytes)
{
	const char *open = memchr(text, '[', bytes);
	const char *close = open ? memchr(open, ']', bytes - (size_t)(open - text)) : NULL;
	size_t n = strnlen(text, bytes);

	if (close)
		return strndup(open + 1, (size_t)(close - open - 1));
	while (n && (text[n - 1] == '\n' || text[n - 1] == ' '))
		n--;
	return strndup(text, n);
}

bool tracedat_clock_is_ns(const char *name)
{
	return strcmp(name, "counter") != 0 && strcmp(name, "x86-tsc") != 0 &&
	       strcmp(name, "ppc-tb") != 0;
}

static int64_t number_of(const uint8_t *data, uint32_t bytes)
{
	char *t = text_of(data, bytes);
	int64_t v = t ? strtoll(t, NULL, 0) : 0;

	free(t);
	return v;
}

/* Wraps: the numbers are the file's. */
static void add_offset(struct ring_clock *k, int64_t ns)
{
	k->offset = (int64_t)((uint64_t)k->offset + (uint64_t)ns);
}

static int by_time(const void *a, const void *b)
{
	const struct ring_shift *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return x->time < y->time ? -1 : x->time > y->time;
}

/* Since trace-cmd 3.1, after all CPUs: by how many bits the product with each scaling is shifted. */
static void fractions(struct reader *r, struct ring_clock *k)
{
	for (size_t i = 0; i < k->nr_shifts && !r->failed; i++) {
		uint64_t bits = reader_u64(r);

		if (!r->failed)
			k->shifts[i].fraction = bits < 128 ? (uint32_t)bits : 127;
	}
}

/*
 * u64 peer, u32 flags (1: interpolate), u32 CPUs; per CPU: u32 n, u64 times[n], u64 offsets[n], u64 scalings[n]; then maybe
 * per CPU u64 fractions[n]. A guest's times on the host's clock.
 */
static void time_shift(struct source *s, const uint8_t *data, uint32_t bytes, uint64_t offset)
{
	struct tracedat *t = s->priv;
	struct ring_clock *k = &t->ring.clock;
	struct reader r;
	uint32_t cpus;

	if (k->nr_shifts) {
		source_damage(s, offset, bytes, "option TIME_SHIFT occurs twice");
		return;
	}
	reader_init(&r, data, bytes, s->big_endian);
	reader_u64(&r);
	k->interpolate = reader_u32(&r) & 1;
	cpus = reader_u32(&r);
	for (uint32_t cpu = 0; cpu < cpus && !r.failed; cpu++) {
		uint32_t n = reader_u32(&r);
		const uint8_t *times = reader_bytes(&r, (uint64_t)n * 8);
		const uint8_t *offsets = reader_bytes(&r, (uint64_t)n * 8);
		const uint8_t *scalings = reader_bytes(&r, (uint64_t)n * 8);

		if (!scalings || !n)
			continue;
		if (!vec_resize(&k->shifts, (size_t)k->nr_shifts + n, sizeof(*k->shifts)))
			return;
		for (uint32_t i = 0; i < n; i++)
			k->shifts[k->nr_shifts++] = (struct ring_shift){
				.cpu = cpu,
				.time = get_u64(times + 8ull * i, r.big),
				.offset = (int64_t)get_u64(offsets + 8ull * i, r.big),
				.scaling = get_u64(scalings + 8ull * i, r.big),
			};
	}
	if (!r.failed && reader_left(&r))
		fractions(&r, k);
	if (r.failed)
		source_damage(s, offset, bytes, "option TIME_SHIFT is cut");
	if (k->nr_shifts)
		qsort(k->shifts, k->nr_shifts, sizeof(*k->shifts), by_time);
}

static void tsc2nsec(struct source *s, const uint8_t *data, uint32_t bytes, uint64_t offset)
{
	struct tracedat *t = s->priv;
	struct ring_clock *k = &t->ring.clock;

	if (bytes < 16) {
		source_damage(s, offset, bytes, "option TSC2NSEC of %u bytes", bytes);
		return;
	}
	k->mult = get_u32(data, s->big_endian);
	k->shift = get_u32(data + 4, s->big_endian);
	k->scaled = k->mult != 0;
	if (k->shift > 63) {
		source_damage(s, offset, bytes, "option TSC2NSEC shifts by %u", k->shift);
		k->scaled = false;
	}
}

bool tracedat_option(struct source *s, uint16_t id, const uint8_t *data, uint32_t bytes,
		     uint64_t offset)
{
	struct tracedat *t = s->priv;
	char *name;

	/* Where the BTF lies in this file says nothing to another. */
	if (id != OPT_TRACECLOCK && id != OPT_CPUCOUNT && id != OPT_BTF)
		source_add_extra(s, id, data, bytes);
	switch (id) {
	case OPT_DATE:
		s->info.date_offset = (int64_t)((uint64_t)number_of(data, bytes) * 1000);
		s->info.has_date = true;
		add_offset(&t->ring.clock, s->info.date_offset);
		return true;
	case OPT_OFFSET: add_offset(&t->ring.clock, number_of(data, bytes)); return true;
	case OPT_CPUSTAT: append_text(&s->info.cpustat, data, bytes); return true;
	case OPT_UNAME: set_text(&s->info.uname, data, bytes); return true;
	case OPT_VERSION: set_text(&s->info.version, data, bytes); return true;
	case OPT_END: set_text(&s->info.ended, data, bytes); return true;
	case OPT_TRACECLOCK:
		name = tracedat_clock_name((const char *)data, bytes);
		if (name) {
			free(t->clock);
			t->clock = name;
		}
		return true;
	case OPT_CPUCOUNT:
		if (bytes >= 4 && get_u32(data, s->big_endian) <= TRACEDAT_CPUS_MAX)
			s->info.nr_cpus = get_u32(data, s->big_endian);
		else
			source_damage(s, offset, bytes, "option CPUCOUNT is not a number of CPUs");
		return true;
	case OPT_TRACEID:
		if (bytes >= 8)
			s->info.trace_id = get_u64(data, s->big_endian);
		return true;
	case OPT_TIME_SHIFT: time_shift(s, data, bytes, offset); return true;
	case OPT_TSC2NSEC: tsc2nsec(s, data, bytes, offset); return true;
	case OPT_BTF:
	case OPT_HOOK:
	case OPT_PROCMAPS:
	case OPT_GUEST: return true;
	default: return false;
	}
}
