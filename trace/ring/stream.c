/* SPDX-License-Identifier: MIT */
/* stream.c -- the 16-bit stream recorder: events to words, words to compressed blocks. */
#include "fathom/stream.h"
#include "fathom/inside/errno.h"
#include "fathom/inside/local.h"
#include "fathom/port_default.h"
#include "ring/stream.h"

struct stream fathom_stream;

/* ---- storage ---- */

static uint32_t stream_padded(uint32_t bytes)
{
	return (uint32_t)sizeof(struct stream_block) + ((bytes + 3u) & ~3u);
}

const struct stream_block *fathom_stream_next(const struct stream_cpu *c, uint32_t *at)
{
	const struct stream_block *b;

	if (c->wrap && *at >= c->wrap)
		*at = 0;
	b = (const void *)(c->store + *at);
	*at += stream_padded(b->packed);
	return b;
}

static void stream_drop_oldest(struct stream_cpu *c)
{
	const struct stream_block *b = fathom_stream_next(c, &c->oldest);

	c->stats.overwritten += b->words;
	c->stats.block_words -= b->words;
	c->stats.packed_bytes -= b->packed;
	c->stats.blocks--;
	if (c->wrap && c->oldest >= c->wrap) {
		c->oldest = 0;
		c->wrap = 0;
	}
	if (!c->stats.blocks)
		c->oldest = c->free = c->wrap = 0;
}

/* Bytes that lie free behind c->free. */
static uint32_t stream_room(const struct stream_cpu *c)
{
	return (c->wrap ? c->oldest : c->store_bytes) - c->free;
}

/* Make room for `need` bytes in a row by giving up the oldest blocks. */
static int stream_make_room(struct stream_cpu *c, uint32_t need)
{
	if (need > c->store_bytes / 2)
		return 0;
	while (stream_room(c) < need) {
		if (!c->wrap && c->store_bytes - c->free < need && c->stats.blocks) {
			c->wrap = c->free; /* the end of the storage stays empty */
			c->free = 0;
			continue;
		}
		if (!c->stats.blocks)
			return 0;
		stream_drop_oldest(c);
	}
	return 1;
}

static void stream_stamp(struct stream_cpu *c)
{
	uint16_t *w = c->work + c->nr;

	w[0] = (uint16_t)wire_sel4_marker(WIRE_SEL4_TIMESTAMP);
	w[1] = WIRE_SEL4_TIMESTAMP_ID;
	wire_sel4_put48(w + 2, fathom_port_clock());
	c->nr += 5;
	c->stats.events++;
	c->stats.words += 5;
}

/* Compress the work buffer into storage. 0: there is no room, and the words stay. Keeps W1. */
static int stream_flush(struct stream_cpu *c)
{
	uint32_t bytes = c->nr * 2, room;
	struct stream_block *b;

	if (fathom_stream.flags & FATHOM_STREAM_OVERWRITE &&
	    !stream_make_room(c, stream_padded(fathom_lz4_bound(bytes))))
		return 0;
	room = stream_room(c);
	b = (void *)(c->store + c->free);
	if (room < sizeof(*b) + 4)
		return 0;
	b->packed = fathom_lz4_pack((const uint8_t *)c->work, bytes, (uint8_t *)(b + 1),
				    (room - (uint32_t)sizeof(*b)) & ~3u, c->table);
	if (!b->packed)
		return 0;
	b->words = c->nr;
	c->free += stream_padded(b->packed);
	c->stats.blocks++;
	c->stats.packed_bytes += b->packed;
	c->stats.block_words += c->nr;
	c->nr = 0;
	return 1;
}

/* ---- words ---- */

static int stream_is_stamp(const uint16_t *w)
{
	return w[0] == wire_sel4_marker(WIRE_SEL4_TIMESTAMP) && w[1] == WIRE_SEL4_TIMESTAMP_ID;
}

static void stream_append(struct stream_cpu *c, const uint16_t *w, uint32_t n, uint32_t events)
{
	if (fathom_unlikely(c->nr + n > fathom_stream.work_words)) {
		if (c->stats.storage_full || !stream_flush(c)) {
			c->stats.storage_full = 1;
			c->stats.full += events;
			return;
		}
		/* What comes with its own timestamp has read the clock before: one of now would be out of order. */
		if (fathom_stream.flags & FATHOM_STREAM_STAMPS && !stream_is_stamp(w))
			stream_stamp(c);
	}
	for (uint32_t i = 0; i < n; i++)
		c->work[c->nr + i] = w[i];
	c->nr += n;
	c->stats.words += n;
	c->stats.events += events;
}

static uint32_t stream_event_words(uint32_t word)
{
	return wire_sel4_is_marker(word) ? wire_sel4_words(wire_sel4_marker_type(word)) : 1;
}

