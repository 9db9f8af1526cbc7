/* SPDX-License-Identifier: MIT */
/* hist.c -- the histogram's table: lock-free insert and sum, clear, sort. */
#include "control/hist.h"
#include "control/pool.h"
#include "control/str.h"
#include "fathom/inside/emit.h"
#include "fathom/inside/unwind.h"
#include "wire/copy.h"

#define HIST_SPINS \
	256 /* how long a new key of another context is waited for before the event is dropped */

static void sum_add(struct hist_sum *s, uint64_t v)
{
	uint32_t low = (uint32_t)v, high = (uint32_t)(v >> 32);
	uint32_t was = __atomic_fetch_add(&s->low, low, __ATOMIC_RELAXED);

	high += was + low < was;
	if (high)
		__atomic_fetch_add(&s->high, high, __ATOMIC_RELAXED);
}

uint64_t fathom_hist_sum(const struct hist_sum *s)
{
	return (uint64_t)__atomic_load_n(&s->high, __ATOMIC_RELAXED) << 32 |
	       __atomic_load_n(&s->low, __ATOMIC_RELAXED);
}

static uint64_t hist_log2(uint64_t v)
{
	uint64_t n = 0;

	/* Linux rounds up to a power of two: 5..8 are ~ 2^3. */
	while (n < 63 && ((uint64_t)1 << n) < v)
		n++;
	return n;
}

static uint64_t hist_number(const struct hist_field *f, const void *record, uint32_t bytes,
			    uint32_t cpu)
{
	uint64_t v;

	if (f->modifier == HIST_TIMESTAMP)
		v = fathom_ticks_to_ns(fathom_now());
	else if (f->op.kind == FATHOM_OPERAND_CPU)
		v = cpu;
	else
		v = fathom_operand_number(&f->op, record, bytes);
	if (f->modifier == HIST_LOG2)
		return hist_log2(v);
	if (f->modifier == HIST_BUCKETS)
		return ctl_div(v, f->buckets) * f->buckets;
	return v;
}

static void hist_text(const struct hist_field *f, const void *record, uint32_t bytes, uint8_t *to)
{
	const char *s;
	char comm[16];
	uint32_t n;

	if (f->op.kind == FATHOM_OPERAND_COMM) {
		struct wire_common c;

		__builtin_memcpy(&c, record, sizeof(c));
		fathom_ctl_comm(c.pid, comm);
		s = comm;
		n = (uint32_t)ctl_len(comm);
	} else {
		s = fathom_operand_text(&f->op, record, bytes, &n);
	}
	if (n > f->size - 1u)
		n = f->size - 1u;
	wire_copy(to, s, n);
}

static void hist_stack(uint8_t *to)
{
	uintptr_t frame[HIST_FRAMES];
	uint32_t n = fathom_unwind((uintptr_t)__builtin_frame_address(0), frame, HIST_FRAMES);

	for (uint32_t i = 0; i < n; i++) {
		uint64_t v = frame[i];

		__builtin_memcpy(to + i * 8, &v, 8);
	}
}

void fathom_hist_take(const struct hist_field *f, const void *record, uint32_t bytes, uint32_t cpu,
		      uint8_t *to)
{
	uint64_t v;

	wire_fill(to, 0, f->size);
	if (f->modifier == HIST_STACKTRACE) {
		hist_stack(to);
	} else if (f->size == 8 || f->modifier == HIST_EXECNAME) {
		v = hist_number(f, record, bytes, cpu);
		__builtin_memcpy(to, &v, 8);
		if (f->modifier == HIST_EXECNAME)
			fathom_ctl_comm((int32_t)v, (char *)to + 8);
	} else {
		hist_text(f, record, bytes, to);
	}
}

static void hist_make_key(const struct ctl_hist *h, const void *record, uint32_t bytes,
			  uint32_t cpu, uint8_t *key)
{
	for (uint32_t i = 0; i < h->nr_keys; i++)
		fathom_hist_take(&h->key[i], record, bytes, cpu, key + h->key[i].at);
}

static uint32_t hist_hash(const uint8_t *key, uint32_t n)
{
	uint32_t h = 2166136261u;

	for (uint32_t i = 0; i < n; i++)
		h = (h ^ key[i]) * 16777619u;
	h ^= h >> 15;
	return h ? h : 1; /* 0 is an empty slot */
}

