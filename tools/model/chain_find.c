/* SPDX-License-Identifier: MIT */
/* chain_find.c -- which delay is asked for: the longest of a kind, or the one at a time. */
#include "model/chain.h"
#include "base/idmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct search {
	const struct chain_choice *c;
	struct model *model;
	struct idmap left; /* 1 + when the task left the CPU */
	struct chain_delay best;
	bool found, failed;
};

static bool is_task(struct search *f, int32_t pid)
{
	const char *want = f->c->task, *comm;
	size_t n;
	char *end;
	long number;

	if (!want)
		return pid > 0;
	number = strtol(want, &end, 10);
	if (end != want && !*end)
		return number == pid;
	comm = model_comm(f->model, pid);
	n = strlen(comm);
	if (!strcmp(comm, want))
		return true;
	number = !strncmp(comm, want, n) && want[n] == '-' ? strtol(want + n + 1, &end, 10) : -1;
	return number == pid && !*end;
}

static void consider(struct search *f, int32_t pid, enum span_kind kind, uint64_t from, uint64_t to)
{
	const struct chain_choice *c = f->c;
	bool better = c->has_at ? to >= f->best.to : to - from > f->best.to - f->best.from;

	if (to <= from || (c->has_at && from > c->at) || (f->found && !better))
		return;
	/* Over before the time, or it includes it; what ends later is another. */
	f->best = (struct chain_delay){.pid = pid, .from = from, .to = to, .kind = kind};
	f->found = true;
}

/* A task was off the CPU from the end of one time that it ran to the beginning of the next. */
static void off_cpu(struct search *f, const struct span *s)
{
	void **at;

	if (s->kind != SPAN_RUNNING || s->pid <= 0 || !is_task(f, s->pid))
		return;
	at = idmap_at(&f->left, (uint32_t)s->pid);
	if (!at) {
		f->failed = true;
		return;
	}
	if (*at)
		consider(f, s->pid, SPAN_KINDS, (uintptr_t)*at - 1, s->from);
	*at = (void *)(uintptr_t)(s->to + 1);
}

static void span(void *arg, const struct span *s)
{
	struct search *f = arg;

	if (f->c->has_at || f->c->worst == SPAN_KINDS)
		off_cpu(f, s);
	else if (s->kind == f->c->worst && SPAN_WHOLE(s->flags) && is_task(f, s->pid))
		consider(f, s->pid, s->kind, s->from, s->to);
}

int chain_find(struct source *s, const struct chain_choice *c, struct chain_delay *out)
{
	struct search f = {.c = c};
	struct model_sink sink = {.arg = &f, .span = span};
	int err = model_walk(s, &c->walk, &sink, &f.model);

	/* Tasks that did not run again wait until the end of the trace. */
	for (size_t i = 0; !err && c->has_at && i < f.left.cap; i++)
		if (f.left.slots[i].value)
			consider(&f, (int32_t)f.left.slots[i].key, SPAN_KINDS,
				 (uintptr_t)f.left.slots[i].value - 1, model_finish(f.model));
	model_free(f.model);
	idmap_free(&f.left);
	if (!err && f.failed)
		err = -ENOMEM;
	if (!err && !f.found)
		err = -ENOENT;
	*out = f.best;
	return err;
}

bool chain_at(struct source *s, const char *text, struct chain_choice *c)
{
	struct scan_choice window = SCAN_ALL;

	if (!scan_time_is(text))
		return false;
	scan_window(s, NULL, text, &window);
	c->has_at = true;
	c->at = window.to;
	return true;
}
