/* SPDX-License-Identifier: MIT */
/* trace_define.c -- TRACE_DEFINE in a kernel that has macros of its own with every short name one might use inside. */
#include <stddef.h>
#include <stdint.h>
#include "harness.h"

#define U8	       unsigned char
#define U16	       unsigned short
#define U32	       uint32_t
#define U64	       unsigned long long
#define S8	       signed char
#define S16	       short
#define S32	       int
#define S64	       long long
#define PTR	       void *
#define STR	       "a string"
#define NUM	       17
#define SIZE	       4096
#define TEXT	       0x1000
#define WORD	       4
#define FIELD	       (1 << 3)
#define PROTO	       6
#define ARG	       7
#define MEMBER	       8
#define ASSIGN	       =
#define PARAMS_MAX     3
#define COUNT	       9
#define EACH	       for (;;)
#define HERE	       __FILE__
#define system_of_mine 1

#define CREATE_TRACE_POINTS
#include "fathom/inside/event.h"
#include "fathom/tracepoint.h"

TRACE_DEFINE(system_of_mine, all_types,
	     "u8=%u u16=%u u32=%u u64=%llu s8=%d s16=%d s32=%d s64=%lld p=%p s=%s", (U8, a),
	     (U16, b), (U32, c), (U64, d), (S8, e), (S16, f), (S32, g), (S64, h), (PTR, i),
	     (STR, j))
TRACE_DEFINE(mine, one_type, "n=%u", (U32, n))
TRACE_DEFINE(mine, no_type, "nothing")
TRACE_DEFINE(linux, predefined, "n=%u", (U32, n)) /* `linux` is 1 in GNU C */

static char memory[64 * 4096] __attribute__((aligned(4096)));

static const char *record_text(void)
{
	static char buf[512], scratch[512];
	struct fathom_text out, tmp;
	struct fathom_record rec;
	const struct wire_common *c;

	fathom_text_init(&out, buf, sizeof(buf));
	fathom_text_init(&tmp, scratch, sizeof(scratch));
	if (fathom_ring_consume(fathom_ring_of(0), &rec) <= 0)
		return "no record";
	c = rec.data;
	fathom_event_print(fathom_event_by_id(c->type), rec.data, rec.bytes, &out, &tmp);
	fathom_text_cstr(&out);
	return buf;
}

TEST(define_beside_a_kernels_macros)
{
	struct fathom_config config = {
		.memory = memory, .memory_bytes = sizeof(memory), .nr_cpus = 1};
	char buf[2048];
	struct fathom_text t;

	CHECK_EQ(fathom_init(&config), 0);
	CHECK_EQ(fathom_event_enable("*", 1) > 3, 1);
	trace_all_types(1, 2, 3, 4, -5, -6, -7, -8, (void *)9, "ten");
	CHECK_STR(record_text(),
		  "u8=1 u16=2 u32=3 u64=4 s8=-5 s16=-6 s32=-7 s64=-8 p=0000000000000009 s=ten");
	trace_one_type(11);
	CHECK_STR(record_text(), "n=11");
	trace_no_type();
	CHECK_STR(record_text(), "nothing");
	CHECK_STR(fathom_ev_all_types.system, "system_of_mine");
	CHECK_STR(fathom_ev_predefined.system, "linux");
	CHECK_EQ(fathom_ev_all_types.nr_fields, 10);
	fathom_text_init(&t, buf, sizeof(buf));
	fathom_event_format(&fathom_ev_all_types, &t);
	fathom_text_cstr(&t);
	CHECK(strstr(buf, "\tfield:u32 c;\toffset:12;\tsize:4;\tsigned:0;\n") != NULL);
	CHECK(strstr(buf, "\tfield:__data_loc char[] j;") != NULL);
	CHECK(strstr(buf, ", REC->a, REC->b,") != NULL);
}

TEST_MAIN
