/* SPDX-License-Identifier: MIT */
/* learn.c -- names of tasks that had exited when the trace's table was written: records of the scheduler hold them. */
#include "model/learn.h"
#include "model/row.h"
#include "store/scan.h"

#include <stdlib.h>
#include <string.h>

/* Which fields of an event type hold a task and its name. */
struct pattern {
	const char *event, *pid, *comm;
};

static const struct pattern patterns[] = {
	{"sched_switch", "prev_pid", "prev_comm"}, {"sched_switch", "next_pid", "next_comm"},
	{"sched_wakeup", "pid", "comm"},	   {"sched_wakeup_new", "pid", "comm"},
	{"sched_process_exit", "pid", "comm"},
};
#define NR (sizeof(patterns) / sizeof(patterns[0]))

struct learner {
	struct row_type *type[NR];
	int pid[NR], comm[NR];
	uint32_t ids[NR];
	size_t nr_ids;
};

static void prepare(struct learner *l, struct source *s)
{
	for (size_t i = 0; i < NR; i++) {
		const struct schema *k = source_schema_named(s, patterns[i].event);

		l->type[i] = k ? row_type_new(s, k->id) : NULL;
		if (!l->type[i])
			continue;
		l->pid[i] = row_index(l->type[i], patterns[i].pid);
		l->comm[i] = row_index(l->type[i], patterns[i].comm);
		if (!l->nr_ids || l->ids[l->nr_ids - 1] != k->id)
			l->ids[l->nr_ids++] = k->id;
	}
}

/* How many names were learned. */
static size_t learn(const struct learner *l, struct source *s, const struct event *e)
{
	size_t n = 0;

	for (size_t i = 0; i < NR; i++) {
		struct row_value pid, comm;

		if (!l->type[i] || l->type[i]->schema->id != e->type || l->pid[i] < 0 ||
		    l->comm[i] < 0 || !row_value(l->type[i], (uint32_t)l->pid[i], e, &pid) ||
		    !row_value(l->type[i], (uint32_t)l->comm[i], e, &comm) ||
		    comm.kind != ROW_TEXT || !comm.n || !(int32_t)pid.integer ||
		    tasks_comm(s->tasks, (int32_t)pid.integer))
			continue;
		tasks_set_comm(s->tasks, (int32_t)pid.integer, (const char *)comm.bytes, comm.n);
		n++;
	}
	return n;
}

void model_learn_comms(struct source *s, const int32_t *pids, size_t nr, bool no_index)
{
	struct scan_choice c = SCAN_ALL;
	struct scan_options o = {
		.no_index = no_index}; /* by time: most tasks are soon met on some CPU */
	struct learner l = {0};
	const struct event *e;
	struct scan *sc;
	size_t unknown = 0;

	source_want_names(s);
	for (size_t i = 0; i < nr; i++)
		unknown += pids[i] && !tasks_comm(s->tasks, pids[i]);
	if (!unknown)
		return;
	prepare(&l, s);
	c.types = l.ids;
	c.nr_types = l.nr_ids;
	sc = l.nr_ids ? scan_open(s, &c, &o) : NULL;
	while (sc && unknown && (e = scan_next(sc)))
		if (learn(&l, s, e)) {
			unknown = 0;
			for (size_t i = 0; i < nr; i++)
				unknown += pids[i] && !tasks_comm(s->tasks, pids[i]);
		}
	scan_close(sc);
	for (size_t i = 0; i < NR; i++)
		free(l.type[i]);
}
