/* SPDX-License-Identifier: MIT */
/* sampler.c -- look at the running stacks from the timer: into the ring, and into a backtrace buffer of its own. */
#include "fathom/sampler.h"
#include "wire/div.h"
#include "fathom/inside/emit.h"
#include "fathom/inside/errno.h"
#include "fathom/inside/internal.h"
#include "fathom/inside/unwind.h"
#include "samples/sampler_buffer.h"

uint32_t fathom_sampler_on;

/*
 * Frames as they come, innermost first. The first half is kept as it is; behind it the latest ones go round, so that at
 * the end the outermost are there, wherever the stack ended.
 */
struct sampler_frames {
	uint64_t *v;
	uint32_t depth;	 /* seen */
	uint8_t endless; /* there were more than are walked */
};

static void sampler_frame(struct sampler_frames *f, uintptr_t ip)
{
	uint32_t half = FATHOM_SAMPLE_FRAMES / 2, at = f->depth++;

	if (at >= FATHOM_SAMPLE_FRAMES)
		at = half + 1 + (at - half - 1) % (half - 1);
	f->v[at] = ip;
}

/* Put the round half in order after a 0; returns the frames kept. What follows the 0 is the outermost half, or nothing. */
static uint32_t sampler_cut(struct sampler_frames *f)
{
	uint32_t half = FATHOM_SAMPLE_FRAMES / 2, n = half - 1;
	uint64_t *tail = f->v + half + 1;
	uint32_t first;

	if (f->depth <= FATHOM_SAMPLE_FRAMES)
		return f->depth;
	f->v[half] = 0;
	if (f->endless)
		return half + 1;
	/* The oldest of the tail stands where the next frame would have gone: rotate it to the front, in place. */
	first = (f->depth - half - 1) % n;
	for (uint32_t pass = 0; pass < 3; pass++) {
		uint32_t lo = pass == 0 ? 0 : pass == 1 ? first : 0;
		uint32_t hi = pass == 0 ? first : n;

		for (; lo + 1 < hi; lo++, hi--) {
			uint64_t v = tail[lo];

			tail[lo] = tail[hi - 1];
			tail[hi - 1] = v;
		}
	}
	return FATHOM_SAMPLE_FRAMES;
}

static void sampler_follow(struct fathom_unwind *u, struct sampler_frames *f, uintptr_t until)
{
	uintptr_t ip;

	while ((ip = fathom_unwind_next(u, NULL)) && ip != until) {
		if (f->depth >= FATHOM_SAMPLE_WALK) {
			f->endless = 1;
			return;
		}
		sampler_frame(f, ip);
	}
}

/* Both parts, kernel first; *kernel is how many frames of it there are (as found, before a cut). */
static uint32_t sampler_walk(const struct fathom_sample *s, struct sampler_frames *f,
			     uint32_t *kernel)
{
	struct fathom_unwind u;

	f->depth = 0;
	f->endless = 0;
	if (s->ip) {
		sampler_frame(f, s->ip);
		fathom_unwind_kernel(&u, s->fp);
		/* The entry code may have linked its frame to the user's: that is where the user part begins. */
		sampler_follow(&u, f, s->user_ip);
	}
	*kernel = f->depth;
	if (s->user_ip && !f->endless) {
		sampler_frame(f, s->user_ip);
		if (s->user_caller)
			sampler_frame(f, s->user_caller);
		if (s->read_user) {
			fathom_unwind_user(&u, s->user_fp, s->user_lo,
					   s->user_hi ? s->user_hi : UINTPTR_MAX, s->read_user);
			sampler_follow(&u, f, 0);
		}
	}
	return sampler_cut(f);
}

static void sampler_account(struct sampler_cpu *c, const struct sampler_frames *f, uint64_t cost)
{
	uint32_t bin = f->depth / FATHOM_SAMPLE_BIN;

	if (bin >= FATHOM_SAMPLE_BINS)
		bin = FATHOM_SAMPLE_BINS - 1;
	c->bin_count[bin]++;
	c->bin_cost[bin] += cost;
	c->samples++;
	c->cost += cost;
	if (cost > c->cost_max)
		c->cost_max = cost;
	c->cut += f->depth > FATHOM_SAMPLE_FRAMES;
	c->endless += f->endless;
}

