/* SPDX-License-Identifier: MIT */
/* sampler_buffer.c -- the sampler's words: a round of them a CPU, and the entries that go in. */
#include "samples/sampler_buffer.h"
#include "fathom/inside/emit.h"
#include "fathom/inside/internal.h"

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

struct sampler fathom_sampler;

uint64_t fathom_sampler_now(void)
{
	return fathom_ticks_to_ns(fathom_port_clock());
}

int fathom_sampler_enter(struct sampler_cpu *c)
{
	if (fathom_load(&c->busy)) {
		c->nested++;
		return 0;
	}
	fathom_store(&c->busy, 1);
	fathom_local_barrier();
	return 1;
}

void fathom_sampler_leave(struct sampler_cpu *c)
{
	fathom_local_barrier();
	fathom_store(&c->busy, 0);
}

/* Where n words fit on this CPU, or NULL. No entry is longer than a third of the buffer, so an empty one takes any. */
static uint64_t *sampler_room(struct sampler_cpu *c, uint64_t n)
{
	uint64_t tail = fathom_load_acquire(&c->tail); /* pairs with the release in _take() */
	uint64_t head = c->head;

	if (head < tail ? n < tail - head : n <= fathom_sampler.capacity - head)
		return c->words + head;
	if (head >= tail && n < tail)
		return c->words;
	c->full++;
	return NULL;
}

void fathom_sampler_publish(struct sampler_cpu *c, uint64_t *w, uint64_t n)
{
	uint64_t at = (uint64_t)(w - c->words);

	if (at != c->head)
		c->end = c->head;		/* back to the front: M2 */
	fathom_store_release(&c->head, at + n); /* pairs with the acquire in _take() */
}

uint64_t *fathom_sampler_begin(struct sampler_cpu *c, uint32_t type, uint64_t n, uint64_t time,
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

uint64_t fathom_sampler_words(void)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < fathom_core.nr_cpus; i++) {
		const struct sampler_cpu *c = &fathom_sampler.cpu[i];
		uint64_t head = fathom_load_acquire(&c->head), tail = fathom_load_acquire(&c->tail);

		n += head < tail ? c->end - tail + head : head - tail;
	}
	return n;
}

uint64_t fathom_sampler_take(uint32_t cpu, const uint64_t **words)
{
	struct sampler_cpu *c = &fathom_sampler.cpu[cpu];
	uint64_t head, from;

	if (!fathom_sampler.ready || cpu >= fathom_core.nr_cpus)
		return 0;
	from = c->taken;
	fathom_store_release(&c->tail, from); /* the words of the last call may be written again */
	head = fathom_load_acquire(&c->head); /* pairs with the release in _publish() */
	if (head < from) {
		if (from < c->end) {
			*words = c->words + from;
			c->taken = c->end;
			return c->end - from;
		}
		from = 0;
	}
	*words = c->words + from;
	c->taken = head;
	return head - from;
}

/* ---- entries ---- */

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

/* The layout of all types, its own included. */
static void sampler_put_info(struct sampler_cpu *c)
{
	uint64_t n = 6 + WIRE_BTB_TYPES, *w, *p;

	for (uint32_t t = 0; t < WIRE_BTB_TYPES; t++)
		n += 2 * sampler_nr_attrs(t);
	w = fathom_sampler_begin(c, WIRE_BTB_INFO, n, fathom_sampler_now(), 0);
	if (!w)
		return;
	w[4] = 1; /* version: INFO has no CPU */
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
	fathom_sampler_publish(c, w, n);
}

static void sampler_put_control(struct sampler_cpu *c, uint32_t cpu, uint32_t flags, uint64_t arg)
{
	uint64_t *w = fathom_sampler_begin(c, WIRE_BTB_CONTROL, 7, fathom_sampler_now(), cpu);

	if (w) {
		w[5] = flags;
		w[6] = arg;
		fathom_sampler_publish(c, w, 7);
	}
}

