/* SPDX-License-Identifier: MIT */
/* block.c -- block events and blk records as acts. */
#include "model/block.h"

#include "query/expr.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *event;
	enum wire_blk_action what;
} names[] = {
	{"block_bio_queue", WIRE_BLK_QUEUE},
	{"block_bio_backmerge", WIRE_BLK_BACKMERGE},
	{"block_bio_frontmerge", WIRE_BLK_FRONTMERGE},
	{"block_getrq", WIRE_BLK_GETRQ},
	{"block_rq_insert", WIRE_BLK_INSERT},
	{"block_rq_issue", WIRE_BLK_ISSUE},
	{"block_rq_complete", WIRE_BLK_COMPLETE},
	{"block_bio_complete", WIRE_BLK_COMPLETE},
	{"block_rq_requeue", WIRE_BLK_REQUEUE},
	{"block_plug", WIRE_BLK_PLUG},
	{"block_unplug", WIRE_BLK_UNPLUG},
	{"block_split", WIRE_BLK_SPLIT},
};
#define NAMES (sizeof(names) / sizeof(names[0]))

struct block_kind {
	uint32_t id;
	enum wire_blk_action what;
	const struct format_field *dev, *sector, *sectors, *rwbs, *error, *nr;
};

struct block_reader {
	struct source *s;
	uint32_t blk; /* type of the tracer's records */
	struct block_kind kinds[NAMES];
	unsigned nr;
};

struct block_reader *block_reader_new(struct source *s)
{
	struct block_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->s = s;
	r->blk = blk_type(s);
	for (unsigned i = 0; i < NAMES; i++) {
		const struct schema *schema = source_schema_named(s, names[i].event);
		const struct format *f = schema ? source_format(s, schema->id) : NULL;

		if (!f || strcmp(schema->system, "block") != 0)
			continue;
		r->kinds[r->nr++] = (struct block_kind){
			.id = schema->id,
			.what = names[i].what,
			.dev = format_field(f, "dev"),
			.sector = format_field(f, "sector"),
			.sectors = format_field(f, "nr_sector"),
			.rwbs = format_field(f, "rwbs"),
			.error = format_field(f, "error"),
			.nr = format_field(f, "nr_rq"),
		};
	}
	return r;
}

void block_reader_free(struct block_reader *r)
{
	free(r);
}

/* The letters say it: "R", "WSM", "FWFS" (flush first, then write), "FN", "D". */
static enum block_dir direction(const char *letters, size_t n)
{
	for (size_t i = 0; i < n && letters[i]; i++)
		switch (letters[i]) {
		case 'R': return BLOCK_READ;
		case 'W': return BLOCK_WRITE;
		case 'D': return BLOCK_DISCARD;
		case 'N': return BLOCK_NONE;
		default: break;
		}
	return BLOCK_NONE;
}

static bool read_record(struct block_reader *r, const struct event *e, struct block_act *out)
{
	struct fathom_text_blk b;
	char letters[8];

	if (e->size < WIRE_BLK_FIXED)
		return false;
	blk_take(e, r->s->big_endian, &b);
	if ((b.action & ~WIRE_BLK_CGROUP) == WIRE_BLK_MESSAGE)
		return false;
	fathom_blk_letters(b.action, b.bytes, letters);
	*out = (struct block_act){
		.what = b.action & 0xff,
		.dir = direction(letters, sizeof(letters)),
		.record = true,
		.device = b.device,
		.time = e->time,
		.sector = b.sector,
		.bytes = b.bytes,
		.pid = e->pid,
		.error = b.error,
	};
	for (uint32_t i = 0; out->what == WIRE_BLK_UNPLUG && i < b.more_bytes && i < 8; i++)
		out->nr = out->nr << 8 | b.more[i];
	return out->what && out->what < WIRE_BLK_ACTIONS;
}

static bool read_event(struct block_reader *r, const struct block_kind *k, const struct event *e,
		       struct block_act *out)
{
	bool swap = r->s->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);

	*out = (struct block_act){
		.what = k->what, .dir = BLOCK_NONE, .time = e->time, .pid = e->pid};
	out->device = (uint32_t)expr_field(e->data, e->size, k->dev, swap);
	out->sector = expr_field(e->data, e->size, k->sector, swap);
	out->bytes = (uint32_t)expr_field(e->data, e->size, k->sectors, swap) << 9;
	out->error = (int32_t)expr_field(e->data, e->size, k->error, swap);
	out->nr = (uint32_t)expr_field(e->data, e->size, k->nr, swap);
	if (k->rwbs && k->rwbs->offset <= e->size && k->rwbs->size <= e->size - k->rwbs->offset)
		out->dir = direction((const char *)e->data + k->rwbs->offset, k->rwbs->size);
	return true;
}

bool block_read(struct block_reader *r, const struct event *e, struct block_act *out)
{
	if (e->type == r->blk)
		return read_record(r, e, out);
	for (unsigned i = 0; i < r->nr; i++)
		if (r->kinds[i].id == e->type)
			return read_event(r, &r->kinds[i], e, out);
	return false;
}
