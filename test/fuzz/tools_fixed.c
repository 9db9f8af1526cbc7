/* SPDX-License-Identifier: MIT */
/* tools_fixed.c -- fuzz target: fixed records of a seL4 stream; a stream made into them and read again. */
#include "lib/fuzz_file.h"

#include <errno.h>

/* The stream, written as records to a file in memory and read back, has the same events. */
static void round_trip(const uint8_t *data, size_t size)
{
	struct source_options o = {.as = "sel4", .quiet = true};
	struct source *s = fuzz_open(data, size & ~(size_t)1, &o), *back;
	char dir[] = "/dev/shm/fathom-fuzz.XXXXXX", path[64], beside[80];
	const struct source_form *idx = s ? source_form(s, "idx") : NULL;
	struct source_writing w = {.out = path, .options = &o, .fresh = true};
	uint64_t walked;
	int err;

	if (!s)
		return;
	walked = fuzz_walk(s);
	if (!mkdtemp(dir))
		abort();
	snprintf(path, sizeof(path), "%s/x.idx", dir);
	err = idx->write(s, idx, &w);
	if (err && !(err == -EIO && s->damage_total))
		abort();
	o.as = "sel4-idx";
	/* What was cut or unknown keeps one word, and may be counted otherwise. */
	if (source_open(path, &o, &back) == 0) {
		if (!s->damage_total && fuzz_walk(back) != walked)
			abort();
		source_close(back);
	}
	source_close(s);
	unlink(path);
	for (int i = 0; i < 2; i++) {
		snprintf(beside, sizeof(beside), "%s%s", path, i ? ".meta" : ".types");
		unlink(beside);
	}
	rmdir(dir);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 4)
		return 0;
	if (data[0] & 1)
		round_trip(data + 1, size - 1);
	else
		fuzz_source(data + 1, size - 1, "sel4-idx", 4);
	return 0;
}
