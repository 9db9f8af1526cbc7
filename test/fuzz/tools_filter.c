/* SPDX-License-Identifier: MIT */
/* tools_filter.c -- fuzz the filter compiler: text up to a NUL, then the bytes of a record to match. */
#include "query/filter.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char format_text[] =
	"name: sched_switch\nID: 40\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:1;\n"
	"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
	"\tfield:__data_loc char[] msg;\toffset:40;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned long args[2];\toffset:48;\tsize:16;\tsigned:0;\n\n"
	"print fmt: \"x\"\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char scratch[EXPR_SCRATCH_MAX];
	static struct format *format;
	const struct expr_env env = {.long_bytes = 8};
	size_t n = strnlen((const char *)data, size);
	uint32_t bytes = n < size ? (uint32_t)(size - n - 1) : 0;
	char *text = strndup((const char *)data, n);
	uint8_t *copy = malloc(bytes ? bytes : 1);
	struct expr_record r = {copy, bytes, 1, 2, 3, "sched_switch", &env, scratch, 0};
	struct filter *f;

	if (!format)
		format = format_parse(format_text, strlen(format_text), "sched", NULL);
	memcpy(copy, data + size - bytes, bytes);
	f = filter_new(text, NULL);
	if (f) {
		struct filter_event *e = filter_compile(f, format, 8);
		struct filter_event *none = filter_compile(f, NULL, 8);

		filter_match(e, &r);
		filter_match(none, &r);
		filter_event_free(e);
		filter_event_free(none);
	}
	filter_free(f);
	free(text);
	free(copy);
	return 0;
}
