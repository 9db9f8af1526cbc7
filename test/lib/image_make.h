/* SPDX-License-Identifier: MIT */
/* image_make.h -- a made-up memory image with a beacon and one ring, of either byte order and word size, and its kernel. */
#ifndef TEST_IMAGE_MAKE_H
#define TEST_IMAGE_MAKE_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "wire/beacon.h"
#include "wire/crc32.h"
#include "wire/ringpage.h"

/*
 * Pages of the image: 0 nothing, 1 beacon, 2 texts, 3 the ring's head, slots and meta, 4.. the ring's pages. The block begins
 * with page 1, and page 3 has the pointer to the head at its start.
 */
#define IMAGE_PAGES  9u
#define IMAGE_BYTES  (IMAGE_PAGES * 4096u)
#define IMAGE_VIRT   0xc0100000u /* where the kernel has the block */
#define IMAGE_HEAD   64u	 /* in page 3 */
#define IMAGE_SLOTS  512u
#define IMAGE_META   1024u
#define IMAGE_META_N 32u
#define IMAGE_RING   3u /* pages in the ring; one more is the reader's */

struct image_make {
	bool big;
	unsigned longs; /* 4 or 8 */
	uint8_t bytes[IMAGE_BYTES];
};

static inline void image_put(const struct image_make *m, uint8_t *p, uint64_t v, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		p[m->big ? n - 1 - i : i] = (uint8_t)(v >> (8 * i));
}

static inline uint64_t image_virt(unsigned page, unsigned offset)
{
	return IMAGE_VIRT + (page - 1) * 4096u + offset;
}

/* A record of `words` words whose first is the type; returns where the next goes. */
static inline uint32_t image_record(const struct image_make *m, uint8_t *data, uint32_t at,
				    uint32_t words, uint32_t delta, uint32_t n)
{
	uint32_t head =
		m->big ? words << WIRE_DELTA_BITS | delta : words | delta << WIRE_TYPE_LEN_BITS;

	image_put(m, data + at, head, 4);
	image_put(m, data + at + 4, 7, 2); /* common_type */
	image_put(m, data + at + 8, 1, 4); /* common_pid */
	for (uint32_t i = 2; i < words; i++)
		image_put(m, data + at + 4 + 4 * i, n, 4);
	return at + 4 + words * 4;
}

static inline void image_texts(const struct image_make *m, uint8_t *page, struct wire_beacon *b)
{
	static const char text[] =
		"test\nname: tick\nID: 7\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		"\tfield:unsigned int n;\toffset:8;\tsize:4;\tsigned:0;\n\n"
		"print fmt: \"n=%u\", REC->n\n";

	image_put(m, page, sizeof(text) - 1, 4);
	memcpy(page + 4, text, sizeof(text) - 1);
	b->texts = image_virt(2, 0);
	b->texts_bytes = 4 + sizeof(text) - 1;
}

/* Head, slots and meta of the ring as this file lays them out: members 8 bytes apart. */
static inline void image_layout(struct wire_beacon *b, unsigned longs)
{
	uint16_t *at = &b->ring_commit, place = 8;

	for (; at <= &b->part_time; at++, place += 8)
		*at = place;
	b->ring_bytes = 256;
	b->meta_bytes = IMAGE_META_N;
	b->meta_first = 0;
	b->meta_missed = 8;
	b->meta_used = 16;
	b->meta_entries = 20;
	b->meta_discards = 22;
	b->pos_word_bits = 10;
	b->pos_count_bits = longs == 8 ? 10 : 9;
	b->pos_epoch_bits = longs == 8 ? 3 : 0;
	b->pos_index_bits = longs == 8 ? 16 : 9;
	b->slot_page_bits = (uint8_t)(b->pos_index_bits + 1);
}

