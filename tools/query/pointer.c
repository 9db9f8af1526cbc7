/* SPDX-License-Identifier: MIT */
/* pointer.c -- %p and its letters: symbols, addresses, MAC, UUID, bitmaps, bytes. */
#include "query/conv.h"

#include <string.h>

/* Text made aside, to be padded by the conversion's width. */
struct aside {
	char s[256];
	unsigned n;
};

static void put(struct aside *a, const char *s, unsigned n)
{
	if (n > sizeof(a->s) - a->n)
		n = (unsigned)sizeof(a->s) - a->n;
	memcpy(a->s + a->n, s, n);
	a->n += n;
}

static void put_char(struct aside *a, char c)
{
	put(a, &c, 1);
}

static void put_hex(struct aside *a, uint64_t v, unsigned width, bool upper)
{
	char d[16];

	put(a, d, out_hex_digits(d, v, width, upper));
}

static void put_dec(struct aside *a, uint64_t v)
{
	char d[20];

	put(a, d, out_digits(d, v));
}

static void aside_out(struct out *o, const struct conv *c, const struct aside *a)
{
	struct conv s = *c;

	s.prec = -1;
	conv_string(o, &s, a->s, a->n);
}

static void symbol(struct out *o, const struct conv *c, uint64_t addr, const struct expr_record *r)
{
	/* %pB is of a return address, which may stand after its function: Linux looks the call up. */
	uint64_t offset = 0, size = 0, back = c->ext[0] == 'B' && !(c->flags & CONV_LIBC);
	const char *name =
		r->env->symbol ? r->env->symbol(r->env->arg, addr - back, &offset, &size) : NULL;
	const char *module = name && r->env->module ? r->env->module(r->env->arg, addr - back) : "";
	bool with_offset = c->ext[0] == 'S' || c->ext[0] == 'F' || c->ext[0] == 'B';
	struct aside a = {.n = 0};

	if (!name) {
		put(&a, "0x", 2);
		put_hex(&a, addr, 1, false);
	} else {
		put(&a, name, (unsigned)strnlen(name, 100));
		if (with_offset) {
			put(&a, "+0x", 3);
			put_hex(&a, offset + back, 1, false);
			if (!(c->flags & CONV_LIBC)) {
				put(&a, "/0x", 3);
				put_hex(&a, size, 1, false);
			}
		}
		if (*module && !(c->flags & CONV_LIBC)) {
			put(&a, " [", 2);
			put(&a, module, (unsigned)strnlen(module, 60));
			put_char(&a, ']');
		}
	}
	aside_out(o, c, &a);
}

static void ip4(struct aside *a, const uint8_t *b, bool zeros)
{
	for (unsigned i = 0; i < 4; i++) {
		if (i)
			put_char(a, '.');
		if (zeros && b[i] < 100)
			put_char(a, '0');
		if (zeros && b[i] < 10)
			put_char(a, '0');
		put_dec(a, b[i]);
	}
}

/* Network order, unless a letter says otherwise: h of the traced machine, l little-endian. */
static void ip4_ordered(struct aside *a, const struct conv *c, const uint8_t *b, bool swap)
{
	bool big = swap != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	uint8_t reversed[4] = {b[3], b[2], b[1], b[0]};
	bool little = c->ext[2] == 'l' || (c->ext[2] == 'h' && !big);

	ip4(a, little ? reversed : b, c->ext[0] == 'i');
}

static uint32_t group(const uint8_t *b, unsigned i)
{
	return (uint32_t)b[2 * i] << 8 | b[2 * i + 1];
}

/* The longest run of at least two zero groups of the first n; its first group, or -1. */
static int zero_run(const uint8_t *b, unsigned n, unsigned *len)
{
	int best = -1;

	*len = 1;
	for (unsigned i = 0; i < n; i++) {
		unsigned k = 0;

		while (i + k < n && !group(b, i + k))
			k++;
		if (k > *len) {
			*len = k;
			best = (int)i;
		}
	}
	return best;
}

