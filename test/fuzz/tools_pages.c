/* SPDX-License-Identifier: MIT */
/* tools_pages.c -- fuzz target: ring pages of CPU 0, walked and scanned. */
#include "lib/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_source(data, size, "raw", 1);
	return 0;
}