/* The same stack as the two events that Linux has for it. */
static void sampler_to_ring(const uint64_t *frames, uint32_t kept, uint32_t kernel)
{
	struct fathom_emit e;

	if (kernel > kept)
		kernel = kept;
	if (kernel) {
		uint32_t bytes =
			(uint32_t)(sizeof(struct fathom_rec_stack) + kernel * sizeof(uintptr_t));
		struct fathom_rec_stack *r = fathom_emit_cold(&fathom_ev_kernel_stack, bytes, &e);

		if (r) {
			r->size = (int32_t)kernel;
			for (uint32_t i = 0; i < kernel; i++)
				r->caller[i] = (uintptr_t)frames[i];
			fathom_emit_cold_end(&fathom_ev_kernel_stack, &e);
		}
	}
	if (kept > kernel) {
		uint32_t n = kept - kernel,
			 room = n < 8 ? 8 : n; /* readers of Linux's format look at eight */
		uint32_t bytes =
			(uint32_t)(sizeof(struct fathom_rec_user_stack) + room * sizeof(uintptr_t));
		struct fathom_rec_user_stack *r =
			fathom_emit_cold(&fathom_ev_user_stack, bytes, &e);

		if (r) {
			r->tgid = (uint32_t)fathom_port_task();
			for (uint32_t i = 0; i < room; i++)
				r->caller[i] = i < n ? (uintptr_t)frames[kernel + i] : 0;
			fathom_emit_cold_end(&fathom_ev_user_stack, &e);
		}
	}
}

static void sampler_take(struct sampler_cpu *c, uint32_t cpu, const struct fathom_sample *s,
			 uint64_t now)
{
	const uint32_t attrs = SAMPLER_STACK_HEAD;
	uint32_t kernel, kept;
	uint64_t spare[FATHOM_SAMPLE_FRAMES];
	struct sampler_frames f = {.v = spare};
	uint64_t *w = NULL;

	if (fathom_sampler.out & FATHOM_SAMPLE_BUFFER)
		w = fathom_sampler_begin(c, WIRE_BTB_STACK, attrs + FATHOM_SAMPLE_FRAMES, now, cpu);
	if (w)
		f.v = w + attrs;
	kept = sampler_walk(s, &f, &kernel);
	if (fathom_sampler.out & FATHOM_SAMPLE_RING)
		sampler_to_ring(f.v, kept, kernel);
	c->step++;
	now = fathom_sampler_now() - now;
	if (w) {
		w[1] = attrs + kept;
		w[3] = now;
		w[SAMPLER_STACK_TASK] = s->task;
		w[SAMPLER_STACK_STEP] = c->step;
		w[SAMPLER_STACK_DEPTH] = f.depth;
		w[SAMPLER_STACK_KERNEL] = kernel < kept ? kernel : kept;
		fathom_sampler_publish(c, w, attrs + kept);
	}
	sampler_account(c, &f, now);
}

void fathom_sampler_tick_slow(const struct fathom_sample *s)
{
	uint32_t cpu = fathom_port_cpu();
	uint64_t now = fathom_sampler_now();
	void (*sample)(uintptr_t ip, uintptr_t fp);
	struct sampler_cpu *c;

	if (!fathom_sampler.ready || cpu >= fathom_core.nr_cpus)
		return;
	if (fathom_sampler.stop_at && now >= fathom_sampler.stop_at) {
		if (fathom_load(&fathom_sampler_on)) {
			fathom_store(&fathom_sampler_on, 0);
			fathom_sampler_log(FATHOM_SAMPLER_STOP, 0);
		}
		return;
	}
	c = &fathom_sampler.cpu[cpu];
	/* The timer is not the interval: what falls due until half an interval from now is taken now, so none drifts. */
	if (now + fathom_sampler.interval / 2 < c->due)
		return;
	if (!fathom_sampler_enter(c))
		return;
	c->due = c->due + fathom_sampler.interval > now ? c->due + fathom_sampler.interval
							: now + fathom_sampler.interval;
	sampler_take(c, cpu, s, now);
	sample = fathom_load(&fathom_gate.sample);
	if (sample)
		sample(s->ip, s->fp);
	fathom_sampler_leave(c);
}

/* ---- control ---- */

/* fathom_gate.sampling */
static int sampler_begin(uint32_t us)
{
	int64_t err = 0;

	if (!fathom_load(&fathom_sampler_on))
		err = fathom_sampler_control(FATHOM_SAMPLER_SET_INTERVAL | FATHOM_SAMPLER_START,
					     us);
	return err < 0 ? (int)err : 0;
}

