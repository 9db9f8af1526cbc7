/* SPDX-License-Identifier: MIT */
/* tools_printfmt.c -- fuzz the print-fmt compiler: text up to a NUL, then the bytes of a record to print with it. */
#include "query/printfmt.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char format_text[] =
	"name: fuzz\nID: 40\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:1;\n"
	"\tfield:int a;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:u64 b;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc char[] msg;\toffset:40;\tsize:4;\tsigned:0;\n"
	"\tfield:__rel_loc u32[] words;\toffset:44;\tsize:4;\tsigned:0;\n"
	"\tfield:u8 ip[16];\toffset:48;\tsize:16;\tsigned:0;\n"
	"\tfield:unsigned long args[2];\toffset:64;\tsize:16;\tsigned:0;\n"
	"\tfield:u32 buf[];\toffset:80;\tsize:0;\tsigned:0;\n\nprint fmt: \"x\"\n";

static const char *symbol(void *arg, uint64_t addr, uint64_t *offset, uint64_t *size)
{
	(void)arg;
	*offset = addr & 0xff;
	*size = 0x100;
	return addr & 1 ? "symbol" : NULL;
}

static void print(const struct format *f, const char *text, size_t bytes, struct expr_record *r,
		  enum printfmt_dialect dialect, uint8_t long_bytes)
{
	struct printfmt *p = printfmt_new(f, text, bytes, long_bytes, dialect);
	struct out o = {0};
	bool symbol;

	if (!printfmt_error(p)) {
		printfmt_run(p, r, &o);
		for (uint32_t i = 0; i < f->nr_fields; i++)
			printfmt_field(p, &f->fields[i], r, &o, &symbol);
	}
	out_free(&o);
	printfmt_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char scratch[EXPR_SCRATCH_MAX];
	static struct format *f;
	struct expr_env env = {.symbol = symbol, .swap = size & 1, .long_bytes = size & 2 ? 4 : 8};
	size_t n = strnlen((const char *)data, size);
	uint32_t bytes = n < size ? (uint32_t)(size - n - 1) : 0;
	/* A copy of its own, so that the sanitizer sees a read outside of the record. */
	uint8_t *copy = malloc(bytes ? bytes : 1);
	struct expr_record r = {copy, bytes, 1, 2, 3, "fuzz", &env, scratch, 0};
	struct out o = {0};
	char *text;

	if (!f)
		f = format_parse(format_text, strlen(format_text), "fuzz", NULL);
	memcpy(copy, data + size - bytes, bytes);
	print(f, (const char *)data, n, &r, PRINTFMT_KERNEL, env.long_bytes);
	print(f, (const char *)data, n, &r, PRINTFMT_TRACE_CMD, env.long_bytes);
	text = strndup((const char *)data, n);
	printfmt_binary(text, &r, 8, PRINTFMT_KERNEL, &o);
	out_free(&o);
	free(text);
	free(copy);
	return 0;
}
