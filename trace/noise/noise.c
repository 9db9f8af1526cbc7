/* SPDX-License-Identifier: MIT */
/* noise.c -- the tracers osnoise, timerlat and hwlat: their threads, their records, their text. */
#include "wire/cold.h"
#include "noise/noise.h"
#include "fathom/inside/errno.h"
#include "fathom/inside/view.h"
#include "wire/noise.h"

struct noise_settings fathom_noise_set = {
	.period_us = 1000000,
	.runtime_us = 1000000,
	.timerlat_period_us = 1000,
	.width_us = 500000,
	.window_us = 1000000,
	.mode = NOISE_MODE_ROUND_ROBIN,
	.cpus = ~0ull,
};

static struct noise_cpu noise_cpus[2][FATHOM_CPUS_MAX];
static uint32_t noise_run; /* 0: none; else the number of the run. Task context writes */
static uint32_t noise_last;
static void (*noise_loop)(struct noise_cpu *c, uint32_t run);

uint64_t fathom_noise_now(void)
{
	return fathom_ticks_to_ns(fathom_port_clock());
}

int fathom_noise_is_on(uint32_t run)
{
	return fathom_load(&noise_run) == run;
}

struct noise_cpu *fathom_noise_here(void)
{
	uint32_t run = fathom_load(&noise_run), cpu = fathom_port_cpu();
	struct noise_cpu *c;

	if (!run || cpu >= fathom_core.nr_cpus)
		return 0;
	c = &noise_cpus[run & 1][cpu];
	return c->run == run && fathom_load(&c->sampling) ? c : 0;
}

/* What is under way when it begins is not seen to begin, and its end then means nothing. */
void fathom_noise_sampling(struct noise_cpu *c, uint32_t run, int on)
{
	if (fathom_load(&c->run) != run)
		return;
	if (on) {
		c->depth = 0;
		c->interruptions = 0;
		for (uint32_t i = 0; i < NOISE_KINDS; i++)
			c->count[i] = 0;
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* interrupts of this CPU see it done */
	fathom_store(&c->sampling, (uint32_t)on);
}

/* The threads of a run that is over end without another record. */
static void noise_thread(void *arg)
{
	struct noise_cpu *c = arg;
	uint32_t run = __atomic_load_n(&c->run, __ATOMIC_ACQUIRE);

	if (!fathom_noise_is_on(run) || __atomic_exchange_n(&c->taken, 1, __ATOMIC_ACQ_REL))
		return;
	fathom_store(&c->pid, fathom_port_task());
	fathom_load (&noise_loop)(c, run);
}

int fathom_noise_begin(const char *name, int realtime,
		       void (*loop)(struct noise_cpu *c, uint32_t run))
{
	const struct fathom_noise *port = fathom_core.config.noise;
	struct noise_cpu *cpus = noise_cpus[++noise_last & 1];
	int err = -FATHOM_EINVAL; /* no CPU is chosen */

	if (!noise_last)
		noise_last = 2; /* 0 is none */
	fathom_store(&noise_loop, loop);
	fathom_store(&noise_run, noise_last);
	for (uint32_t i = 0; i < fathom_core.nr_cpus; i++) {
		char thread[16];
		struct fathom_text t;

		if (i < 64 && !(fathom_noise_set.cpus & noise_cpu_bit(i)))
			continue;
		fathom_store(&cpus[i].run, 0);
		cpus[i] = (struct noise_cpu){.cpu = i};
		__atomic_store_n(&cpus[i].run, noise_last, __ATOMIC_RELEASE);
		fathom_text_init(&t, thread, sizeof(thread));
		fathom_text_str(&t, name);
		fathom_text_char(&t, '/');
		fathom_text_u64(&t, i, 0, ' ');
		err = port->thread(fathom_text_cstr(&t), i, realtime, noise_thread, &cpus[i]);
		if (err < 0)
			break;
	}
	return err < 0 ? err : 0;
}

void fathom_noise_end(void)
{
	fathom_store(&noise_run, 0);
}

/* As Linux does: the trace that led here is kept. */
void fathom_noise_stop_tracing(const struct noise_cpu *c, const char *why)
{
	(void)c;
	if (!fathom_tracing_is_on())
		return;
	fathom_marker(fathom_marker_ip(), why, fathom_strlen(why));
	fathom_tracing_off();
}

void *fathom_noise_reserve(struct noise_record *r, uint16_t id, uint32_t bytes)
{
	void *to;

	r->pin = fathom_port_pin();
	r->ring = fathom_tracer_ring();
	to = r->ring ? fathom_ring_reserve(r->ring, bytes, &r->slot) : 0;
	if (to)
		fathom_put_common(to, id, fathom_port_context(r->pin));
	else
		fathom_port_unpin(r->pin);
	return to;
}

void fathom_noise_commit(struct noise_record *r)
{
	fathom_ring_commit(r->ring, &r->slot);
	fathom_port_unpin(r->pin);
}

/* ---- the tracers ---- */

static const struct fathom_tracer_option noise_options[] = {{0, 0}};
static const struct fathom_tracer noise_tracers[] = {
	{"timerlat", 0, noise_options, fathom_timerlat_start, fathom_osnoise_stop, 0},
	{"osnoise", 0, noise_options, fathom_osnoise_start, fathom_osnoise_stop, 0},
	{"hwlat", 0, noise_options, fathom_hwlat_start, fathom_hwlat_stop, 0},
	{0, 0, 0, 0, 0, 0},
};

static int noise_header(const struct fathom_view *v, struct fathom_text *out)
{
	const struct fathom_tracer *now = fathom_tracer_current();
	uint32_t plain = FATHOM_TEXT_CONTEXT_INFO;

	if ((now != &noise_tracers[0] && now != &noise_tracers[1]) ||
	    (v->config.options & (plain | FATHOM_TEXT_LATENCY)) != plain)
		return 0;
	fathom_text_header_tracer(out, now->name);
	fathom_text_str(out, now == &noise_tracers[0] ? fathom_timerlat_head : fathom_osnoise_head);
	return 1;
}

const struct fathom_extra fathom_noise_tracers = {
	.tracers = noise_tracers,
	.folders = fathom_noise_folders,
	.events = &fathom_noise_events,
	.header = noise_header,
	.body = fathom_noise_body,
};