int fathom_sampler_init(void *memory, size_t bytes, uint32_t out, void (*announce)(void))
{
	uint64_t *w = memory;

	if (!fathom_core.nr_cpus || (uintptr_t)memory % 8 || !out || out > 3)
		return -FATHOM_EINVAL;
	if ((out & FATHOM_SAMPLE_BUFFER) && !memory)
		return -FATHOM_EINVAL;
	if (fathom_load(&fathom_sampler_on))
		return -FATHOM_EBUSY;
	fathom_sampler.capacity = memory ? bytes / 8 / fathom_core.nr_cpus : 0;
	if ((out & FATHOM_SAMPLE_BUFFER) && fathom_sampler.capacity < 1024)
		return -FATHOM_ENOMEM;
	for (uint32_t i = 0; i < fathom_core.nr_cpus; i++) {
		fathom_sampler.cpu[i] = (struct sampler_cpu){.words = w};
		w += fathom_sampler.capacity;
	}
	fathom_sampler.interval = 1000000;
	fathom_sampler.stop_at = fathom_sampler.stop_after = 0;
	fathom_sampler.out = out;
	fathom_sampler.announce = announce;
	fathom_sampler.described = 0;
	fathom_sampler.ready = 1;
	fathom_gate.sampling = sampler_begin;
	return 0;
}

static void sampler_reset(void)
{
	for (uint32_t i = 0; i < fathom_core.nr_cpus; i++)
		fathom_sampler.cpu[i] = (struct sampler_cpu){.words = fathom_sampler.cpu[i].words};
	fathom_sampler.described = 0;
}

static void sampler_start(void)
{
	uint64_t now = fathom_sampler_now();

	for (uint32_t i = 0; i < fathom_core.nr_cpus; i++)
		fathom_sampler.cpu[i].due = now + fathom_sampler.interval;
	fathom_sampler.stop_at = fathom_sampler.stop_after ? now + fathom_sampler.stop_after : 0;
	fathom_store_release(&fathom_sampler_on, 1);
}

static int sampler_check(uint32_t flags, uint64_t arg)
{
	const uint32_t times = FATHOM_SAMPLER_SET_INTERVAL | FATHOM_SAMPLER_STOP_AFTER;

	if (!fathom_sampler.ready)
		return -FATHOM_ENODEV;
	if (flags > 2 * FATHOM_SAMPLER_STOP_AFTER - 1 || (flags & times) == times)
		return -FATHOM_EINVAL;
	if ((flags & FATHOM_SAMPLER_RESET) && fathom_load(&fathom_sampler_on) &&
	    !(flags & FATHOM_SAMPLER_STOP))
		return -FATHOM_EBUSY;
	if ((flags & FATHOM_SAMPLER_SET_INTERVAL) && (arg < 1 || arg > 1000000000))
		return -FATHOM_EINVAL;
	if ((flags & FATHOM_SAMPLER_STOP_AFTER) && arg > 86400000000)
		return -FATHOM_EINVAL;
	return 0;
}

int64_t fathom_sampler_control(uint32_t flags, uint64_t arg)
{
	int err = sampler_check(flags, arg);

	if (err)
		return err;
	if (flags & FATHOM_SAMPLER_STOP)
		fathom_store(&fathom_sampler_on, 0);
	if (flags & FATHOM_SAMPLER_RESET)
		sampler_reset();
	if (flags & FATHOM_SAMPLER_SET_INTERVAL)
		fathom_sampler.interval = arg * 1000;
	if (flags & FATHOM_SAMPLER_STOP_AFTER)
		fathom_sampler_stop_after(arg * 1000);
	if (flags & FATHOM_SAMPLER_START)
		fathom_sampler_describe();
	fathom_sampler_log(flags, arg);
	if (flags & FATHOM_SAMPLER_START)
		sampler_start();
	if (flags & FATHOM_SAMPLER_GET_INTERVAL) {
		uint64_t us = fathom_sampler.interval;

		wire_div(&us, 1000);
		return (int64_t)us;
	}
	if (flags & FATHOM_SAMPLER_IS_RUNNING)
		return fathom_load(&fathom_sampler_on);
	return (int64_t)fathom_sampler_words();
}

void fathom_sampler_stop_after(uint64_t ns)
{
	fathom_sampler.stop_after = ns;
	if (fathom_load(&fathom_sampler_on))
		fathom_sampler.stop_at = ns ? fathom_sampler_now() + ns : 0;
}

void fathom_sampler_stats(struct fathom_sampler_stats *out)
{
	*out = (struct fathom_sampler_stats){.words = fathom_sampler_words(),
					     .capacity =
						     fathom_sampler.capacity * fathom_core.nr_cpus};
	for (uint32_t i = 0; i < fathom_core.nr_cpus; i++) {
		const struct sampler_cpu *c = &fathom_sampler.cpu[i];

		out->samples += c->samples;
		out->cost_ns += c->cost;
		out->cut += c->cut;
		out->endless += c->endless;
		out->nested += c->nested;
		out->full += c->full;
		if (c->cost_max > out->cost_max_ns)
			out->cost_max_ns = c->cost_max;
	}
}