static void ip6_short(struct aside *a, const uint8_t *b)
{
	static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
	bool v4 = !memcmp(b, mapped, 12);
	unsigned n = v4 ? 6 : 8, len;
	int run = zero_run(b, n, &len);
	bool colon = false;

	for (unsigned i = 0; i < n; i++) {
		if ((int)i == run) {
			put(a, colon ? ":" : "::", colon ? 1 : 2);
			i += len - 1;
			colon = false;
			if (i + 1 < n || v4)
				continue;
			break;
		}
		if (colon)
			put_char(a, ':');
		put_hex(a, group(b, i), 1, false);
		colon = true;
		if (run >= 0 && (int)i + 1 == run) {
			put_char(a, ':');
			colon = true;
		}
	}
	if (v4) {
		if (colon)
			put_char(a, ':');
		ip4(a, b + 12, false);
	}
}

static void ip6(struct aside *a, const uint8_t *b, bool colons)
{
	for (unsigned i = 0; i < 8; i++) {
		if (i && colons)
			put_char(a, ':');
		put_hex(a, group(b, i), 4, false);
	}
}

/* %pIS: a sockaddr of either family; `p` adds the port, `c` is the short form of IPv6. */
static void sockaddr(struct aside *a, const char *ext, const struct value *v, bool swap)
{
	const uint8_t *b = (const uint8_t *)v->s;
	uint64_t family = v->len >= 2 ? expr_load(b, 2, swap) : 0;
	bool port = strchr(ext, 'p') != NULL;

	if (family == 2 && v->len >= 8) {
		ip4(a, b + 4, ext[0] == 'i');
	} else if (family == 10 && v->len >= 24) {
		if (port)
			put_char(a, '[');
		if (strchr(ext, 'c'))
			ip6_short(a, b + 8);
		else
			ip6(a, b + 8, true);
		if (port)
			put_char(a, ']');
	} else {
		put(a, "(invalid)", 9);
		return;
	}
	if (port) {
		put_char(a, ':');
		put_dec(a, group(b, 1));
	}
}

static void address(struct aside *a, const struct conv *c, const struct value *v, bool swap)
{
	const uint8_t *b = (const uint8_t *)v->s;

	if (c->ext[1] == 'S')
		sockaddr(a, c->ext, v, swap);
	else if (c->ext[1] == '4' && v->len >= 4)
		ip4_ordered(a, c, b, swap);
	else if (c->ext[1] == '6' && v->len >= 16 && c->ext[2] == 'c')
		ip6_short(a, b);
	else if (c->ext[1] == '6' && v->len >= 16)
		ip6(a, b, c->ext[0] == 'I');
	else
		put(a, "(invalid)", 9);
}

static void mac(struct aside *a, const struct conv *c, const struct value *v)
{
	char between = c->ext[0] == 'm' ? 0 : c->ext[1] == 'F' ? '-' : ':';
	bool reverse = c->ext[1] == 'R';

	if (v->len < 6) {
		put(a, "(invalid)", 9);
		return;
	}
	for (unsigned i = 0; i < 6; i++) {
		if (i && between)
			put_char(a, between);
		put_hex(a, (uint8_t)v->s[reverse ? 5 - i : i], 2, false);
	}
}

