/* SPDX-License-Identifier: MIT */
/* strings.c -- __print_flags() and its family: strings made while a program runs, in bounded scratch. */
#include "query/strings.h"
#include "query/out.h"

#include <string.h>

/* A string being made at the end of the scratch. */
struct string_maker {
	struct expr_record *r;
	char *begin, *at, *end;
};

static struct string_maker make(struct expr_record *r)
{
	static char none[1];
	char *base = r->scratch ? r->scratch : none;
	uint32_t cap = r->scratch ? EXPR_SCRATCH_MAX : 0;

	return (struct string_maker){r, base + r->scratch_used, base + r->scratch_used, base + cap};
}

static void put(struct string_maker *m, const char *s, size_t n)
{
	if (n > (size_t)(m->end - m->at))
		n = (size_t)(m->end - m->at);
	memcpy(m->at, s, n);
	m->at += n;
}

static void put_char(struct string_maker *m, char c)
{
	put(m, &c, 1);
}

static void put_hex(struct string_maker *m, uint64_t v, unsigned width)
{
	char d[16];

	put(m, d, out_hex_digits(d, v, width, false));
}

static void put_dec(struct string_maker *m, uint64_t v)
{
	char d[20];

	put(m, d, out_digits(d, v));
}

static struct value made(struct string_maker *m)
{
	m->r->scratch_used += (uint32_t)(m->at - m->begin);
	return (struct value){0, m->begin, (uint32_t)(m->at - m->begin)};
}

struct value strings_text(struct expr_record *r, const char *s, size_t n)
{
	struct string_maker m = make(r);

	put(&m, s, n);
	return made(&m);
}

struct value strings_flags(const struct program *p, const struct insn *i, struct expr_record *r,
			   uint64_t v)
{
	const struct table *t = &p->tables[i->c];
	const struct literal *delimiter = &p->literals[i->b];
	struct string_maker m = make(r);
	bool first = true;

	/* Linux's helper takes a long: a value of fewer bytes keeps what its sign made of it, unless asked otherwise. */
	v = expr_convert(v, i->a);
	for (uint32_t k = 0; k < t->nr && v; k++) {
		const struct table_entry *e = &p->entries[t->first + k];

		if ((v & e->value) != e->value)
			continue;
		v &= ~e->value;
		if (!first)
			put(&m, delimiter->s, delimiter->len);
		first = false;
		put(&m, e->text.s, e->text.len);
	}
	if (v) {
		if (!first)
			put(&m, delimiter->s, delimiter->len);
		put(&m, "0x", 2);
		put_hex(&m, v, 1);
	}
	return made(&m);
}

struct value strings_symbolic(const struct program *p, const struct insn *i, struct expr_record *r,
			      uint64_t v)
{
	const struct table *t = &p->tables[i->c];
	struct string_maker m;

	for (uint32_t k = 0; k < t->nr; k++) {
		const struct table_entry *e = &p->entries[t->first + k];

		if (e->value == v ||
		    (i->a && expr_convert(e->value, i->a) == expr_convert(v, i->a) &&
		     e->value != UINT64_MAX))
			return (struct value){0, e->text.s, e->text.len};
	}
	m = make(r);
	put(&m, "0x", 2);
	put_hex(&m, expr_convert(v, i->a), 1);
	return made(&m);
}

struct value strings_hex(struct expr_record *r, const struct value *v, uint64_t len, bool joined)
{
	struct string_maker m = make(r);

	if (len > v->len)
		len = v->len;
	for (uint64_t k = 0; k < len; k++) {
		if (k && !joined)
			put_char(&m, ' ');
		put_hex(&m, (uint8_t)v->s[k], 2);
	}
	return made(&m);
}

