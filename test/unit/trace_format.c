/* SPDX-License-Identifier: MIT */
/* trace_format.c -- printf without libc: every integer form against libc's, the kernel's own rules, all ways of arguments. */
#include "harness.h"
#include "fathom/inside/print.h"

#include <stdarg.h>

static char text[256];

static const char *vformat(const char *fmt, va_list ap)
{
	struct fathom_text t;

	fathom_text_init(&t, text, sizeof(text));
	fathom_text_vprintf(&t, fmt, ap);
	return fathom_text_cstr(&t);
}

static const char *format(const char *fmt, ...)
{
	const char *s;
	va_list ap;

	va_start(ap, fmt);
	s = vformat(fmt, ap);
	va_end(ap);
	return s;
}

/* The same through bprint's packed arguments. */
static const char *packed(const char *fmt, ...)
{
	static uint8_t args[512];
	struct fathom_text t;
	size_t bytes;
	va_list ap;

	va_start(ap, fmt);
	bytes = fathom_pack(args, sizeof(args), fmt, ap);
	va_end(ap);
	CHECK(bytes <= sizeof(args));
	fathom_text_init(&t, text, sizeof(text));
	fathom_text_packed(&t, fmt, args, bytes);
	return fathom_text_cstr(&t);
}

static const char *of_words(const char *fmt, uint64_t a)
{
	struct fathom_text t;

	fathom_text_init(&t, text, sizeof(text));
	fathom_text_words(&t, fmt, &a, 1);
	return fathom_text_cstr(&t);
}

struct form {
	char flags[6];
	const char *width, *precision, *length;
	char conversion;
};

/* Where the kernel does not do what C says. */
static int kernel_differs(const struct form *f, uint64_t v)
{
	int alt = strchr(f->flags, '#') != NULL, hex = f->conversion == 'x' || f->conversion == 'X';

	return (alt && hex && !v) || (alt && f->conversion == 'o' && (!v || *f->precision)) ||
	       (strchr(f->flags, '0') && *f->precision) || (!strcmp(f->precision, ".0") && !v);
}

static uint64_t low_bytes(uint64_t v, const char *length)
{
	size_t bytes = !strcmp(length, "hh") ? 1 : *length == 'h' ? 2 : *length ? 8 : 4;

	return bytes == 8 ? v : v & ((1ull << 8 * bytes) - 1);
}

static void compare(const struct form *f, uint64_t v)
{
	char fmt[32], want[128];
	int wide = *f->length && *f->length != 'h';

	snprintf(fmt, sizeof(fmt), "<%%%s%s%s%s%c>", f->flags, f->width, f->precision, f->length,
		 f->conversion);
	if (kernel_differs(f, low_bytes(v, f->length)))
		return;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	if (wide)
		snprintf(want, sizeof(want), fmt, v);
	else
		snprintf(want, sizeof(want), fmt, (unsigned)v);
#pragma GCC diagnostic pop
	if (wide) {
		CHECK_STR(format(fmt, v), want);
		CHECK_STR(packed(fmt, v), want);
	} else {
		CHECK_STR(format(fmt, (unsigned)v), want);
		CHECK_STR(packed(fmt, (unsigned)v), want);
	}
	CHECK_STR(of_words(fmt, v), want);
}

TEST(integers_are_libcs)
{
	static const char *const widths[] = {"", "1", "7", "21"};
	static const char *const precisions[] = {"", ".0", ".3", ".12"};
	static const char *const lengths[] = {"hh", "h", "", "l", "ll", "z"};
	static const uint64_t values[] = {0,	 1,	     7,		 42,	     255,
					  32768, 0x7fffffff, 0x80000000, UINT64_MAX, 1ull << 63};
	size_t n = 0;

	for (int set = 0; set < 32; set++)
		for (int w = 0; w < 4; w++)
			for (int p = 0; p < 4; p++)
				for (int l = 0; l < 6; l++)
					for (const char *c = "duxXo"; *c; c++) {
						struct form f = {"", widths[w], precisions[p],
								 lengths[l], *c};
						size_t k = 0;

						for (int b = 0; b < 5; b++)
							if (set >> b & 1)
								f.flags[k++] = "-+ #0"[b];
						for (size_t v = 0; v < 10; v++, n++)
							compare(&f, values[v]);
					}
	CHECK(n > 100000);
}

