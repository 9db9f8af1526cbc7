/* SPDX-License-Identifier: MIT */
/* fixed.c -- fixed 16-byte records of a seL4 stream (ftrace.idx) back into the words they were made of. */
#include "decode/sel4/fixed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 32768u /* words; the spool takes them in one piece */

static void put48(uint16_t *w, uint64_t v)
{
	w[0] = (uint16_t)v;
	w[1] = (uint16_t)(v >> 16);
	w[2] = (uint16_t)(v >> 32);
}

static void put32(uint16_t *w, uint64_t v)
{
	w[0] = (uint16_t)v;
	w[1] = (uint16_t)(v >> 16);
}

/* The operands of a marker, as sel4_fixed_write() took them apart. */
static void operands(const struct wire_sel4_record *r, uint16_t *w)
{
	switch (r->type) {
	case WIRE_SEL4_SYSCALL:
	case WIRE_SEL4_INTERRUPT: w[0] = r->arg16; break;
	case WIRE_SEL4_KERNEL_EXIT: put32(w, r->value); break;
	case WIRE_SEL4_SAFE_PTE:
	case WIRE_SEL4_VSPACE:
	case WIRE_SEL4_THREAD: put48(w, r->value); break;
	case WIRE_SEL4_RETYPE:
	case WIRE_SEL4_INIT_PT:
	case WIRE_SEL4_CREATE_OBJ:
		put48(w, r->value);
		w[3] = r->arg16;
		break;
	case WIRE_SEL4_PT_MAP:
		put48(w, r->value);
		put32(w + 3, r->arg32);
		w[5] = r->arg16;
		w[6] = (uint16_t)(r->value >> 48);
		break;
	case WIRE_SEL4_KERNEL_ENTRY:
		w[0] = r->arg16;
		put32(w + 1, r->value & 0x7ffff);
		break;
	case WIRE_SEL4_USER_FAULT:
		w[0] = r->arg16;
		put32(w + 1, r->value);
		break;
	default: /* VM_FAULT, TRACEPOINT, TIMESTAMP */
		w[0] = r->arg16;
		put48(w + 1, r->value);
		break;
	}
}

/* What could not be read when the file was written is its first word, so many times as there were words. */
static uint32_t unread(const struct wire_sel4_record *r, uint16_t *w)
{
	uint32_t n = r->value && r->value <= WIRE_SEL4_WORDS_MAX ? (uint32_t)r->value : 1;

	for (uint32_t i = 0; i < n; i++)
		w[i] = r->arg16;
	return n;
}

/* The words of one record, at most 1 + WIRE_SEL4_WORDS_MAX. */
static uint32_t words_of(const struct wire_sel4_record *r, uint16_t *w)
{
	uint32_t n;

	switch (r->type) {
	case WIRE_SEL4_FUNC_ENTER: w[0] = (uint16_t)(r->arg16 << 1 | 1); return 1;
	case WIRE_SEL4_FUNC_EXIT: w[0] = (uint16_t)(r->arg16 << 1); return 1;
	case WIRE_SEL4_VMID: w[0] = (uint16_t)(r->vmid << 1); return 1;
	case WIRE_SEL4_UNKNOWN:
	case WIRE_SEL4_CUT: return unread(r, w);
	default: break;
	}
	n = wire_sel4_words(r->type);
	w[0] = (uint16_t)wire_sel4_marker(r->type);
	operands(r, w + 1);
	return n;
}

static void learn(struct sel4_dict *d, const struct wire_sel4_record *r)
{
	uint32_t id = r->arg16;

	if (r->type <= WIRE_SEL4_FUNC_EXIT && r->value && id >= WIRE_SEL4_FUNC_FIRST &&
	    id <= WIRE_SEL4_FUNC_LAST)
		d->addr[id - WIRE_SEL4_FUNC_FIRST] = r->value;
}

int sel4_fixed_words(struct source *s, struct spool *to, struct sel4_dict *d, uint64_t *nr_words)
{
	uint64_t nr = s->map_bytes / sizeof(struct wire_sel4_record), at;
	uint16_t *w = malloc((BATCH + 1 + WIRE_SEL4_WORDS_MAX) * sizeof(*w));
	uint32_t used = 0;
	int err = w ? 0 : -ENOMEM;

	*nr_words = 0;
	for (uint64_t i = 0; i < nr && !err; i++) {
		struct wire_sel4_record r;

		memcpy(&r, s->map + i * sizeof(r), sizeof(r));
		if (r.type >= WIRE_SEL4_NR_TYPES) {
			source_damage(s, i * sizeof(r), sizeof(r), "record %llu: no type %u",
				      (unsigned long long)i, r.type);
			continue;
		}
		learn(d, &r);
		used += words_of(&r, w + used);
		if (used < BATCH)
			continue;
		*nr_words += BATCH;
		err = spool_append(to, w, BATCH * sizeof(*w), &at);
		used -= BATCH;
		memmove(w, w + BATCH, used * sizeof(*w));
	}
	*nr_words += used;
	if (!err && used)
		err = spool_append(to, w, used * sizeof(*w), &at);
	free(w);
	return err ? err : spool_finish(to);
}
