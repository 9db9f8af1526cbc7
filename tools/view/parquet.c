/* SPDX-License-Identifier: MIT */
/* parquet.c -- a trace as Parquet: one wide table, or a file for each type of event. */
#include "view/parquet.h"
#include "base/output.h"
#include "decode/loss.h"
#include "model/model.h"
#include "model/row.h"
#include "view/parquet_file.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PENDING_MAX (96u << 20) /* bytes, of the files of all types */

/* A type of events, in the table it goes to. */
struct event_type {
	const struct schema *schema;
	struct row_type *row; /* NULL: no fields */
	struct parquet *file;
	struct output out; /* with a file of its own */
	bool is_open;
	int set, time, cpu, pid, comm, system, event;
	int *columns; /* by field; -1: common fields */
};

struct tables {
	struct source *s;
	struct parquet_worker *worker;
	struct event_type **types; /* by id */
	struct event_type other;   /* of the wide table: types without a schema */
	struct parquet *wide;
	FILE *to; /* the wide table */
	const char *directory;
	const struct scan_choice *choice;
	struct losses *losses;
	int err;
};

static enum parquet_type type_of(const struct row_field *f)
{
	switch (f->kind) {
	case ROW_INTEGER:
		return f->number.size == 8 && !f->number.is_signed ? PARQUET_UNSIGNED : PARQUET_INT;
	case ROW_BYTES: return PARQUET_BYTES;
	default: return PARQUET_TEXT;
	}
}

static void first_columns(struct event_type *t, bool wide)
{
	t->time = parquet_column(t->file, "time", PARQUET_INT, PARQUET_ALWAYS);
	t->cpu = parquet_column(t->file, "cpu", PARQUET_INT, PARQUET_ALWAYS);
	/* Types have fields pid and comm of their own. */
	t->pid = parquet_column(t->file, wide ? "pid" : "common_pid", PARQUET_INT, PARQUET_ALWAYS);
	t->comm = parquet_column(t->file, wide ? "comm" : "common_comm", PARQUET_TEXT,
				 PARQUET_ALWAYS);
	t->system = t->event = -1;
	if (wide) {
		t->system = parquet_column(t->file, "system", PARQUET_TEXT, PARQUET_ALWAYS);
		t->event = parquet_column(t->file, "event", PARQUET_TEXT, PARQUET_ALWAYS);
	}
}

/* A column for each field but those that all types share. */
static bool field_columns(struct tables *w, struct event_type *t)
{
	bool ok = t->row != NULL;

	t->set = parquet_set(t->file);
	t->columns = t->row ? calloc(t->row->nr + 1, sizeof(*t->columns)) : NULL;
	for (uint32_t i = 0; ok && t->columns && i < t->row->nr; i++) {
		const struct row_field *f = &t->row->fields[i];
		char *name = NULL;

		t->columns[i] = -1;
		if (!strncmp(f->name, "common_", 7))
			continue;
		if (asprintf(&name, "%s%s%s", w->wide ? t->schema->name : "", w->wide ? "_" : "",
			     f->name) < 0)
			name = NULL;
		t->columns[i] = name ? parquet_column(t->file, name, type_of(f), t->set) : -1;
		ok = t->columns[i] >= 0;
		free(name);
	}
	return !t->row || (ok && t->columns);
}

static void note_trace(struct tables *w, struct parquet *p)
{
	parquet_note(p, "fathom.trace", w->s->path);
	parquet_note(p, "fathom.time", w->s->unit == CLOCK_NS ? "ns" : "ticks");
	parquet_note(p, "fathom.clock", w->s->nr_buffers ? w->s->buffers[0].clock : "");
}

static void note_lost(const struct tables *w, struct parquet *p)
{
	char text[512];
	struct account a;

	if (account_make(&a, w->s, losses_at(w->losses, 0), losses_nr(w->losses),
			 scan_is_whole(w->choice), scan_keep, (void *)w->choice))
		return;
	account_text(&a, text, sizeof(text));
	account_free(&a);
	parquet_note(p, "fathom.lost", text);
}

/* ---- the two ways ---- */

