/* SPDX-License-Identifier: MIT */
/* pagepack.c -- ring pages packed for a slow line, and back: one model of what comes next, and an arithmetic coder. */
#include "wire/cold.h"
#include "wire/pagepack.h"
#include "wire/ringpage.h"

/*
 * A page is a row of 32-bit words. The model walks them as records (header, then `type_len` words, the first of which has the
 * event's id) and guesses each:
 *
 *   header   its type from the event before it; its delta by the number of bits, which is predicted, and the bits
 *   word     by_path:  what came last time after the same words of such a record
 *            by_place: what the last such record had there
 *            recent:   one of the last 32 words for which both were wrong (pids, names)
 *            else its eight nibbles
 *
 * Each guess is a yes or no, whose probability is learnt by place and which the coder writes in -log2(p) bits: a word that is
 * foreseen takes a hundredth of a byte.
 *
 * K1  Packing and unpacking are the same code: each step takes a value and returns it, or ignores what it was given and
 *     returns what the code says. So both sides always know the same.
 * K2  Nothing is trusted: what does not look like records costs more, and any bytes unpack into some page within its room.
 * K3  Every loop ends with the page: at most `bytes` / 4 words, each of a bounded number of steps.
 */

static uint32_t pack_read(struct wire_packer *s)
{
	if (s->from < s->from_end)
		return *s->from++;
	s->virtual_bytes++;
	return 0;
}

/* low <= code <= high. What both ends have in common is out. */
static void pack_shift(struct wire_packer *s)
{
	while (!((s->low ^ s->high) >> 24)) {
		if (s->unpacks) {
			s->code = s->code << 8 | pack_read(s);
		} else if (s->to < s->to_end) {
			*s->to++ = (uint8_t)(s->high >> 24);
		} else {
			s->full = 1;
		}
		s->low <<= 8;
		s->high = s->high << 8 | 255;
	}
}

/* One bit, which is 1 with the probability of `p` in 4096. */
static uint32_t pack_bit_at(struct wire_packer *s, uint32_t bit, uint32_t p)
{
	uint32_t middle = s->low + ((s->high - s->low) >> 12) * p;

	if (s->unpacks)
		bit = s->code <= middle;
	if (bit)
		s->high = middle;
	else
		s->low = middle + 1;
	pack_shift(s);
	return bit;
}

/* The same, learnt: 12 bits of probability, 4 of how often it was asked. 0: never. */
static uint32_t pack_bit(struct wire_packer *s, uint16_t *learnt, uint32_t bit)
{
	uint32_t p = *learnt ? *learnt >> 4 : 2048, times = *learnt & 15, rate;

	bit = pack_bit_at(s, bit, p);
	rate = 1u + (times > 2) + (times > 5) + (times > 10);
	p = bit ? p + ((4096 - p) >> rate) : p - (p >> rate);
	p = p < 8 ? 8 : p > 4088 ? 4088 : p;
	*learnt = (uint16_t)(p << 4 | (times < 11 ? times + 1 : times));
	return bit;
}

/* `bits` bits of v from the highest down, each learnt by those above it. */
static uint32_t pack_tree(struct wire_packer *s, uint16_t *learnt, uint32_t bits, uint32_t v)
{
	uint32_t node = 1;

	for (uint32_t i = bits; i--;)
		node = node << 1 | pack_bit(s, learnt + node, v >> i & 1);
	return node - (1u << bits);
}

/* A number of at most 27 bits: how many it has, the bit after its highest, the others. */
static uint32_t pack_number(struct wire_packer *s, uint16_t *learnt, uint32_t v)
{
	uint32_t bits = 0, got;

	while (v >> bits)
		bits++;
	bits = pack_tree(s, learnt, 5, bits);
	got = bits ? 1 : 0;
	for (uint32_t i = bits > 1 ? bits - 1 : 0; i--;) {
		uint32_t bit = v >> i & 1;

		bit = i + 2 == bits ? pack_bit(s, &s->second[bits], bit)
				    : pack_bit_at(s, bit, 2048);
		got = got << 1 | bit;
	}
	return got;
}

static uint32_t pack_hash(uint32_t v)
{
	return v * 2654435761u;
}

