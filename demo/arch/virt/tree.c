/* SPDX-License-Identifier: MIT */
/* tree.c -- the flattened device tree: command line, memory, CPUs, and the rate of the clock. */
#include "kernel.h"
#include "virt/virt.h"

/*
 * A header of ten words, then tokens, all big-endian: a node begins with its name, which ends at a multiple of four; a
 * property has its length, where its name is among the strings, and its value. QEMU's `virt` writes memory as pairs of
 * 64-bit numbers and a CPU's number as one of 32 bits.
 */
#define TREE_MAGIC 0xd00dfeedu
#define DEPTH_MAX  8

enum token {
	NODE_BEGIN = 1,
	NODE_END = 2,
	PROPERTY = 3,
	NOTHING = 4,
	TREE_END = 9,
};

struct walk {
	const uint8_t *at;
	const char *strings;
	const char *node[DEPTH_MAX]; /* names on the way here; [0] is the root's, which is empty */
	int depth;
	struct virt_facts *facts;
};

static uint32_t big32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint64_t big64(const uint8_t *p)
{
	return (uint64_t)big32(p) << 32 | big32(p + 4);
}

static int in_node(const struct walk *w, int depth, const char *name)
{
	return w->depth > depth && !strncmp(w->node[depth], name, strlen(name));
}

static void property(struct walk *w, const char *name, const uint8_t *value, uint32_t bytes)
{
	struct virt_facts *f = w->facts;

	if (w->depth == 2 && in_node(w, 1, "chosen") && !strcmp(name, "bootargs"))
		copy_name(f->cmdline, (const char *)value, sizeof(f->cmdline));
	if (w->depth == 2 && in_node(w, 1, "memory@") && !strcmp(name, "reg") && bytes >= 16)
		f->ram_end = big64(value) + big64(value + 8);
	if (w->depth == 2 && in_node(w, 1, "cpus") && !strcmp(name, "timebase-frequency"))
		f->timebase_hz = big32(value);
	if (w->depth == 3 && in_node(w, 1, "cpus") && in_node(w, 2, "cpu@") &&
	    !strcmp(name, "reg") && f->nr_cpus < CPUS_MAX)
		f->cpu[f->nr_cpus++] = big32(value);
}

static const uint8_t *aligned(const uint8_t *p)
{
	return (const uint8_t *)(((uintptr_t)p + 3) & ~(uintptr_t)3);
}

/* One token; 0 at the end. */
static int step(struct walk *w)
{
	uint32_t token = big32(w->at);

	w->at += 4;
	if (token == NODE_BEGIN) {
		if (w->depth == DEPTH_MAX)
			panic("the device tree is too deep");
		w->node[w->depth++] = (const char *)w->at;
		w->at = aligned(w->at + strlen((const char *)w->at) + 1);
	} else if (token == NODE_END) {
		w->depth--;
	} else if (token == PROPERTY) {
		uint32_t bytes = big32(w->at);

		property(w, w->strings + big32(w->at + 4), w->at + 8, bytes);
		w->at = aligned(w->at + 8 + bytes);
	}
	return token == NODE_BEGIN || token == NODE_END || token == PROPERTY || token == NOTHING;
}

void virt_read_tree(const void *tree, struct virt_facts *facts)
{
	const uint8_t *head = tree;
	struct walk w = {.at = head + big32(head + 8),
			 .strings = (const char *)head + big32(head + 12),
			 .facts = facts};

	if (big32(head) != TREE_MAGIC)
		panic("no device tree at %p", tree);
	while (step(&w))
		;
	if (!facts->ram_end || !facts->nr_cpus)
		panic("the device tree names no memory or no CPU");
}
