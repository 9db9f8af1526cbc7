/* SPDX-License-Identifier: MIT */
/* eventline.c -- one event as a JSON object or a row of CSV: for query and convert. */
#include "view/eventline.h"
#include "base/bytes.h"
#include "query/out.h"
#include "query/printfmt.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct eventline {
	struct source *source;
	struct expr_env env;
	struct printfmt **by_type; /* [SOURCE_ID_FAST]; made on first use */
	struct out text;
	char scratch[EXPR_SCRATCH_MAX];
};

const char eventline_csv_head[] = "time,cpu,pid,comm,event,text\n";

struct eventline *eventline_new(struct source *s)
{
	struct eventline *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->source = s;
	l->by_type = calloc(SOURCE_ID_FAST, sizeof(struct printfmt *));
	expr_env_of(&l->env, s);
	if (l->by_type)
		return l;
	free(l);
	return NULL;
}

void eventline_free(struct eventline *l)
{
	if (!l)
		return;
	for (uint32_t i = 0; i < SOURCE_ID_FAST; i++)
		if (l->by_type[i])
			printfmt_free(l->by_type[i]);
	free(l->by_type);
	out_free(&l->text);
	free(l);
}

static const struct printfmt *fmt_of(struct eventline *l, const struct format *f)
{
	struct printfmt **slot = f->id < SOURCE_ID_FAST ? &l->by_type[f->id] : NULL;

	if (slot && !*slot)
		*slot = printfmt_new(f, f->print_fmt, strlen(f->print_fmt),
				     (uint8_t)l->source->long_bytes, PRINTFMT_TRACE_CMD);
	return slot ? *slot : NULL;
}

static struct expr_record record(struct eventline *l, const struct event *e)
{
	return (struct expr_record){.data = e->data,
				    .size = e->size,
				    .cpu = e->cpu,
				    .pid = e->pid,
				    .time = e->time,
				    .name = source_event_name(l->source, e->type),
				    .env = &l->env,
				    .scratch = l->scratch};
}

/* An event whose print fmt is not known or broken: its bytes. */
static void bytes_of(struct eventline *l, const struct event *e)
{
	char two[4];

	for (uint32_t i = 0; i < e->size && i < 256; i++) {
		snprintf(two, sizeof(two), i ? " %02x" : "%02x", e->data[i]);
		out_str(&l->text, two);
	}
}

const char *eventline_info(struct eventline *l, const struct event *e, size_t *bytes)
{
	const struct format *f = source_format(l->source, e->type);
	const struct printfmt *p = f ? fmt_of(l, f) : NULL;
	struct expr_record r = record(l, e);

	l->text.at = l->text.base;
	if (p && !printfmt_error(p))
		printfmt_run(p, &r, &l->text);
	else
		bytes_of(l, e);
	while (out_len(&l->text) && l->text.at[-1] == '\n')
		l->text.at--;
	*bytes = out_len(&l->text);
	return *bytes ? l->text.base : "";
}

/* ---- fields ---- */

static uint64_t load(const struct source *s, const uint8_t *p, uint32_t size)
{
	switch (size) {
	case 1: return *p;
	case 2: return get_u16(p, s->big_endian);
	case 4: return get_u32(p, s->big_endian);
	default: return get_u64(p, s->big_endian);
	}
}

static void json_number(struct json *j, const char *key, uint64_t v, uint32_t size, bool is_signed)
{
	if (!is_signed)
		json_u64(j, key, v);
	else
		json_s64(j, key,
			 size == 1   ? (int8_t)v
			 : size == 2 ? (int16_t)v
			 : size == 4 ? (int32_t)v
				     : (int64_t)v);
}

static bool number_size(uint32_t n)
{
	return n == 1 || n == 2 || n == 4 || n == 8;
}