/* A word that neither guess had. */
static uint32_t pack_other(struct wire_packer *s, uint32_t place, uint32_t w)
{
	uint32_t i = 0, got = 0;

	while (i < s->nr_recent && s->recent[i] != w)
		i++;
	if (pack_bit(s, &s->is_recent[place], i < s->nr_recent)) {
		i = pack_tree(s, s->which, 5, i);
		got = s->recent[i];
	} else {
		for (uint32_t k = 0; k < 8; k++)
			got |= pack_tree(s, s->nibble[k], 4, w >> 4 * k & 15) << 4 * k;
		if (s->nr_recent < WIRE_PACK_RECENT)
			s->nr_recent++;
		i = s->nr_recent - 1;
	}
	for (; i; i--)
		s->recent[i] = s->recent[i - 1];
	s->recent[0] = got;
	return got;
}

static uint32_t pack_word(struct wire_packer *s, uint32_t place, uint32_t path, uint32_t w)
{
	uint32_t *by_path = &s->by_path[pack_hash(path) >> 24 & (WIRE_PACK_PATHS - 1)];
	uint32_t *by_place = &s->by_place[place %= WIRE_PACK_PLACES];

	if (pack_bit(s, &s->is_path[place], w == *by_path))
		w = *by_path;
	else if (*by_place != *by_path && pack_bit(s, &s->is_place[place], w == *by_place))
		w = *by_place;
	else
		w = pack_other(s, place, w);
	*by_path = *by_place = w;
	return w;
}

/* A header word: the type of the record and its delta, which stand where the byte order puts them. */
static uint32_t pack_header(struct wire_packer *s, uint32_t last_id, int big, uint32_t w)
{
	uint32_t kind = last_id * 7 % WIRE_PACK_KINDS;
	uint32_t type = big ? w >> WIRE_DELTA_BITS : w & 31;
	uint32_t delta = big ? w & WIRE_DELTA_MAX : w >> WIRE_TYPE_LEN_BITS;

	type = pack_tree(s, s->type[kind], 5, type);
	delta = pack_number(s, s->delta[kind], delta) & WIRE_DELTA_MAX;
	return big ? type << WIRE_DELTA_BITS | delta : delta << WIRE_TYPE_LEN_BITS | type;
}

static uint32_t pack_swapped(uint32_t w)
{
	return w >> 24 | (w >> 8 & 0xff00) | (w << 8 & 0xff0000) | w << 24;
}

/* The page's next word, where packing. */
static uint32_t pack_load(const struct wire_packer *s)
{
	uint32_t w = 0;

	if (!s->unpacks)
		__builtin_memcpy(&w, s->page + s->at, 4);
	return w;
}

static uint32_t pack_done(struct wire_packer *s, uint32_t w)
{
	uint32_t stored = s->swaps ? pack_swapped(w) : w;

	if (s->unpacks)
		__builtin_memcpy(s->page + s->at, &stored, 4);
	s->at += 4;
	return w;
}

static uint32_t pack_next(struct wire_packer *s, uint32_t place, uint32_t path)
{
	return pack_done(s, pack_word(s, place, path, pack_load(s)));
}

/* What a record's first words say: its id, its pid. `ids`: those of the two records before it. */
struct pack_seen {
	uint32_t ids[2], pid;
};

static void pack_payload(struct wire_packer *s, struct pack_seen *seen, uint32_t words)
{
	uint32_t id = 0, path = 0;

	for (uint32_t i = 0; i < words && s->at < s->bytes; i++) {
		uint32_t place = id * 37 + i * 11, way = path * 64 + id * 1024 + i, w;

		if (i == 0) {
			place = seen->ids[0] * 5;
			way = (seen->ids[0] * 31 + seen->ids[1]) * 64 + 1;
		} else if (i == 1) {
			way = (seen->pid * 33 + id) * 64 + 3;
		}
		w = pack_next(s, place, way);
		if (i == 0) {
			id = s->big ? w >> 16 : w & 0xffff;
			seen->ids[1] = seen->ids[0];
			seen->ids[0] = id;
		} else if (i == 1) {
			seen->pid = w;
		}
		path = pack_hash(path + w + i);
	}
}

