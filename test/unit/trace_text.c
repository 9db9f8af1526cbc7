/* SPDX-License-Identifier: MIT */
/* trace_text.c -- the bounded text buffer. */
#include "harness.h"
#include "wire/text.h"

TEST(text_numbers)
{
	char buf[64];
	struct fathom_text t;

	fathom_text_init(&t, buf, sizeof(buf));
	fathom_text_u64(&t, 42, 5, ' ');
	fathom_text_u64(&t, 42, 5, '0');
	fathom_text_s64(&t, -42, -5, ' ');
	fathom_text_s64(&t, -42, 5, '0');
	fathom_text_hex(&t, 0xbeef, 0, ' ');
	fathom_text_u64(&t, UINT64_MAX, 0, ' ');
	CHECK_STR(fathom_text_cstr(&t), "   4200042-42  -0042beef18446744073709551615");
	CHECK(!t.cut);
}

TEST(text_is_cut_at_the_end)
{
	char buf[9] = "........";
	struct fathom_text t;

	fathom_text_init(&t, buf, 4);
	fathom_text_str(&t, "abcdef");
	fathom_text_fill(&t, 'x', 9);
	CHECK(t.cut);
	CHECK_EQ(t.len, 4);
	CHECK_STR(buf, "abcd....");
	CHECK_STR(fathom_text_cstr(&t), "abc");
}

TEST_MAIN
