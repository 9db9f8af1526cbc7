/* SPDX-License-Identifier: MIT */
/* meta.c -- ftrace.meta: the JSON beside a seL4 stream, written as the public extractor writes it, and read. */
#include "decode/sel4/dump.h"
#include "base/vec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	enum sel4_key_kind kind;
} keys[SEL4_NR_KEYS] = {
	[SEL4_KEY_TYPE] = {"TYPE", SEL4_KIND_TEXT},
	[SEL4_KEY_VERSION] = {"VERSION", SEL4_KIND_INT},
	[SEL4_KEY_ENTRIES] = {"ENTRIES", SEL4_KIND_INT},
	[SEL4_KEY_TOTAL_ENTRIES] = {"TOTAL_ENTRIES", SEL4_KIND_INT},
	[SEL4_KEY_TOTAL_LOGGED] = {"TOTAL_LOGGED", SEL4_KIND_INT},
	[SEL4_KEY_BLOCKS] = {"BLOCKS", SEL4_KIND_INT},
	[SEL4_KEY_DICT_SIZE] = {"DICT_SIZE", SEL4_KIND_INT},
	[SEL4_KEY_DATA_SIZE] = {"DATA_SIZE", SEL4_KIND_INT},
	[SEL4_KEY_RAW_SIZE] = {"RAW_SIZE", SEL4_KIND_INT},
	[SEL4_KEY_COMPRESSED_SIZE] = {"COMPRESSED_SIZE", SEL4_KIND_INT},
	[SEL4_KEY_TOTAL_COMPRESSED] = {"TOTAL_COMPRESSED", SEL4_KIND_INT},
	[SEL4_KEY_DUMP_REASON_CODE] = {"DUMP_REASON_CODE", SEL4_KIND_INT},
	[SEL4_KEY_OVERFLOW_EVENTS] = {"OVERFLOW_EVENTS", SEL4_KIND_INT},
	[SEL4_KEY_COMPRESS_FAIL_EVENTS] = {"COMPRESS_FAIL_EVENTS", SEL4_KIND_INT},
	[SEL4_KEY_CPU] = {"CPU", SEL4_KIND_INT},
	[SEL4_KEY_CLOCK_HZ] = {"CLOCK_HZ", SEL4_KIND_INT},
	[SEL4_KEY_OVERFLOW] = {"OVERFLOW", SEL4_KIND_BOOL},
	[SEL4_KEY_STORAGE_FULL] = {"STORAGE_FULL", SEL4_KIND_BOOL},
	[SEL4_KEY_DUMP_REASON] = {"DUMP_REASON", SEL4_KIND_TEXT},
	[SEL4_KEY_CHECKSUM] = {"CHECKSUM", SEL4_KIND_TEXT},
	[SEL4_KEY_STACKS] = {"STACKS", SEL4_KIND_TEXT},
};

const char *sel4_key_name(enum sel4_key key, enum sel4_key_kind *kind)
{
	*kind = keys[key].kind;
	return keys[key].name;
}

void sel4_meta_free(struct sel4_meta *m)
{
	free(m->functions);
	free(m->gaps);
	m->functions = NULL;
	m->gaps = NULL;
	m->nr_functions = m->nr_gaps = 0;
}

size_t sel4_meta_dict(const struct sel4_meta *m, struct sel4_dict *d)
{
	size_t outside = 0;

	for (size_t i = 0; i < m->nr_functions; i++) {
		const struct sel4_function *f = &m->functions[i];

		if (f->index < WIRE_SEL4_FUNC_FIRST || f->index > WIRE_SEL4_FUNC_LAST) {
			outside++;
			continue;
		}
		d->nr += f->addr && !d->addr[f->index - WIRE_SEL4_FUNC_FIRST];
		d->addr[f->index - WIRE_SEL4_FUNC_FIRST] = f->addr;
	}
	return outside;
}

/* ---- writing ---- */

static void write_string(FILE *to, const char *s)
{
	fputc('"', to);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			fprintf(to, "\\%c", c);
		else if (c < 32 || c > 126)
			fprintf(to, "\\u%04x", c);
		else
			fputc(c, to);
	}
	fputc('"', to);
}

