/* SPDX-License-Identifier: MIT */
/* tools_graphtext.c -- fuzz target: the text of function_graph. */
#include "lib/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* The tables of an index are large beside such a text: every fourth size is enough. */
	fuzz_source(data, size, "graph-text", 4);
	return 0;
}