/* Keeps W2. What interrupts add while it runs goes to the other buffer and waits for the next event. */
static void stream_drain(struct stream_cpu *c)
{
	uint32_t old = c->side_now;
	unsigned long done = 0;

	fathom_store(&c->side_now, old ^ 1u);
	fathom_local_barrier();
	while (done < c->side_nr[old]) {
		uint32_t n = stream_event_words(c->side[old][done]);

		stream_append(c, c->side[old] + done, n, 1);
		done += n;
	}
	c->side_nr[old] = 0;
}

static void stream_side(struct stream_cpu *c, const uint16_t *w, uint32_t n, uint32_t events)
{
	uint32_t side = fathom_load(&c->side_now);
	unsigned long at;

	do {
		at = fathom_load(&c->side_nr[side]);
		if (at + n > STREAM_SIDE_WORDS) {
			fathom_local_add(&c->nested, events);
			return;
		}
	} while (!fathom_local_cmpxchg(&c->side_nr[side], at, at + n));
	for (uint32_t i = 0; i < n; i++)
		c->side[side][at + i] = w[i];
}

static void stream_put(struct stream_cpu *c, const uint16_t *w, uint32_t n, uint32_t events)
{
	if (fathom_unlikely(fathom_load(&c->busy))) {
		stream_side(c, w, n, events);
		return;
	}
	/* An interrupt between the load and this store finds 0, writes, and leaves 0: nothing was touched yet. */
	fathom_store(&c->busy, 1);
	fathom_local_barrier();
	if (fathom_unlikely(c->side_nr[c->side_now]))
		stream_drain(c);
	stream_append(c, w, n, events);
	if (fathom_unlikely(fathom_load(&c->side_nr[c->side_now])))
		stream_drain(c);
	fathom_local_barrier();
	fathom_store(&c->busy, 0);
}

static struct stream_cpu *stream_here(void)
{
	uint32_t cpu;

	if (!fathom_load(&fathom_stream.on))
		return 0;
	cpu = fathom_port_cpu();
	return cpu < fathom_stream.nr_cpus ? &fathom_stream.cpu[cpu] : 0;
}

/* ---- functions ---- */

/*
 * The dictionary is an open-addressed table that only grows; a slot is claimed by writing the address into it, by any
 * context of any CPU, and its number is the index. -1: full.
 */
static int32_t stream_index(uintptr_t function)
{
	uint32_t mask = fathom_stream.nr_slots - 1;
	uint32_t slot = (uint32_t)(function >> 2) * 2654435761u >> 12;

	for (uint32_t i = 0; i < STREAM_PROBES; i++) {
		uintptr_t *at = &fathom_stream.dict[(slot + i) & mask];
		uintptr_t have = fathom_load(at);

		if (!have && __atomic_compare_exchange_n(at, &have, function, 0, __ATOMIC_RELAXED,
							 __ATOMIC_RELAXED))
			have = function;
		if (have == function)
			return (int32_t)((slot + i) & mask);
	}
	return -1;
}

static void stream_function(uintptr_t function, uint32_t bit)
{
	struct stream_cpu *c = stream_here();
	int32_t slot;
	uint16_t w;

	if (!c || !function)
		return;
	slot = stream_index(function);
	if (fathom_unlikely(slot < 0)) {
		fathom_local_add(&c->no_index, 1);
		return;
	}
	w = (uint16_t)((WIRE_SEL4_FUNC_FIRST + (uint32_t)slot) << 1 | bit);
	stream_put(c, &w, 1, 1);
}

void fathom_stream_enter(uintptr_t function)
{
	stream_function(function, 1);
}

void fathom_stream_leave(uintptr_t function)
{
	stream_function(function, 0);
}

/* ---- markers ---- */

static void stream_marker(struct stream_cpu *c, uint32_t type, uint16_t *w)
{
	w[0] = (uint16_t)wire_sel4_marker(type);
	stream_put(c, w, wire_sel4_words(type), 1);
}

/* marker, 48-bit address */
static void stream_addr(uint32_t type, uint64_t addr)
{
	struct stream_cpu *c = stream_here();
	uint16_t w[4];

	if (!c)
		return;
	wire_sel4_put48(w + 1, addr);
	stream_marker(c, type, w);
}

/* marker, 48-bit address, number */
static void stream_addr_small(uint32_t type, uint64_t addr, uint32_t n)
{
	struct stream_cpu *c = stream_here();
	uint16_t w[5];

	if (!c)
		return;
	wire_sel4_put48(w + 1, addr);
	w[4] = (uint16_t)n;
	stream_marker(c, type, w);
}

/* marker, number, 48-bit value (a 32-bit one takes a word less) */
static void stream_small_value(uint32_t type, uint32_t n, uint64_t value)
{
	struct stream_cpu *c = stream_here();
	uint16_t w[5];

	if (!c)
		return;
	w[1] = (uint16_t)n;
	wire_sel4_put48(w + 2, value);
	stream_marker(c, type, w);
}

