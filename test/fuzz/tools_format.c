/* SPDX-License-Identifier: MIT */
/* tools_format.c -- fuzz the format-file parser, header_page, and the print fmt of what it parsed. */
#include "decode/format.h"
#include "query/printfmt.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every field must lie where its flags say, so that users can trust them. */
static void trust(const struct format *f)
{
	for (uint32_t i = 0; i < f->nr_fields; i++) {
		const struct format_field *d = &f->fields[i];

		if (!*d->name || d->offset > FORMAT_OFFSET_MAX || d->size > FORMAT_OFFSET_MAX ||
		    (d->flags & FORMAT_DYNAMIC && d->size != 4) ||
		    (d->nr_elems && !d->elem_size && d->size))
			abort();
		(void)strlen(d->type);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct format_error err = {0, NULL};
	struct format_page page;
	struct format *f = format_parse((const char *)data, size, "fuzz", &err);

	if (f) {
		trust(f);
		printfmt_free(
			printfmt_new(f, f->print_fmt, strlen(f->print_fmt), 8, PRINTFMT_KERNEL));
	} else if (!err.what) {
		abort();
	}
	format_free(f);
	format_parse_page((const char *)data, size, &page, NULL);
	return 0;
}
