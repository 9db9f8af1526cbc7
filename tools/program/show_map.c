/* SPDX-License-Identifier: MIT */
/* show_map.c -- maps as bpftrace prints them: in what order, histograms, averages. */
#include "program/machine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BAR 52 /* characters of a histogram's longest bar */

struct shown {
	const struct map *map;
	const uint64_t *key, *value;
	uint64_t rank; /* what it is sorted by, made to compare unsigned */
};

/* ---- order ---- */

static int compare_keys(const struct map_spec *spec, const uint64_t *a, const uint64_t *b)
{
	uint32_t i;

	for (i = 0; i < spec->nr_keys; i++) {
		const struct type *t = &spec->keys[i];
		int d = 0;

		if (t->kind == VALUE_STRING)
			d = strncmp((const char *)a, (const char *)b, t->bytes);
		else if (t->kind == VALUE_TUPLE)
			d = memcmp(a, b, t->bytes);
		else /* as bpftrace does: -1 is the largest */
			d = *a < *b ? -1 : *a > *b;
		if (d)
			return d;
		a += type_room(t) / 8;
		b += type_room(t) / 8;
	}
	return 0;
}

static int by_rank(const void *x, const void *y)
{
	const struct shown *a = x, *b = y;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return compare_keys(a->map->spec, a->key, b->key);
}

static int64_t average(const struct bpf_noted *n)
{
	return n->count ? n->total / (int64_t)n->count : 0;
}

static uint64_t rank_of(const struct map *m, const uint64_t *v)
{
	const struct bpf_noted *n = (const struct bpf_noted *)v;
	uint64_t sum = 0;
	uint32_t i;

	switch (m->spec->value.kind) {
	case VALUE_INT:
	case VALUE_POINTER:
	case VALUE_COUNT:
	case VALUE_SUM: return *v ^ (uint64_t)m->spec->value.is_signed << 63;
	case VALUE_MIN: return (uint64_t)n->min ^ (uint64_t)m->spec->value.is_signed << 63;
	case VALUE_MAX: return (uint64_t)n->max ^ (uint64_t)m->spec->value.is_signed << 63;
	case VALUE_AVG:
	case VALUE_STATS: return (uint64_t)average(n) ^ 1ull << 63;
	case VALUE_HIST:
	case VALUE_LHIST:
		for (i = 0; i < m->value_words; i++)
			sum += v[i];
		return sum;
	default: return 0; /* by key */
	}
}

/* All of an array's values are there from the start: those that are zero say nothing. */
static bool is_unused(const struct map *m, const uint64_t *v)
{
	bool array =
		m->spec->raw.kind == BPF_MAP_ARRAY || m->spec->raw.kind == BPF_MAP_PERCPU_ARRAY;

	for (uint32_t i = 0; i < m->value_words && array; i++)
		array = !v[i];
	return m->spec->raw.is && array;
}

static struct shown *sorted(const struct map *m, size_t *nr)
{
	struct shown *s = malloc(sizeof(*s) * (m->nr + 1));
	size_t i;

	*nr = 0;
	for (i = 0; s && i < m->cap; i++)
		if (m->slots[i] && !is_unused(m, map_value(m, m->slots[i]))) {
			const uint64_t *v = map_value(m, m->slots[i]);

			s[(*nr)++] = (struct shown){m, m->slots[i]->data, v, rank_of(m, v)};
		}
	if (s)
		qsort(s, *nr, sizeof(*s), by_rank);
	return s;
}

/* ---- histograms ---- */

static void power(char *out, size_t room, uint32_t bits)
{
	static const char suffix[] = "\0KMGTPE";

	snprintf(out, room, "%u%.1s", 1u << bits % 10, &suffix[bits / 10]);
}

static void linear(char *out, size_t room, int64_t v)
{
	if (v && v % (1 << 20) == 0)
		snprintf(out, room, "%" PRId64 "M", v >> 20);
	else if (v && v % 1024 == 0)
		snprintf(out, room, "%" PRId64 "K", v / 1024);
	else
		snprintf(out, room, "%" PRId64, v);
}

static void label(const struct map_spec *s, uint32_t i, uint32_t nr, char *out, size_t room)
{
	char a[24], b[24];

	if (s->value.kind == VALUE_HIST) {
		if (i < 3) {
			snprintf(out, room, "%s", i == 0 ? "(..., 0)" : i == 1 ? "[0]" : "[1]");
			return;
		}
		power(a, sizeof(a), i - 2);
		power(b, sizeof(b), i - 1);
	} else if (i == 0 || i == nr - 1) {
		linear(a, sizeof(a), i ? s->max : s->min);
		snprintf(out, room, i ? "[%s, ...)" : "(..., %s)", a);
		return;
	} else {
		linear(a, sizeof(a), s->min + (int64_t)(i - 1) * s->step);
		linear(b, sizeof(b), s->min + (int64_t)i * s->step);
	}
	snprintf(out, room, "[%s, %s)", a, b);
}

