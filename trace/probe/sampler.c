/* SPDX-License-Identifier: MIT */
/* sampler.c -- look at the running stacks from the timer: into the ring, and into a backtrace buffer of its own. */
#include "fathom/sampler.h"
#include "wire/div.h"
#include "fathom/emit.h"
#include "fathom/errno.h"
#include "fathom/internal.h"
#include "fathom/unwind.h"

/*
 * Each CPU has a stretch of words that its samples are appended to until it is full.
 *
 *	M1  Only the owner writes [head, capacity); an entry is whole before head passes it (release), so that a reader on
 *	    another CPU takes [sent, head) (acquire) at any time.
 *	M2  busy keeps one writer at a time: what interrupts a sample or a mapping finds it set and only counts. A context
 *	    that comes between the test and the set has ended before the set, so plain accesses do.
 *	M3  head goes back to 0 on RESET alone, while the sampler is off.
 */
struct sampler_cpu {
	uint64_t *words;
	uint64_t head; /* owner writes, readers read */
	uint64_t sent; /* of the one reader */
	uint32_t busy;
	uint64_t due; /* ns */
	uint64_t step;
	uint64_t samples, cost, cost_max, cut, nested, full;
	uint64_t bin_count[FATHOM_SAMPLE_BINS], bin_cost[FATHOM_SAMPLE_BINS];
};

static struct {
	struct sampler_cpu cpu[FATHOM_CPUS_MAX];
	uint64_t capacity; /* words a CPU */
	uint64_t interval; /* ns */
	uint64_t stop_at;  /* ns; 0: never */
	uint64_t stop_after;
	uint32_t out;
	uint8_t ready;
} sampler;

uint32_t fathom_sampler_on;

static uint64_t sampler_now(void)
{
	return fathom_ticks_to_ns(fathom_port_clock());
}

/* ---- entries ---- */

/* Names of the attributes behind type, length, time and duration, in the order of the types. */
static const char *const sampler_attrs[WIRE_BTB_TYPES][6] = {
	{"cpu_id", "task_id", "timer_step", "stack_depth", "kernel_frames"},
	{"cpu_id", "mapping_base", "mapping_task_id", "mapping_flags"},
	{"version", "type_count"},
	{"cpu_id", "flags", "argument"},
	{"cpu_id", "hist_bin_count", "hist_bin_size"},
};
static const char *const sampler_head[WIRE_BTB_ENTRY_HEAD] = {"entry_type", "entry_length",
							      "tsc_time", "tsc_duration"};

static uint32_t sampler_nr_attrs(uint32_t type)
{
	uint32_t n = 0;

	while (n < 6 && sampler_attrs[type][n])
		n++;
	return WIRE_BTB_ENTRY_HEAD + n;
}

/* Up to eight characters as a little-endian word; *s moves behind them. */
static uint64_t sampler_chars(const char **s)
{
	uint64_t w = 0;

	for (uint32_t i = 0; i < 8 && **s; i++)
		w |= (uint64_t)(uint8_t) * (*s)++ << (8 * i);
	return w;
}

/* Room for an entry of n words on this CPU, or NULL. busy is held. */
static uint64_t *sampler_room(struct sampler_cpu *c, uint64_t n)
{
	if (n > sampler.capacity - c->head) {
		c->full++;
		return NULL;
	}
	return c->words + c->head;
}

static void sampler_publish(struct sampler_cpu *c, uint64_t n)
{
	fathom_store_release(&c->head,
			     c->head + n); /* pairs with the acquire in fathom_sampler_take() */
}

static int sampler_enter(struct sampler_cpu *c)
{
	if (fathom_load(&c->busy)) {
		c->nested++;
		return 0;
	}
	fathom_store(&c->busy, 1);
	fathom_local_barrier();
	return 1;
}

static void sampler_leave(struct sampler_cpu *c)
{
	fathom_local_barrier();
	fathom_store(&c->busy, 0);
}

/* INFO: the layout of all types, itself included. */
static void sampler_put_info(struct sampler_cpu *c)
{
	uint64_t n = 6 + WIRE_BTB_TYPES, *w, *p;

	for (uint32_t t = 0; t < WIRE_BTB_TYPES; t++)
		n += 2 * sampler_nr_attrs(t);
	w = sampler_room(c, n);
	if (!w)
		return;
	w[0] = WIRE_BTB_INFO;
	w[1] = n;
	w[2] = sampler_now();
	w[3] = 0;
	w[4] = 1;
	w[5] = WIRE_BTB_TYPES;
	p = w + 6;
	for (uint32_t t = 0; t < WIRE_BTB_TYPES; t++)
		*p++ = sampler_nr_attrs(t);
	for (uint32_t t = 0; t < WIRE_BTB_TYPES; t++) {
		for (uint32_t i = 0; i < sampler_nr_attrs(t); i++) {
			const char *s = i < WIRE_BTB_ENTRY_HEAD
						? sampler_head[i]
						: sampler_attrs[t][i - WIRE_BTB_ENTRY_HEAD];

			*p++ = sampler_chars(&s);
			*p++ = sampler_chars(&s);
		}
	}
	sampler_publish(c, n);
}

