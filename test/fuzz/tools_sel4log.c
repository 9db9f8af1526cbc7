/* SPDX-License-Identifier: MIT */
/* tools_sel4log.c -- fuzz target: a console log with dumps of the seL4 stream. */
#include "lib/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_source(data, size, "sel4-log", 4);
	return 0;
}