static int add_wide_types(struct tables *w, const struct model_counts *n)
{
	w->other = (struct event_type){.file = w->wide};
	first_columns(&w->other, true);
	for (size_t i = 0; i < w->s->nr_schemas; i++) {
		const struct schema *k = &w->s->schemas[i];
		struct event_type *t;

		if (k->id >= SOURCE_ID_FAST || !n->by_type[k->id] || w->types[k->id])
			continue;
		t = calloc(1, sizeof(*t));
		if (!t)
			return -ENOMEM;
		*t = w->other;
		t->schema = k;
		t->row = row_type_new(w->s, k->id);
		w->types[k->id] = t;
		if (!field_columns(w, t))
			return -ENOMEM;
	}
	return 0;
}

/* Names of files come from the trace: letters, digits, - and _ only. */
static char *file_name(const struct tables *w, const struct schema *k)
{
	char *name = NULL, *p;
	size_t n = strlen(w->directory) + 1;

	if (asprintf(&name, "%s/%.80s.%.100s.%u.parquet", w->directory, k->system, k->name, k->id) <
	    0)
		return NULL;
	for (p = name + n; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '.' && *p != '-' && *p != '_')
			*p = '_';
	if (name[n] == '.')
		name[n] = '_';
	return name;
}

static struct event_type *open_type(struct tables *w, uint32_t id)
{
	const struct schema *k = source_schema(w->s, id);
	struct event_type *t = k && id < SOURCE_ID_FAST ? calloc(1, sizeof(*t)) : NULL;
	char *path;

	if (!t)
		return NULL;
	w->types[id] = t;
	t->schema = k;
	t->row = row_type_new(w->s, id);
	path = file_name(w, k);
	w->err = path ? output_open(&t->out, path, false) : -ENOMEM;
	output_error(path ? path : k->name, w->err);
	free(path);
	if (w->err)
		return NULL;
	t->is_open = true;
	t->file = parquet_new(t->out.f, w->worker);
	if (!t->file) {
		w->err = -ENOMEM;
		return NULL;
	}
	note_trace(w, t->file);
	first_columns(t, false);
	w->err = field_columns(w, t) ? 0 : -ENOMEM;
	return w->err ? NULL : t;
}

/* ---- rows ---- */

/* "[1,-2,3]" as fathom sql shows it. */
static void put_array(struct parquet *p, int column, const struct row_value *v, bool big)
{
	char *text = NULL;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);

	if (!f)
		return;
	fputc('[', f);
	for (uint32_t i = 0; v->element && i + v->element <= v->n; i += v->element) {
		struct row_number n = {.size = (uint8_t)v->element,
				       .is_signed = v->is_signed,
				       .swap = big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)};

		fprintf(f, "%s%lld", i ? "," : "", (long long)row_number_odd(&n, v->bytes + i));
	}
	fputc(']', f);
	if (!fclose(f))
		parquet_text(p, column, text, bytes);
	free(text);
}

static void put_field(const struct tables *w, const struct event_type *t, uint32_t i,
		      const struct event *e)
{
	const struct row_field *f = &t->row->fields[i];
	struct row_value v;

	if (f->kind == ROW_INTEGER && e->size >= f->number.size &&
	    f->number.offset <= e->size - f->number.size) {
		parquet_int(t->file, t->columns[i], row_get(&f->number, e));
		return;
	}
	if (!row_value(t->row, i, e, &v)) {
		parquet_null(t->file, t->columns[i]);
		return;
	}
	switch (v.kind) {
	case ROW_INTEGER: parquet_int(t->file, t->columns[i], v.integer); break;
	case ROW_ARRAY: put_array(t->file, t->columns[i], &v, w->s->big_endian); break;
	default: parquet_text(t->file, t->columns[i], v.bytes, v.n); break;
	}
}

