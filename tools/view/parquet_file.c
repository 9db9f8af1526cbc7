/* SPDX-License-Identifier: MIT */
/* parquet_file.c -- a Parquet file, written row by row: groups of rows are encoded and compressed by another thread. */
#include "view/parquet_int.h"
#include "base/vec.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct parquet_worker {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct parquet *file; /* whose group it has; NULL: idle */
	struct pgroup *group;
	bool ends;
};

/* ---- the other thread ---- */

static void *work(void *arg)
{
	struct parquet_worker *w = arg;

	pthread_mutex_lock(&w->lock);
	for (;;) {
		while (!w->file && !w->ends)
			pthread_cond_wait(&w->changed, &w->lock);
		if (!w->file)
			break;
		pthread_mutex_unlock(&w->lock);
		parquet_write_group(w->file, w->group);
		pgroup_free(w->file, w->group);
		pthread_mutex_lock(&w->lock);
		w->file = NULL;
		pthread_cond_broadcast(&w->changed);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

struct parquet_worker *parquet_worker_new(void)
{
	struct parquet_worker *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->changed, NULL);
	if (pthread_create(&w->thread, NULL, work, w)) {
		free(w);
		return NULL;
	}
	return w;
}

void parquet_worker_free(struct parquet_worker *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->ends = true;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->changed);
	free(w);
}

/* Give it a group, when it is done with the last; NULL: only wait for that. */
static void hand_over(struct parquet_worker *w, struct parquet *p, struct pgroup *g)
{
	pthread_mutex_lock(&w->lock);
	while (w->file)
		pthread_cond_wait(&w->changed, &w->lock);
	if (g) {
		w->file = p;
		w->group = g;
		pthread_cond_broadcast(&w->changed);
	}
	pthread_mutex_unlock(&w->lock);
}

/* ---- the schema ---- */

struct parquet *parquet_new(FILE *out, struct parquet_worker *w)
{
	struct parquet *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->out = out;
	p->worker = w;
	p->nr_sets = 1;
	return p;
}

int parquet_set(struct parquet *p)
{
	return (int)p->nr_sets++;
}

static bool is_taken(const struct parquet *p, const char *name)
{
	for (size_t i = 0; i < p->nr_columns; i++)
		if (!strcasecmp(p->schema[i].name, name))
			return true;
	return false;
}

/* Letters, digits and _ only: what every reader of these files can name. */
static char *column_name(const struct parquet *p, const char *name)
{
	size_t n = strnlen(name, 200);
	char *text = malloc(n + 24);

	if (!text)
		return NULL;
	memcpy(text, name, n);
	text[n] = 0;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)text[i]) || (unsigned char)text[i] >= 128)
			text[i] = '_';
	for (unsigned k = 2; !*text || is_taken(p, text); k++)
		snprintf(text + n, 24, "_%u", k);
	return text;
}

int parquet_column(struct parquet *p, const char *name, enum parquet_type type, int set)
{
	if (!VEC_MORE(p->schema, p->nr_columns))
		return -1;
	p->schema[p->nr_columns] =
		(struct pschema){.name = column_name(p, name), .type = type, .set = set};
	return p->schema[p->nr_columns].name ? (int)p->nr_columns++ : -1;
}

void parquet_note(struct parquet *p, const char *key, const char *value)
{
	int last = 0;

	thrift_text(&p->notes, &last, 1, key, strlen(key));
	thrift_text(&p->notes, &last, 2, value, strlen(value));
	thrift_stop(&p->notes);
	p->nr_notes++;
}

/* ---- rows ---- */

static void rows_add(struct parquet *p, struct prows *r, uint32_t row)
{
	if (VEC_ROOM(r->at, r->nr, r->cap))
		r->at[r->nr++] = row;
	else
		p->no_memory = true;
}

void pgroup_free(const struct parquet *p, struct pgroup *g)
{
	if (!g)
		return;
	for (size_t i = 0; g->sets && i < p->nr_sets; i++)
		free(g->sets[i].at);
	for (size_t i = 0; g->columns && i < p->nr_columns; i++) {
		struct pcolumn *c = &g->columns[i];

		free(c->v);
		free(c->word);
		pwords_free(&c->words);
		if (c->own)
			free(c->own->at);
		free(c->own);
	}
	free(g->sets);
	free(g->columns);
	free(g);
}

static struct pgroup *group_new(const struct parquet *p)
{
	struct pgroup *g = calloc(1, sizeof(*g));

	if (g) {
		g->sets = calloc(p->nr_sets, sizeof(*g->sets));
		g->columns = calloc(p->nr_columns + 1, sizeof(*g->columns));
	}
	if (g && g->sets && g->columns)
		return g;
	pgroup_free(p, g);
	return NULL;
}