/* An entry without payload but what the caller writes behind `w`. */
static uint64_t *sampler_begin(struct sampler_cpu *c, uint32_t type, uint64_t n, uint64_t time,
			       uint32_t cpu)
{
	uint64_t *w = sampler_room(c, n);

	if (w) {
		w[0] = type;
		w[1] = n;
		w[2] = time;
		w[3] = 0;
		w[4] = cpu;
	}
	return w;
}

static void sampler_put_control(struct sampler_cpu *c, uint32_t cpu, uint32_t flags, uint64_t arg)
{
	uint64_t *w = sampler_begin(c, WIRE_BTB_CONTROL, 7, sampler_now(), cpu);

	if (w) {
		w[5] = flags;
		w[6] = arg;
		sampler_publish(c, 7);
	}
}

static void sampler_put_stats(struct sampler_cpu *c, uint32_t cpu)
{
	uint64_t n = 7 + 2 * FATHOM_SAMPLE_BINS;
	uint64_t *w = sampler_begin(c, WIRE_BTB_STATS, n, sampler_now(), cpu);

	if (!w)
		return;
	w[5] = FATHOM_SAMPLE_BINS;
	w[6] = FATHOM_SAMPLE_BIN;
	for (uint32_t i = 0; i < FATHOM_SAMPLE_BINS; i++) {
		w[7 + i] = 0;
		w[7 + FATHOM_SAMPLE_BINS + i] = 0;
		for (uint32_t k = 0; k < fathom_core.nr_cpus; k++) {
			w[7 + i] += sampler.cpu[k].bin_count[i];
			w[7 + FATHOM_SAMPLE_BINS + i] += sampler.cpu[k].bin_cost[i];
		}
	}
	sampler_publish(c, n);
}

/* ---- stacks ---- */

/*
 * Frames as they come, innermost first. The first half is kept as it is; behind it the latest ones go round, so that at
 * the end the outermost are there, wherever the stack ended.
 */
struct sampler_frames {
	uint64_t *v;
	uint32_t depth; /* seen */
};

static void sampler_frame(struct sampler_frames *f, uintptr_t ip)
{
	uint32_t half = FATHOM_SAMPLE_FRAMES / 2, at = f->depth++;

	if (at >= FATHOM_SAMPLE_FRAMES)
		at = half + 1 + (at - half - 1) % (half - 1);
	f->v[at] = ip;
}

/* Put the round half in order behind a 0; returns the frames kept. */
static uint32_t sampler_cut(struct sampler_frames *f)
{
	uint32_t half = FATHOM_SAMPLE_FRAMES / 2, n = half - 1;
	uint64_t *tail = f->v + half + 1;
	uint32_t first;

	if (f->depth <= FATHOM_SAMPLE_FRAMES)
		return f->depth;
	f->v[half] = 0;
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

/* Both parts, kernel first; *kernel is how many frames of it there are (as found, before a cut). */
static uint32_t sampler_walk(const struct fathom_sample *s, struct sampler_frames *f,
			     uint32_t *kernel)
{
	struct fathom_unwind u;
	uintptr_t ip;

	f->depth = 0;
	if (s->ip) {
		sampler_frame(f, s->ip);
		fathom_unwind_kernel(&u, s->fp);
		/* The entry code may have linked its frame to the user's: that is where the user part begins. */
		while (f->depth < 0x10000 && (ip = fathom_unwind_next(&u, NULL)) &&
		       ip != s->user_ip)
			sampler_frame(f, ip);
	}
	*kernel = f->depth;
	if (s->user_ip) {
		sampler_frame(f, s->user_ip);
		if (s->read_user) {
			fathom_unwind_user(&u, s->user_fp, s->user_lo,
					   s->user_hi ? s->user_hi : UINTPTR_MAX, s->read_user);
			while (f->depth < 0x10000 && (ip = fathom_unwind_next(&u, NULL)))
				sampler_frame(f, ip);
		}
	}
	return sampler_cut(f);
}

static void sampler_account(struct sampler_cpu *c, uint32_t depth, uint64_t cost)
{
	uint32_t bin = depth / FATHOM_SAMPLE_BIN;

	if (bin >= FATHOM_SAMPLE_BINS)
		bin = FATHOM_SAMPLE_BINS - 1;
	c->bin_count[bin]++;
	c->bin_cost[bin] += cost;
	c->samples++;
	c->cost += cost;
	if (cost > c->cost_max)
		c->cost_max = cost;
	c->cut += depth > FATHOM_SAMPLE_FRAMES;
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
		struct fathom_rec_stack *r =
			fathom_emit_start(&fathom_ev_kernel_stack, FATHOM_EVENT_ON, bytes, &e);

		if (r) {
			r->size = (int32_t)kernel;
			for (uint32_t i = 0; i < kernel; i++)
				r->caller[i] = (uintptr_t)frames[i];
			fathom_emit_end(&fathom_ev_kernel_stack, &e);
		}
	}
	if (kept > kernel) {
		uint32_t n = kept - kernel,
			 room = n < 8 ? 8 : n; /* readers of Linux's format look at eight */
		uint32_t bytes =
			(uint32_t)(sizeof(struct fathom_rec_user_stack) + room * sizeof(uintptr_t));
		struct fathom_rec_user_stack *r =
			fathom_emit_start(&fathom_ev_user_stack, FATHOM_EVENT_ON, bytes, &e);

		if (r) {
			r->tgid = (uint32_t)fathom_port_task();
			for (uint32_t i = 0; i < room; i++)
				r->caller[i] = i < n ? (uintptr_t)frames[kernel + i] : 0;
			fathom_emit_end(&fathom_ev_user_stack, &e);
		}
	}
}

