/* SPDX-License-Identifier: MIT */
/* tools_graphtext.c -- fuzz target: the text of function_graph. */
#include "lib/fuzz_file.h"
#include "store/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct store_options so = {.no_file = true};
	struct source_options o = {.as = "graph-text", .quiet = true};
	struct source *s = size ? fuzz_open(data, size, &o) : NULL;
	struct store *st;
	uint64_t n;

	if (!s)
		return 0;
	n = fuzz_walk(s);
	/* The tables of an index are large: every fourth size is enough. */
	if (size % 4 == 0 && !store_open(s, &so, &st)) {
		if (st->nr_events != n)
			abort();
		store_close(st);
	}
	source_close(s);
	return 0;
}
