/* SPDX-License-Identifier: MIT */
/* textlog.c -- the text of `trace`, trace_pipe or trace-cmd report as a source, so that a pasted log can be queried. */
#include "decode/text/textlog.h"
#include "base/diag.h"
#include "base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * A block is a piece of the file of TEXT_BLOCK bytes, and has the lines that begin in it; every stream has the same blocks
 * and takes the lines of its CPU. Of a line nothing is kept but its place, in a spool: so a log of any size needs little
 * memory. Lines that are not events (stacks, markers of several lines) belong to the event before them.
 */
struct text_cursor {
	struct cursor c;
	uint64_t load;	    /* block to load next */
	uint64_t end;	    /* blocks from here on are not looked at */
	const char *block;  /* that is loaded */
	const uint16_t *at; /* the next line of it */
	const uint16_t *stop;
	uint64_t lost;
	uint8_t *record; /* TEXT_RECORD_MAX */
};

static const char *line_end(const char *p, const char *end)
{
	const char *nl = memchr(p, '\n', (size_t)(end - p));

	return nl ? nl : end;
}

static int text_probe(const struct source_probe *p)
{
	const char *at = (const char *)p->head, *end;
	int lines = 0, events = 0;
	struct text_line l;

	if (!at || memchr(at, 0, p->head_bytes))
		return 0;
	end = at + p->head_bytes;
	if (p->head_bytes > 10 && !memcmp(at, "# tracer: ", 10))
		return 70;
	for (; at < end && lines < 300; lines++) {
		const char *stop = line_end(at, end);

		text_parse_line(at, stop, &l);
		events += l.kind == LINE_EVENT;
		at = stop + 1;
	}
	return events ? 55 : 0;
}

/* ---- opening: one pass for CPUs, names and keys ---- */

struct pass {
	struct source *s;
	struct textlog *t;
	bool cpus[TEXT_CPU_MAX];
	uint64_t events, ticks;
	struct text_gather gather;
};

static uint64_t nr_blocks(const struct source *s)
{
	return (s->map_bytes + TEXT_BLOCK - 1) / TEXT_BLOCK;
}

static int take_line(struct pass *p, const struct text_line *l, uint64_t offset)
{
	struct text_type *k;

	if (l->kind != LINE_EVENT && l->kind != LINE_LOST)
		return 0;
	if (l->kind == LINE_LOST)
		return text_lines_add(&p->t->lines, &p->gather, offset, l->cpu);
	p->events++;
	p->ticks += l->ticks;
	p->cpus[l->cpu] = true;
	if (l->pid && !(l->comm.n == 5 && !memcmp(l->comm.p, "<...>", 5)))
		tasks_set_comm(p->s->tasks, l->pid, l->comm.p, l->comm.n);
	if (l->tgid >= 0)
		tasks_set_tgid(p->s->tasks, l->pid, l->tgid);
	k = text_type_of(p->t, l->name, true);
	if (k)
		text_learn(k, l->info);
	return text_lines_add(&p->t->lines, &p->gather, offset, l->cpu);
}

static void read_tracer(struct source *s, const char *p, const char *end)
{
	char *name = end - p > 10 ? strndup(p + 10, (size_t)(end - p - 10)) : NULL;

	if (!name)
		return;
	free(s->info.tracer);
	s->info.tracer = name;
}

static int add_streams(struct source *s, const struct pass *p)
{
	struct trace_buffer *b = source_add_buffer(s, "", "");
	uint32_t nr = 0;

	if (!b)
		return -ENOMEM;
	s->unit = p->ticks == p->events ? CLOCK_TICKS : CLOCK_NS;
	for (uint32_t cpu = 0; cpu < TEXT_CPU_MAX; cpu++)
		nr += p->cpus[cpu];
	for (uint32_t cpu = 0; cpu < TEXT_CPU_MAX; cpu++) {
		struct stream *t = p->cpus[cpu] ? source_add_stream(s, cpu) : NULL;

		if (!p->cpus[cpu])
			continue;
		if (!t)
			return -ENOMEM;
		t->nr_blocks = nr_blocks(s);
		t->bytes = s->map_bytes / nr;
		s->info.nr_cpus = cpu + 1;
	}
	return 0;
}

static int text_open(struct source *s, const struct source_options *o)
{
	const char *at = (const char *)s->map, *end = at + s->map_bytes;
	struct textlog *t = calloc(1, sizeof(*t));
	struct pass *p = calloc(1, sizeof(*p));
	size_t walked = 0;
	int err = 0;

	(void)o;
	s->priv = t;
	s->big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	if (!t || !p) {
		free(p);
		return -ENOMEM;
	}
	p->s = s;
	p->t = t;
	loss_read_head(s, at, s->map_bytes);
	if (s->map_bytes > 10 && !memcmp(at, "# tracer: ", 10))
		read_tracer(s, at, line_end(at, end));
	while (at < end && !err) {
		const char *stop = line_end(at, end);
		struct text_line l;

		text_parse_line(at, stop, &l);
		err = take_line(p, &l, (uint64_t)(at - (const char *)s->map));
		file_map_walked(s->map, s->map_bytes, (size_t)(stop + 1 - at), &walked);
		at = stop + 1;
	}
	if (!err)
		err = text_lines_finish(&t->lines, &p->gather, nr_blocks(s));
	if (!err && !p->events) {
		diag_error("%s: it has no line that is an event: \"task-pid [cpu] flags time: "
			   "name: ...\" is expected",
			   s->path);
		err = -EINVAL;
	}
	for (uint32_t i = 0; !err && i < t->nr_types; i++)
		err = text_add_schema(s, &t->types[i]);
	if (!err)
		err = add_streams(s, p);
	free(p);
	return err;
}