static void sampler_take(struct sampler_cpu *c, uint32_t cpu, const struct fathom_sample *s,
			 uint64_t now)
{
	uint32_t attrs = sampler_nr_attrs(0), kernel, kept;
	uint64_t spare[FATHOM_SAMPLE_FRAMES];
	struct sampler_frames f = {.v = spare};
	uint64_t *w = NULL;

	if (sampler.out & FATHOM_SAMPLE_BUFFER)
		w = sampler_begin(c, WIRE_BTB_STACK, attrs + FATHOM_SAMPLE_FRAMES, now, cpu);
	if (w)
		f.v = w + attrs;
	kept = sampler_walk(s, &f, &kernel);
	if (sampler.out & FATHOM_SAMPLE_RING)
		sampler_to_ring(f.v, kept, kernel);
	c->step++;
	now = sampler_now() - now;
	if (w) {
		w[1] = attrs + kept;
		w[3] = now;
		w[5] = s->task;
		w[6] = c->step;
		w[7] = f.depth;
		w[8] = kernel < kept ? kernel : kept;
		sampler_publish(c, attrs + kept);
	}
	sampler_account(c, f.depth, now);
}

void fathom_sampler_tick_slow(const struct fathom_sample *s)
{
	uint32_t cpu = fathom_port_cpu();
	uint64_t now = sampler_now();
	struct sampler_cpu *c;

	if (!sampler.ready || cpu >= fathom_core.nr_cpus)
		return;
	if (sampler.stop_at && now >= sampler.stop_at) {
		fathom_store(&fathom_sampler_on, 0);
		return;
	}
	c = &sampler.cpu[cpu];
	/* The timer is not the interval: what falls due until half an interval from now is taken now, so none drifts. */
	if (now + sampler.interval / 2 < c->due)
		return;
	if (!sampler_enter(c))
		return;
	c->due = c->due + sampler.interval > now ? c->due + sampler.interval
						 : now + sampler.interval;
	sampler_take(c, cpu, s, now);
	sampler_leave(c);
}

/* ---- control ---- */

int fathom_sampler_init(void *memory, size_t bytes, uint32_t out)
{
	uint64_t *w = memory;

	if (!fathom_core.nr_cpus || !memory || (uintptr_t)memory % 8 || !out || out > 3)
		return -FATHOM_EINVAL;
	if (fathom_load(&fathom_sampler_on))
		return -FATHOM_EBUSY;
	sampler.capacity = bytes / 8 / fathom_core.nr_cpus;
	if (sampler.capacity < 1024)
		return -FATHOM_ENOMEM;
	for (uint32_t i = 0; i < fathom_core.nr_cpus; i++) {
		sampler.cpu[i] = (struct sampler_cpu){.words = w};
		w += sampler.capacity;
	}
	sampler.interval = 1000000;
	sampler.stop_at = sampler.stop_after = 0;
	sampler.out = out;
	sampler.ready = 1;
	return 0;
}

static uint64_t sampler_words(void)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < fathom_core.nr_cpus; i++)
		n += fathom_load_acquire(&sampler.cpu[i].head);
	return n;
}

static void sampler_reset(void)
{
	for (uint32_t i = 0; i < fathom_core.nr_cpus; i++)
		sampler.cpu[i] = (struct sampler_cpu){.words = sampler.cpu[i].words};
}