int32_t fathom_hist_seek(const struct ctl_hist *h, const uint8_t *key)
{
	uint32_t hash = hist_hash(key, h->key_bytes), mask = h->size * 2 - 1, at = hash & mask;

	for (uint32_t probes = 0; probes <= mask; probes++, at = (at + 1) & mask) {
		const struct hist_slot *s = &h->slots[at];
		uint32_t seen = __atomic_load_n(&s->hash, __ATOMIC_ACQUIRE), entry;

		if (!seen)
			return -1;
		if (seen != hash)
			continue;
		entry = __atomic_load_n(&s->entry, __ATOMIC_ACQUIRE); /* pairs with H2's release */
		if (entry && wire_same(hist_key(h, entry - 1), key, h->key_bytes))
			return (int32_t)(entry - 1);
	}
	return -1;
}

/* The entry of the key, a new one if there is none. -1: no room, or somebody else is just making it. */
static int32_t hist_find(struct ctl_hist *h, const uint8_t *key)
{
	uint32_t hash = hist_hash(key, h->key_bytes), mask = h->size * 2 - 1, at = hash & mask;

	for (uint32_t probes = 0; probes <= mask; probes++, at = (at + 1) & mask) {
		struct hist_slot *s = &h->slots[at];
		uint32_t seen = __atomic_load_n(&s->hash, __ATOMIC_ACQUIRE), entry, spins = 0;

		if (!seen && __atomic_load_n(&h->used, __ATOMIC_RELAXED) < h->size &&
		    __atomic_compare_exchange_n(&s->hash, &seen, hash, 0, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE)) {
			entry = __atomic_fetch_add(&h->used, 1, __ATOMIC_RELAXED);
			if (entry >= h->size)
				return -1; /* the slot stays without an entry: later ones drop too */
			wire_copy(hist_key(h, entry), key, h->key_bytes);
			__atomic_store_n(&s->entry, entry + 1, __ATOMIC_RELEASE); /* H2 */
			return (int32_t)entry;
		}
		if (!seen)
			return -1;
		if (seen != hash)
			continue;
		/* Pairs with the release above. An interrupted owner on this CPU never gets there while we wait. */
		while (!(entry = __atomic_load_n(&s->entry, __ATOMIC_ACQUIRE)) &&
		       spins++ < HIST_SPINS)
			;
		if (!entry)
			return -1;
		if (wire_same(hist_key(h, entry - 1), key, h->key_bytes))
			return (int32_t)(entry - 1);
	}
	return -1;
}

static uint64_t hist_value(const struct hist_field *f, const struct hist_run *run)
{
	if (f->hitcount)
		return 1;
	if (f->var)
		return run->var[f->var - 1];
	if (f->ref)
		return run->ref[f->ref - 1];
	return hist_number(f, run->record, run->bytes, run->cpu);
}

#define HIST_KEY_BYTES_MAX (HIST_FRAMES * 8 + 2 * HIST_TEXT_MAX)

/* An event for which a variable of another histogram is not there does not count, as in Linux. */
void fathom_hist_update(struct ctl_hist *h, const void *record, uint32_t bytes, uint32_t cpu)
{
	struct hist_run run; /* variables are set before they are read */
	uint8_t key[HIST_KEY_BYTES_MAX];
	struct hist_sum *sums;
	int32_t entry;
	int missed;

	if (__atomic_load_n(&h->paused, __ATOMIC_RELAXED) || bytes < sizeof(struct wire_common))
		return;
	run.record = record;
	run.bytes = bytes;
	run.cpu = cpu;
	hist_make_key(h, record, bytes, cpu, key);
	if (h->nr_refs && !fathom_hist_refs_read(h, key, &run))
		return;
	sum_add(&h->hits, 1);
	entry = hist_find(h, key);
	if (entry < 0) {
		sum_add(&h->drops, 1);
		return;
	}
	missed = h->nr_vars && fathom_hist_vars_keep(h, (uint32_t)entry, &run);
	sums = hist_sums(h, (uint32_t)entry);
	for (uint32_t i = 0; i < h->nr_values; i++)
		sum_add(&sums[i], hist_value(&h->value[i], &run));
	if (h->nr_actions && fathom_hist_actions_run(h, (uint32_t)entry, &run))
		missed = 1;
	if (missed)
		sum_add(&h->drops, 1);
}

