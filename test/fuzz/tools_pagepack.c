/* SPDX-License-Identifier: MIT */
/* tools_pagepack.c -- fuzz target: packed pages. Any bytes as a packed page; and any page there and back. */
#include "wire/pagepack.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void there_and_back(const uint8_t *data, size_t size)
{
	static struct wire_packer s;
	uint32_t n = (uint32_t)size & ~3u, used, took;
	uint8_t *packed = malloc(WIRE_PACKED_HEAD + n), *page = malloc(n);
	int big;

	took = fathom_page_pack(&s, data, n, packed);
	if (fathom_page_unpack(&s, packed, took, page, n, &used, &big) != (int32_t)took ||
	    used != n || memcmp(page, data, n) != 0)
		abort();
	free(packed);
	free(page);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_packer *s = malloc(sizeof(*s));
	uint8_t *page = malloc(WIRE_PACKED_MAX);
	size_t at = 0;
	uint32_t used;
	int32_t took;
	int big;

	while ((took = fathom_page_unpack(s, data + at, size - at, page, WIRE_PACKED_MAX, &used,
					  &big)) > 0)
		at += (size_t)took;
	free(s);
	free(page);
	if (size >= 16)
		there_and_back(data, size < WIRE_PACKED_MAX ? size : WIRE_PACKED_MAX);
	return 0;
}
