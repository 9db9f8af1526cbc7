/* SPDX-License-Identifier: MIT */
/* beacon.h -- what a tracer leaves in memory so that its rings can be found and read after the kernel's end. */
#ifndef WIRE_BEACON_H
#define WIRE_BEACON_H

#include <stdint.h>

/*
 * At the start of a page inside the memory block that holds the rings, in the target's byte order. A reader looks for
 * the magic at every page of the image, checks the CRC, and from the beacon's own address knows how to turn the
 * addresses of the block into places of the image: the block is taken to be contiguous in physical memory.
 * Other addresses (the ring's head) lie in the kernel's image: its ELF file tells where that was loaded.
 * Nothing in it changes after it was written.
 */
#define WIRE_BEACON_MAGIC "FATHOM BEACON 1" /* 16 bytes with its NUL */
#define WIRE_BEACON_CPUS  64

struct wire_beacon {
	char magic[16];
	uint32_t bytes; /* of this struct */
	uint32_t crc;	/* CRC-32 of the struct with this member 0 */
	uint32_t nr_cpus;
	uint32_t page_bytes;
	uint64_t self; /* address of this struct */
	uint64_t block, block_bytes;
	uint64_t texts,
		texts_bytes; /* formats: u32 length, "system\n", the format file; and so on */
	uint32_t ns_mult, ns_shift; /* ns = ticks * mult >> shift; mult 0: the clock counts ns */
	char release[64];

	/* The head of a ring: offsets of its members. */
	uint16_t ring_commit, ring_slots, ring_pages, ring_meta, ring_nr_pages, ring_max_pages;
	uint16_t ring_overwritten, ring_full, ring_nested, ring_too_big;
	/* Of what is kept per page, in the order of the pages. */
	uint16_t meta_bytes, meta_first, meta_missed, meta_used, meta_entries, meta_discards;
	/* Bits of a position (words, count, turns, index, lap from the bottom) and of a slot (page, count, free, lap). */
	uint8_t pos_word_bits, pos_count_bits, pos_index_bits, slot_page_bits;
	uint8_t pos_turn_bits; /* say nothing of the place */
	uint8_t unused[3];
	uint64_t ring[WIRE_BEACON_CPUS]; /* addresses of the heads */
};

#endif
