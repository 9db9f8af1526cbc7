/* SPDX-License-Identifier: MIT */
/* parquet_write.c -- groups of rows as compressed pages, and the metadata at the end of a Parquet file. */
#include "view/parquet_int.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum {
	TYPE_INT64 = 2,
	TYPE_BYTES = 6,
	PAGE_DATA = 0,
	PAGE_DICTIONARY = 2,
	PLAIN = 0,
	RLE = 3,
	DELTA = 5,
	RLE_DICTIONARY = 8,
	CODEC_ZSTD = 6,
	AS_UTF8 = 0,
	AS_UINT64 = 14,
};

#define ZSTD_LEVEL 1
#define STATISTICS 64 /* bytes: longer words are not reported as the least or the greatest */

/* A column of a group, while it is written. */
struct chunk {
	const struct pcolumn *c;
	enum parquet_type type;
	size_t rows, nr;	   /* rows of the group; values */
	uint64_t dictionary, data; /* where the pages are */
	uint64_t packed, unpacked; /* bytes, with heads */
};

static bool is_number(enum parquet_type t)
{
	return t == PARQUET_INT || t == PARQUET_UNSIGNED;
}

static void put(struct parquet *p, const void *data, size_t n)
{
	if (n && fwrite(data, 1, n, p->out) != n)
		p->failed = true;
	p->offset += n;
}

/* A page: its head, then its compressed content. */
static void put_page(struct parquet *p, struct chunk *k, int type, const struct pbytes *content,
		     size_t values, int encoding)
{
	struct pbytes packed = {0}, h = {0};
	size_t most = ZSTD_compressBound(content->nr), n;
	int last = 0, in = 0;

	if (!pbytes_room(&packed, most) || content->failed) {
		p->failed = true;
		free(packed.v);
		return;
	}
	n = ZSTD_compress(packed.v, most, content->nr ? content->v : (const uint8_t *)"",
			  content->nr, ZSTD_LEVEL);
	p->failed |= ZSTD_isError(n) || content->nr > INT32_MAX;
	thrift_int(&h, &last, 1, type, false);
	thrift_int(&h, &last, 2, (int64_t)content->nr, false);
	thrift_int(&h, &last, 3, (int64_t)n, false);
	thrift_struct(&h, &last, type == PAGE_DATA ? 5 : 7);
	thrift_int(&h, &in, 1, (int64_t)values, false);
	thrift_int(&h, &in, 2, encoding, false);
	if (type == PAGE_DATA) {
		thrift_int(&h, &in, 3, RLE, false);
		thrift_int(&h, &in, 4, RLE, false);
	}
	thrift_stop(&h);
	thrift_stop(&h);
	p->failed |= h.failed;
	if (!p->failed) {
		put(p, h.v, h.nr);
		put(p, packed.v, n);
		k->packed += h.nr + n;
		k->unpacked += h.nr + content->nr;
	}
	free(packed.v);
	free(h.v);
}

static void put_dictionary(struct parquet *p, struct chunk *k)
{
	const struct pwords *w = &k->c->words;
	struct pbytes b = {0};

	for (size_t i = 0; i < w->nr; i++) {
		size_t n;
		const uint8_t *word = pwords_at(w, i, &n);

		pbytes_add(&b, &(uint32_t){(uint32_t)n}, 4);
		pbytes_add(&b, word, n);
	}
	k->dictionary = p->offset;
	put_page(p, k, PAGE_DICTIONARY, &b, w->nr, PLAIN);
	free(b.v);
}

static int encoding_of(const struct chunk *k)
{
	return !k->nr ? PLAIN : is_number(k->type) ? DELTA : RLE_DICTIONARY;
}