static void text_close(struct source *s)
{
	struct textlog *t = s->priv;

	if (!t)
		return;
	text_types_free(t);
	text_lines_free(&t->lines);
	free(t);
}

/* ---- walking ---- */

static int text_cursor_init(struct cursor *c)
{
	struct text_cursor *r = (struct text_cursor *)c;

	r->record = malloc(TEXT_RECORD_MAX);
	r->end = nr_blocks(c->source);
	return r->record ? 0 : -ENOMEM;
}

static void text_cursor_fini(struct cursor *c)
{
	free(((struct text_cursor *)c)->record);
}

/* The first line that begins at or after the start of the block. */
static const char *block_start(const struct source *s, uint64_t block)
{
	const char *map = (const char *)s->map, *end = map + s->map_bytes, *p;

	if (!block)
		return map;
	if (block * TEXT_BLOCK >= s->map_bytes)
		return end;
	p = map + block * TEXT_BLOCK;
	if (p[-1] == '\n')
		return p;
	p = line_end(p, end);
	return p < end ? p + 1 : end;
}

static void text_seek(struct cursor *c, uint64_t block)
{
	struct text_cursor *r = (struct text_cursor *)c;

	r->load = block;
	r->end = nr_blocks(c->source);
	r->at = r->stop = NULL;
	r->lost = 0;
	c->next = (struct position){block, 0};
}

static uint64_t text_block_time(struct source *s, uint32_t stream, uint64_t block)
{
	const char *p = block_start(s, block), *end = (const char *)s->map + s->map_bytes;
	struct text_line l;

	(void)stream;
	while (p < end) {
		const char *stop = line_end(p, end);

		text_parse_line(p, stop, &l);
		if (l.kind == LINE_EVENT)
			return l.time;
		p = stop + 1;
	}
	return UINT64_MAX;
}

/* Lines that are not events nor comments belong to the event before them. */
static const char *event_end(const char *p, const char *end)
{
	struct text_line l;

	for (;;) {
		const char *stop = p < end ? p + 1 : end, *next;

		if (stop >= end)
			return p;
		next = line_end(stop, end);
		text_parse_line(stop, next, &l);
		if (l.kind != LINE_OTHER || next == stop)
			return p;
		p = next;
	}
}

/* The lines of the next block. False: there is none. */
static bool load_block(struct text_cursor *r)
{
	struct source *s = r->c.source;
	struct textlog *t = s->priv;
	uint32_t nr;

	if (r->load >= r->end)
		return false;
	file_map_walked(s->map, s->map_bytes, TEXT_BLOCK / s->nr_streams + 1, &t->walked);
	r->block = (const char *)s->map + r->load * TEXT_BLOCK;
	r->at = text_lines_of(&t->lines, r->load, r->c.cpu, &nr);
	r->stop = nr ? r->at + nr : r->at;
	r->c.next = (struct position){r->load++, 0};
	return true;
}

static bool text_next(struct cursor *c, struct event *e)
{
	struct text_cursor *r = (struct text_cursor *)c;
	struct source *s = c->source;
	const char *map = (const char *)s->map, *end = map + s->map_bytes;

	for (;;) {
		const struct text_type *k;
		const char *line, *stop;
		struct text_line l;
		bool cut;

		if (r->at == r->stop) {
			if (!load_block(r))
				return false;
			continue;
		}
		line = r->block + *r->at++;
		stop = line_end(line, end);
		text_parse_line(line, stop, &l);
		if (l.kind == LINE_LOST)
			r->lost = l.lost;
		k = l.kind == LINE_EVENT ? text_type_of(s->priv, l.name, false) : NULL;
		if (!k)
			continue;
		stop = event_end(stop, end);
		stop -= stop > l.info.p && stop[-1] == '\r';
		e->size = text_make_record(r->record, k, &l, stop, &cut);
		if (cut)
			text_was_cut(s, (uint64_t)(line - map), (uint64_t)(stop - line));
		e->data = r->record;
		e->type = k->id;
		e->time = l.time;
		e->stream = c->stream;
		e->cpu = c->cpu;
		e->pid = l.pid;
		e->lost = r->lost;
		e->offset = (uint64_t)(line - map);
		e->at = c->next;
		c->next.skip++;
		r->lost = 0;
		return true;
	}
}

/* Of the one block only. */
static void text_tally(struct cursor *c, uint64_t block, struct tally *out)
{
	struct text_cursor *r = (struct text_cursor *)c;
	struct event e;

	text_seek(c, block);
	r->end = block + 1;
	while (text_next(c, &e))
		tally_add(c, &e, out);
}

const struct source_ops source_textlog = {
	.name = "text",
	.what = "the text of trace, trace_pipe or trace-cmd report",
	.probe = text_probe,
	.open = text_open,
	.close = text_close,
	.cursor_bytes = sizeof(struct text_cursor),
	.cursor_init = text_cursor_init,
	.cursor_fini = text_cursor_fini,
	.seek = text_seek,
	.next = text_next,
	.block_time = text_block_time,
	.tally = text_tally,
};
