/* SPDX-License-Identifier: MIT */
/* json.h -- write JSON, value by value; commas and escapes are kept right. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *out;
	bool comma;  /* a comma is needed before the next value */
	bool pretty; /* a line per value */
	int depth;
};

void json_init(struct json *j, FILE *out, bool pretty);
void json_open(struct json *j, const char *key,
	       char bracket); /* '{' or '['; key NULL inside arrays */
void json_close(struct json *j, char bracket);
void json_str(struct json *j, const char *key, const char *s);
void json_bytes(struct json *j, const char *key, const char *s, size_t n);
void json_u64(struct json *j, const char *key, uint64_t v);
void json_s64(struct json *j, const char *key, int64_t v);
void json_bool(struct json *j, const char *key, bool v);
/* A number with this many digits after the point. */
void json_decimal(struct json *j, const char *key, double v, int digits);
/* As precise as SQLite writes it; null if it is infinite or not a number. */
void json_double(struct json *j, const char *key, double v);
/* v / 1000 with three digits after the point. */
void json_thousandths(struct json *j, const char *key, uint64_t v);
void json_null(struct json *j, const char *key);
/* The document is complete: a newline. */
void json_end(struct json *j);
/* The characters of a string, escaped, without quotes. Bytes that are not UTF-8 become U+FFFD. */
void json_escape(FILE *out, const char *s, size_t n);

#endif
