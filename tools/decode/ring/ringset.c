/* SPDX-License-Identifier: MIT */
/* ringset.c -- what the ring pages of a trace have in common: where the common fields lie, and corrections of time. */
#include "decode/ring/ringpages.h"

#include <stdlib.h>

static bool find_common(struct source *s, struct ring_set *set)
{
	bool found = false;

	for (size_t i = 0; i < s->nr_schemas && i < 16 && !found; i++) {
		struct format *f = format_parse(s->schemas[i].text, s->schemas[i].text_bytes,
						s->schemas[i].system, NULL);
		const struct format_field *type = f ? format_field(f, "common_type") : NULL;
		const struct format_field *pid = f ? format_field(f, "common_pid") : NULL;

		found = type && pid && type->size == 2 && pid->size == 4;
		if (found) {
			set->type_offset = type->offset;
			set->pid_offset = pid->offset;
		}
		format_free(f);
	}
	return found;
}

void ring_find_common(struct source *s, struct ring_set *set)
{
	if (!find_common(s, set)) {
		set->type_offset = 0;
		set->pid_offset = 4;
	}
	set->common_bytes = set->type_offset + 2 > set->pid_offset + 4 ? set->type_offset + 2
								       : set->pid_offset + 4;
}

/* How many corrections come before (cpu, time); they are sorted by both. */
static size_t shifts_before(const struct ring_clock *clock, uint32_t cpu, uint64_t time)
{
	size_t low = 0, high = clock->nr_shifts;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct ring_shift *k = &clock->shifts[mid];

		if (k->cpu < cpu || (k->cpu == cpu && k->time < time))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/*
 * As trace-cmd does it: the correction measured at the start of the interval the time lies in, or one between those at its
 * two ends; the first and the last interval also serve for what lies outside all.
 */
static uint64_t shifted(const struct ring_clock *clock, uint32_t cpu, uint64_t t)
{
	size_t first = shifts_before(clock, cpu, 0);
	size_t nr =
		(cpu == UINT32_MAX ? clock->nr_shifts : shifts_before(clock, cpu + 1, 0)) - first;
	const struct ring_shift *a;
	int64_t offset;
	size_t i;

	if (!nr)
		return t;
	i = (t == UINT64_MAX ? first + nr : shifts_before(clock, cpu, t + 1)) - first;
	i = i ? i - 1 : 0;
	a = clock->shifts + first + (i + 2 > nr && nr > 1 ? nr - 2 : i);
	offset = a->offset;
	if (clock->interpolate && nr > 1 && a[1].time > a->time) {
		__int128 span = (__int128)a[1].time - a->time, part;

		/* Two times that are centuries apart are not interpolated between. */
		if (!__builtin_mul_overflow((__int128)t - a->time,
					    (__int128)a[1].offset - a->offset, &part))
			offset += (int64_t)((part + span / 2) / span);
	}
	return (uint64_t)((unsigned __int128)t * a->scaling >> a->fraction) + (uint64_t)offset;
}

uint64_t ring_clock_convert(const struct ring_clock *clock, uint32_t cpu, uint64_t t)
{
	if (clock->nr_shifts)
		t = shifted(clock, cpu, t);
	if (clock->scaled)
		t = (uint64_t)(((unsigned __int128)t * clock->mult) >> clock->shift);
	return t + (uint64_t)clock->offset;
}

void ring_set_free(struct ring_set *set)
{
	for (size_t i = 0; set->streams && i < set->nr_streams; i++) {
		free(set->streams[i].chunks);
		free(set->streams[i].places);
	}
	free(set->streams);
	free(set->clock.shifts);
}
