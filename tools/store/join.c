/* SPDX-License-Identifier: MIT */
/* join.c -- two traces as one source, on the time line of the first. */
#include "store/join.h"
#include "base/vec.h"
#include "base/diag.h"
#include "wire/tracedat_write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct joined {
	struct source *part[2];
	struct join_clock clock;
	int32_t pids;		     /* added to the numbers of the second's tasks */
	char *printks;		     /* the formats of both */
	uint16_t id[SOURCE_ID_FAST]; /* of the second's types in the joined trace */
	struct {
		uint32_t type;	/* funcgraph_exit of this part, which has times in its record */
		uint32_t at[2]; /* where; 0: none */
	} exit[2];
};

struct join_cursor {
	struct cursor c;
	struct cursor *inner;
	uint32_t part;
	uint8_t *record; /* a copy, with other common fields */
	size_t room;
};

static uint32_t part_of(const struct source *s, uint32_t stream, uint32_t *inner)
{
	const struct joined *j = s->priv;
	uint32_t first = (uint32_t)j->part[0]->nr_streams;

	*inner = stream < first ? stream : stream - first;
	return stream >= first;
}

static uint64_t to_ns(const struct joined *j, uint32_t part, uint64_t t)
{
	uint64_t hz = j->clock.hz[part];

	if (hz)
		t = t / hz * 1000000000u +
		    (uint64_t)((unsigned __int128)(t % hz) * 1000000000u / hz);
	if (!part)
		return t;
	/* Times before the start of the first clock do not exist. */
	if (j->clock.offset_ns < 0 && t < (uint64_t)-j->clock.offset_ns)
		return 0;
	return t + (uint64_t)j->clock.offset_ns;
}

/* ---- cursors ---- */

static int join_init(struct cursor *c)
{
	struct join_cursor *k = (struct join_cursor *)c;
	uint32_t stream;

	k->part = part_of(c->source, c->stream, &stream);
	k->inner = cursor_open(((struct joined *)c->source->priv)->part[k->part], stream);
	return k->inner ? 0 : -ENOMEM;
}

static void join_fini(struct cursor *c)
{
	struct join_cursor *k = (struct join_cursor *)c;

	cursor_close(k->inner);
	free(k->record);
}

static void join_seek(struct cursor *c, uint64_t block)
{
	struct join_cursor *k = (struct join_cursor *)c;

	k->inner->source->ops->seek(k->inner, block);
	c->next = k->inner->next;
}

static bool copy_record(struct join_cursor *k, struct event *e)
{
	if (!VEC_ROOM(k->record, e->size, k->room))
		return false;
	memcpy(k->record, e->data, e->size);
	e->data = k->record;
	return true;
}

/* The record with the numbers of its type and task in the joined trace. */
static void renumber(struct join_cursor *k, struct event *e)
{
	const struct joined *j = k->c.source->priv;
	uint16_t id = e->type < SOURCE_ID_FAST ? j->id[e->type] : 0;

	e->type = id;
	if (e->pid > 0)
		e->pid += j->pids;
	if (e->size >= 8) {
		memcpy(k->record, &id, 2);
		memcpy(k->record + 4, &e->pid, 4);
	}
}

static void move_times(struct join_cursor *k, const struct event *e)
{
	const struct joined *j = k->c.source->priv;

	for (int i = 0; i < 2; i++) {
		uint32_t at = j->exit[k->part].at[i];
		uint64_t t;

		if (!at || at + 8 > e->size)
			continue;
		memcpy(&t, k->record + at, 8);
		t = to_ns(j, k->part, t);
		memcpy(k->record + at, &t, 8);
	}
}

static bool join_next(struct cursor *c, struct event *e)
{
	struct join_cursor *k = (struct join_cursor *)c;
	const struct joined *j = c->source->priv;
	bool timed;

	if (!cursor_next(k->inner, e))
		return false;
	timed = e->type == j->exit[k->part].type && (k->part || j->clock.hz[0]);
	if ((k->part || timed) && !copy_record(k, e))
		return false;
	if (timed)
		move_times(k, e);
	e->time = to_ns(c->source->priv, k->part, e->time);
	e->stream = c->stream;
	e->cpu = c->cpu;
	c->next = k->inner->next;
	if (k->part)
		renumber(k, e);
	return true;
}

static uint64_t join_block_time(struct source *s, uint32_t stream, uint64_t block)
{
	uint32_t inner, part = part_of(s, stream, &inner);
	struct source *p = ((struct joined *)s->priv)->part[part];

	return to_ns(s->priv, part, p->ops->block_time(p, inner, block));
}

/* ---- names ---- */

