/* SPDX-License-Identifier: MIT */
/* sel4_gen.c -- write a seL4 stream of a given size and mix: sel4_gen OUT [WORDS [SEED]]. */
#include "wire/sel4.h"

#include <stdio.h>
#include <stdlib.h>

/*
 * The mix is that of a whole sel4test run: 90,310,000 words, 30,834 kernel entries, 33,577 exits, the rest functions.
 * The exits that have no entry in that note came from interrupts, so each of those gets an INTERRUPT here. Functions
 * nest properly; the walk is a random one over 900 functions, 12 deep at most.
 */
#define WORDS	90310000ull
#define ENTRIES 30834ull
#define EXITS	33577ull
#define NR_FUNC 900u
#define DEPTH	12u

static uint64_t seed = 1;
static FILE *out;
static uint64_t written;
static uint16_t stack[DEPTH];
static unsigned depth;

static uint32_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 16);
}

static void put(uint32_t word)
{
	uint8_t b[2] = {(uint8_t)word, (uint8_t)(word >> 8)};

	fwrite_unlocked(b, 2, 1, out);
	written++;
}

static void function(void)
{
	if (depth && (depth == DEPTH || draw() % 64 >= 32)) {
		put((uint32_t)stack[--depth] << 1);
		return;
	}
	stack[depth] = (uint16_t)(WIRE_SEL4_FUNC_FIRST + draw() % NR_FUNC);
	put((uint32_t)stack[depth++] << 1 | 1u);
}

static void unwind(void)
{
	while (depth)
		put((uint32_t)stack[--depth] << 1);
}

static void entry(int irq)
{
	struct wire_sel4_entry e = {
		.path = WIRE_SEL4_PATH_SYSCALL, .syscall = 1, .cap = 1, .tag = 42};
	uint16_t w[3];

	if (irq) {
		put(wire_sel4_marker(WIRE_SEL4_INTERRUPT));
		put(27);
		return;
	}
	e.syscall = (uint8_t)(1 + draw() % 8);
	e.cap = (uint8_t)(draw() % 16);
	e.tag = draw() % 50;
	wire_sel4_entry_pack(&e, w);
	put(wire_sel4_marker(WIRE_SEL4_KERNEL_ENTRY));
	for (int i = 0; i < 3; i++)
		put(w[i]);
}

static void leave(void)
{
	uint32_t cycles = 500 + draw() % 20000;

	put(wire_sel4_marker(WIRE_SEL4_KERNEL_EXIT));
	put(cycles & 0xffffu);
	put(cycles >> 16);
}

int main(int argc, char **argv)
{
	uint64_t words = argc > 2 ? strtoull(argv[2], NULL, 0) : WORDS;
	uint64_t exits = (EXITS * words + WORDS / 2) / WORDS,
		 entries = (ENTRIES * words + WORDS / 2) / WORDS;

	if (argc < 2 || !(out = fopen(argv[1], "wb"))) {
		fprintf(stderr, "usage: sel4_gen OUT [WORDS [SEED]]\n");
		return 2;
	}
	if (argc > 3)
		seed = strtoull(argv[3], NULL, 0) * 2654435761u + 1;
	for (uint64_t i = 0; i < exits; i++) {
		/* Entries spread evenly over the exits; the others are interrupts. */
		int irq = (i + 1) * entries / exits == i * entries / exits;
		uint64_t until = words * (i + 1) / exits - 3 - DEPTH;

		entry(irq);
		while (written < until)
			function();
		unwind();
		leave();
	}
	while (written < words) {
		put((WIRE_SEL4_FUNC_FIRST + 1) << 1 | 1u);
		if (written < words)
			put((WIRE_SEL4_FUNC_FIRST + 1) << 1);
	}
	if (fclose(out)) {
		perror(argv[1]);
		return 1;
	}
	return 0;
}