static void write_header(const struct sel4_meta *m, FILE *to)
{
	const char *comma = "";

	fputs("  \"header\": {", to);
	for (unsigned order = 0; order < m->nr_header; order++) {
		for (int k = 0; k < SEL4_NR_KEYS; k++) {
			const struct sel4_value *v = &m->header[k];

			if (!v->given || v->order != order)
				continue;
			fprintf(to, "%s\n    \"%s\": ", comma, keys[k].name);
			if (keys[k].kind == SEL4_KIND_TEXT)
				write_string(to, v->text);
			else if (keys[k].kind == SEL4_KIND_BOOL)
				fputs(v->number ? "true" : "false", to);
			else
				fprintf(to, "%" PRId64, v->number);
			comma = ",";
		}
	}
	if (m->has_checksum) {
		fprintf(to, "%s\n    \"expected_checksum\": %" PRIu32, comma, m->checksum);
		comma = ",";
	}
	fprintf(to, "%s},\n", *comma ? "\n  " : "");
}

int sel4_meta_write(const struct sel4_meta *m, const char *more, FILE *to)
{
	fprintf(to, "{\n%s", more);
	write_header(m, to);
	fputs("  \"dictionary\": {", to);
	for (size_t i = 0; i < m->nr_functions; i++)
		fprintf(to, "%s\n    \"%" PRIu32 "\": %" PRIu64, i ? "," : "",
			m->functions[i].index, m->functions[i].addr);
	fprintf(to, "%s},\n", m->nr_functions ? "\n  " : "");
	if (m->nr_gaps) { /* only a damaged dump has any: [word, words missing before it] */
		fputs("  \"gaps\": [", to);
		for (size_t i = 0; i < m->nr_gaps; i++)
			fprintf(to, "%s\n    [%" PRIu64 ", %" PRIu64 "]", i ? "," : "",
				m->gaps[i].word, m->gaps[i].missing);
		fputs("\n  ],\n", to);
	}
	fprintf(to, "  \"raw_size\": %" PRIu64 ",\n  \"entry_count\": %" PRIu64 "\n}", m->raw_bytes,
		m->raw_bytes / 2);
	return ferror(to) ? -EIO : 0;
}

/* ---- reading: a JSON reader that knows no more than it needs ---- */

#define DEPTH_MAX 8u

struct json_text {
	const char *s, *end;
	bool bad;
};

static char peek(struct json_text *j)
{
	while (j->s < j->end && (*j->s == ' ' || *j->s == '\n' || *j->s == '\t' || *j->s == '\r'))
		j->s++;
	return j->s < j->end ? *j->s : '\0';
}

static bool take(struct json_text *j, char c)
{
	if (peek(j) != c)
		return false;
	j->s++;
	return true;
}

static bool expect(struct json_text *j, char c)
{
	j->bad |= !take(j, c);
	return !j->bad;
}

/* A string without its quotes; what does not fit is cut. Escapes other than \" and \\ become '?'. */
static void string(struct json_text *j, char *out, size_t size)
{
	size_t n = 0;

	if (!expect(j, '"'))
		return;
	while (j->s < j->end && *j->s != '"') {
		char c = *j->s++;

		if (c == '\\' && j->s < j->end) {
			c = *j->s++;
			if (c == 'u')
				j->s += j->end - j->s < 4 ? j->end - j->s : 4;
			c = c == '"' || c == '\\' || c == '/' ? c : '?';
		}
		if (n + 1 < size)
			out[n++] = c;
	}
	out[n] = '\0';
	expect(j, '"');
}

static uint64_t integer(struct json_text *j)
{
	bool minus = take(j, '-');
	uint64_t v = 0;

	if (peek(j) < '0' || *j->s > '9')
		j->bad = true;
	while (!j->bad && j->s < j->end && *j->s >= '0' && *j->s <= '9') {
		j->bad |= v > UINT64_MAX / 10 - 1;
		v = v * 10 + (uint64_t)(*j->s++ - '0');
	}
	return minus ? -v : v;
}

