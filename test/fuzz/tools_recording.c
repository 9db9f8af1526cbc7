/* SPDX-License-Identifier: MIT */
/* tools_recording.c -- fuzz target: what follows the head of a recording in progress, in either byte order. */
#include "capture/recording.h"
#include "lib/fuzz_file.h"
#include "lib/image_make.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The head, as the recorder writes it; its room for the end is overwritten by the input. */
static size_t make_head(uint8_t *to, size_t room, bool big)
{
	struct image_make m = {.longs = 8, .big = big};
	struct recording r;
	struct capture c;
	uint8_t texts[4096];
	struct wire_beacon b;
	size_t n = 0;

	capture_init(&c);
	capture_set_cpus(&c, 2);
	c.big = big;
	image_texts(&m, texts, &b);
	capture_format(&c, "test", strchr((char *)texts + 4, '\n') + 1, b.texts_bytes - 4 - 5);
	if (!recording_open(&r, "/dev/null") && !recording_begin(&r, &c) && r.reserve < room &&
	    pread(r.fd, to, r.reserve, 0) == (ssize_t)r.reserve)
		n = r.reserve;
	r.begun = false;
	recording_close(&r);
	capture_free(&c);
	return n;
}

/* The first byte: the byte order. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t head[2][16384];
	static size_t head_bytes[2];
	bool big = size && data[0] & 1;
	uint8_t *file;

	if (!head_bytes[big])
		head_bytes[big] = make_head(head[big], sizeof(head[big]), big);
	if (!size || !head_bytes[big] || !(file = malloc(head_bytes[big] + size)))
		return 0;
	memcpy(file, head[big], head_bytes[big]);
	memcpy(file + head_bytes[big], data + 1, size - 1);
	fuzz_source(file, head_bytes[big] + size - 1, "trace.dat", 7);
	free(file);
	return 0;
}