int fathom_hist_alloc(struct ctl_hist *h)
{
	size_t slots = (size_t)h->size * 2 * sizeof(struct hist_slot);
	size_t order = (size_t)h->size * sizeof(uint32_t);
	uint8_t *mem;

	h->entry_bytes = h->key_bytes + h->nr_values * (uint32_t)sizeof(struct hist_sum);
	h->entry_bytes = fathom_hist_cells_place(h, h->entry_bytes);
	h->entry_bytes = fathom_hist_actions_place(h, h->entry_bytes);
	mem = fathom_pool_get(slots + order + (size_t)h->size * h->entry_bytes);
	if (!mem)
		return -FATHOM_ENOMEM;
	h->table = mem;
	h->slots = (struct hist_slot *)(void *)mem;
	h->order = (uint32_t *)(void *)(mem + slots);
	h->entries = mem + slots + order;
	return 0;
}

/* Writers may be at work: they may lose what they add meanwhile, never touch anything outside. */
void fathom_hist_clear(struct ctl_hist *h)
{
	uint32_t was = h->paused;

	__atomic_store_n(&h->paused, 1, __ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < h->size * 2; i++) {
		__atomic_store_n(&h->slots[i].entry, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&h->slots[i].hash, 0, __ATOMIC_RELAXED);
	}
	__builtin_memset(h->entries, 0, (size_t)h->size * h->entry_bytes);
	__atomic_store_n(&h->used, 0, __ATOMIC_RELEASE);
	h->hits = h->drops = (struct hist_sum){0, 0};
	__atomic_store_n(&h->paused, was, __ATOMIC_SEQ_CST);
}

static int hist_compare_field(const struct ctl_hist *h, const struct hist_sort *s, uint32_t a,
			      uint32_t b)
{
	uint64_t x, y;

	if (!s->is_key) {
		x = fathom_hist_sum(&hist_sums(h, a)[s->index]);
		y = fathom_hist_sum(&hist_sums(h, b)[s->index]);
	} else {
		const struct hist_field *f = &h->key[s->index];
		const uint8_t *ka = hist_key(h, a) + f->at, *kb = hist_key(h, b) + f->at;

		if (f->size != 8 && f->modifier != HIST_EXECNAME)
			return __builtin_memcmp(ka, kb, f->size);
		__builtin_memcpy(&x, ka, 8);
		__builtin_memcpy(&y, kb, 8);
		if (f->op.is_signed)
			return (int64_t)x < (int64_t)y ? -1 : (int64_t)x > (int64_t)y;
	}
	return x < y ? -1 : x > y;
}

/* A total order: ties are broken by age, so that what changes while it is sorted can at worst misplace a line. */
static int hist_before(const struct ctl_hist *h, uint32_t a, uint32_t b)
{
	for (uint32_t i = 0; i < h->nr_sorts; i++) {
		int c = hist_compare_field(h, &h->sort[i], a, b);

		if (c)
			return h->sort[i].descending ? c > 0 : c < 0;
	}
	return a < b;
}

static void hist_sift(const struct ctl_hist *h, uint32_t *order, uint32_t at, uint32_t n)
{
	for (;;) {
		uint32_t big = at, child = 2 * at + 1, t;

		if (child < n && hist_before(h, order[big], order[child]))
			big = child;
		if (child + 1 < n && hist_before(h, order[big], order[child + 1]))
			big = child + 1;
		if (big == at)
			return;
		t = order[at];
		order[at] = order[big];
		order[big] = t;
		at = big;
	}
}

/* What shares and bars are measured by. */
static void hist_totals(struct ctl_hist *h, uint32_t n)
{
	for (uint32_t k = 0; k < h->nr_values; k++) {
		h->total[k] = h->most[k] = 0;
		for (uint32_t i = 0; i < n; i++) {
			uint64_t v = fathom_hist_sum(&hist_sums(h, i)[k]);

			h->total[k] += v;
			if (v > h->most[k])
				h->most[k] = v;
		}
	}
}

/* Heap sort: no recursion, no memory, n log n whatever the data. */
void fathom_hist_sort(struct ctl_hist *h, uint32_t *nr)
{
	uint32_t n = __atomic_load_n(&h->used, __ATOMIC_ACQUIRE);

	if (n > h->size)
		n = h->size;
	*nr = n;
	hist_totals(h, n);
	for (uint32_t i = 0; i < n; i++)
		h->order[i] = i;
	for (uint32_t i = n / 2; i > 0; i--)
		hist_sift(h, h->order, i - 1, n);
	for (uint32_t i = n; i > 1; i--) {
		uint32_t t = h->order[0];

		h->order[0] = h->order[i - 1];
		h->order[i - 1] = t;
		hist_sift(h, h->order, 0, i - 1);
	}
}
