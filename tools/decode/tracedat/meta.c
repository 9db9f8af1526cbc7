/* SPDX-License-Identifier: MIT */
/* meta.c -- the metadata both versions of trace.dat have: header_page, header_event, format files. */
#include "decode/tracedat/tracedat.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* "NAME\0", u64 size, text. */
static const char *named_text(struct reader *r, const char *name, uint64_t *bytes)
{
	size_t n = strlen(name) + 1;
	const char *tag = reader_bytes(r, n);

	if (!tag || memcmp(tag, name, n) != 0)
		return NULL;
	*bytes = reader_u64(r);
	return reader_bytes(r, *bytes);
}

int tracedat_header_info(struct source *s, struct reader *r, uint64_t base)
{
	struct tracedat *t = s->priv;
	struct format_error err = {0};
	struct format_page page;
	uint64_t bytes = 0, at = r->at;
	const char *text = named_text(r, "header_page", &bytes);

	if (!text) {
		source_damage(s, base + at, 12, "'header_page' was expected");
		return -EINVAL;
	}
	t->header_page = (struct blob){.text = text, .bytes = bytes};
	if (format_parse_page(text, bytes, &page, &err)) {
		source_damage(s, base + at + 20 + err.offset, bytes, "header_page: %s", err.what);
	} else {
		t->ring.page = page;
		s->long_bytes = page.commit_size;
	}
	at = r->at;
	text = named_text(r, "header_event", &bytes);
	t->header_event = (struct blob){.text = text, .bytes = text ? bytes : 0};
	if (!text) {
		source_damage(s, base + at, 13, "'header_event' was expected");
		return -EINVAL;
	}
	return 0;
}

/*
 * A long of the traced kernel: what the addresses of its own records take. The head of the file has that of the recorder, and a
 * page's commit, which trace-cmd goes by, may be wider than a long (Fathom's is, on a 32-bit target).
 */
static void long_of_format(struct source *s, const char *text, uint64_t bytes)
{
	static const char field[] = "field:unsigned long ip;", size[] = "size:";
	const char *at = memmem(text, bytes, field, sizeof(field) - 1), *end = text + bytes;

	at = at ? memmem(at, (size_t)(end - at), size, sizeof(size) - 1) : NULL;
	if (at && end - at > 6 && at[6] == ';' && (at[5] == '4' || at[5] == '8'))
		s->long_bytes = (uint32_t)(at[5] - '0');
}

/* u64 size, text of a format file. A file whose text is no format is noted and skipped. */
static int one_format(struct source *s, struct reader *r, const char *system, uint64_t base)
{
	uint64_t at = r->at, bytes = reader_u64(r);
	const char *text;

	if (bytes > FORMAT_TEXT_MAX) {
		source_damage(s, base + at, 8, "a format file of %" PRIu64 " bytes", bytes);
		return -EINVAL;
	}
	text = reader_bytes(r, bytes);
	if (!text) {
		source_damage(s, base + at, bytes, "the format files are cut");
		return -EINVAL;
	}
	if (!strcmp(system, "ftrace"))
		long_of_format(s, text, bytes);
	if (bytes && source_add_schema(s, system, text, bytes, false) == -EINVAL)
		source_damage(s, base + at + 8, bytes, "%s: a format file without name or ID",
			      system);
	return 0;
}

int tracedat_ftrace_formats(struct source *s, struct reader *r, uint64_t base)
{
	uint32_t n = reader_u32(r);

	for (uint32_t i = 0; i < n; i++)
		if (one_format(s, r, "ftrace", base))
			return -EINVAL;
	return r->failed ? -EINVAL : 0;
}

int tracedat_event_formats(struct source *s, struct reader *r, uint64_t base)
{
	uint32_t systems = reader_u32(r);

	for (uint32_t i = 0; i < systems; i++) {
		uint64_t at = r->at;
		const char *system = reader_str(r);
		uint32_t n = reader_u32(r);

		if (r->failed) {
			source_damage(s, base + at, 0, "the list of event systems is cut");
			return -EINVAL;
		}
		for (uint32_t k = 0; k < n; k++)
			if (one_format(s, r, system, base))
				return -EINVAL;
	}
	return r->failed ? -EINVAL : 0;
}