static void put_event(struct tables *w, const struct event_type *t, const struct event *e)
{
	const char *comm = source_comm(w->s, e->pid);

	parquet_row(t->file);
	parquet_int(t->file, t->time, e->time);
	parquet_int(t->file, t->cpu, e->cpu);
	parquet_int(t->file, t->pid, (uint64_t)(int64_t)e->pid);
	parquet_text(t->file, t->comm, comm, strlen(comm));
	if (t->event >= 0) {
		const char *system = t->schema ? t->schema->system : "",
			   *name = t->schema ? t->schema->name : "";

		parquet_text(t->file, t->system, system, strlen(system));
		parquet_text(t->file, t->event, name, strlen(name));
	}
	if (!t->row)
		return;
	parquet_in(t->file, t->set);
	for (uint32_t i = 0; i < t->row->nr; i++)
		if (t->columns[i] >= 0)
			put_field(w, t, i, e);
}

/* Too much waits in all files together: the fullest is written. */
static void limit_pending(struct tables *w)
{
	size_t sum = 0, most = 0;
	struct parquet *full = NULL;

	for (uint32_t i = 0; i < SOURCE_ID_FAST; i++) {
		size_t n = w->types[i] ? parquet_pending(w->types[i]->file) : 0;

		sum += n;
		if (n > most) {
			most = n;
			full = w->types[i]->file;
		}
	}
	if (sum > PENDING_MAX && full)
		parquet_flush(full);
}

static int put_events(struct tables *w)
{
	struct scan *sc = scan_open(w->s, w->choice, NULL);
	const struct event *e;
	uint64_t nr = 0;

	if (!sc)
		return -ENOMEM;
	source_want_names(w->s);
	while (!w->err && (e = scan_next(sc))) {
		struct event_type *t = e->type < SOURCE_ID_FAST ? w->types[e->type] : NULL;

		if (!t)
			t = w->wide ? &w->other : open_type(w, e->type);
		if (t)
			put_event(w, t, e);
		if (!w->wide && !(++nr & 0xffff))
			limit_pending(w);
		if (t && ferror(w->wide ? w->to : t->out.f))
			break;
		if (e->lost)
			losses_add(w->losses, &(struct loss){.stream = e->stream,
							     .from = e->time,
							     .to = e->time,
							     .lost = e->lost});
	}
	scan_close(sc);
	return w->err;
}

static int close_types(struct tables *w, int err)
{
	for (uint32_t i = 0; w->types && i < SOURCE_ID_FAST; i++) {
		struct event_type *t = w->types[i];

		if (!t)
			continue;
		if (!w->wide && t->file) {
			int closed;

			if (!err)
				note_lost(w, t->file);
			closed = parquet_close(t->file);

			err = err ? err : closed;
		}
		if (t->is_open) {
			int closed = output_close(&t->out, err);

			err = err ? err : closed;
		}
		free(t->columns);
		free(t->row);
		free(t);
	}
	free(w->types);
	if (w->losses)
		losses_free(w->losses);
	parquet_worker_free(w->worker);
	return err;
}

static int begin(struct tables *w, struct source *s, const struct scan_choice *c)
{
	*w = (struct tables){.s = s,
			     .choice = c,
			     .losses = losses_new(),
			     .worker = parquet_worker_new(),
			     .types = calloc(SOURCE_ID_FAST, sizeof(struct event_type *))};
	return w->worker && w->types && w->losses ? 0 : -ENOMEM;
}

int parquet_wide(struct source *s, const struct scan_choice *c, FILE *out)
{
	struct model_counts *n = model_count(s);
	struct tables w;
	int err = begin(&w, s, c), closed;

	w.to = out;
	if (!err && !(w.wide = parquet_new(out, w.worker)))
		err = -ENOMEM;
	if (!err && n) {
		note_trace(&w, w.wide);
		err = add_wide_types(&w, n);
	} else {
		err = -ENOMEM;
	}
	if (!err)
		err = put_events(&w);
	if (w.wide && !err)
		note_lost(&w, w.wide);
	closed = w.wide ? parquet_close(w.wide) : 0;
	free(n);
	return close_types(&w, err ? err : closed);
}

int parquet_types(struct source *s, const struct scan_choice *c, const char *directory, bool fresh)
{
	struct tables w;
	int err = begin(&w, s, c);

	w.directory = directory;
	if (!err && mkdir(directory, 0777) && (errno != EEXIST || fresh))
		err = output_error(directory, -errno);
	if (!err)
		err = put_events(&w);
	return close_types(&w, err);
}