/* Any value, stepped over; an object or an array by counting brackets outside of strings. */
static void skip(struct json_text *j)
{
	unsigned depth = 0;
	char text[2];

	do {
		char c = peek(j);

		if (c == '"') {
			string(j, text, sizeof(text));
			continue;
		}
		if (!c) {
			j->bad = true;
			return;
		}
		depth += c == '{' || c == '[';
		j->bad |= depth > DEPTH_MAX;
		if ((c == '}' || c == ']') && depth)
			depth--;
		j->s++;
		if (!depth && c != '}' && c != ']')
			while (j->s < j->end && !strchr(",}] \n\r\t", *j->s))
				j->s++;
	} while (depth && !j->bad);
}

static bool member(struct json_text *j, bool *first, char *name, size_t size)
{
	if (take(j, '}'))
		return false;
	if (!*first && !expect(j, ','))
		return false;
	*first = false;
	string(j, name, size);
	expect(j, ':');
	return !j->bad;
}

static void read_header(struct json_text *j, struct sel4_meta *m)
{
	bool first = true;
	char name[64];

	expect(j, '{');
	while (!j->bad && member(j, &first, name, sizeof(name))) {
		int k = 0;

		while (k < SEL4_NR_KEYS && strcmp(keys[k].name, name) != 0)
			k++;
		if (k < SEL4_NR_KEYS) {
			struct sel4_value *v = &m->header[k];

			if (!v->given)
				v->order = (uint8_t)m->nr_header++;
			v->given = true;
			if (keys[k].kind == SEL4_KIND_TEXT)
				string(j, v->text, sizeof(v->text));
			else if (keys[k].kind == SEL4_KIND_INT)
				v->number = (int64_t)integer(j);
			else {
				v->number = peek(j) == 't';
				skip(j);
			}
		} else if (!strcmp(name, "expected_checksum")) {
			m->checksum = (uint32_t)integer(j);
			m->has_checksum = true;
		} else {
			skip(j);
		}
	}
}

static void read_dictionary(struct json_text *j, struct sel4_meta *m)
{
	bool first = true;
	char name[32];

	expect(j, '{');
	while (!j->bad && member(j, &first, name, sizeof(name))) {
		if (m->nr_functions >= 0x8000u) {
			j->bad = true;
			return;
		}
		if (!VEC_MORE(m->functions, m->nr_functions)) {
			j->bad = true;
			return;
		}
		m->functions[m->nr_functions].index = (uint32_t)strtoul(name, NULL, 10);
		m->functions[m->nr_functions++].addr = integer(j);
	}
}

static void read_gaps(struct json_text *j, struct sel4_meta *m)
{
	expect(j, '[');
	while (!j->bad && take(j, '[')) {
		struct sel4_gap *g;

		if (!VEC_MORE(m->gaps, m->nr_gaps)) {
			j->bad = true;
			return;
		}
		g = m->gaps;
		g[m->nr_gaps].word = integer(j);
		expect(j, ',');
		g[m->nr_gaps].missing = integer(j);
		expect(j, ']');
		j->bad |= m->nr_gaps && g[m->nr_gaps].word <= g[m->nr_gaps - 1].word;
		m->nr_gaps++;
		if (!take(j, ','))
			break;
	}
	expect(j, ']');
}

int sel4_meta_parse(const char *text, size_t bytes, struct sel4_meta *m, size_t *at)
{
	struct json_text j = {.s = text, .end = text + bytes};
	bool first = true;
	char name[64];

	memset(m, 0, sizeof(*m));
	expect(&j, '{');
	while (!j.bad && member(&j, &first, name, sizeof(name))) {
		if (!strcmp(name, "header"))
			read_header(&j, m);
		else if (!strcmp(name, "dictionary"))
			read_dictionary(&j, m);
		else if (!strcmp(name, "gaps"))
			read_gaps(&j, m);
		else if (!strcmp(name, "raw_size"))
			m->raw_bytes = integer(&j);
		else
			skip(&j);
	}
	if (!j.bad)
		return 0;
	*at = (size_t)(j.s - text);
	sel4_meta_free(m);
	return -EBADMSG;
}