struct value strings_array(struct expr_record *r, const struct value *v, uint64_t count,
			   uint64_t size, bool decimal)
{
	struct string_maker m = make(r);

	if (size != 1 && size != 2 && size != 4 && size != 8) {
		put(&m, "BAD SIZE:", 9);
		put_hex(&m, size, 1);
		return made(&m);
	}
	if (count > v->len / size)
		count = v->len / size;
	if (!decimal)
		put_char(&m, '{');
	for (uint64_t k = 0; k < count; k++) {
		uint64_t e =
			expr_load((const uint8_t *)v->s + k * size, (uint8_t)size, r->env->swap);

		if (k)
			put_char(&m, decimal ? ' ' : ',');
		if (decimal) {
			put_dec(&m, e);
		} else {
			put(&m, "0x", 2);
			put_hex(&m, e, 1);
		}
	}
	if (!decimal)
		put_char(&m, '}');
	return made(&m);
}

/* 32 bits of a mask of longs. */
static uint32_t mask_word(const struct expr_record *r, const struct value *v, uint32_t k)
{
	uint32_t words = v->len / 4, per_long = r->env->long_bytes == 4 ? 1 : 2;
	/* In a big-endian long of 8 bytes the low word stands after the high one. */
	uint32_t at = r->env->swap && per_long == 2 && (k ^ 1) < words ? k ^ 1 : k;

	return (uint32_t)expr_load((const uint8_t *)v->s + 4 * (size_t)at, TYPE_U32, r->env->swap);
}

struct value strings_cpus(struct expr_record *r, const struct value *v)
{
	struct string_maker m = make(r);
	uint32_t bits = v->len / 4 * 32, first = bits;

	for (uint32_t i = 0; i <= bits; i++) {
		bool set = i < bits && mask_word(r, v, i / 32) >> (i % 32) & 1;

		if (set && first == bits) {
			first = i;
		} else if (!set && first != bits) {
			if (m.at != m.begin)
				put_char(&m, ',');
			put_dec(&m, first);
			if (i - 1 > first) {
				put_char(&m, '-');
				put_dec(&m, i - 1);
			}
			first = bits;
		}
	}
	return made(&m);
}

/* 32 bits a word, the highest first, divided by commas; the bits of whole longs. */
struct value strings_bitmask(struct expr_record *r, const struct value *v)
{
	struct string_maker m = make(r);

	for (uint32_t k = v->len / 4; k-- > 0;) {
		put_hex(&m, mask_word(r, v, k), 8);
		if (k)
			put_char(&m, ',');
	}
	return made(&m);
}

static void dump_line(struct string_maker *m, const uint8_t *s, uint32_t n, uint32_t row,
		      uint32_t group, bool ascii, bool swap)
{
	uint32_t column = 0, full = row * 2 + row / group;

	for (uint32_t k = 0; k < n; k += group) {
		uint8_t size = n - k >= group ? (uint8_t)group : 1;

		if (k) {
			put_char(m, ' ');
			column++;
		}
		put_hex(m, expr_load(s + k, size, swap), 2u * size);
		column += 2u * size;
	}
	if (!ascii)
		return;
	while (column++ < full + 1)
		put_char(m, ' ');
	for (uint32_t k = 0; k < n; k++)
		put_char(m, s[k] >= 32 && s[k] < 127 ? (char)s[k] : '.');
}

struct value strings_hex_dump(struct expr_record *r, const struct literal *prefix,
			      const struct value *args, bool own_lines)
{
	uint64_t kind = args[0].n, row = args[1].n == 32 ? 32 : 16, group = args[2].n;
	const struct value *v = &args[3];
	uint32_t len = args[4].n < v->len ? (uint32_t)args[4].n : v->len;
	struct string_maker m = make(r);

	if (group != 2 && group != 4 && group != 8)
		group = 1;
	for (uint32_t k = 0; k < len; k += (uint32_t)row) {
		uint32_t n = len - k < row ? len - k : (uint32_t)row;

		if (k || own_lines)
			put_char(&m, '\n');
		put(&m, prefix->s, prefix->len);
		if (kind) { /* an offset; the address of the kernel's copy means nothing here */
			put_hex(&m, k, 8);
			put(&m, ": ", 2);
		}
		dump_line(&m, (const uint8_t *)v->s + k, n, (uint32_t)row, (uint32_t)group,
			  args[5].n != 0, r->env->swap);
	}
	if (own_lines)
		put_char(&m, '\n');
	return made(&m);
}