/* The checksum, over the bytes as they stand. */
static inline void image_seal(struct image_make *m)
{
	uint8_t *p = m->bytes + 4096;

	memset(p + offsetof(struct wire_beacon, crc), 0, 4);
	image_put(m, p + offsetof(struct wire_beacon, crc),
		  fathom_crc32(0, p, sizeof(struct wire_beacon)), 4);
}

static inline void image_beacon(struct image_make *m, const struct wire_beacon *b)
{
	uint8_t *p = m->bytes + 4096;
	static const uint16_t u32[] = {16, 24, 28, 72, 76}, u64[] = {32, 40, 48, 56, 64};
	const uint8_t *from = (const uint8_t *)b;
	uint64_t v;

	memcpy(p, b, sizeof(*b));
	for (unsigned i = 0; i < sizeof(u32) / 2; i++) {
		v = 0;
		memcpy(&v, from + u32[i], 4);
		image_put(m, p + u32[i], v, 4);
	}
	for (unsigned i = 0; i < sizeof(u64) / 2; i++) {
		memcpy(&v, from + u64[i], 8);
		image_put(m, p + u64[i], v, 8);
	}
	for (size_t at = offsetof(struct wire_beacon, ring_bytes);
	     at < offsetof(struct wire_beacon, pos_word_bits); at += 2) {
		uint16_t h;

		memcpy(&h, from + at, 2);
		image_put(m, p + at, h, 2);
	}
	for (unsigned i = 0; i < WIRE_BEACON_CPUS; i++)
		image_put(m, p + offsetof(struct wire_beacon, ring) + 8ul * i, b->ring[i], 8);
	image_seal(m);
}

/* Page `slot` of the ring, full or not, `missed` events before it; its records count on from *n. */
static inline void image_page(struct image_make *m, unsigned slot, uint32_t used, uint64_t missed,
			      uint32_t *n)
{
	uint8_t *page = m->bytes + (4 + slot) * 4096ul, *meta;
	uint32_t at = 0, first = *n;

	image_put(m, page, 1000 + 1000 * slot, 8);
	while (at + 16 <= used)
		at = image_record(m, page + WIRE_PAGE_HEADER, at, 3, 1, (*n)++);
	meta = m->bytes + 3 * 4096 + IMAGE_META + slot * IMAGE_META_N;
	image_put(m, meta, first, 8);
	image_put(m, meta + 8, missed, 8);
	image_put(m, meta + 16, at, 4);
	image_put(m, meta + 20, *n - first, 2);
}

/*
 * A ring of three pages: a full one with nothing missed, a full one after 5 missed events, and one that is being written.
 * The number of events in it.
 */
static inline uint32_t image_make(struct image_make *m)
{
	struct wire_beacon b = {.bytes = sizeof(b), .nr_cpus = 1, .page_bytes = 4096};
	uint8_t *head = m->bytes + 3 * 4096 + IMAGE_HEAD;
	uint8_t *slots = m->bytes + 3 * 4096 + IMAGE_SLOTS;
	unsigned shift, l = m->longs;
	uint32_t n = 0, used = 160;

	memset(m->bytes, 0, sizeof(m->bytes));
	memcpy(b.magic, WIRE_BEACON_MAGIC, sizeof(b.magic));
	b.self = b.block = image_virt(1, 0);
	b.block_bytes = IMAGE_BYTES - 4096;
	strcpy(b.release, "made up");
	b.ring[0] = image_virt(3, 0);
	image_layout(&b, l);
	image_texts(m, m->bytes + 2 * 4096, &b);
	image_put(m, m->bytes + 3 * 4096, image_virt(3, IMAGE_HEAD), l);
	shift = b.pos_word_bits + b.pos_count_bits + b.pos_epoch_bits;
	/* The position: slot 2, `used` bytes of it. */
	image_put(m, head + b.ring_commit, (2ull << shift) | used / 4, l);
	image_put(m, head + b.ring_slots, image_virt(3, IMAGE_SLOTS), l);
	image_put(m, head + b.ring_pages, image_virt(4, 0), l);
	image_put(m, head + b.ring_meta, image_virt(3, IMAGE_META), l);
	image_put(m, head + b.ring_nr_pages, IMAGE_RING, 4);
	image_put(m, head + b.ring_max_pages, IMAGE_RING, 4);
	image_put(m, head + b.ring_overwritten, 11, l);
	image_put(m, head + b.ring_full, 12, l);
	image_put(m, head + b.ring_nested, 13, l);
	for (unsigned i = 0; i < IMAGE_RING; i++)
		image_put(m, slots + i * l, i, l);
	image_page(m, 0, WIRE_PAGE_DATA, 0, &n);
	n += 5;
	image_page(m, 1, WIRE_PAGE_DATA, 5, &n);
	image_page(m, 2, used, 0, &n);
	image_put(m, m->bytes + 3 * 4096 + IMAGE_META + 8 + IMAGE_META_N, 0, 8);
	image_beacon(m, &b);
	return n - 5;
}

