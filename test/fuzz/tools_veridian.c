/* SPDX-License-Identifier: MIT */
/* tools_veridian.c -- fuzz target: VeridianOS's trace dump. */
#include "lib/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_source(data, size, "veridian", 4);
	return 0;
}
