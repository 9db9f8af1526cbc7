/* SPDX-License-Identifier: MIT */
/* tasks.c -- the task column of trace-cmd's lines, made once per pid; names learned from events on the way. */
#include "view/lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t slot_of(const struct task_table *t, int32_t pid)
{
	uint32_t k = ((uint32_t)pid * 2654435761u) & (t->cap - 1);

	while (t->slots[k] && t->slots[k]->pid != pid)
		k = (k + 1) & (t->cap - 1);
	return k;
}

static bool grow(struct task_table *t)
{
	struct task_table n = {.cap = t->cap ? t->cap * 2 : 256};

	n.slots = calloc(n.cap, sizeof(*n.slots));
	if (!n.slots)
		return false;
	for (uint32_t i = 0; i < t->cap; i++)
		if (t->slots[i])
			n.slots[slot_of(&n, t->slots[i]->pid)] = t->slots[i];
	free(t->slots);
	t->slots = n.slots;
	t->cap = n.cap;
	return true;
}

struct task_table *task_table_new(struct source *s)
{
	struct task_table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->source = s;
	if (!grow(t)) {
		free(t);
		return NULL;
	}
	return t;
}

void task_table_free(struct task_table *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->cap; i++)
		for (struct task_prefix *p = t->slots[i], *older; p; p = older) {
			older = p->older;
			free(p);
		}
	free(t->slots);
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
	uint32_t k;

	k = slot_of(t, pid);
	if (!t->slots[k]) {
		const char *comm = source_comm(t->source, pid);
		struct task_prefix *p = make(pid, comm, 1000);

		if (!p || (t->nr * 2 >= t->cap && !grow(t))) {
			free(p);
			return &none;
		}
		p->unknown = pid && !strcmp(comm, "<...>");
		k = slot_of(t, pid);
		t->slots[k] = p;
		t->nr++;
	}
	return t->last = t->slots[k];
}

void task_learn(struct task_table *t, int32_t pid, const char *comm, size_t bytes)
{
	const struct task_prefix *known = task_find(t, pid);
	struct task_prefix *p;
	uint32_t k;

	if (!known->unknown)
		return;
	p = make(pid, comm, (int)strnlen(comm, bytes));
	if (!p)
		return;
	k = slot_of(t, pid);
	p->older = t->slots[k];
	t->slots[k] = p;
	t->last = p;
}
