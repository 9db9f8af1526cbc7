/* SPDX-License-Identifier: MIT */
/* mark.c -- writes markers into the trace, as programs on Linux do: through the kernel, into the file trace_marker. */
#include "user.h"

static int mark(const char *text, size_t bytes)
{
	return (int)sys5(trace, "trace_marker", text, bytes, 0, 0);
}

int program(uint64_t times)
{
	char text[] = "step 0 of the program";

	for (uint64_t i = 0; i < (times ? times : 3); i++) {
		text[5] = (char)('0' + i % 10);
		if (mark(text, sizeof(text) - 1) != (int)sizeof(text) - 1)
			return 1;
	}
	/* What is not there, and what is not the program's to read. */
	if (sys5(trace, "no_such_file", text, 1, 0, 0) != -2)
		return 2;
	return mark((const char *)8, 4) == -14 ? 0 : 3;
}