static void pack_records(struct wire_packer *s)
{
	struct pack_seen seen = {{0, 0}, 0};

	while (s->at < s->bytes && !s->full) {
		uint32_t w = pack_done(s, pack_header(s, seen.ids[0], s->big, pack_load(s)));
		uint32_t type = s->big ? w >> WIRE_DELTA_BITS : w & 31;

		if (type >= 1 && type <= WIRE_TYPE_DATA_MAX) {
			pack_payload(s, &seen, type);
		} else if (s->at < s->bytes) { /* a length, or the upper bits of a time */
			w = pack_next(s, type, type);
			if (type == WIRE_TYPE_SIZED)
				pack_payload(s, &seen, w < 4 ? 0 : (w - 1) / 4);
		}
	}
}

/* The page's head: its time; the size that it states, which is nearly always what we know. Then the records. */
static void pack_page(struct wire_packer *s)
{
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t known = i == (s->big ? 3u : 2u) ? s->bytes - WIRE_PAGE_HEADER : 0;

		pack_done(s, pack_word(s, i * 11, i, pack_load(s) ^ known) ^ known);
	}
	pack_records(s);
}

static void pack_begin(struct wire_packer *s)
{
	__builtin_memset(s, 0, sizeof(*s));
	s->high = ~0u;
}

static int pack_is_big(void)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return 1;
#else
	return 0;
#endif
}

uint32_t fathom_page_pack(struct wire_packer *s, const void *page, uint32_t bytes, uint8_t *to)
{
	uint32_t coded;

	pack_begin(s);
	s->page = (uint8_t *)(uintptr_t)page;
	s->bytes = bytes;
	s->big = (uint8_t)pack_is_big();
	s->to = to + WIRE_PACKED_HEAD;
	s->to_end = s->to + bytes - 1;
	pack_page(s);
	*s->to = (uint8_t)(s->high >> 24); /* with zeros after it, it lies between low and high */
	coded = (uint32_t)(s->to + 1 - to) - WIRE_PACKED_HEAD;
	to[4] = s->big ? WIRE_PACKED_BIG : 0;
	if (s->full) {
		__builtin_memcpy(to + WIRE_PACKED_HEAD, page, bytes);
		coded = bytes;
	} else {
		to[4] |= WIRE_PACKED_CODED;
	}
	to[0] = (uint8_t)coded;
	to[1] = (uint8_t)(coded >> 8);
	to[2] = (uint8_t)bytes;
	to[3] = (uint8_t)(bytes >> 8);
	return WIRE_PACKED_HEAD + coded;
}

int32_t fathom_page_unpack(struct wire_packer *s, const uint8_t *from, size_t bytes, uint8_t *page,
			   uint32_t room, uint32_t *used, int *big)
{
	uint32_t coded, n;

	if (bytes < WIRE_PACKED_HEAD)
		return -1;
	coded = from[0] | (uint32_t)from[1] << 8;
	n = from[2] | (uint32_t)from[3] << 8;
	if (from[4] > (WIRE_PACKED_BIG | WIRE_PACKED_CODED) || coded > bytes - WIRE_PACKED_HEAD ||
	    n > room || n < WIRE_PAGE_HEADER || n % 4 || n > WIRE_PACKED_MAX)
		return -1;
	*used = n;
	*big = (from[4] & WIRE_PACKED_BIG) != 0;
	__builtin_memset(page + n, 0, room - n);
	from += WIRE_PACKED_HEAD;
	if (!(from[-1] & WIRE_PACKED_CODED)) {
		__builtin_memcpy(page, from, coded < n ? coded : n);
		return coded == n ? (int32_t)(WIRE_PACKED_HEAD + coded) : -1;
	}
	pack_begin(s);
	s->unpacks = 1;
	s->page = page;
	s->bytes = n;
	s->big = (uint8_t)*big;
	s->swaps = *big != pack_is_big();
	s->from = from;
	s->from_end = from + coded;
	for (uint32_t i = 0; i < 4; i++)
		s->code = s->code << 8 | pack_read(s);
	pack_page(s);
	/* Four bytes are read ahead, and the code has one of them. */
	return s->from == s->from_end && s->virtual_bytes == 3 ? (int32_t)(WIRE_PACKED_HEAD + coded)
							       : -1;
}