static void stream_small(uint32_t type, uint32_t n)
{
	struct stream_cpu *c = stream_here();
	uint16_t w[2];

	if (!c)
		return;
	w[1] = (uint16_t)n;
	stream_marker(c, type, w);
}

void fathom_stream_vmid(uint32_t vmid)
{
	struct stream_cpu *c = stream_here();
	uint16_t w = (uint16_t)((vmid & WIRE_SEL4_VMID_MAX) << 1);

	if (!c || c->vmid == w / 2u + 1)
		return;
	c->vmid = w / 2u + 1;
	stream_put(c, &w, 1, 1);
}

void fathom_stream_thread(uint64_t tcb)
{
	struct stream_cpu *c = stream_here();

	if (!c || c->tcb == tcb + 1)
		return;
	c->tcb = tcb + 1;
	stream_addr(WIRE_SEL4_THREAD, tcb);
}

void fathom_stream_vspace(uint64_t root_paddr)
{
	stream_addr(WIRE_SEL4_VSPACE, root_paddr);
}

void fathom_stream_kernel_entry(const struct wire_sel4_entry *entry, uint64_t since)
{
	struct stream_cpu *c = stream_here();
	uint16_t w[9], *k = w + 5;

	if (!c)
		return;
	if (c->inside)
		fathom_stream_kernel_exit();
	c->entry = since ? since : fathom_port_clock();
	c->inside = 1;
	k[0] = (uint16_t)wire_sel4_marker(WIRE_SEL4_KERNEL_ENTRY);
	wire_sel4_entry_pack(entry, k + 1);
	if (!(fathom_stream.flags & FATHOM_STREAM_STAMPS)) {
		stream_put(c, k, 4, 1);
		return;
	}
	w[0] = (uint16_t)wire_sel4_marker(WIRE_SEL4_TIMESTAMP);
	w[1] = WIRE_SEL4_TIMESTAMP_ID;
	wire_sel4_put48(w + 2, c->entry);
	stream_put(c, w, 9, 2);
}

static void stream_exit(struct stream_cpu *c)
{
	uint64_t duration = fathom_port_clock() - c->entry;
	uint16_t w[3];

	c->inside = 0;
	if (duration > 0xffffffffu)
		duration = 0xffffffffu;
	w[1] = (uint16_t)duration;
	w[2] = (uint16_t)(duration >> 16);
	stream_marker(c, WIRE_SEL4_KERNEL_EXIT, w);
}

void fathom_stream_kernel_exit(void)
{
	struct stream_cpu *c = stream_here();

	if (c && c->inside) /* else its entry was before recording began: nothing to pair with */
		stream_exit(c);
}

void fathom_stream_settle(struct stream_cpu *c)
{
	if (fathom_load(&c->busy))
		return; /* the dump interrupted an event of this CPU: its words are left out */
	stream_drain(c);
	if (c->inside)
		stream_exit(c);
}

void fathom_stream_syscall(uint32_t number)
{
	stream_small(WIRE_SEL4_SYSCALL, number);
}

void fathom_stream_interrupt(uint32_t irq)
{
	stream_small(WIRE_SEL4_INTERRUPT, irq);
}

void fathom_stream_vm_fault(uint32_t type, uint64_t addr)
{
	stream_small_value(WIRE_SEL4_VM_FAULT, type, addr);
}

void fathom_stream_user_fault(uint32_t number, uint32_t code)
{
	stream_small_value(WIRE_SEL4_USER_FAULT, number, code);
}

/* The id of a timestamp is not a kernel's to use. */
void fathom_stream_tracepoint(uint32_t id, uint64_t duration)
{
	if ((id & 0xffffu) != WIRE_SEL4_TIMESTAMP_ID)
		stream_small_value(WIRE_SEL4_TRACEPOINT, id, duration);
}

static void stream_pt_map(uint64_t pt, uint64_t parent, uint32_t slot)
{
	struct stream_cpu *c = stream_here();
	uint16_t w[8];

	if (!c)
		return;
	wire_sel4_put48(w + 1, pt);
	wire_sel4_put48(w + 4, parent);
	w[7] = (uint16_t)slot;
	stream_marker(c, WIRE_SEL4_PT_MAP, w);
}

