/* SPDX-License-Identifier: MIT */
/* forget.c -- tasks that are over, of a trace that goes on: the oldest are forgotten, so that memory is bounded. */
#include "model/parts.h"

#include <stdlib.h>

struct over {
	uint64_t since;
	int32_t pid;
};

static bool is_over(const struct task *t)
{
	return t && (task_is_dead(t) ||
		     (t->state == TASK_GONE && !t->syscalls.nr && (!t->calls || !t->calls->nr)));
}

static int by_time(const void *a, const void *b)
{
	const struct over *x = a, *y = b;

	return (x->since > y->since) - (x->since < y->since);
}

void model_forget(struct model *m, size_t keep, void (*gone)(void *arg, int32_t pid), void *arg)
{
	struct over *list;
	size_t nr = 0;

	for (size_t i = 0; i < m->tasks.cap; i++)
		nr += is_over(m->tasks.slots[i].value);
	if (nr <= 2 * keep)
		return;
	list = malloc(nr * sizeof(*list));
	m->failed |= !list;
	nr = 0;
	for (size_t i = 0; list && i < m->tasks.cap; i++) {
		const struct task *t = m->tasks.slots[i].value;

		if (is_over(t))
			list[nr++] = (struct over){t->since, t->pid};
	}
	if (list)
		qsort(list, nr, sizeof(*list), by_time);
	for (size_t i = 0; i + keep < nr; i++) {
		gone(arg, list[i].pid);
		model_free_task(idmap_remove(&m->tasks, (uint32_t)list[i].pid));
	}
	m->stack = NULL;
	free(list);
}