void parquet_flush(struct parquet *p)
{
	if (!p->group || !p->group->rows)
		return;
	hand_over(p->worker, p, p->group);
	p->group = NULL;
}

void parquet_row(struct parquet *p)
{
	if (p->group && p->group->rows >= PARQUET_ROWS)
		parquet_flush(p);
	if (!p->group)
		p->group = group_new(p);
	if (p->group)
		p->group->rows++;
	else
		p->no_memory = true;
}

void parquet_in(struct parquet *p, int set)
{
	if (!p->group)
		return;
	rows_add(p, &p->group->sets[set], (uint32_t)p->group->rows - 1);
	p->group->bytes += 4;
}

/* Room for one more; NULL: out of memory. */
static struct pcolumn *next_value(struct parquet *p, int column)
{
	struct pcolumn *c = p->group ? &p->group->columns[column] : NULL;
	enum parquet_type type = p->schema[column].type;
	bool words = type == PARQUET_TEXT || type == PARQUET_BYTES;

	if (c && !(words ? VEC_ROOM(c->word, c->nr, c->cap) : VEC_ROOM(c->v, c->nr, c->cap))) {
		p->no_memory = true;
		return NULL;
	}
	if (c && c->own)
		rows_add(p, c->own, (uint32_t)p->group->rows - 1);
	return c;
}

void parquet_int(struct parquet *p, int column, uint64_t v)
{
	struct pcolumn *c = next_value(p, column);

	if (!c)
		return;
	c->v[c->nr++] = v;
	p->group->bytes += 8;
}

/* The bytes of the UTF-8 character at p; 0: it is none. */
static size_t utf8(const uint8_t *p, size_t n)
{
	size_t k = *p < 0x80		     ? 1
		   : *p >= 0xc2 && *p < 0xe0 ? 2
		   : *p >= 0xe0 && *p < 0xf0 ? 3
		   : *p >= 0xf0 && *p < 0xf5 ? 4
					     : 0;

	if (!k || k > n)
		return 0;
	for (size_t i = 1; i < k; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] >= 0xa0) ||
	    (*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] >= 0x90))
		return 0;
	return k;
}

static bool is_utf8(const uint8_t *p, size_t n)
{
	size_t i = 0, k;

	while (i < n && p[i] < 0x80)
		i++;
	for (; i < n; i += k)
		if (!(k = utf8(p + i, n - i)))
			return false;
	return true;
}

static uint32_t word_of(struct pwords *w, const uint8_t *text, size_t n)
{
	uint8_t *copy = malloc(3 * n + 1);
	size_t out = 0, k;
	uint32_t word;

	for (size_t i = 0; copy && i < n; i += k ? k : 1) {
		k = utf8(text + i, n - i);
		memcpy(copy + out, k ? text + i : (const uint8_t *)"\xef\xbf\xbd", k ? k : 3);
		out += k ? k : 3;
	}
	word = copy ? pwords_add(w, copy, out) : UINT32_MAX;
	free(copy);
	return word;
}

void parquet_text(struct parquet *p, int column, const void *text, size_t n)
{
	struct pcolumn *c = next_value(p, column);
	size_t before, word;

	if (!c)
		return;
	before = c->words.bytes.nr;
	word = p->schema[column].type == PARQUET_BYTES || is_utf8(text, n)
		       ? pwords_add(&c->words, text, n)
		       : word_of(&c->words, text, n);
	if (word == UINT32_MAX) {
		p->no_memory = true;
		return;
	}
	c->word[c->nr++] = (uint32_t)word;
	p->group->bytes += 4 + c->words.bytes.nr - before;
}

/* From now on the column counts its rows by itself: those of its set until now, and not this one. */
void parquet_null(struct parquet *p, int column)
{
	struct pcolumn *c = p->group ? &p->group->columns[column] : NULL;
	const struct prows *set = c ? &p->group->sets[p->schema[column].set] : NULL;

	if (!c || c->own)
		return;
	c->own = calloc(1, sizeof(*c->own));
	p->no_memory |= !c->own;
	for (size_t i = 0; c->own && i + 1 < set->nr; i++)
		rows_add(p, c->own, set->at[i]);
}

size_t parquet_pending(const struct parquet *p)
{
	return p->group ? p->group->bytes : 0;
}

int parquet_close(struct parquet *p)
{
	int err;

	parquet_flush(p);
	hand_over(p->worker, p, NULL);
	if (!p->no_memory)
		parquet_write_end(p);
	err = p->no_memory || p->failed ? -ENOMEM : 0;
	if (ferror(p->out))
		err = 0; /* who opened it says so */
	pgroup_free(p, p->group);
	for (size_t i = 0; i < p->nr_columns; i++)
		free(p->schema[i].name);
	free(p->schema);
	free(p->groups.v);
	free(p->notes.v);
	free(p);
	return err;
}
