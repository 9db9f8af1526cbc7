/* SPDX-License-Identifier: MIT */
/* print.c -- helpers of TP_printk: flags, symbols, hex, arrays, masks; and strings going into records. */
#include "wire/cold.h"
#include "fathom/inside/print.h"
#include "wire/div.h"

size_t fathom_strlen(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

/* Strings in tmp lie one behind the other; the last byte is kept for the last one's end. */
static size_t print_start(const struct fathom_text *tmp)
{
	return tmp->len;
}

static const char *print_end(struct fathom_text *tmp, size_t start)
{
	if (!tmp->size)
		return "";
	if (start >= tmp->size)
		start = tmp->size - 1;
	if (tmp->len >= tmp->size)
		tmp->len = tmp->size - 1;
	tmp->buf[tmp->len] = 0;
	if (tmp->len + 1 < tmp->size)
		tmp->len++;
	return tmp->buf + start;
}

static void print_hex_number(struct fathom_text *t, uint64_t v)
{
	fathom_text_str(t, "0x");
	fathom_text_hex(t, v, 0, ' ');
}

const char *fathom_print_flags(struct fathom_text *tmp, const char *delim, uint64_t flags,
			       const struct fathom_symbol *table)
{
	size_t start = print_start(tmp);
	int first = 1;

	for (; table->name && flags; table++) {
		if ((flags & table->value) != table->value)
			continue;
		flags &= ~table->value;
		if (!first && delim)
			fathom_text_str(tmp, delim);
		first = 0;
		fathom_text_str(tmp, table->name);
	}
	if (flags) {
		if (!first && delim)
			fathom_text_str(tmp, delim);
		print_hex_number(tmp, flags);
	}
	return print_end(tmp, start);
}

const char *fathom_print_symbolic(struct fathom_text *tmp, uint64_t value,
				  const struct fathom_symbol *table)
{
	size_t start = print_start(tmp);

	while (table->name && table->value != value)
		table++;
	if (table->name)
		fathom_text_str(tmp, table->name);
	else
		print_hex_number(tmp, value);
	return print_end(tmp, start);
}

const char *fathom_print_hex(struct fathom_text *tmp, const void *data, size_t bytes, int blanks)
{
	size_t start = print_start(tmp);
	const uint8_t *b = data;

	for (size_t i = 0; i < bytes && !tmp->cut; i++) {
		if (i && blanks)
			fathom_text_char(tmp, ' ');
		fathom_text_hex(tmp, b[i], 2, '0');
	}
	return print_end(tmp, start);
}

static uint64_t print_element(const uint8_t *at, size_t el_size)
{
	uint64_t v = 0;
	uint32_t word;
	uint16_t half;

	switch (el_size) {
	case 1: return *at;
	case 2: __builtin_memcpy(&half, at, 2); return half;
	case 4: __builtin_memcpy(&word, at, 4); return word;
	default: __builtin_memcpy(&v, at, 8); return v;
	}
}

const char *fathom_print_array(struct fathom_text *tmp, const void *data, size_t count,
			       size_t el_size)
{
	size_t start = print_start(tmp);
	const uint8_t *b = data;

	fathom_text_char(tmp, '{');
	if (el_size != 1 && el_size != 2 && el_size != 4 && el_size != 8) {
		fathom_text_str(tmp, "BAD SIZE:");
		fathom_text_u64(tmp, el_size, 0, ' ');
		count = 0;
	}
	for (size_t i = 0; i < count && !tmp->cut; i++) {
		if (i)
			fathom_text_char(tmp, ',');
		print_hex_number(tmp, print_element(b + i * el_size, el_size));
	}
	fathom_text_char(tmp, '}');
	return print_end(tmp, start);
}

/* As Linux prints a mask: 32 bits a group, the highest first, commas between. */
const char *fathom_print_bitmask(struct fathom_text *tmp, const void *mask, size_t bytes)
{
	size_t start = print_start(tmp), groups = bytes / 4;
	const uint8_t *b = mask;

	while (groups--) {
		uint32_t word;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		size_t at = groups;
#else
		size_t at = sizeof(long) == 8 ? groups ^ 1 : groups;
#endif
		__builtin_memcpy(&word, b + at * 4, 4);
		fathom_text_hex(tmp, word, 8, '0');
		if (groups)
			fathom_text_char(tmp, ',');
	}
	return print_end(tmp, start);
}

void *fathom_print_room(struct fathom_text *tmp, size_t bytes)
{
	void *at = tmp->buf + tmp->len;

	if (bytes > tmp->size - tmp->len)
		return NULL;
	tmp->len += bytes;
	return at;
}

void fathom_assign_str(char *dst, const char *src, uint32_t bytes)
{
	uint32_t i = 0;

	if (!bytes)
		return;
	for (; i + 1 < bytes && src[i]; i++)
		dst[i] = src[i];
	dst[i] = 0;
}

/* At most 255 bytes, as Linux: the length is found by formatting into a buffer of the stack. */
size_t fathom_vlen(const char *fmt, va_list *ap)
{
	char buf[256];
	struct fathom_text t;

	fathom_text_init(&t, buf, sizeof(buf) - 1);
	fathom_text_vprintf(&t, fmt, *ap);
	return t.len;
}

void fathom_assign_vstr(char *dst, uint32_t bytes, const char *fmt, va_list *ap)
{
	struct fathom_text t;

	if (!bytes)
		return;
	fathom_text_init(&t, dst, bytes);
	fathom_text_vprintf(&t, fmt, *ap);
	fathom_text_cstr(&t);
}

uint64_t fathom_ns_secs(uint64_t ns, uint32_t *rest)
{
	uint32_t low = wire_div(&ns, 1000), mid = wire_div(&ns, 1000), high = wire_div(&ns, 1000);

	if (rest)
		*rest = (high * 1000 + mid) * 1000 + low;
	return ns;
}
