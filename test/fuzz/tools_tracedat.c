/* SPDX-License-Identifier: MIT */
/* tools_tracedat.c -- fuzz target: a trace.dat, from its header to its last record, and the index over it. */
#include "lib/fuzz_file.h"
#include "store/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct store_options so = {.no_file = true};
	struct source_options o = {.as = "trace.dat", .quiet = true};
	struct source *s = fuzz_open(data, size, &o);
	struct store *st;

	if (!s)
		return 0;
	fuzz_walk(s);
	if (!store_open(s, &so, &st)) {
		struct merge *m = merge_open(s, NULL, NULL);

		store_seek_number(st, m, st->nr_events / 2);
		merge_next(m);
		merge_close(m);
		store_close(st);
	}
	source_close(s);
	return 0;
}
