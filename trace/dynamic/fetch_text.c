/* SPDX-License-Identifier: MIT */
/* fetch_text.c -- arguments of probes as text, and in the format file. */
#include "wire/cold.h"
#include "control/str.h"
#include "dynamic/dynamic.h"

static void print_number(const struct dynamic_fetch *f, const uint8_t *at, struct fathom_text *t)
{
	uint64_t v = fetch_get(at, f->size);

	if (f->form == 'x') {
		fathom_text_str(t, "0x");
		fathom_text_hex(t, v, 0, ' ');
	} else if (f->form == 'S') {
		fathom_text_printf(t, "%pS", (void *)(uintptr_t)v);
	} else if (f->is_signed) {
		fathom_text_s64(t, fetch_signed(v, f->size), 0, ' ');
	} else {
		fathom_text_u64(t, v, 0, ' ');
	}
}

static void print_string(const struct dynamic_fetch *f, struct fathom_print *p)
{
	uint32_t word = (uint32_t)fetch_get((const uint8_t *)p->record + f->at, 4), n = 0;
	uint32_t at = word & 0xffff, len = word >> 16;
	const char *s = (const char *)p->record + at;

	if (!len || at + len > p->bytes) {
		fathom_text_str(p->out, "(fault)");
		return;
	}
	while (n < len && s[n])
		n++;
	fathom_text_char(p->out, '"');
	fathom_text_bytes(p->out, s, n);
	fathom_text_char(p->out, '"');
}

void fathom_fetch_print(const struct dynamic_event *d, struct fathom_print *p)
{
	for (uint32_t i = 0; i < d->nr_args && p->bytes >= d->fixed; i++) {
		const struct dynamic_fetch *f = &d->arg[i];
		const uint8_t *at = (const uint8_t *)p->record + f->at;

		fathom_text_char(p->out, ' ');
		fathom_text_str(p->out, f->name);
		fathom_text_char(p->out, '=');
		if (f->form == 's') {
			print_string(f, p);
			continue;
		}
		for (uint32_t k = 0; k < (f->count ? f->count : 1u); k++) {
			if (f->count)
				fathom_text_char(p->out, k ? ',' : '{');
			print_number(f, at + k * f->size, p->out);
		}
		if (f->count)
			fathom_text_char(p->out, '}');
	}
}

static void fetch_format_one(const struct dynamic_fetch *f, struct fathom_text *t)
{
	if (f->form == 's') {
		fathom_text_str(t, "\\\"%s\\\"");
		return;
	}
	if (f->form == 'S') {
		fathom_text_str(t, "%pS");
		return;
	}
	fathom_text_str(t, f->form == 'x' ? "0x%" : "%");
	if (f->size == 8)
		fathom_text_char(t, 'L');
	fathom_text_char(t, (char)f->form);
}

void fathom_fetch_formats(struct dynamic_event *d)
{
	struct fathom_text *t = &d->words;

	for (uint32_t i = 0; i < d->nr_args; i++) {
		const struct dynamic_fetch *f = &d->arg[i];

		fathom_text_char(t, ' ');
		fathom_text_str(t, f->name);
		fathom_text_char(t, '=');
		for (uint32_t k = 0; k < (f->count ? f->count : 1u); k++) {
			if (f->count)
				fathom_text_char(t, k ? ',' : '{');
			fetch_format_one(f, t);
		}
		if (f->count)
			fathom_text_char(t, '}');
	}
}

void fathom_fetch_values(struct dynamic_event *d)
{
	struct fathom_text *t = &d->words;

	for (uint32_t i = 0; i < d->nr_args; i++) {
		const struct dynamic_fetch *f = &d->arg[i];

		for (uint32_t k = 0; k < (f->count ? f->count : 1u); k++) {
			fathom_text_str(t, f->form == 's'   ? ", __get_str("
					   : f->form == 'S' ? ", (void *)REC->"
							    : ", REC->");
			fathom_text_str(t, f->name);
			if (f->form == 's')
				fathom_text_char(t, ')');
			if (f->count) {
				fathom_text_char(t, '[');
				fathom_text_u64(t, k, 0, ' ');
				fathom_text_char(t, ']');
			}
		}
	}
}