static void histogram(FILE *out, const struct map_spec *s, const uint64_t *v, uint32_t nr,
		      int64_t div)
{
	uint32_t first = nr, last = 0, i;
	uint64_t most = 0;
	char text[64], bar[BAR + 1];

	for (i = 0; i < nr; i++)
		if (v[i]) {
			first = i < first ? i : first;
			last = i;
			most = v[i] > most ? v[i] : most;
		}
	memset(bar, '@', BAR);
	bar[BAR] = 0;
	for (i = first; i <= last && most; i++) {
		label(s, i, nr, text, sizeof(text));
		fprintf(out, "%-16s %7" PRIu64 " |%-*.*s|\n", text,
			v[i] / (uint64_t)(div ? div : 1), BAR,
			(int)((float)v[i] / (float)most * BAR), bar);
	}
	fputc('\n', out);
}

/* ---- one entry ---- */

static void keys(struct machine *m, const struct map_spec *s, const uint64_t *key)
{
	const uint8_t *data = (const uint8_t *)key;
	uint32_t i;

	if (!s->nr_keys)
		return;
	fputc('[', m->out);
	for (i = 0; i < s->nr_keys; i++) {
		fputs(i ? ", " : "", m->out);
		show_value(m, m->out, &s->keys[i], data, 4);
		data += type_room(&s->keys[i]);
	}
	fputc(']', m->out);
}

static void gathered(FILE *out, bool is_signed, int64_t v, int64_t div)
{
	if (is_signed)
		fprintf(out, "%" PRId64 "\n", v / (div ? div : 1));
	else
		fprintf(out, "%" PRIu64 "\n", (uint64_t)v / (uint64_t)(div ? div : 1));
}

static void entry(struct machine *m, const struct shown *s, int64_t div)
{
	const struct map_spec *spec = s->map->spec;
	const struct bpf_noted *n = (const struct bpf_noted *)s->value;

	fputs(spec->name, m->out);
	keys(m, spec, s->key);
	fputs(": ", m->out);
	switch (spec->value.kind) {
	case VALUE_HIST:
	case VALUE_LHIST:
		fputc('\n', m->out);
		histogram(m->out, spec, s->value, s->map->value_words, div);
		break;
	case VALUE_MIN:
	case VALUE_MAX:
		gathered(m->out, spec->value.is_signed,
			 spec->value.kind == VALUE_MIN ? n->min : n->max, div);
		break;
	case VALUE_AVG: fprintf(m->out, "%" PRId64 "\n", average(n) / (div ? div : 1)); break;
	case VALUE_STATS:
		fprintf(m->out, "count %" PRIu64 ", average %" PRId64 ", total %" PRId64 "\n",
			n->count, average(n) / (div ? div : 1), n->total / (div ? div : 1));
		break;
	case VALUE_INT:
	case VALUE_POINTER:
	case VALUE_COUNT:
	case VALUE_SUM: gathered(m->out, spec->value.is_signed, (int64_t)*s->value, div); break;
	default:
		show_value(m, m->out, &spec->value, (const uint8_t *)s->value, 8);
		fputc('\n', m->out);
	}
}

void show_map(struct machine *m, const struct map *map, int64_t top, int64_t div)
{
	size_t nr, i;
	struct shown *s = sorted(map, &nr);
	enum type_kind kind = map->spec->value.kind;

	for (i = top > 0 && nr > (size_t)top ? nr - (size_t)top : 0; s && i < nr; i++)
		entry(m, &s[i], div);
	if (kind == VALUE_AVG || kind == VALUE_STATS || !nr)
		fputc('\n', m->out);
	free(s);
}

static int by_name(const void *x, const void *y)
{
	const struct map *const *a = x, *const *b = y;

	return strcmp((*a)->spec->name, (*b)->spec->name);
}

void show_maps(struct machine *m)
{
	const struct map **all = malloc(sizeof(*all) * (m->c->nr_maps + 1));
	uint32_t i;

	for (i = 0; all && i < m->c->nr_maps; i++)
		all[i] = &m->maps[i];
	if (all)
		qsort(all, m->c->nr_maps, sizeof(*all), by_name);
	for (i = 0; all && i < m->c->nr_maps; i++)
		if (!all[i]->spec->raw.is_constant)
			show_map(m, all[i], 0, 0);
	free(all);
}