/* Write with the CPU's buffer held; the caller stays on the CPU. */
static void sampler_log(uint32_t flags, uint64_t arg)
{
	uintptr_t pin = fathom_port_pin();
	uint32_t cpu = fathom_port_cpu();
	struct sampler_cpu *c = &sampler.cpu[cpu];

	if (cpu < fathom_core.nr_cpus && sampler_enter(c)) {
		if (!sampler_words())
			sampler_put_info(c);
		if (!(flags & FATHOM_SAMPLER_NO_ENTRY))
			sampler_put_control(c, cpu, flags, arg);
		if (flags & FATHOM_SAMPLER_WRITE_STATS)
			sampler_put_stats(c, cpu);
		sampler_leave(c);
	}
	fathom_port_unpin(pin);
}

int64_t fathom_sampler_control(uint32_t flags, uint64_t arg)
{
	if (!sampler.ready)
		return -FATHOM_ENODEV;
	if ((flags & FATHOM_SAMPLER_RESET) && fathom_load(&fathom_sampler_on) &&
	    !(flags & FATHOM_SAMPLER_STOP))
		return -FATHOM_EBUSY;
	if ((flags & FATHOM_SAMPLER_SET_INTERVAL) && (arg < 1 || arg > 1000000000))
		return -FATHOM_EINVAL;
	if (flags & FATHOM_SAMPLER_STOP)
		fathom_store(&fathom_sampler_on, 0);
	if (flags & FATHOM_SAMPLER_RESET)
		sampler_reset();
	if (flags & FATHOM_SAMPLER_SET_INTERVAL)
		sampler.interval = arg * 1000;
	sampler_log(flags, arg);
	if (flags & FATHOM_SAMPLER_START) {
		uint64_t now = sampler_now();

		for (uint32_t i = 0; i < fathom_core.nr_cpus; i++)
			sampler.cpu[i].due = now + sampler.interval;
		sampler.stop_at = sampler.stop_after ? now + sampler.stop_after : 0;
		fathom_store_release(&fathom_sampler_on, 1);
	}
	if (flags & FATHOM_SAMPLER_GET_INTERVAL) {
		uint64_t us = sampler.interval;

		wire_div(&us, 1000);
		return (int64_t)us;
	}
	if (flags & FATHOM_SAMPLER_IS_RUNNING)
		return fathom_load(&fathom_sampler_on);
	return (int64_t)sampler_words();
}

void fathom_sampler_stop_after(uint64_t ns)
{
	sampler.stop_after = ns;
	if (fathom_load(&fathom_sampler_on))
		sampler.stop_at = ns ? sampler_now() + ns : 0;
}

void fathom_sampler_map(uint64_t task, uintptr_t base, const char *name, int gone)
{
	uintptr_t pin = fathom_port_pin();
	uint32_t cpu = fathom_port_cpu();
	uint64_t len = 0, n, *w;

	while (len < 255 && name[len])
		len++;
	n = sampler_nr_attrs(1) + len / 8 + 1;
	if (sampler.ready && cpu < fathom_core.nr_cpus && sampler_enter(&sampler.cpu[cpu])) {
		struct sampler_cpu *c = &sampler.cpu[cpu];

		if (!sampler_words())
			sampler_put_info(c);
		w = sampler_begin(c, WIRE_BTB_MAPPING, n, sampler_now(), cpu);
		if (w) {
			w[5] = base;
			w[6] = task;
			w[7] = gone != 0;
			for (uint64_t i = 8; i < n; i++)
				w[i] = sampler_chars(&name);
			sampler_publish(c, n);
		}
		sampler_leave(c);
	}
	fathom_port_unpin(pin);
}

void fathom_sampler_stats(struct fathom_sampler_stats *out)
{
	*out = (struct fathom_sampler_stats){.words = sampler_words(),
					     .capacity = sampler.capacity * fathom_core.nr_cpus};
	for (uint32_t i = 0; i < fathom_core.nr_cpus; i++) {
		const struct sampler_cpu *c = &sampler.cpu[i];

		out->samples += c->samples;
		out->cost_ns += c->cost;
		out->cut += c->cut;
		out->nested += c->nested;
		out->full += c->full;
		if (c->cost_max > out->cost_max_ns)
			out->cost_max_ns = c->cost_max;
	}
}

uint64_t fathom_sampler_take(uint32_t cpu, const uint64_t **words)
{
	struct sampler_cpu *c = &sampler.cpu[cpu];
	uint64_t head, n;

	if (!sampler.ready || cpu >= fathom_core.nr_cpus)
		return 0;
	head = fathom_load_acquire(&c->head); /* pairs with the release in sampler_publish() */
	*words = c->words + c->sent;
	n = head - c->sent;
	c->sent = head;
	return n;
}
