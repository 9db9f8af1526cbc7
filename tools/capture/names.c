/* SPDX-License-Identifier: MIT */
/* names.c -- task names out of the events themselves, when nobody can be asked. */
#include "capture/names.h"
#include "base/idmap.h"
#include "decode/source.h"

#include <string.h>

/* The fields of an event that name a task. */
static const struct {
	const char *event, *comm, *pid;
} sources[] = {
	{"sched:sched_switch", "prev_comm", "prev_pid"},
	{"sched:sched_switch", "next_comm", "next_pid"},
	{"sched:sched_process_fork", "child_comm", "child_pid"},
};

#define NR_SOURCES (sizeof(sources) / sizeof(sources[0]))

struct names {
	struct capture *c;
	struct source *s;
	uint32_t type[NR_SOURCES];
	const struct format_field *comm[NR_SOURCES]; /* NULL: there is none */
	struct idmap known;
};

static void find_fields(struct names *n)
{
	for (size_t i = 0; i < NR_SOURCES; i++) {
		const struct schema *k = source_schema_named(n->s, sources[i].event);
		const struct format *f = k ? source_format(n->s, k->id) : NULL;
		const struct format_field *comm = f ? format_field(f, sources[i].comm) : NULL;

		if (!comm || comm->flags & FORMAT_DYNAMIC || comm->elem_size != 1)
			continue;
		n->type[i] = k->id;
		n->comm[i] = comm;
	}
}

static void note(struct names *n, const struct event *e, size_t i)
{
	const struct format_field *f = n->comm[i];
	uint64_t pid;
	void **seen;

	if (f->offset > e->size || f->size > e->size - f->offset || !e->data[f->offset] ||
	    !source_field(n->s, e, sources[i].pid, &pid) || !(int32_t)pid)
		return;
	seen = idmap_at(&n->known, (uint32_t)pid);
	if (!seen || *seen)
		return;
	*seen = n;
	bytes_text(&n->c->cmdlines, "%d %.*s\n", (int)(int32_t)pid, (int)f->size,
		   (const char *)e->data + f->offset);
}

void capture_names(struct capture *c, const char *file)
{
	struct names n = {.c = c};
	struct event e;

	if (source_open(file, NULL, &n.s))
		return;
	find_fields(&n);
	for (uint32_t i = 0; i < n.s->nr_streams; i++) {
		struct cursor *at = cursor_open(n.s, i);

		while (at && cursor_next(at, &e))
			for (size_t k = 0; k < NR_SOURCES; k++)
				if (n.comm[k] && n.type[k] == e.type)
					note(&n, &e, k);
		cursor_close(at);
	}
	idmap_free(&n.known);
	source_close(n.s);
}
