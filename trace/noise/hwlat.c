/* SPDX-License-Identifier: MIT */
/* hwlat.c -- with interrupts off only hardware and firmware can take the CPU's time: gaps in the clock are theirs. */
#include "wire/cold.h"
#include "noise/noise.h"
#include "fathom/inside/errno.h"
#include "wire/div.h"

#define HWLAT_LEAST_NS 10000 /* a gap that counts, without tracing_thresh: Linux's */

struct hwlat_sample {
	uint32_t run;
	uint64_t width, least;	   /* ns */
	uint64_t inner, outer, at; /* the longest; when the first was seen */
	uint32_t count;
};

static uint32_t hwlat_turn, hwlat_seq;

/* Twice in a row, and again: inner is between the two, outer from one pair to the next. */
static void hwlat_look(void *arg)
{
	struct hwlat_sample *s = arg;
	uint64_t start = fathom_noise_now(), first, second, last = 0;

	do {
		uint64_t inner, outer;

		first = fathom_noise_now();
		second = fathom_noise_now();
		outer = last ? first - last : 0;
		inner = second - first;
		last = second;
		if (outer > s->outer)
			s->outer = outer;
		if (inner > s->inner)
			s->inner = inner;
		if (inner > s->least || outer > s->least) {
			if (!s->count++)
				s->at = first;
		}
	} while (second - start < s->width && fathom_noise_is_on(s->run));
}

static void hwlat_record(const struct hwlat_sample *s)
{
	struct noise_record slot;
	struct fathom_rec_hwlat *r = fathom_noise_reserve(&slot, WIRE_ID_HWLAT, sizeof(*r));
	uint64_t inner = s->inner, outer = s->outer, sec = s->at;
	uint32_t ns;

	if (!r)
		return;
	wire_div(&inner, 1000);
	wire_div(&outer, 1000);
	ns = wire_div(&sec, 1000);
	ns += 1000 * wire_div(&sec, 1000);
	ns += 1000000 * wire_div(&sec, 1000);
	r->duration = inner;
	r->outer_duration = outer;
	r->nmi_total_ts = 0;
	r->tv_sec = (int64_t)sec;
	r->tv_nsec = (intptr_t)ns;
	r->nmi_count = 0;
	r->seqnum = __atomic_add_fetch(&hwlat_seq, 1, __ATOMIC_RELAXED);
	r->count = s->count;
	fathom_noise_commit(&slot);
}

/* Which of the chosen CPUs looks in this window. */
static int is_my_turn(const struct noise_cpu *c)
{
	uint64_t chosen = fathom_noise_set.cpus;
	uint32_t turn = fathom_load(&hwlat_turn), nr = 0, mine = 0;

	if (fathom_noise_set.mode == NOISE_MODE_PER_CPU)
		return 1;
	for (uint32_t i = 0; i < fathom_core.nr_cpus; i++) {
		if (i < 64 && !(chosen & noise_cpu_bit(i)))
			continue;
		if (i == c->cpu)
			mine = nr;
		nr++;
	}
	return mine == (fathom_noise_set.mode == NOISE_MODE_NONE ? 0 : turn % nr);
}

static void hwlat_loop(struct noise_cpu *c, uint32_t run)
{
	while (fathom_noise_is_on(run)) {
		uint64_t window = fathom_noise_set.window_us, width = fathom_noise_set.width_us;
		struct hwlat_sample s = {
			.run = run,
			.width = width * 1000,
			.least = fathom_thresh() ? fathom_thresh() : HWLAT_LEAST_NS,
		};

		if (!is_my_turn(c)) {
			fathom_core.config.noise->wait(window * 1000, 0, 0);
			continue;
		}
		fathom_core.config.noise->quiet(hwlat_look, &s);
		if (s.count && fathom_noise_is_on(run))
			hwlat_record(&s);
		fathom_store(&hwlat_turn, fathom_load(&hwlat_turn) + 1);
		fathom_core.config.noise->wait(((window > width ? window - width : 0) + 1) * 1000,
					       0, 0);
	}
}

int fathom_hwlat_start(void)
{
	if (!fathom_core.config.noise->quiet)
		return -FATHOM_ENODEV;
	hwlat_seq = hwlat_turn = 0;
	return fathom_noise_begin("hwlat", 0, hwlat_loop);
}

void fathom_hwlat_stop(void)
{
	fathom_noise_end();
}
