/* SPDX-License-Identifier: MIT */
/* args.c -- arguments of a traced call: the registers at its entry, for func-args and funcgraph-args. */
#include "arch/regs.h"
#include "functions/tracers.h"

/*
 * The general entry (arch/<a>/entry.S) has saved every argument register beside the slot of the return address; which is
 * where the compiler's calling convention says. All of them are recorded: what they mean is the host's to know. The layout
 * is Linux's: words behind the record's own members, and a return address in front of the arguments.
 */
static const int8_t args_at[] = {FATHOM_ARCH_ARGS};
#define ARGS_NR	   ((uint32_t)(sizeof(args_at) / sizeof(args_at[0])))
#define ARGS_BYTES (ARGS_NR * (uint32_t)sizeof(uintptr_t))

static void args_put(uint8_t *to, const uintptr_t *slot)
{
	for (uint32_t i = 0; i < ARGS_NR; i++)
		fathom_put_word(to + i * sizeof(uintptr_t), slot[args_at[i]]);
}

void fathom_args_function(struct fathom_ring *ring, uintptr_t ip, uintptr_t parent_ip,
			  const uintptr_t *slot, uint32_t context)
{
	struct fathom_rec_function *r;
	struct fathom_slot at;
	uint8_t *to = ring ? fathom_ring_reserve(ring, sizeof(*r) + ARGS_BYTES, &at) : 0;

	if (!to)
		return;
	r = (void *)to;
	fathom_put_common(to, WIRE_ID_FUNCTION, context);
	r->ip = ip;
	r->parent_ip = parent_ip;
	args_put(to + sizeof(*r), slot);
	fathom_ring_commit(ring, &at);
}

uint32_t fathom_args_entry_bytes(uint32_t flags)
{
	return FATHOM_ENTRY_ARGS + (flags & GRAPH_ARGS ? ARGS_BYTES : 0) +
	       (flags & GRAPH_RETADDR ? (uint32_t)sizeof(uintptr_t) : 0);
}

void fathom_args_entry(uint8_t *record, const uintptr_t *slot, uintptr_t from, uint32_t flags)
{
	uint8_t *to = record + FATHOM_ENTRY_ARGS;

	if (flags & GRAPH_RETADDR) {
		fathom_put_word(to, from);
		to += sizeof(uintptr_t);
	}
	if (flags & GRAPH_ARGS)
		args_put(to, slot);
}
