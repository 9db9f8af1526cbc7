/* SPDX-License-Identifier: MIT */
/* osnoise.c -- a thread that does nothing but read the clock: what it misses is noise. */
#include "wire/cold.h"
#include "noise/noise.h"
#include "fathom/inside/view.h"
#include "wire/div.h"
#include "wire/noise.h"

#define OSNOISE_LEAST_NS 1000 /* a gap that counts, without tracing_thresh: Linux's */

struct osnoise_sum {
	uint64_t noise, longest; /* ns */
	uint32_t hardware;
};

static uint64_t us(uint64_t ns)
{
	wire_div(&ns, 1000);
	return ns;
}

/* A gap between two looks at the clock, and what is known of it. */
static void note_gap(struct noise_cpu *c, struct osnoise_sum *sum, uint64_t from, uint64_t gap,
		     uint32_t interruptions)
{
	uint64_t stop = fathom_noise_set.stop_us * 1000;

	if (!interruptions)
		sum->hardware++;
	sum->noise += gap;
	if (gap > sum->longest)
		sum->longest = gap;
	fathom_noise_sample(from, gap, interruptions);
	if (stop && gap > stop)
		fathom_noise_stop_tracing(c, "stop tracing hit on a single sample");
}

static void osnoise_record(struct noise_cpu *c, const struct osnoise_sum *sum, uint64_t runtime)
{
	struct noise_record slot;
	struct fathom_rec_osnoise *r = fathom_noise_reserve(&slot, WIRE_ID_OSNOISE, sizeof(*r));
	uint64_t stop = fathom_noise_set.stop_total_us * 1000;

	if (!r)
		return;
	r->noise = us(sum->noise);
	r->runtime = us(runtime);
	r->max_sample = us(sum->longest);
	r->hw_count = sum->hardware;
	r->nmi_count = 0;
	r->irq_count = c->count[NOISE_IRQ];
	r->softirq_count = c->count[NOISE_SOFTIRQ];
	r->thread_count = c->count[NOISE_THREAD];
	fathom_noise_commit(&slot);
	if (stop && sum->noise > stop)
		fathom_noise_stop_tracing(c, "stop tracing hit on total noise");
}

/* The time and the number of interruptions that it belongs to. */
static uint64_t osnoise_look(const struct noise_cpu *c, uint32_t *interruptions)
{
	uint64_t now;

	do {
		*interruptions = fathom_load(&c->interruptions);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		now = fathom_noise_now();
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	} while (*interruptions != fathom_load(&c->interruptions));
	return now;
}

static void sample(struct noise_cpu *c, uint32_t run)
{
	uint64_t runtime = fathom_noise_set.runtime_us * 1000;
	uint64_t least = fathom_thresh() ? fathom_thresh() : OSNOISE_LEAST_NS;
	struct osnoise_sum sum = {0};
	uint32_t before, after;
	uint64_t start, last, now;

	fathom_noise_sampling(c, run, 1);
	start = last = osnoise_look(c, &before);
	do {
		now = osnoise_look(c, &after);
		if (now - last >= least) {
			note_gap(c, &sum, last, now - last, after - before);
			/* Telling of it is no noise. */
			now = osnoise_look(c, &after);
		}
		last = now;
		before = after;
	} while (now - start < runtime && fathom_noise_is_on(run));
	if (fathom_noise_is_on(run))
		osnoise_record(c, &sum, now - start);
	fathom_noise_sampling(c, run, 0);
}

static void osnoise_loop(struct noise_cpu *c, uint32_t run)
{
	while (fathom_noise_is_on(run)) {
		uint64_t period, runtime;

		sample(c, run);
		/* Both may be written in between: then one is new, the other old. */
		period = fathom_noise_set.period_us;
		runtime = fathom_noise_set.runtime_us;
		if (period > runtime && fathom_noise_is_on(run))
			fathom_core.config.noise->wait((period - runtime) * 1000, 0, 0);
	}
}

int fathom_osnoise_start(void)
{
	int err = fathom_noise_hooks(1);

	return err ? err : fathom_noise_begin("osnoise", 0, osnoise_loop);
}

void fathom_osnoise_stop(void)
{
	fathom_noise_end();
	fathom_noise_hooks(0);
}

/* ---- the text of all three ---- */

static void put_osnoise(const struct fathom_rec_osnoise *r, struct fathom_text *out)
{
	struct fathom_text_osnoise o = {
		.noise = r->noise,
		.runtime = r->runtime,
		.max_sample = r->max_sample,
		.hw = r->hw_count,
		.nmi = r->nmi_count,
		.irq = r->irq_count,
		.softirq = r->softirq_count,
		.thread = r->thread_count,
	};

	fathom_text_osnoise(out, &o);
}

static void put_hwlat(const struct fathom_rec_hwlat *r, struct fathom_text *out)
{
	struct fathom_text_hwlat h = {
		.inner = r->duration,
		.outer = r->outer_duration,
		.sec = r->tv_sec,
		.nsec = (int32_t)r->tv_nsec,
		.seq = r->seqnum,
		.count = r->count,
		.nmi_total = r->nmi_total_ts,
		.nmi_count = r->nmi_count,
	};

	fathom_text_hwlat(out, &h);
}

int fathom_noise_body(struct fathom_view *v, struct fathom_text *out)
{
	const struct fathom_rec_timerlat *t = (const void *)v->record;

	if (t->ent.type == WIRE_ID_OSNOISE && v->bytes >= sizeof(struct fathom_rec_osnoise))
		put_osnoise((const void *)v->record, out);
	else if (t->ent.type == WIRE_ID_HWLAT && v->bytes >= sizeof(struct fathom_rec_hwlat))
		put_hwlat((const void *)v->record, out);
	else if (t->ent.type == WIRE_ID_TIMERLAT && v->bytes >= sizeof(*t))
		fathom_text_timerlat(out, t->seqnum, t->context, t->timer_latency);
	else
		return 0;
	return 1;
}
