/* SPDX-License-Identifier: MIT */
/* tasks.c -- the task column of trace-cmd's lines, made once per pid; names learned from events on the way. */
#include "view/lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct task_table *task_table_new(struct source *s)
{
	struct task_table *t = calloc(1, sizeof(*t));

	if (t)
		t->source = s;
	return t;
}

void task_table_free(struct task_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->by_pid.cap; i++)
		for (struct task_prefix *p = t->by_pid.slots[i].value, *older; p; p = older) {
			older = p->older;
			free(p);
		}
	idmap_free(&t->by_pid);
	free(t);
}

static struct task_prefix *make(int32_t pid, const char *comm, int bytes)
{
	struct task_prefix *p = calloc(1, sizeof(*p));
	int n;

	if (!p)
		return NULL;
	p->pid = pid;
	n = snprintf(p->text, sizeof(p->text), "%16.*s-%-5d [", bytes > 20 ? 20 : bytes, comm, pid);
	p->len = (uint8_t)(n < (int)sizeof(p->text) ? n : (int)sizeof(p->text) - 1);
	return p;
}

const struct task_prefix *task_find_slow(struct task_table *t, int32_t pid)
{
	static const struct task_prefix none = {
		.pid = -1, .len = 24, .text = "           <...>-0     ["};
	void **at = idmap_at(&t->by_pid, (uint32_t)pid);

	if (at && !*at) {
		const char *comm = source_comm(t->source, pid);
		struct task_prefix *p = make(pid, comm, 1000);

		if (p)
			p->unknown = pid && !strcmp(comm, "<...>");
		*at = p;
	}
	if (!at || !*at)
		return &none;
	return t->last = *at;
}

void task_learn(struct task_table *t, int32_t pid, const char *comm, size_t bytes)
{
	const struct task_prefix *known = task_find(t, pid);
	struct task_prefix *p;
	void **at;

	if (!known->unknown)
		return;
	at = idmap_at(&t->by_pid, (uint32_t)pid);
	p = at ? make(pid, comm, (int)strnlen(comm, bytes)) : NULL;
	if (!p)
		return;
	p->older = *at;
	*at = p;
	t->last = p;
}
