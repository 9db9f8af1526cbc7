/* SPDX-License-Identifier: MIT */
/* tools_args.c -- the words of calls and returns, where a hostile format says where they lie. */
#include <stdlib.h>
#include <string.h>

#include "decode/format.h"
#include "harness.h"
#include "view/args.h"

/* A record that ends where its field does, in memory of its own, for the sanitizer. */
static bool read_retval(const char *where, uint32_t bytes, uint64_t *value)
{
	char text[256];
	struct format_error err;
	struct args_fields fields;
	struct args a;
	struct expr_env env = {.long_bytes = 8};
	uint8_t *record = malloc(bytes);
	int n = snprintf(
		text, sizeof(text),
		"name: funcgraph_exit\nID: 10\nformat:\n\tfield:unsigned short common_type;\t"
		"offset:0;\tsize:2;\tsigned:0;\n\n\tfield:unsigned long retval;\t%s;\tsigned:0;\n",
		where);
	struct format *f = format_parse(text, (size_t)n, "ftrace", &err);

	memset(record, 1, bytes);
	CHECK(f != NULL);
	args_fields(&fields, f);
	CHECK(fields.retval != NULL);
	args_read(&fields, &env, record, bytes, &a);
	*value = a.value;
	format_free(f);
	free(record);
	return a.has_value;
}

TEST(sizes_of_no_number)
{
	uint64_t v;

	CHECK(read_retval("offset:8;\tsize:8", 16, &v) && v == 0x0101010101010101);
	CHECK(read_retval("offset:12;\tsize:4", 16, &v) && v == 0x01010101);
	CHECK(!read_retval("offset:12;\tsize:8", 16, &v));
	CHECK(!read_retval("offset:13;\tsize:3", 16, &v));
	CHECK(!read_retval("offset:16;\tsize:0", 16, &v));
	CHECK(!read_retval("offset:8;\tsize:256", 264, &v));
	CHECK(!read_retval("offset:15;\tsize:1025", 1040, &v));
}

TEST_MAIN