static void add_task(int32_t pid, const char *comm, int32_t tgid, void *arg)
{
	struct source *s = arg;
	int32_t more = ((struct joined *)s->priv)->pids;

	tasks_set_comm(s->tasks, pid + more, comm, strlen(comm));
	if (tgid > 0)
		tasks_set_tgid(s->tasks, pid + more, tgid + more);
}

static void keep_task(int32_t pid, const char *comm, int32_t tgid, void *arg)
{
	struct source *s = arg;

	tasks_set_comm(s->tasks, pid, comm, strlen(comm));
	if (tgid > 0)
		tasks_set_tgid(s->tasks, pid, tgid);
}

/* Formats of trace_printk(), by their addresses. */
static void join_printks(struct source *s)
{
	struct joined *j = s->priv;
	size_t bytes[2];

	for (int i = 0; i < 2; i++) {
		source_want_texts(j->part[i]);
		bytes[i] = j->part[i]->texts[SOURCE_PRINTK].text
				   ? j->part[i]->texts[SOURCE_PRINTK].bytes
				   : 0;
		printks_add_text(s->printks, j->part[i]->texts[SOURCE_PRINTK].text, bytes[i]);
	}
	j->printks = malloc(bytes[0] + bytes[1] + 1);
	if (!j->printks)
		return;
	memcpy(j->printks, j->part[0]->texts[SOURCE_PRINTK].text, bytes[0]);
	memcpy(j->printks + bytes[0], j->part[1]->texts[SOURCE_PRINTK].text, bytes[1]);
	s->texts[SOURCE_PRINTK].text = j->printks;
	s->texts[SOURCE_PRINTK].bytes = bytes[0] + bytes[1];
}

static void join_names(struct source *s, enum source_names what)
{
	struct joined *j = s->priv;

	if (what != SOURCE_TASKS)
		return;
	join_printks(s);
	for (int i = 0; i < 2; i++) {
		struct source *p = j->part[i];
		struct symbol sym;

		source_want_names(p);
		for (size_t k = 0; symbols_at(p->symbols, k, &sym); k++)
			symbols_add(s->symbols, sym.start, sym.size, sym.name, strlen(sym.name),
				    sym.module, strlen(sym.module));
		tasks_each(p->tasks, i ? add_task : keep_task, s);
	}
}

static void join_close(struct source *s)
{
	struct joined *j = s->priv;

	if (!j)
		return;
	source_close(j->part[0]);
	source_close(j->part[1]);
	free(j->printks);
	free(j);
}

static const struct source_ops join_ops = {
	.name = "joined",
	.what = "put two traces on one time line",
	.close = join_close,
	.cursor_bytes = sizeof(struct join_cursor),
	.cursor_init = join_init,
	.cursor_fini = join_fini,
	.seek = join_seek,
	.next = join_next,
	.block_time = join_block_time,
	.names = join_names,
};

/* ---- putting it together ---- */

static bool same_schema(const struct schema *a, const struct schema *b)
{
	return a->text_bytes == b->text_bytes && !memcmp(a->text, b->text, a->text_bytes);
}

/* Whether a's schema reads records of b correctly: the same event, and every field of a is at the same place. */
static bool reads(struct source *sa, const struct schema *a, struct source *sb,
		  const struct schema *b)
{
	const struct format *fa, *fb;

	if (same_schema(a, b))
		return true;
	if (strcmp(a->name, b->name) != 0 || strcmp(a->system, b->system) != 0)
		return false;
	fa = source_format(sa, a->id);
	fb = source_format(sb, b->id);
	for (uint32_t i = 0; fa && fb && i < fa->nr_fields; i++) {
		const struct format_field *f = format_field(fb, fa->fields[i].name);

		if (!f || f->offset != fa->fields[i].offset || f->size != fa->fields[i].size)
			return false;
	}
	return fa && fb;
}

/* The text with another number after "ID:". */
static int add_renumbered(struct source *s, const struct schema *k, uint32_t id)
{
	const char *at = memmem(k->text, k->text_bytes, "ID:", 3), *end;
	char *text;
	int n, err;

	if (!at)
		return -EINVAL;
	end = memchr(at, '\n', k->text_bytes - (size_t)(at - k->text));
	if (!end)
		return -EINVAL;
	n = asprintf(&text, "%.*sID: %u%.*s", (int)(at - k->text), k->text, id,
		     (int)(k->text + k->text_bytes - end), end);
	if (n < 0)
		return -ENOMEM;
	err = source_add_schema(s, k->system, text, (size_t)n, true);
	free(text);
	return err;
}

