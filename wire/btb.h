/* SPDX-License-Identifier: MIT */
/* btb.h -- the backtrace buffer of the L4Re/Fiasco backtracer: console blocks, dictionary sections, entries. */
#ifndef WIRE_BTB_H
#define WIRE_BTB_H

#include <stdint.h>

/*
 * Console form. A block is 128 words of 64 bits, printed as 32 lines of four words:
 *
 *	>=< [IIIIIIII.OO] WWWWWWWWWWWWWWWW WWWWWWWWWWWWWWWW WWWWWWWWWWWWWWWW WWWWWWWWWWWWWWWW
 *
 * WORD  MEANING
 *    0  id: counts data blocks over the whole run
 *    1  valid words of data, 1..124
 *    2  flags: bit 0 = redundancy block
 *    3  0
 *    4  data[124], zero filled
 *
 * A section (at most 4096 words) is n data blocks, all full but the last, then one redundancy block: its id repeats the
 * section's first, its length is that of the first data block, its data the XOR of the data of all blocks.
 */
#define WIRE_BTB_BLOCK_WORDS 128u
#define WIRE_BTB_BLOCK_HEAD  4u
#define WIRE_BTB_BLOCK_DATA  124u
#define WIRE_BTB_LINE_WORDS  4u
#define WIRE_BTB_BLOCK_LINES 32u
#define WIRE_BTB_REDUNDANCY  1u

/*
 * Parity lines, ours; readers that look for `>=<` pass over them:
 *
 *	>#< [SSSSSSSS.NNNNNN.GGGG.gggg.jj] W W W W
 *
 * They protect the N data lines from line 0 of block S on (line number = 32 * (id - S) + offset / 4; redundancy blocks
 * do not count). Line L belongs to group L mod G as its member L / G. Parity line j of group g is the sum over the
 * group's members i of coefficient(j, i) * line, bytewise in GF(256) with polynomial 0x11d; coefficient(j, i) =
 * 1 / ((255 - j) xor i), a Cauchy matrix: any m parity lines rebuild any m lost lines. A group has at most
 * WIRE_BTB_GROUP_LINES members and WIRE_BTB_GROUP_PARITY parity lines. A section's announcement (`--> btbs:`) ends in
 * `, parity` where such lines will come, so that a reader knows what to keep. Members next to each other in a group are G
 * lines apart on the wire, so a burst is spread over all groups.
 */
#define WIRE_BTB_GROUP_LINES  200u
#define WIRE_BTB_GROUP_PARITY 50u
#define WIRE_BTB_PARITY_MARK  ">#<"

/*
 * Section: WORD 0 compressed (1) or raw (0), 1 dictionary offset (4), 2 dictionary words, 3 payload bytes; then the
 * dictionary, then the payload padded to words. Code bytes: 0 = the word 0; 1 = the next 8 bytes are the word;
 * 2..255 = that word of the dictionary. Bit 1 of word 0 is ours: the section was cut at its first lost byte.
 */
#define WIRE_BTB_SECTION_WORDS 4096u
#define WIRE_BTB_SECTION_HEAD  4u
#define WIRE_BTB_DICT_MAX      256u
#define WIRE_BTB_COMPRESSED    1u
#define WIRE_BTB_CUT	       2u

/* Entries: WORD 0 type, 1 length in words, 2 time in ns, 3 what taking it cost in ns; then as INFO describes the type. */
enum wire_btb_type {
	WIRE_BTB_STACK = 1,
	WIRE_BTB_MAPPING = 2,
	WIRE_BTB_INFO = 4,
	WIRE_BTB_CONTROL = 8,
	WIRE_BTB_STATS = 16,
};
#define WIRE_BTB_TYPES	    5u
#define WIRE_BTB_ENTRY_HEAD 4u
#define WIRE_BTB_NAME_BYTES 16u /* an attribute name in INFO: NUL padded */
#define WIRE_BTB_ATTR_MAX   32u
#define WIRE_BTB_ENTRY_MAX  (1u << 20) /* words; a longer entry is damage */

/* Arithmetic in GF(256), polynomial 0x11d: shift and add, so that a target needs no tables. */
static inline uint8_t wire_gf_mul(uint8_t a, uint8_t b)
{
	uint32_t r = 0, x = a;

	for (uint32_t i = 0; i < 8; i++) {
		r ^= (b >> i & 1u) ? x : 0;
		x = x << 1 ^ ((x & 0x80u) ? 0x11du : 0);
	}
	return (uint8_t)r;
}

/* a^254 = 1/a: square and multiply over the seven set bits of 254. */
static inline uint8_t wire_gf_inv(uint8_t a)
{
	uint8_t r = 1;

	for (uint32_t i = 0; i < 7; i++) {
		a = wire_gf_mul(a, a);
		r = wire_gf_mul(r, a);
	}
	return r;
}

static inline uint8_t wire_btb_coefficient(uint32_t parity, uint32_t member)
{
	return wire_gf_inv((uint8_t)((255u - parity) ^ member));
}

#endif
