/* SPDX-License-Identifier: MIT */
/* pack.c -- the arguments of trace_printk() as bytes, laid out as Linux lays bprint's out. */
#include "wire/cold.h"
#include "fathom/inside/print.h"
#include "wire/format_spec.h"
#include "wire/copy.h"

struct packer {
	uint8_t *base;
	size_t room, need;
};

static void pack_bytes(struct packer *p, const void *data, size_t bytes, size_t align)
{
	size_t at = (p->need + align - 1) & ~(align - 1);

	if (at <= p->room && bytes <= p->room - at) {
		while (p->need < at)
			p->base[p->need++] = 0;
		wire_copy(p->base + at, data, bytes);
	}
	p->need = at + bytes;
}

/* Its low bytes; one and two at their own alignment, all others at four. */
static void pack_integer(struct packer *p, uint64_t v, uint32_t bytes)
{
	const uint8_t *low = (const uint8_t *)&v;

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	low += 8 - bytes;
#endif
	pack_bytes(p, low, bytes, bytes < 4 ? bytes : 4);
}

/* `%*ph`: what it points to may change, so its text is kept. At most 64 bytes are shown. */
static void pack_hex(struct packer *p, const struct fathom_spec *s, const void *data)
{
	char buf[64 * 3 + 1];
	char form[] = "%*ph ";
	struct fathom_text t;

	form[4] = s->ext2;
	fathom_text_init(&t, buf, sizeof(buf));
	fathom_text_printf(&t, form, s->width, data);
	fathom_text_cstr(&t);
	pack_bytes(p, buf, t.len + 1, 1);
}

size_t fathom_pack(void *args, size_t room, const char *fmt, va_list list)
{
	struct packer p = {.base = args, .room = room};
	struct fathom_spec s;
	const char *text;
	va_list ap;

	va_copy(ap, list);
	while (*fmt) {
		if (*fmt++ != '%')
			continue;
		fmt = fathom_spec_parse(fmt, &s);
		if (s.kind == SPEC_NONE || s.kind == SPEC_PERCENT)
			continue;
		if (s.width_arg) {
			s.width = va_arg(ap, int);
			pack_integer(&p, (uint32_t)s.width, 4);
		}
		if (s.precision_arg)
			pack_integer(&p, (uint32_t)va_arg(ap, int), 4);
		if (s.kind == SPEC_STRING) {
			text = fathom_string(va_arg(ap, const char *));
			pack_bytes(&p, text, fathom_strlen(text) + 1, 1);
		} else if (s.kind == SPEC_POINTER && s.ext == 'h') {
			pack_hex(&p, &s, va_arg(ap, const void *));
		} else if (s.kind == SPEC_POINTER) {
			pack_integer(&p, (uintptr_t)va_arg(ap, void *), sizeof(void *));
		} else if (s.kind == SPEC_CHAR) {
			pack_integer(&p, (uint32_t)va_arg(ap, int), 1);
		} else if (s.bytes == 8) {
			pack_integer(&p, va_arg(ap, unsigned long long), 8);
		} else {
			pack_integer(&p, va_arg(ap, unsigned int), s.bytes);
		}
	}
	va_end(ap);
	return p.need;
}
