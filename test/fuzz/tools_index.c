/* SPDX-License-Identifier: MIT */
/* tools_index.c -- fuzz target: an index file whose checks are right but whose tables say anything. */
#include "lib/fuzz_file.h"
#include "lib/make_trace.h"
#include "store/indexfile.h"
#include "store/store.h"

static char trace[64], index_path[80];
static struct source *source;
static uint8_t *base, *file;
static size_t base_bytes;

static void cleanup(void)
{
	unlink(trace);
	unlink(index_path);
}

/* A small trace and the right index of it; inputs change the latter. */
static void prepare(void)
{
	struct made_cpu cpus[2] = {{0}};
	struct store_options o = {.always_save = true, .rebuild = true};
	struct store *st;
	FILE *f;

	snprintf(trace, sizeof(trace), "/dev/shm/fathom-fuzz-%d", getpid());
	snprintf(index_path, sizeof(index_path), "%s.fidx", trace);
	for (uint32_t i = 0; i < 9000; i++) {
		struct made_event e = {
			.time = 1000 + i * 7, .type = MADE_FIRST + i % 3, .n = i, .pid = 1};

		made_add(&cpus[i % 2], &e);
	}
	made_save(trace, cpus, 2, 3);
	atexit(cleanup);
	if (source_open(trace, NULL, &source) || store_open(source, &o, &st))
		abort();
	store_close(st);
	base = malloc(65536);
	file = malloc(65536);
	f = fopen(index_path, "r");
	base_bytes = fread(base, 1, 65536, f);
	fclose(f);
}

static void use(struct store *st)
{
	struct merge *m = merge_open(source, NULL, NULL);

	for (uint64_t n = 0; n < 9000; n += 1777)
		if (!store_seek_number(st, m, n))
			merge_next(m);
	for (uint32_t t = 0; t < 4; t++)
		if (!store_seek_type(st, m, MADE_FIRST + t, 100))
			merge_next(m);
	store_seek_time(st, m, 30000);
	merge_close(m);
}

/* The input is a list of changes: u16 place, u8 length, u8 value. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct store st = {0};
	FILE *f;

	if (!source)
		prepare();
	memcpy(file, base, base_bytes);
	for (size_t i = 0; i + 4 <= size; i += 4) {
		size_t at = (data[i] | (size_t)data[i + 1] << 8) % base_bytes;
		size_t n = data[i + 2] % 9;

		memset(file + at, data[i + 3], n > base_bytes - at ? base_bytes - at : n);
	}
	indexfile_seal(file, base_bytes);
	f = fopen(index_path, "w");
	fwrite(file, 1, base_bytes, f);
	fclose(f);
	st.source = source;
	if (!store_load(&st, index_path)) {
		st.complete = true;
		use(&st);
		munmap(st.map, st.map_bytes);
	}
	return 0;
}
