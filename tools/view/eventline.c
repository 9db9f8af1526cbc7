/* SPDX-License-Identifier: MIT */
/* eventline.c -- one event as a JSON object or a row of CSV: for query and convert. */
#include "view/eventline.h"
#include "model/row.h"
#include "view/args.h"
#include "view/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct eventline {
	struct source *source;
	struct report_options report;
	struct report_line *text;
	struct row_type **by_type; /* [SOURCE_ID_FAST]; made on first use */
	struct lookup lookup;	   /* of calls */
};

const char eventline_csv_head[] = "time,cpu,pid,comm,event,text\n";

struct eventline *eventline_new(struct source *s)
{
	static const struct scan_choice all = SCAN_ALL;
	struct eventline *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->source = s;
	l->report =
		(struct report_options){.choice = &all, .no_plugins = true, .first_alias = true};
	l->text = report_line_new(s, &l->report);
	l->by_type = calloc(SOURCE_ID_FAST, sizeof(struct row_type *));
	if (l->text && l->by_type && lookup_init(&l->lookup, s, false))
		return l;
	eventline_free(l);
	return NULL;
}

void eventline_free(struct eventline *l)
{
	if (!l)
		return;
	for (uint32_t i = 0; l->by_type && i < SOURCE_ID_FAST; i++)
		free(l->by_type[i]);
	free(l->by_type);
	report_line_free(l->text);
	lookup_free(&l->lookup);
	free(l);
}

const char *eventline_info(struct eventline *l, const struct event *e, size_t *bytes)
{
	return report_text(l->text, e, bytes);
}

/* ---- fields ---- */

static const struct row_type *row_of(struct eventline *l, uint32_t type)
{
	struct row_type **slot = type < SOURCE_ID_FAST ? &l->by_type[type] : NULL;

	if (slot && !*slot)
		*slot = row_type_new(l->source, type);
	return slot ? *slot : NULL;
}

static void json_number(struct json *j, const char *key, uint64_t v, bool is_signed)
{
	if (is_signed)
		json_s64(j, key, (int64_t)v);
	else
		json_u64(j, key, v);
}

static void json_array(struct json *j, const struct row_field *f, const struct row_value *v)
{
	struct row_number n = f->number;

	n.size = v->element == 2 || v->element == 4 || v->element == 8 ? (uint8_t)v->element : 1;
	n.is_signed = v->is_signed;
	json_open(j, f->name, '[');
	for (uint32_t i = 0; i + n.size <= v->n; i += n.size)
		json_number(j, NULL, row_number_odd(&n, v->bytes + i), v->is_signed);
	json_close(j, ']');
}

static void json_field(const struct row_type *t, uint32_t field, const struct event *e,
		       struct json *j)
{
	const struct row_field *f = &t->fields[field];
	struct row_value v;

	if (!row_value(t, field, e, &v))
		json_null(j, f->name);
	else if (v.kind == ROW_INTEGER)
		json_number(j, f->name, v.integer, v.is_signed);
	else if (v.kind == ROW_TEXT)
		json_bytes(j, f->name, (const char *)v.bytes, v.n);
	else
		json_array(j, f, &v);
}

/* Of a function's record that has more than its address: by names and types. */
static void json_call(struct eventline *l, const struct event *e, struct json *j)
{
	const struct schema *k = source_schema(l->source, e->type);
	struct args_fields fields;
	struct args a;
	uint64_t func;

	if (!k || strcmp(k->system, "ftrace") != 0)
		return;
	args_fields(&fields, source_format(l->source, e->type));
	if (e->size < fields.need || (!source_field(l->source, e, "func", &func) &&
				      !source_field(l->source, e, "ip", &func)))
		return;
	args_read(&fields, &l->lookup.env, e->data, e->size, &a);
	args_json(&l->lookup, func, &a, j);
}

void eventline_json(struct eventline *l, const struct event *e, uint64_t number, struct json *j)
{
	const struct row_type *t = row_of(l, e->type);
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
	for (uint32_t i = t ? t->nr_common : 0; t && i < t->nr; i++)
		json_field(t, i, e, j);
	json_close(j, '}');
	json_call(l, e, j);
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
