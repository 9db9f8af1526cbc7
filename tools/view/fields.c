/* SPDX-License-Identifier: MIT */
/* fields.c -- the fields of a record one by one: -R, and what is left when a print fmt cannot be understood. */
#include "view/lines.h"

#include <string.h>

static bool printable(const uint8_t *s, uint32_t n)
{
	for (uint32_t k = 0; k < n && s[k]; k++)
		if ((s[k] < 32 || s[k] > 126) && s[k] != '\n' && s[k] != '\t')
			return false;
	return true;
}

static void put_array(struct out *o, const struct format_field *f, const uint8_t *s, uint32_t n)
{
	if (f->flags & FORMAT_STRING && printable(s, n)) {
		out_bytes(o, (const char *)s, strnlen((const char *)s, n));
		return;
	}
	out_str(o, "ARRAY[");
	for (uint32_t k = 0; k < n; k++) {
		if (k)
			out_bytes(o, ", ", 2);
		out_char(o, "0123456789abcdef"[s[k] >> 4]);
		out_char(o, "0123456789abcdef"[s[k] & 15]);
	}
	out_char(o, ']');
}

static void put_number(struct out *o, const struct format_field *f, uint64_t v)
{
	if (f->flags & FORMAT_POINTER) {
		out_bytes(o, "0x", 2);
		out_hex(o, v);
	} else if (f->flags & FORMAT_SIGNED) {
		out_s64(o, (int64_t)v);
	} else if (f->flags & FORMAT_LONG) {
		out_bytes(o, "0x", 2);
		out_hex(o, v);
	} else {
		out_u64(o, v);
	}
}

void print_fields(struct line_writer *w, const struct printer *p, const struct item *i)
{
	struct expr_record r = writer_record(w, i);

	for (uint32_t k = p->format->nr_common; k < p->format->nr_fields; k++) {
		const struct format_field *f = &p->format->fields[k];
		bool symbol = false;

		out_char(w->out, ' ');
		out_str(w->out, f->name);
		out_char(w->out, '=');
		if (p->fmt && !printfmt_error(p->fmt) &&
		    printfmt_field(p->fmt, f, &r, w->out, &symbol)) {
			if (symbol && !w->o->like_31)
				out_printf(w->out, " (0x%llx)",
					   (unsigned long long)item_number(w, i, f));
			continue;
		}
		if (f->flags & FORMAT_DYNAMIC) {
			struct value v =
				expr_dynamic(&r, f->offset, (f->flags & FORMAT_REL_LOC) != 0);

			put_array(w->out, f, (const uint8_t *)v.s, v.len);
		} else if (f->flags & FORMAT_ARRAY ||
			   (f->size != 1 && f->size != 2 && f->size != 4 && f->size != 8)) {
			uint32_t n = f->offset < i->size ? i->size - f->offset : 0;

			if (f->size && f->size < n)
				n = f->size;
			put_array(w->out, f, w->data + (n ? f->offset : 0), n);
		} else {
			put_number(w->out, f, item_number(w, i, f));
		}
	}
}

/* What libtraceevent says of a print fmt that it cannot understand. */
void print_broken(struct line_writer *w, const struct printer *p, const struct item *i)
{
	out_str(w->out, "[FAILED TO PARSE]");
	print_fields(w, p, i);
}