static uint32_t free_id(const struct joined *j, const uint8_t *taken)
{
	for (uint32_t id = 2000; id < SOURCE_ID_FAST; id++)
		if (!taken[id] && !source_schema(j->part[0], id))
			return id;
	return 0;
}

static int join_schemas(struct source *s)
{
	struct joined *j = s->priv;
	struct source *a = j->part[0], *b = j->part[1];
	uint8_t *taken = calloc(SOURCE_ID_FAST, 1);
	int err = taken ? 0 : -ENOMEM;

	for (size_t i = 0; i < a->nr_schemas && !err; i++)
		err = source_add_schema(s, a->schemas[i].system, a->schemas[i].text,
					a->schemas[i].text_bytes, false);
	for (size_t i = 0; i < b->nr_schemas && !err; i++) {
		const struct schema *k = &b->schemas[i], *other = source_schema(a, k->id);
		uint32_t id = k->id;

		if (k->id >= SOURCE_ID_FAST)
			continue;
		if ((other && !reads(a, other, b, k)) || taken[id])
			id = free_id(j, taken);
		j->id[k->id] = (uint16_t)id;
		taken[id] = 1;
		if (id != k->id)
			err = add_renumbered(s, k, id);
		else if (!other)
			err = source_add_schema(s, k->system, k->text, k->text_bytes, false);
	}
	free(taken);
	return err;
}

/* Times inside records move with the times of the events. */
static void join_exits(struct joined *j)
{
	static const char *const names[2] = {"calltime", "rettime"};

	for (int part = 0; part < 2; part++) {
		const struct schema *k = source_schema_named(j->part[part], "funcgraph_exit");
		const struct format *f = k ? source_format(j->part[part], k->id) : NULL;

		j->exit[part].type = k ? k->id : UINT32_MAX;
		for (int i = 0; f && i < 2; i++) {
			const struct format_field *field = format_field(f, names[i]);

			if (field && field->size == 8)
				j->exit[part].at[i] = field->offset;
		}
	}
}

/* A process has many rings; those after the last one in use are empty. */
static size_t used_streams(const struct source *p)
{
	size_t n = p->nr_streams;

	for (bool lost = false; n && !lost && !p->streams[n - 1].nr_blocks; n -= !lost)
		for (size_t i = 0; i < p->nr_stated; i++)
			lost |= p->stated[i].stream == n - 1 && p->stated[i].lost;
	return n;
}

static int join_streams(struct source *s, const char *buffer)
{
	struct joined *j = s->priv;
	const struct source *a = j->part[0], *b = j->part[1];
	uint32_t cpus = 0;

	if (!source_add_buffer(s, "", a->nr_buffers ? a->buffers[0].clock : ""))
		return -ENOMEM;
	for (int part = 0; part < 2; part++) {
		const struct source *p = part ? b : a;
		size_t nr = part ? used_streams(b) : a->nr_streams;

		if (part && buffer && !source_add_buffer(s, buffer, ""))
			return -ENOMEM;
		for (size_t i = 0; i < nr; i++) {
			uint32_t cpu = p->streams[i].cpu + (part && !buffer ? cpus : 0);
			struct stream *st = source_add_stream(s, cpu);

			if (!st)
				return -ENOMEM;
			st->nr_blocks = p->streams[i].nr_blocks;
			st->bytes = p->streams[i].bytes;
			if (cpu + 1 > s->info.nr_cpus)
				s->info.nr_cpus = cpu + 1;
		}
		cpus = s->info.nr_cpus;
	}
	return 0;
}

/* What either trace lost, the joined trace lost. For LOSS_ALL the CPU is not known. */
static void join_losses(struct source *s)
{
	const struct joined *j = s->priv;
	uint32_t before = 0;

	for (int part = 0; part < 2; part++) {
		const struct source *p = j->part[part];

		for (uint32_t i = 0; before + i < s->nr_streams && i < p->nr_streams; i++)
			s->streams[before + i].counted = p->streams[i].counted;
		for (size_t i = 0; i < p->nr_stated; i++) {
			const struct loss *l = &p->stated[i];

			if (l->stream != LOSS_ALL && before + l->stream >= s->nr_streams)
				continue; /* nothing, of a stream that was skipped */
			source_state_loss(s, l->stream == LOSS_ALL ? LOSS_ALL : before + l->stream,
					  (enum loss_cause)l->cause, l->lost,
					  (enum loss_bound)l->bound);
		}
		before += (uint32_t)p->nr_streams;
	}
}

/* What the first says about itself. Its counters are stated with the others. */
static void join_extras(struct source *s, const struct source *a)
{
	for (size_t i = 0; i < a->nr_extras; i++)
		if (a->extras[i].id != FATHOM_DAT_CPUSTAT)
			source_add_extra(s, a->extras[i].id, a->extras[i].data, a->extras[i].bytes);
}

