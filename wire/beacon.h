/* SPDX-License-Identifier: MIT */
/* beacon.h -- what a tracer leaves in memory so that its rings can be found and read after the kernel's end. */
#ifndef WIRE_BEACON_H
#define WIRE_BEACON_H

#include <stdint.h>

/*
 * At the start of a page inside the memory block that holds the rings, in the target's byte order. A reader looks for
 * the magic at every page of the image, checks the CRC, and from the beacon's own address knows how to turn the
 * addresses of the block into places of the image: the block is taken to be contiguous in physical memory.
 * Other addresses lie in the kernel's image: its ELF file says where that was loaded.
 * Nothing in it changes after it was written; a snapshot exchanges rings, so the place of one is kept elsewhere.
 */
#define WIRE_BEACON_MAGIC "FATHOM BEACON 2" /* 16 bytes with its NUL */
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

	/* The head of a ring: its size, and offsets of its members. */
	uint16_t ring_bytes;
	uint16_t ring_commit, ring_slots, ring_pages, ring_meta, ring_nr_pages, ring_max_pages;
	uint16_t ring_overwritten, ring_full, ring_nested, ring_too_big;
	/* What the reader of a ring holds, which is no more in it, and where it goes on: offsets in the head too. */
	uint16_t reader_page, reader_at, reader_end, reader_left, reader_time, reader_lost;
	uint16_t reader_next, part_mark, part_at, part_time;
	/* Of what is kept per page, in the order of the pages. */
	uint16_t meta_bytes, meta_first, meta_missed, meta_used, meta_entries, meta_discards;
	/* Bits of a position (words, count, epoch, index, lap from the bottom) and of a slot (page, count, free, lap). */
	uint8_t pos_word_bits, pos_count_bits, pos_index_bits, slot_page_bits;
	uint8_t pos_epoch_bits; /* say nothing of the place */
	uint8_t unused[5];
	uint64_t ring[WIRE_BEACON_CPUS]; /* where the address of each CPU's head is found */
};

#endif
