/* SPDX-License-Identifier: MIT */
/* tools_btb.c -- fuzz target: a backtracer capture in any of its stages, and names for its frames. */
#include "lib/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_source(data, size, "btb", 4);
	return 0;
}