static void sampler_put_stats(struct sampler_cpu *c, uint32_t cpu)
{
	uint64_t n = 7 + 2 * FATHOM_SAMPLE_BINS;
	uint64_t *w = fathom_sampler_begin(c, WIRE_BTB_STATS, n, fathom_sampler_now(), cpu);

	if (!w)
		return;
	w[5] = FATHOM_SAMPLE_BINS;
	w[6] = FATHOM_SAMPLE_BIN;
	for (uint32_t i = 0; i < FATHOM_SAMPLE_BINS; i++) {
		w[7 + i] = 0;
		w[7 + FATHOM_SAMPLE_BINS + i] = 0;
		for (uint32_t k = 0; k < fathom_core.nr_cpus; k++) {
			w[7 + i] += fathom_sampler.cpu[k].bin_count[i];
			w[7 + FATHOM_SAMPLE_BINS + i] += fathom_sampler.cpu[k].bin_cost[i];
		}
	}
	fathom_sampler_publish(c, w, n);
}

static void sampler_put_mapping(struct sampler_cpu *c, uint32_t cpu, uint64_t task, uintptr_t base,
				const char *name, int gone)
{
	uint64_t len = 0, n, *w;

	while (len < 255 && name[len])
		len++;
	n = sampler_nr_attrs(1) + len / 8 + 1;
	w = fathom_sampler_begin(c, WIRE_BTB_MAPPING, n, fathom_sampler_now(), cpu);
	if (!w)
		return;
	w[5] = base;
	w[6] = task;
	w[7] = gone != 0;
	for (uint64_t i = 8; i < n; i++)
		w[i] = sampler_chars(&name);
	fathom_sampler_publish(c, w, n);
}

/* This CPU's buffer for a writer in a task, which stays here until sampler_unhold(); NULL: not now, or there is none. */
static struct sampler_cpu *sampler_hold(uintptr_t *pin, uint32_t *cpu)
{
	if (!(fathom_sampler.out & FATHOM_SAMPLE_BUFFER))
		return NULL;
	*pin = fathom_port_pin();
	*cpu = fathom_port_cpu();
	if (*cpu < fathom_core.nr_cpus && fathom_sampler_enter(&fathom_sampler.cpu[*cpu]))
		return &fathom_sampler.cpu[*cpu];
	fathom_port_unpin(*pin);
	return NULL;
}

static void sampler_unhold(struct sampler_cpu *c, uintptr_t pin)
{
	fathom_sampler_leave(c);
	fathom_port_unpin(pin);
}

void fathom_sampler_map(uint64_t task, uintptr_t base, const char *name, int gone)
{
	struct sampler_cpu *c;
	uintptr_t pin;
	uint32_t cpu;

	if (!fathom_sampler.ready)
		return;
	/* Before anyone asked for samples the port will tell of this one later, unless it cannot. */
	if (!fathom_sampler.described) {
		if (fathom_sampler.announce)
			return;
		fathom_sampler_describe();
	}
	c = sampler_hold(&pin, &cpu);
	if (c) {
		sampler_put_mapping(c, cpu, task, base, name, gone);
		sampler_unhold(c, pin);
	}
}

void fathom_sampler_describe(void)
{
	struct sampler_cpu *c;
	uintptr_t pin;
	uint32_t cpu;

	if (fathom_sampler.described)
		return;
	c = sampler_hold(&pin, &cpu);
	if (!c)
		return;
	sampler_put_info(c);
	sampler_unhold(c, pin);
	fathom_sampler.described = 1;
	if (fathom_sampler.announce)
		fathom_sampler.announce();
}

void fathom_sampler_log(uint32_t flags, uint64_t arg)
{
	struct sampler_cpu *c;
	uintptr_t pin;
	uint32_t cpu;

	if ((flags & FATHOM_SAMPLER_NO_ENTRY) && !(flags & FATHOM_SAMPLER_WRITE_STATS))
		return;
	c = sampler_hold(&pin, &cpu);
	if (!c)
		return;
	if (!(flags & FATHOM_SAMPLER_NO_ENTRY))
		sampler_put_control(c, cpu, flags, arg);
	if (flags & FATHOM_SAMPLER_WRITE_STATS)
		sampler_put_stats(c, cpu);
	sampler_unhold(c, pin);
}