static uint64_t first_time(const struct joined *j, uint32_t part)
{
	struct source *p = j->part[part];
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < p->nr_streams; i++) {
		struct cursor *c = cursor_open(p, i);
		struct event e;
		uint64_t t;

		if (c && cursor_next(c, &e) && (t = to_ns(j, part, e.time)) < least)
			least = t;
		cursor_close(c);
	}
	return least == UINT64_MAX ? 0 : least;
}

/* The largest time of a stream: of its last blocks that have events. */
static uint64_t last_time(struct source *p, uint32_t stream)
{
	struct cursor *c = cursor_open(p, stream);
	uint64_t block = p->streams[stream].nr_blocks, last = 0;
	struct event e;

	while (c && block && !last) {
		p->ops->seek(c, --block);
		while (cursor_next(c, &e))
			last = e.time > last ? e.time : last;
	}
	cursor_close(c);
	return last;
}

/* Each was recorded in its own period: outside of it nothing is known about its CPUs. */
static void join_recorded(struct source *s)
{
	const struct joined *j = s->priv;
	uint32_t before = 0;

	for (uint32_t part = 0; part < 2; part++) {
		struct source *p = j->part[part];
		uint64_t from = first_time(j, part), to = 0;

		for (uint32_t i = 0; i < p->nr_streams; i++) {
			uint64_t t = to_ns(j, part, last_time(p, i));

			to = t > to ? t : to;
		}
		for (uint32_t i = 0; before + i < s->nr_streams && i < p->nr_streams; i++) {
			s->streams[before + i].recorded_from = from;
			s->streams[before + i].recorded_to = to;
		}
		before += (uint32_t)p->nr_streams;
	}
}

struct source *join_open(struct source *a, struct source *b, const struct join_options *o)
{
	struct source *s = a->big_endian == b->big_endian ? source_new(a->path, &join_ops) : NULL;
	struct joined *j = s ? calloc(1, sizeof(*j)) : NULL;
	int err;

	if (!j) {
		diag_error("%s and %s: %s", a->path, b->path,
			   s ? strerror(ENOMEM) : "their byte orders differ");
		source_close(a);
		source_close(b);
		source_close(s);
		return NULL;
	}
	s->priv = j;
	j->part[0] = a;
	j->part[1] = b;
	j->clock = o->clock;
	j->pids = o->same_tasks ? 0 : JOIN_PIDS;
	if (o->clock.align) {
		j->clock.offset_ns = 0;
		j->clock.offset_ns = (int64_t)(first_time(j, 0) - first_time(j, 1));
	}
	s->big_endian = a->big_endian;
	s->long_bytes = a->long_bytes;
	s->unit = CLOCK_NS;
	join_exits(j);
	err = join_schemas(s);
	if (!err)
		err = join_streams(s, o->buffer);
	if (!err) {
		join_extras(s, a);
		join_losses(s);
		join_recorded(s);
	}
	if (!err)
		err = source_finish(s);
	if (err) {
		diag_error("%s: %s", b->path, strerror(-err));
		source_close(s);
		return NULL;
	}
	return s;
}

/* ---- the command line ---- */

static bool number(const char *text, char end, int64_t *out, const char **rest)
{
	char *stop;

	errno = 0;
	*out = strtoll(text, &stop, 0);
	*rest = stop;
	return !errno && stop != text && *stop == end;
}

bool join_relate(const struct join_relation *r, struct join_clock *c)
{
	const char *rest;
	int64_t ta, tb;

	*c = (struct join_clock){.hz = {r->hz[0], r->hz[1]}, .align = r->align};
	if (!!r->offset + !!r->at + r->align > 1) {
		diag_error("merge: --offset, --at and --align exclude each other");
		return false;
	}
	if (r->offset && !number(r->offset, '\0', &c->offset_ns, &rest)) {
		diag_error("merge: --offset takes a number of nanoseconds, not '%s'", r->offset);
		return false;
	}
	if (r->at) {
		if (!number(r->at, '=', &ta, &rest) || !number(rest + 1, '\0', &tb, &rest)) {
			diag_error("merge: --at takes TA=TB in nanoseconds, not '%s'", r->at);
			return false;
		}
		c->offset_ns = ta - tb;
	}
	return true;
}

/* A trace that counts ticks cannot be merged unless their rate is known. */
bool join_has_clock(const struct source *s, uint64_t hz, const char *option)
{
	if (s->unit == CLOCK_NS || hz)
		return true;
	diag_error("%s: its clock counts ticks; give the number per second with %s HZ", s->path,
		   option);
	return false;
}
