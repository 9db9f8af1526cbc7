/* SPDX-License-Identifier: MIT */
/* labels.c -- the label of a frame: binary`function, with what DWARF adds; made once for a place and kept. */
#include "decode/btb/names_int.h"
#include "base/vec.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INLINED_MAX 16

static const struct source_label *keep(struct btb_names *n, const char *text, size_t bytes,
				       bool kernel)
{
	struct source_label *l;

	if (!VEC_ROOM(n->labels, n->nr_labels, n->cap_labels))
		return NULL;
	l = malloc(sizeof(*l) + bytes + 1);
	if (!l)
		return NULL;
	memcpy(l + 1, text, bytes);
	((char *)(l + 1))[bytes] = 0;
	*l = (struct source_label){(char *)(l + 1), (uint32_t)bytes, kernel};
	n->labels[n->nr_labels++] = l;
	return l;
}

/* Inlined functions and the source line, from DWARF if the ELF file is available. */
static void add_detail(struct btb_names *n, struct btb_binary *b, uint64_t at, FILE *out)
{
	const char *names[INLINED_MAX], *file;
	int line;

	if (!(n->o.inlines || n->o.lines) || !b->path)
		return;
	if (!b->tried_dwarf) {
		b->tried_dwarf = true;
		b->dwarf = elf_dwarf_open(b->path);
	}
	if (!b->dwarf)
		return;
	if (n->o.inlines) {
		size_t nr = elf_dwarf_inlined(b->dwarf, at, names, INLINED_MAX);

		for (size_t i = 0; i < nr; i++) {
			char *d = elf_demangle(names[i]);

			fprintf(out, ";%s`%s", b->name, d ? d : names[i]);
			free(d);
		}
	}
	if (n->o.lines && elf_dwarf_line(b->dwarf, at, &file, &line))
		fprintf(out, " %s:%d", file, line);
}

static const struct source_label *make_label(struct btb_names *n, struct btb_binary *b, uint64_t at,
					     const struct symbol *s)
{
	const struct source_label *l;
	char *text = NULL, *name = elf_demangle(s->name);
	size_t bytes = 0;
	FILE *f = open_memstream(&text, &bytes);

	if (!f || !name) {
		free(name);
		return NULL;
	}
	fprintf(f, "%s`%s", b->name, name);
	add_detail(n, b, at, f);
	fclose(f);
	l = keep(n, text, bytes, !strcmp(b->name, BTB_KERNEL));
	free(text);
	free(name);
	return l;
}

static const struct source_label *lookup(struct btb_names *n, struct btb_task *t, uint64_t task,
					 uint64_t ip, uint64_t time)
{
	char text[40];
	struct symbol s;

	/*
	 * First what was mapped at that time, then what ever was: buffers of several CPUs may report a mapping late. A call
	 * that never returns may be the last of its function: its return address is found one byte before.
	 */
	for (int pass = 0; t && pass < 4; pass++) {
		for (size_t i = t->nr; i-- > 0;) {
			struct btb_mapping *m = &t->maps[i];
			bool then = time >= m->from && time < m->until;
			uint64_t at = ip - m->base - (pass >= 2);

			if (then != (pass % 2 == 0))
				continue;
			btb_binary_load(n, m->binary);
			if (m->binary->symbols &&
			    symbols_find(m->binary->symbols, at, ALIAS_FIRST, &s) &&
			    s.offset < s.size)
				return make_label(n, m->binary, at, &s);
		}
	}
	if (!ip) /* the sampler's mark between the two ends of a stack that was too deep */
		return keep(n, "[cut]", 5, false);
	snprintf(text, sizeof(text), "%" PRIx64 "/%016" PRIx64, task, ip);
	return keep(n, text, strlen(text), false);
}

const struct source_label *btb_names_label(struct btb_names *n, uint64_t task, uint64_t ip,
					   uint64_t time)
{
	static const struct source_label none = {"?", 1, false};
	struct btb_task *t = btb_task_of(n, task, true);
	const struct source_label *l;
	void **slot;

	if (!t)
		return &none;
	slot = t->moves ? NULL : idmap_at(&t->labels, ip);
	l = slot ? *slot : NULL;
	if (l)
		return l;
	l = lookup(n, t->nr ? t : btb_task_of(n, 1, false), task, ip, time);
	if (!l)
		l = &none;
	if (slot)
		*slot = (void *)l;
	return l;
}