/* The bytes of a field, static or dynamic; false if they are not in the record. */
static bool field_bytes(struct eventline *l, const struct event *e, const struct format_field *f,
			const uint8_t **p, uint32_t *n)
{
	struct expr_record r = record(l, e);
	struct value v;

	if (f->flags & FORMAT_DYNAMIC) {
		if (f->offset > e->size || e->size - f->offset < 4)
			return false;
		v = expr_dynamic(&r, f->offset, f->flags & FORMAT_REL_LOC);
		*p = (const uint8_t *)v.s;
		*n = v.len;
		return true;
	}
	if (f->offset > e->size)
		return false;
	*n = f->flags & FORMAT_ARRAY && !f->nr_elems ? e->size - f->offset : f->size;
	*p = e->data + f->offset;
	return *n <= e->size - f->offset;
}

static void json_field(struct eventline *l, const struct event *e, const struct format_field *f,
		       struct json *j)
{
	bool is_signed = f->flags & FORMAT_SIGNED;
	uint32_t n, size = f->elem_size ? f->elem_size : 1;
	const uint8_t *p;

	if (!field_bytes(l, e, f, &p, &n)) {
		json_null(j, f->name);
	} else if (f->flags & FORMAT_STRING) {
		json_bytes(j, f->name, (const char *)p, n ? strnlen((const char *)p, n) : 0);
	} else if (!(f->flags & (FORMAT_ARRAY | FORMAT_DYNAMIC)) && number_size(n)) {
		json_number(j, f->name, load(l->source, p, n), n, is_signed);
	} else {
		if (!number_size(size))
			size = 1;
		json_open(j, f->name, '[');
		for (uint32_t i = 0; n && i + size <= n; i += size)
			json_number(j, NULL, load(l->source, p + i, size), size, is_signed);
		json_close(j, ']');
	}
}

void eventline_json(struct eventline *l, const struct event *e, uint64_t number, struct json *j)
{
	const struct format *f = source_format(l->source, e->type);
	const char *info;
	size_t bytes;

	if (number != UINT64_MAX)
		json_u64(j, "n", number);
	json_u64(j, "time", e->time);
	json_u64(j, "cpu", e->cpu);
	json_s64(j, "pid", e->pid);
	json_str(j, "comm", source_comm(l->source, e->pid));
	json_str(j, "event", source_event_name(l->source, e->type));
	if (e->lost == LOST_UNKNOWN)
		json_null(j, "lost");
	else if (e->lost)
		json_u64(j, "lost", e->lost);
	json_open(j, "fields", '{');
	for (uint32_t i = f ? f->nr_common : 0; f && i < f->nr_fields; i++)
		json_field(l, e, &f->fields[i], j);
	json_close(j, '}');
	info = eventline_info(l, e, &bytes);
	json_bytes(j, "text", info, bytes);
}

static void csv_cell(FILE *out, const char *s, size_t n)
{
	bool quote = false;

	for (size_t i = 0; i < n; i++)
		quote |= s[i] == ',' || s[i] == '"' || s[i] == '\n' || s[i] == '\r';
	if (!quote) {
		fwrite(s, 1, n, out);
		return;
	}
	fputc('"', out);
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '"')
			fputc('"', out);
		fputc(s[i], out);
	}
	fputc('"', out);
}

void eventline_csv(struct eventline *l, const struct event *e, FILE *out)
{
	const char *comm = source_comm(l->source, e->pid), *info;
	const char *name = source_event_name(l->source, e->type);
	size_t bytes;

	if (l->source->unit == CLOCK_NS)
		fprintf(out, "%" PRIu64 ".%09" PRIu64, e->time / 1000000000, e->time % 1000000000);
	else
		fprintf(out, "%" PRIu64, e->time);
	fprintf(out, ",%u,%d,", e->cpu, e->pid);
	csv_cell(out, comm, strlen(comm));
	fputc(',', out);
	csv_cell(out, name, strlen(name));
	fputc(',', out);
	info = eventline_info(l, e, &bytes);
	csv_cell(out, info, bytes);
	fputc('\n', out);
}