static void put_data(struct parquet *p, struct chunk *k, const struct prows *present)
{
	struct pbytes b = {0};
	uint32_t bytes;

	if (present) {
		pbytes_add(&b, &(uint32_t){0}, 4);
		encode_levels(&b, present->at, present->nr, k->rows);
		bytes = (uint32_t)(b.nr - 4);
		if (!b.failed)
			memcpy(b.v, &bytes, 4);
	}
	if (k->nr && is_number(k->type)) {
		encode_deltas(&b, k->c->v, k->nr);
	} else if (k->nr) {
		size_t words = k->c->words.nr;
		uint8_t width = (uint8_t)(words > 1 ? 64 - __builtin_clzll(words - 1) : 1);

		pbytes_add(&b, &width, 1);
		encode_indices(&b, k->c->word, k->nr, width);
	}
	k->data = p->offset;
	put_page(p, k, PAGE_DATA, &b, k->rows, encoding_of(k));
	free(b.v);
}

/* ---- metadata of a group ---- */

static void number_range(const struct chunk *k, uint64_t *least, uint64_t *most)
{
	uint64_t flip = k->type == PARQUET_INT ? 1ull << 63 : 0;

	*least = *most = k->c->v[0] ^ flip;
	for (size_t i = 1; i < k->nr; i++) {
		uint64_t v = k->c->v[i] ^ flip;

		*least = v < *least ? v : *least;
		*most = v > *most ? v : *most;
	}
	*least ^= flip;
	*most ^= flip;
}

static int compare(const struct pwords *w, size_t a, size_t b)
{
	size_t n, m;
	const uint8_t *x = pwords_at(w, a, &n), *y = pwords_at(w, b, &m);
	int d = memcmp(x, y, n < m ? n : m);

	return d ? d : n < m ? -1 : n > m;
}

static void put_statistics(struct pbytes *b, int *last, const struct chunk *k)
{
	const struct pwords *w = &k->c->words;
	size_t least = 0, most = 0, n, m;
	uint64_t low, high;
	int in = 0;

	thrift_struct(b, last, 12);
	thrift_int(b, &in, 3, (int64_t)(k->rows - k->nr), true);
	if (k->nr && is_number(k->type)) {
		number_range(k, &low, &high);
		thrift_text(b, &in, 5, &high, 8);
		thrift_text(b, &in, 6, &low, 8);
	} else if (k->nr) {
		for (size_t i = 1; i < w->nr; i++) {
			least = compare(w, i, least) < 0 ? i : least;
			most = compare(w, i, most) > 0 ? i : most;
		}
		const uint8_t *x = pwords_at(w, least, &n), *y = pwords_at(w, most, &m);

		if (n <= STATISTICS && m <= STATISTICS) {
			thrift_text(b, &in, 5, y, m);
			thrift_text(b, &in, 6, x, n);
		}
	}
	thrift_stop(b);
}

static void put_chunk(struct pbytes *b, const struct chunk *k, const char *name)
{
	static const int32_t none[] = {RLE, PLAIN}, numbers[] = {RLE, DELTA},
			     words[] = {RLE, PLAIN, RLE_DICTIONARY};
	const int32_t *list = !k->nr ? none : is_number(k->type) ? numbers : words;
	size_t nr = list == words ? 3 : 2;
	int last = 0, in = 0;

	thrift_int(b, &last, 2, (int64_t)(k->dictionary ? k->dictionary : k->data), true);
	thrift_struct(b, &last, 3);
	thrift_int(b, &in, 1, is_number(k->type) ? TYPE_INT64 : TYPE_BYTES, false);
	thrift_list(b, &in, 2, THRIFT_I32, nr);
	for (size_t i = 0; i < nr; i++)
		pbytes_varint(b, (uint64_t)list[i] << 1);
	thrift_list(b, &in, 3, THRIFT_BINARY, 1);
	pbytes_varint(b, strlen(name));
	pbytes_add(b, name, strlen(name));
	thrift_int(b, &in, 4, CODEC_ZSTD, false);
	thrift_int(b, &in, 5, (int64_t)k->rows, true);
	thrift_int(b, &in, 6, (int64_t)k->unpacked, true);
	thrift_int(b, &in, 7, (int64_t)k->packed, true);
	thrift_int(b, &in, 9, (int64_t)k->data, true);
	if (k->dictionary)
		thrift_int(b, &in, 11, (int64_t)k->dictionary, true);
	put_statistics(b, &in, k);
	thrift_stop(b);
	thrift_stop(b);
}

