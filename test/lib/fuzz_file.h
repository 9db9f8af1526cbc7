/* SPDX-License-Identifier: MIT */
/* fuzz_file.h -- bytes as a file that source_open() can open, and a walk over everything in it. */
#ifndef TEST_FUZZ_FILE_H
#define TEST_FUZZ_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "decode/source.h"
#include "store/store.h"

static inline struct source *fuzz_open(const uint8_t *data, size_t size,
				       const struct source_options *o)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct source *s = NULL;
	char path[40];

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	source_open(path, o, &s);
	close(fd);
	return s;
}

/* Every event in the order of time, every byte of it read; its format parsed; a name looked up. The number of events. */
static inline uint64_t fuzz_walk(struct source *s)
{
	struct merge *m = merge_open(s, NULL, NULL);
	const struct event *e;
	volatile uint8_t sum = 0;
	struct symbol sym;
	uint64_t n = 0;

	while (m && (e = merge_next(m))) {
		for (uint32_t i = 0; i < e->size; i++)
			sum = (uint8_t)(sum + e->data[i]);
		if (n++ % 64 == 0) {
			source_format(s, e->type);
			source_comm(s, e->pid);
			source_symbol(s, e->time, &sym);
		}
	}
	merge_close(m);
	return n;
}

/* One input taken as this format, walked and, every `scan_each`-th size, scanned: both must see the same events. */
static inline void fuzz_source(const uint8_t *data, size_t size, const char *as, size_t scan_each)
{
	struct store_options so = {.no_file = true};
	struct source_options o = {.as = as, .quiet = true};
	struct source *s = size ? fuzz_open(data, size, &o) : NULL;
	struct store *st;
	uint64_t n;

	if (!s)
		return;
	n = fuzz_walk(s);
	if (size % scan_each == 0 && !store_open(s, &so, &st)) {
		if (st->nr_events != n)
			abort();
		store_close(st);
	}
	source_close(s);
}

#endif