TEST(the_kernels_rules)
{
	CHECK_STR(format("%#x %#X %#5x|%#05x", 0, 0, 0, 0), "0x0 0X0   0x0|0x000");
	CHECK_STR(format("%#o %#o %#.3o", 0, 8, 8), "0 010 0010");
	CHECK_STR(format("%.0d %.0x|%3.0u", 0, 0, 0), "0 0|  0");
	CHECK_STR(format("%08.3d %06.2x", 5, 0xabc), "00000005 000abc");
	CHECK_STR(format("%-8.3d|%-#6x|", -5, 1), "-005    |0x1   |");
}

TEST(strings_and_characters)
{
	CHECK_STR(format("%s|%5s|%-5s|%.2s|%5.1s|%.*s", "ab", "ab", "ab", "abc", "xyz", 3,
			 "abcdef"),
		  "ab|   ab|ab   |ab|    x|abc");
	CHECK_STR(packed("%s|%5s|%-5s|%.2s|%5.1s|%.*s", "ab", "ab", "ab", "abc", "xyz", 3,
			 "abcdef"),
		  "ab|   ab|ab   |ab|    x|abc");
	CHECK_STR(format("%s %.3s", NULL, NULL), "(null) (nu");
	CHECK_STR(format("%c%3c|%-3c|%%|%5%", 'a', 'b', 'c'), "a  b|c  |%|%");
	CHECK_STR(packed("%c%3c|%-3c|%%|", 'a', 'b', 'c'), "a  b|c  |%|");
	CHECK_STR(format("%*d|%*d|%-*d|", 4, 1, -4, 2, 4, 3), "   1|2   |3   |");
	CHECK_STR(packed("%*d|%*d|%-*d|", 4, 1, -4, 2, 4, 3), "   1|2   |3   |");
	CHECK_STR(format("%y %d", 1), "%y 1");
	CHECK_STR(format("100%"), "100%");
}

static const char *named(uintptr_t at, uintptr_t *offset, uintptr_t *size)
{
	*offset = at - 0x1000;
	*size = 0x40;
	return at >= 0x1000 && at < 0x1040 ? "work" : NULL;
}

TEST(pointers)
{
	static const uint8_t bytes[] = {1, 0xab, 0, 0xff};

	fathom_text_lookup = named;
	CHECK_STR(format("%pS %ps %pF %pS", (void *)0x1008, (void *)0x1008, (void *)0x1000,
			 (void *)0x2000),
		  "work+0x8/0x40 work work+0x0/0x40 0x2000");
	CHECK_STR(packed("%pS %ps", (void *)0x1008, (void *)0x1008), "work+0x8/0x40 work");
	fathom_text_lookup = NULL;
	CHECK_STR(format("%ps", (void *)0x1008), "0x1008");
	CHECK_STR(format("%p %px", (void *)0x1008, (void *)0x1008),
		  "0000000000001008 0000000000001008");
	CHECK_STR(format("%*ph|%*phC|%*phN|%*phD", 4, bytes, 2, bytes, 4, bytes, 2, bytes),
		  "01 ab 00 ff|01:ab|01ab00ff|01-ab");
	CHECK_STR(packed("%*ph|%d", 4, bytes, 7), "01 ab 00 ff|7");
}

/* Less than was packed: zeros and empty strings, never a byte behind the record. */
TEST(arguments_that_are_not_there)
{
	struct fathom_text t;

	fathom_text_init(&t, text, sizeof(text));
	fathom_text_packed(&t, "%d %llu [%s]", "\x05\0\0\0\1", 5);
	CHECK_STR(fathom_text_cstr(&t), "5 0 []");
	fathom_text_init(&t, text, sizeof(text));
	fathom_text_words(&t, "%d %d", &(uint64_t){7}, 1);
	CHECK_STR(fathom_text_cstr(&t), "7 0");
	fathom_text_init(&t, text, 4);
	fathom_text_packed(&t, "%d", "\xff\xff\xff\x7f", 4);
	CHECK(t.len == 4 && t.cut && !memcmp(text, "2147", 4));
}

TEST_MAIN
