/* SPDX-License-Identifier: MIT */
/* tools_sel4.c -- hostile seL4 traces: the first byte chooses what the rest is taken for. */
#include <string.h>

#include "lib/fuzz_file.h"
#include "decode/sel4/sel4.h"
#include "decode/sel4/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Seek about, and print what is there. */
static void poke(struct source *s)
{
	struct cursor *c = s->nr_streams ? cursor_open(s, 0) : NULL;
	char line[300];
	struct event e;

	for (uint64_t n = 0; c && source_index(s) && n < 4; n++) {
		if (!source_index(s)->seek_number(s, &c, n * n * 7) && cursor_next(c, &e))
			source_index(s)->print(s, &e, line, sizeof(line));
		for (uint32_t t = 0; t < WIRE_SEL4_NR_TYPES; t++)
			if (!source_index(s)->seek_type(s, &c, sel4_id(t), n) && cursor_next(c, &e))
				source_index(s)->print(s, &e, line, sizeof(line));
	}
	cursor_close(c);
}

static void meta(const uint8_t *data, size_t size)
{
	struct sel4_meta m;
	size_t at;
	FILE *out = fopen("/dev/null", "w");

	if (!sel4_meta_parse((const char *)data, size, &m, &at)) {
		sel4_meta_write(&m, "", out);
		sel4_meta_free(&m);
	}
	fclose(out);
}

/* The number of events is the same by the index and by walking. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const formats[] = {"sel4",	  "sel4-log", "sel4-entries",
					      "sel4-tii", "veridian", "sel4-tracepoints"};
	struct source_options o = {.quiet = true};
	struct source *s;

	if (size < 2)
		return 0;
	if (data[0] % 8 >= 6) {
		meta(data + 1, size - 1);
		return 0;
	}
	o.as = formats[data[0] % 8];
	s = fuzz_open(data + 1, size - 1, &o);
	if (!s)
		return 0;
	uint64_t walked = fuzz_walk(s);

	if (source_index(s) && source_index(s)->count(s, UINT32_MAX) != walked)
		abort();
	poke(s);
	source_close(s);
	return 0;
}