/* An ELF file of the kernel, with one symbol: its bytes in `to`, which has 1024. */
static inline size_t image_kernel_elf(const struct image_make *m, uint8_t *to)
{
	bool wide = m->longs == 8;
	unsigned eh = wide ? 64 : 52, ph = wide ? 56 : 32, sh = wide ? 64 : 40, sy = wide ? 24 : 16;
	unsigned l = m->longs, sections = eh + ph, syms = sections + 4 * sh, strs = syms + 2 * sy;
	uint8_t *p = to;

	memset(to, 0, 1024);
	memcpy(p, ELFMAG, 4);
	p[EI_CLASS] = wide ? ELFCLASS64 : ELFCLASS32;
	p[EI_DATA] = m->big ? ELFDATA2MSB : ELFDATA2LSB;
	p[EI_VERSION] = EV_CURRENT;
	image_put(m, p + 16, ET_EXEC, 2);
	image_put(m, p + 20, EV_CURRENT, 4);
	image_put(m, p + 24 + l, eh, l);	   /* e_phoff */
	image_put(m, p + 24 + 2 * l, sections, l); /* e_shoff */
	p += 24 + 3 * l + 4;
	image_put(m, p, eh, 2);
	image_put(m, p + 2, ph, 2);
	image_put(m, p + 4, 1, 2);
	image_put(m, p + 6, sh, 2);
	image_put(m, p + 8, 4, 2);
	image_put(m, p + 10, 3, 2);
	p = to + eh;
	image_put(m, p, PT_LOAD, 4);
	p += wide ? 8 : 4;
	image_put(m, p + l, 0xc0000000u, l); /* p_vaddr */
	image_put(m, p + 2 * l, 0x1000, l);  /* p_paddr */
	image_put(m, p + 4 * l, 0x1000, l);  /* p_memsz */
	/* sections: none, text, symtab, strtab */
	for (unsigned i = 1; i < 4; i++) {
		static const unsigned type[] = {0, SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB};
		unsigned at[] = {0, 0, syms, strs}, size[] = {0, 0, 2 * sy, 32};

		p = to + sections + i * sh;
		image_put(m, p + 4, type[i], 4);
		image_put(m, p + 8, i == 1 ? SHF_EXECINSTR | SHF_ALLOC : 0, l);
		image_put(m, p + 8 + 2 * l, at[i], l);
		image_put(m, p + 8 + 3 * l, size[i], l);
		image_put(m, p + 8 + 4 * l, i == 2 ? 3 : 0, 4); /* sh_link */
		image_put(m, p + 16 + 5 * l, i == 2 ? sy : 0, l);
	}
	strcpy((char *)to + strs + 1, "work");
	p = to + syms + sy;
	image_put(m, p, 1, 4);
	p += wide ? 4 : 12;
	p[0] = ELF32_ST_INFO(STB_GLOBAL, STT_FUNC);
	image_put(m, p + 2, 1, 2);
	image_put(m, wide ? p + 4 : p - 8, 0xc0000010u, l);
	return strs + 32;
}

#endif
