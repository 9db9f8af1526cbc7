/* SPDX-License-Identifier: MIT */
/* core.c -- set-up: carves the one memory block into rings and scratch, switches recording, converts the clock. */
#include "wire/cold.h"
#include "wire/div.h"
#include "fathom/inside/errno.h"
#include "fathom/inside/emit.h"
#include "fathom/inside/patch.h"
#include "fathom/inside/view.h"
#include "wire/format.h"
#include "events/lock.h"
#include "events/registry.h"
#include "functions/extra.h"
#include "functions/sites.h"
#include "functions/tracers.h"

/* Stands where there is no CPU: the fast paths, which do not ask for NULL, find no room in it and write nothing. */
static const union {
	uint8_t head[offsetof(struct fathom_ring, lagging)];
	struct {
		uint8_t before[offsetof(struct fathom_ring, flags)];
		uint32_t flags;
	} of;
} __attribute__((aligned(__alignof__(struct fathom_ring))))
core_closed = {.of.flags = FATHOM_RING_OFF};
#define CORE_CLOSED ((struct fathom_ring *)&core_closed)

struct fathom_core fathom_core;
struct fathom_hot fathom_hot = {.ring = {[0 ... FATHOM_CPUS_MAX] = CORE_CLOSED},
				.graph_plain = FATHOM_GRAPH_PLAIN(1)};

static struct fathom_ring core_rings[FATHOM_CPUS_MAX];

#define CORE_ALIGN WIRE_PAGE_BYTES

#if FATHOM_DUMP_BYTES
static size_t core_dump_bytes(uint32_t nr_cpus)
{
	struct fathom_view_config view = {.nr_cpus = nr_cpus};
	size_t bytes = fathom_view_bytes(&view);

	return bytes > FATHOM_DUMP_BYTES ? bytes : FATHOM_DUMP_BYTES;
}
#else
#define core_dump_bytes(nr_cpus) ((size_t)0 * (nr_cpus))
#endif

static size_t core_round(size_t bytes)
{
	return (bytes + CORE_ALIGN - 1) & ~(size_t)(CORE_ALIGN - 1);
}

/* Bytes beside the rings: what events under a gate and fathom_dump() need. */
static size_t core_fixed_bytes(uint32_t nr_cpus)
{
	return core_round((size_t)nr_cpus * FATHOM_SCRATCH_BYTES + core_dump_bytes(nr_cpus));
}

size_t fathom_memory_need(uint32_t nr_cpus, uint32_t pages_per_cpu)
{
	return core_fixed_bytes(nr_cpus) + nr_cpus * fathom_ring_bytes(pages_per_cpu);
}

static void clock_ratio_set(uint32_t mult, uint32_t shift)
{
	fathom_core.ns_mult = mult;
	fathom_core.ns_shift = shift;
	fathom_hot.clock_whole = mult >> shift;
	fathom_hot.clock_fraction = shift ? wire_shl(mult & ((1u << shift) - 1), 64 - shift) : 0;
}

/*
 * mult and shift with mult < 2^32 as large as that allows: ns = ticks * mult >> shift. Found by long division bit by
 * bit, since a 32-bit target has no 64-bit one.
 */
void fathom_clock_hz_set(uint64_t hz)
{
	uint64_t rest = 1000000000u, mult = 0;
	uint32_t shift = 0;

	if (!hz || hz == 1000000000u) {
		clock_ratio_set(1, 0);
		return;
	}
	while (rest >= hz) {
		rest -= hz;
		mult++;
	}
	while (shift < 31 && mult < 0x80000000u && rest) {
		rest <<= 1;
		mult <<= 1;
		shift++;
		if (rest >= hz) {
			rest -= hz;
			mult++;
		}
	}
	clock_ratio_set((uint32_t)mult, shift);
}

/* A 64 x 32 bit product shifted right, in two halves: nothing is lost on the way. */
uint64_t fathom_ticks_to_ns(uint64_t ticks)
{
	uint32_t mult = fathom_core.ns_mult, shift = fathom_core.ns_shift;
	uint64_t lo = (uint64_t)(uint32_t)ticks * mult;
	uint64_t hi = (ticks >> 32) * mult;

	if (mult <= 1 && !shift)
		return ticks;
	return wire_shr(lo, shift) + wire_shl(hi, 32 - shift);
}

uint64_t fathom_now(void)
{
	return fathom_port_clock();
}

static int core_check(const struct fathom_config *c)
{
	if (!c || !c->memory || ((uintptr_t)c->memory & (CORE_ALIGN - 1)))
		return -FATHOM_EINVAL;
	if (!c->nr_cpus || c->nr_cpus > FATHOM_CPUS_MAX)
		return -FATHOM_EINVAL;
	if (c->pages_per_cpu &&
	    (c->pages_per_cpu < FATHOM_RING_PAGES_MIN || c->pages_per_cpu > FATHOM_RING_PAGES_MAX))
		return -FATHOM_EINVAL;
	return 0;
}

/*
 * No other CPU runs now, and nobody stands inside a function's NOPs: the one moment in which they can all be made one
 * instruction. No cross-CPU call is asked of a kernel that has just begun, unless it says that others run.
 */
static void core_find_functions(void)
{
#if FATHOM_FUNCTIONS
	struct fathom_config alone = fathom_core.config;

	if (!alone.init_live) {
		alone.sync = 0;
		alone.stop_cpus = 0;
	}
	fathom_arch_patch_init(&alone);
	fathom_sites_init();
#endif
	fathom_arch_patch_init(&fathom_core.config);
}