static void uuid(struct aside *a, const struct conv *c, const struct value *v)
{
	static const uint8_t little[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
	bool le = (c->ext[1] | 32) == 'l', upper = c->ext[1] == 'L' || c->ext[1] == 'B';

	if (v->len < 16) {
		put(a, "(invalid)", 9);
		return;
	}
	for (unsigned i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			put_char(a, '-');
		put_hex(a, (uint8_t)v->s[le ? little[i] : i], 2, upper);
	}
}

/* %*ph: width bytes, divided by a blank, a colon (C), a dash (D) or nothing (N). */
static void hex_bytes(struct out *o, const struct conv *c, const struct value *v)
{
	static const char letters[] = "CDN", between[] = ":-";
	const char *l = c->ext[1] ? strchr(letters, c->ext[1]) : NULL;
	uint32_t n = c->width > 0 ? (uint32_t)c->width : 1;
	char b = l ? (l - letters < 2 ? between[l - letters] : 0) : ' ';

	if (n > 64)
		n = 64;
	if (n > v->len)
		n = v->len;
	for (uint32_t i = 0; i < n; i++) {
		if (i && b)
			out_char(o, b);
		out_char(o, "0123456789abcdef"[(uint8_t)v->s[i] >> 4]);
		out_char(o, "0123456789abcdef"[(uint8_t)v->s[i] & 15]);
	}
}

static bool bit(const struct value *v, uint32_t i, const struct expr_env *env)
{
	uint32_t bytes = env->long_bytes == 4 ? 4 : 8;
	uint32_t at = i / 8;

	if (env->swap) /* of a big-endian long the first byte is the highest */
		at = at / bytes * bytes + (bytes - 1 - at % bytes);
	return at < v->len && v->s[at] >> (i % 8) & 1;
}

static void bitmap(struct out *o, const struct conv *c, const struct value *v,
		   const struct expr_env *env)
{
	uint32_t n = c->width > 0 ? (uint32_t)c->width : 0;
	bool first = true;

	if (n > v->len * 8)
		n = v->len * 8;
	if (c->ext[1] != 'l') {
		for (uint32_t w = (n + 31) / 32; w-- > 0;) {
			uint32_t bits = n - w * 32 < 32 ? n - w * 32 : 32, word = 0;
			struct conv hex = {.conv = 'x', .size = 4, .flags = CONV_ZERO, .prec = -1};

			for (uint32_t i = 0; i < bits; i++)
				word |= (uint32_t)bit(v, w * 32 + i, env) << i;
			hex.width = (int32_t)(bits + 3) / 4;
			conv_number(o, &hex, word);
			if (w)
				out_char(o, ',');
		}
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t k = i;

		if (!bit(v, i, env))
			continue;
		while (k + 1 < n && bit(v, k + 1, env))
			k++;
		if (!first)
			out_char(o, ',');
		first = false;
		out_u64(o, i);
		if (k > i) {
			out_char(o, '-');
			out_u64(o, k);
		}
		i = k;
	}
}

/* A plain pointer: 16 digits as the kernel prints it, 0x... as libc does. */
static void plain(struct aside *a, const struct conv *c, uint64_t v, const struct expr_env *env)
{
	if (!(c->flags & CONV_LIBC)) {
		put_hex(a, v, env->long_bytes == 4 ? 8 : 16, false);
	} else if (!v) {
		put(a, "(nil)", 5);
	} else {
		put(a, "0x", 2);
		put_hex(a, v, 1, false);
	}
}

void conv_pointer(struct out *o, const struct conv *c, const struct value *v, uint8_t type,
		  const struct expr_record *r)
{
	struct aside a = {.n = 0};

	if (!(type & TYPE_BYTES)) {
		if (c->ext[0] == 'e' && !(c->flags & CONV_LIBC) && errnames_find(0 - v->n)) {
			put_char(&a, '-');
			put(&a, errnames_find(0 - v->n), (unsigned)strlen(errnames_find(0 - v->n)));
			aside_out(o, c, &a);
			return;
		}
		if (c->ext[0] && strchr("SsFfB", c->ext[0])) {
			symbol(o, c, v->n, r);
			return;
		}
		plain(&a, c, v->n, r->env);
		aside_out(o, c, &a);
		return;
	}
	switch (c->ext[0]) {
	case 'I':
	case 'i': address(&a, c, v, r->env->swap); break;
	case 'M':
	case 'm': mac(&a, c, v); break;
	case 'U': uuid(&a, c, v); break;
	case 'h': hex_bytes(o, c, v); return;
	case 'b': bitmap(o, c, v, r->env); return;
	case 'a':
		put(&a, "0x", 2);
		if (v->len >= 8)
			put_hex(&a, expr_load((const uint8_t *)v->s, TYPE_U64, r->env->swap), 16,
				false);
		break;
	default: plain(&a, c, 0, r->env); break;
	}
	aside_out(o, c, &a);
}