void fathom_stream_memory(enum fathom_stream_memory what, uint64_t a, uint64_t b, uint32_t slot)
{
	switch (what) {
	case FATHOM_STREAM_SAFE_PTE: stream_addr(WIRE_SEL4_SAFE_PTE, a); break;
	case FATHOM_STREAM_RETYPE: stream_addr_small(WIRE_SEL4_RETYPE, a, (uint32_t)b); break;
	case FATHOM_STREAM_INIT_PT: stream_addr_small(WIRE_SEL4_INIT_PT, a, (uint32_t)b); break;
	case FATHOM_STREAM_CREATE_OBJ:
		stream_addr_small(WIRE_SEL4_CREATE_OBJ, a, (uint32_t)b);
		break;
	case FATHOM_STREAM_PT_MAP: stream_pt_map(a, b, slot); break;
	}
}

/* ---- control ---- */

/* Hand out a piece of the caller's memory; 0 when it is used up. */
static void *stream_take(uint8_t **at, uint8_t *end, size_t bytes)
{
	uint8_t *p = *at;

	bytes = (bytes + 63u) & ~(size_t)63u;
	if (bytes > (size_t)(end - p))
		return 0;
	*at = p + bytes;
	return p;
}

static int stream_layout(struct stream *s, uint8_t *at, uint8_t *end)
{
	size_t share;

	s->cpu = stream_take(&at, end, s->nr_cpus * sizeof(*s->cpu));
	s->dict = stream_take(&at, end, s->nr_slots * sizeof(*s->dict));
	s->scratch = stream_take(&at, end, s->work_words * 2);
	if (!s->cpu || !s->dict || !s->scratch)
		return -FATHOM_ENOMEM;
	__builtin_memset(s->cpu, 0, s->nr_cpus * sizeof(*s->cpu));
	__builtin_memset(s->dict, 0, s->nr_slots * sizeof(*s->dict));
	for (uint32_t i = 0; i < s->nr_cpus; i++) {
		s->cpu[i].work = stream_take(&at, end, s->work_words * 2);
		s->cpu[i].table = stream_take(&at, end, FATHOM_LZ4_SLOTS * sizeof(uint16_t));
		if (!s->cpu[i].work || !s->cpu[i].table)
			return -FATHOM_ENOMEM;
	}
	share = (size_t)(end - at) / s->nr_cpus & ~(size_t)63u;
	if (share > 0x7fffffc0u)
		share = 0x7fffffc0u;
	if (share < 4u * s->work_words)
		return -FATHOM_ENOMEM;
	for (uint32_t i = 0; i < s->nr_cpus; i++) {
		s->cpu[i].store = stream_take(&at, end, share);
		s->cpu[i].store_bytes = (uint32_t)share;
	}
	return 0;
}

int fathom_stream_init(const struct fathom_stream_config *config)
{
	struct stream s = {.nr_cpus = config->nr_cpus,
			   .work_words = config->work_words ? config->work_words : 4096u,
			   .nr_slots = config->functions ? config->functions : 4096u,
			   .flags = config->flags,
			   .clock_hz = config->clock_hz};
	uint8_t *memory = config->memory;
	int err;

	if (!memory || (uintptr_t)memory % 64u || !s.nr_cpus || s.work_words < 1024u ||
	    s.work_words > 32000u || s.nr_slots < STREAM_PROBES || s.nr_slots > 16384u ||
	    (s.nr_slots & (s.nr_slots - 1)))
		return -FATHOM_EINVAL;
	err = stream_layout(&s, memory, memory + config->memory_bytes);
	if (!err)
		fathom_stream = s;
	return err;
}

void fathom_stream_exit(void)
{
	fathom_stream_stop();
	fathom_stream.nr_cpus = 0;
}

int fathom_stream_is_on(void)
{
	return fathom_load(&fathom_stream.on) != 0;
}

uint32_t fathom_stream_cpus(void)
{
	return fathom_stream.nr_cpus;
}

void fathom_stream_start(void)
{
	fathom_store_release(&fathom_stream.on, fathom_stream.nr_cpus != 0);
}

void fathom_stream_stop(void)
{
	fathom_store_release(&fathom_stream.on, 0);
}

void fathom_stream_reset(void)
{
	for (uint32_t i = 0; i < fathom_stream.nr_cpus; i++) {
		struct stream_cpu *c = &fathom_stream.cpu[i];

		c->nr = c->inside = c->vmid = 0;
		c->tcb = 0;
		c->side_nr[0] = c->side_nr[1] = c->nested = c->no_index = 0;
		c->oldest = c->free = c->wrap = 0;
		c->stats = (struct fathom_stream_stats){0};
		if (fathom_stream.flags & FATHOM_STREAM_STAMPS)
			stream_stamp(c);
	}
}

int fathom_stream_stats(uint32_t cpu, struct fathom_stream_stats *out)
{
	if (cpu >= fathom_stream.nr_cpus)
		return -FATHOM_EINVAL;
	*out = fathom_stream.cpu[cpu].stats;
	out->nested = fathom_load(&fathom_stream.cpu[cpu].nested);
	out->no_index = fathom_load(&fathom_stream.cpu[cpu].no_index);
	return 0;
}