void parquet_write_group(struct parquet *p, const struct pgroup *g)
{
	struct pbytes *b = &p->groups;
	uint64_t bytes = 0;
	int last = 0, in = 0;

	if (!p->offset)
		put(p, "PAR1", 4);
	thrift_list(b, &last, 1, THRIFT_STRUCT, p->nr_columns);
	for (size_t i = 0; i < p->nr_columns && !p->failed; i++) {
		const struct pschema *s = &p->schema[i];
		struct chunk k = {.c = &g->columns[i],
				  .type = s->type,
				  .rows = g->rows,
				  .nr = g->columns[i].nr};

		if (k.nr && !is_number(s->type))
			put_dictionary(p, &k);
		put_data(p, &k,
			 k.c->own		    ? k.c->own
			 : s->set == PARQUET_ALWAYS ? NULL
						    : &g->sets[s->set]);
		put_chunk(b, &k, s->name);
		bytes += k.unpacked;
	}
	thrift_int(b, &last, 2, (int64_t)bytes, true);
	thrift_int(b, &last, 3, (int64_t)g->rows, true);
	thrift_list(b, &last, 4, THRIFT_STRUCT, 1); /* sorted by the first column */
	thrift_int(b, &in, 1, 0, false);
	thrift_bool(b, &in, 2, false);
	thrift_bool(b, &in, 3, false);
	thrift_stop(b);
	thrift_stop(b);
	p->rows += g->rows;
	p->nr_groups++;
	p->failed |= b->failed;
}

/* ---- the end of the file ---- */

static void put_schema(struct pbytes *b, const struct parquet *p)
{
	int last = 0;

	thrift_text(b, &last, 4, "trace", 5);
	thrift_int(b, &last, 5, (int64_t)p->nr_columns, false);
	thrift_stop(b);
	for (size_t i = 0; i < p->nr_columns; i++) {
		const struct pschema *s = &p->schema[i];

		last = 0;
		thrift_int(b, &last, 1, is_number(s->type) ? TYPE_INT64 : TYPE_BYTES, false);
		thrift_int(b, &last, 3, s->set != PARQUET_ALWAYS, false);
		thrift_text(b, &last, 4, s->name, strlen(s->name));
		if (s->type == PARQUET_TEXT || s->type == PARQUET_UNSIGNED)
			thrift_int(b, &last, 6, s->type == PARQUET_TEXT ? AS_UTF8 : AS_UINT64,
				   false);
		thrift_stop(b);
	}
}

void parquet_write_end(struct parquet *p)
{
	struct pbytes b = {0};
	int last = 0, in;
	uint32_t bytes;

	if (!p->offset)
		put(p, "PAR1", 4);
	thrift_int(&b, &last, 1, 2, false);
	thrift_list(&b, &last, 2, THRIFT_STRUCT, p->nr_columns + 1);
	put_schema(&b, p);
	thrift_int(&b, &last, 3, (int64_t)p->rows, true);
	thrift_list(&b, &last, 4, THRIFT_STRUCT, p->nr_groups);
	pbytes_add(&b, p->groups.v, p->groups.nr);
	if (p->nr_notes) {
		thrift_list(&b, &last, 5, THRIFT_STRUCT, p->nr_notes);
		pbytes_add(&b, p->notes.v, p->notes.nr);
	}
	thrift_text(&b, &last, 6, "fathom", 6);
	thrift_list(&b, &last, 7, THRIFT_STRUCT, p->nr_columns); /* ordered as their types are */
	for (size_t i = 0; i < p->nr_columns; i++) {
		in = 0;
		thrift_struct(&b, &in, 1);
		thrift_stop(&b);
		thrift_stop(&b);
	}
	thrift_stop(&b);
	bytes = (uint32_t)b.nr;
	p->failed |= b.failed || p->notes.failed || b.nr > INT32_MAX;
	if (!p->failed) {
		put(p, b.v, b.nr);
		put(p, &bytes, 4);
		put(p, "PAR1", 4);
	}
	free(b.v);
}
