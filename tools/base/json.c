/* SPDX-License-Identifier: MIT */
/* json.c -- write JSON, value by value; commas and escapes are kept right. */
#include "base/json.h"

#include <inttypes.h>
#include <string.h>

void json_init(struct json *j, FILE *out, bool pretty)
{
	*j = (struct json){.out = out, .pretty = pretty};
}

static void line(struct json *j)
{
	if (!j->pretty || !j->depth)
		return;
	fputc('\n', j->out);
	for (int i = 0; i < j->depth; i++)
		fputs("  ", j->out);
}

/* Length of the UTF-8 sequence at s; 0 if it is not valid, as overlong forms and surrogates are not. */
static size_t sequence(const unsigned char *s, size_t n)
{
	static const struct {
		unsigned char lo, hi, second_lo, second_hi, len;
	} forms[] = {
		{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
		{0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
		{0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
		{0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (s[0] < forms[i].lo || s[0] > forms[i].hi || n < forms[i].len)
			continue;
		if (s[1] < forms[i].second_lo || s[1] > forms[i].second_hi)
			return 0;
		for (size_t k = 2; k < forms[i].len; k++)
			if ((s[k] & 0xc0) != 0x80)
				return 0;
		return forms[i].len;
	}
	return 0;
}

void json_escape(FILE *out, const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s, *end = p + n;

	while (p < end) {
		const unsigned char *plain = p;
		size_t len;

		while (p < end && *p >= 0x20 && *p < 0x7f && *p != '"' && *p != '\\')
			p++;
		if (p > plain)
			fwrite(plain, 1, (size_t)(p - plain), out);
		if (p == end)
			break;
		len = *p >= 0x80 ? sequence(p, (size_t)(end - p)) : 0;
		if (len)
			fwrite(p, 1, len, out);
		else if (*p == '"' || *p == '\\')
			fprintf(out, "\\%c", *p);
		else if (*p == '\n' || *p == '\t' || *p == '\r')
			fputs(*p == '\n' ? "\\n" : *p == '\t' ? "\\t" : "\\r", out);
		else
			fprintf(out, "\\u%04x", *p < 0x80 ? *p : 0xfffd);
		p += len ? len : 1;
	}
}

static void key(struct json *j, const char *k)
{
	if (j->comma)
		fputc(',', j->out);
	line(j);
	j->comma = true;
	if (!k)
		return;
	fputc('"', j->out);
	json_escape(j->out, k, strlen(k));
	fputs(j->pretty ? "\": " : "\":", j->out);
}

void json_open(struct json *j, const char *k, char bracket)
{
	key(j, k);
	fputc(bracket, j->out);
	j->depth++;
	j->comma = false;
}

void json_close(struct json *j, char bracket)
{
	j->depth--;
	if (j->comma && j->pretty) {
		fputc('\n', j->out);
		for (int i = 0; i < j->depth; i++)
			fputs("  ", j->out);
	}
	fputc(bracket, j->out);
	j->comma = true;
}

void json_bytes(struct json *j, const char *k, const char *s, size_t n)
{
	key(j, k);
	fputc('"', j->out);
	json_escape(j->out, s, n);
	fputc('"', j->out);
}

void json_str(struct json *j, const char *k, const char *s)
{
	json_bytes(j, k, s, strlen(s));
}

void json_u64(struct json *j, const char *k, uint64_t v)
{
	key(j, k);
	fprintf(j->out, "%" PRIu64, v);
}

void json_s64(struct json *j, const char *k, int64_t v)
{
	key(j, k);
	fprintf(j->out, "%" PRId64, v);
}

void json_bool(struct json *j, const char *k, bool v)
{
	key(j, k);
	fputs(v ? "true" : "false", j->out);
}

void json_decimal(struct json *j, const char *k, double v, int digits)
{
	key(j, k);
	fprintf(j->out, "%.*f", digits, v);
}

void json_double(struct json *j, const char *k, double v)
{
	char text[40];

	key(j, k);
	snprintf(text, sizeof(text), "%.15g", v);
	if (v - v != 0)
		fputs("null", j->out);
	else
		fprintf(j->out, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

void json_thousandths(struct json *j, const char *k, uint64_t v)
{
	key(j, k);
	fprintf(j->out, "%" PRIu64 ".%03" PRIu64, v / 1000, v % 1000);
}

void json_null(struct json *j, const char *k)
{
	key(j, k);
	fputs("null", j->out);
}

void json_end(struct json *j)
{
	fputc('\n', j->out);
	j->comma = false;
	j->depth = 0;
}
