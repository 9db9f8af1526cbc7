/* SPDX-License-Identifier: MIT */
/* profile_int.h -- inside the profile: what is added up, and printed. */
#ifndef VIEW_PROFILE_INT_H
#define VIEW_PROFILE_INT_H

#include "base/idmap.h"
#include "view/dist.h"
#include "view/profile.h"

struct profile_function {
	uint64_t addr;
	const char *name;
	struct dist dist; /* of whole calls */
	uint64_t calls, total,
		self; /* total: of calls that are not inside one of the same function */
	uint64_t p99;
};

/* Who called whom. */
struct profile_edge {
	uint64_t caller, callee, calls, total;
};

struct profile_task {
	int32_t pid;
	uint64_t time[SPAN_LOST + 1]; /* by kind */
	uint64_t from, to;
	uint64_t switches, migrations;
	uint32_t cpu;
	bool ran, unseen;
};

struct profile_cpu {
	uint32_t id;
	uint64_t busy, idle, irq, softirq, lost, switches;
	bool unseen; /* no switches were recorded: who ran is not known; of a task, too */
};

struct profile_irq {
	enum span_kind kind;
	uint32_t name;
	uint64_t count, total, max;
};

/* Things found by a key, and in a row. */
struct profile_table {
	struct idmap by_key;
	void **v;
	size_t nr, cap;
};

struct profile {
	struct source *s;
	const struct profile_options *o;
	struct model *model;
	struct dist_budget budget;
	struct profile_table functions, edges, tasks, cpus, irqs;
	uint64_t open;
	bool failed;
};

void profile_put_text(struct profile *p, const struct account *a, FILE *out);
void profile_put_json(struct profile *p, const struct account *a, FILE *out);

#endif