#if FATHOM_FUNCTIONS
/* Those of tracers that the port asked for; they stay in the registry over fathom_exit(). */
static void core_add_events(void)
{
	for (uint32_t i = 0; i < FATHOM_EXTRAS; i++) {
		const struct fathom_extra *x = fathom_extra_at(i);

		if (x && x->events)
			fathom_object_add_locked(x->events);
	}
}
#else
#define core_add_events() ((void)0)
#endif

int fathom_init(const struct fathom_config *c)
{
	size_t fixed, per_cpu;
	uint32_t pages;
	uint8_t *at;
	int err = core_check(c);

	if (err)
		return err;
	if (fathom_core.nr_cpus)
		return -FATHOM_EBUSY;
	fixed = core_fixed_bytes(c->nr_cpus);
	if (c->memory_bytes < fixed)
		return -FATHOM_ENOMEM;
	pages = c->pages_per_cpu;
	if (!pages)
		pages = fathom_ring_pages_in((c->memory_bytes - fixed) / c->nr_cpus / 8 * 3);
	per_cpu = fathom_ring_bytes(pages);
	if (pages < FATHOM_RING_PAGES_MIN || (c->memory_bytes - fixed) / c->nr_cpus < per_cpu)
		return -FATHOM_ENOMEM;
	at = c->memory;
	for (uint32_t i = 0; i < c->nr_cpus; i++, at += per_cpu) {
		err = fathom_ring_init(&core_rings[i], at, per_cpu, i);
		if (err)
			return err;
		fathom_hot.ring[i] = &core_rings[i];
	}
	for (uint32_t i = 0; i < c->nr_cpus; i++, at += FATHOM_SCRATCH_BYTES) {
		fathom_core.scratch[i] = at;
		fathom_core.scratch_used[i] = 0;
	}
	fathom_core.dump = at;
	fathom_core.dump_bytes = core_dump_bytes(c->nr_cpus);
	fathom_core.spare = (uint8_t *)c->memory + c->nr_cpus * per_cpu + fixed;
	fathom_core.spare_bytes = c->memory_bytes - c->nr_cpus * per_cpu - fixed;
	fathom_core.config = *c;
	fathom_text_lookup = c->symbol;
	if (!c->release)
		fathom_core.config.release = "fathom";
	fathom_clock_hz_set(c->clock_hz);
	fathom_core.boot = fathom_port_clock();
	fathom_core.no_cpu = 0;
	fathom_core.off = 0; /* the rings start enabled */
	core_add_events();
	err = fathom_registry_init();
	if (err)
		return err;
	core_find_functions();
	/* Pairs with the relaxed load in fathom_emit_cold(): other CPUs start after init, by the caller's own means. */
	__atomic_store_n(&fathom_core.nr_cpus, c->nr_cpus, __ATOMIC_RELEASE);
#if FATHOM_DEBUG
	fathom_port_check_alone(c->sink, c->sink_arg);
#endif
	return 0;
}

void fathom_exit(void)
{
	if (!fathom_core.nr_cpus)
		return;
	fathom_lock();
	if (fathom_gate.exit)
		fathom_gate.exit();
#if FATHOM_FUNCTIONS
	fathom_tracer_exit();
#endif
	fathom_registry_exit();
	__atomic_store_n(&fathom_core.nr_cpus, 0, __ATOMIC_RELEASE);
	for (uint32_t i = 0; i < FATHOM_CPUS_MAX; i++) {
		fathom_hot.ring[i] = CORE_CLOSED;
		fathom_core.scratch[i] = NULL;
	}
	fathom_core.spare = NULL;
	fathom_core.spare_bytes = 0;
	fathom_unlock();
}

size_t fathom_memory_left(void)
{
	return fathom_core.spare_bytes & ~(size_t)(CORE_ALIGN - 1);
}

void *fathom_memory_cut(size_t bytes)
{
	uint8_t *at = fathom_core.spare;
	size_t take = core_round(bytes);

	if (!bytes || take < bytes || take > fathom_core.spare_bytes)
		return NULL;
	fathom_core.spare += take;
	fathom_core.spare_bytes -= take;
	return at;
}

void *fathom_memory_take(size_t bytes)
{
	void *at = fathom_memory_cut(bytes);

	if (at)
		__builtin_memset(at, 0, bytes);
	return at;
}

struct fathom_ring *fathom_ring_of(uint32_t cpu)
{
	return cpu < fathom_core.nr_cpus ? fathom_hot.ring[cpu] : NULL;
}

int fathom_cpu_stats(uint32_t cpu, struct fathom_ring_stats *out)
{
	const struct fathom_ring *r = fathom_ring_of(cpu);

	if (!r)
		return -FATHOM_EINVAL;
	fathom_ring_stats(r, out);
	return 0;
}

#define SWITCH_TRIES 16 /* each is one more context that switched meanwhile */

void fathom_rings_follow(struct fathom_ring *const *rings, const uint32_t *off)
{
	for (int i = 0; i < SWITCH_TRIES; i++) {
		uint32_t now = __atomic_load_n(off, __ATOMIC_SEQ_CST);

		for (uint32_t cpu = 0; cpu < fathom_core.nr_cpus; cpu++)
			fathom_ring_enable(__atomic_load_n(&rings[cpu], __ATOMIC_ACQUIRE), !now);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (__atomic_load_n(off, __ATOMIC_SEQ_CST) == now)
			return;
	}
}

static void core_switch(uint32_t off)
{
	__atomic_store_n(&fathom_core.off, off, __ATOMIC_SEQ_CST);
	fathom_rings_follow(fathom_hot.ring, &fathom_core.off);
}

void fathom_tracing_on(void)
{
	core_switch(0);
}

void fathom_tracing_off(void)
{
	core_switch(1);
}

int fathom_tracing_is_on(void)
{
	return fathom_core.nr_cpus && !fathom_load(&fathom_core.off);
}
