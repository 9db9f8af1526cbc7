/* SPDX-License-Identifier: MIT */
/* parts.h -- inside the model: what its parts share. */
#ifndef MODEL_PARTS_H
#define MODEL_PARTS_H

#include "base/idmap.h"
#include "base/strmap.h"
#include "model/model.h"
#include "model/row.h"

#define COMM_MAX 16u

enum task_state {
	TASK_UNSEEN,
	TASK_RUNNING,
	TASK_READY,
	TASK_BLOCKED,
	TASK_LOST, /* not known since */
	TASK_GONE,
};

struct open_span {
	enum span_kind kind;
	uint64_t key, from, event;
	uint32_t name, flags;
};

/* Spans of one place that nest: interrupts of a CPU, system calls of a task. */
struct nest {
	struct open_span *v;
	uint32_t nr, cap;
};

struct cpu;

struct task {
	int32_t pid;
	enum task_state state;
	uint64_t since, event;
	uint32_t flags; /* of the span that is open */
	uint32_t cpu;
	int32_t prio;
	uint64_t why; /* blocked: prev_state */
	uint64_t woken, woken_event;
	uint32_t woken_cpu, woken_flags;
	uint32_t queue; /* the CPU in whose queue it is, or was */
	int32_t waker;
	bool is_woken;
	char comm[COMM_MAX + 1];
	struct cpu *home; /* where it was seen last */
	struct nest syscalls;
	struct model_stack *calls;
};

/* A CPU of one recording. */
struct cpu {
	uint32_t id;
	struct task *running; /* NULL: not known */
	int32_t left;	      /* whom the last switch left: its events may follow the switch's */
	struct nest irqs;
	struct open_span off; /* interrupts, since `off.from` */
	int32_t off_pid;
	bool is_off;
	struct model_stack *calls; /* of a kernel with one stack per CPU */
	uint64_t from, to;	   /* it was recorded in this time */
	bool switches;		   /* its streams have sched_switch */
	bool any;		   /* an event was seen */
	bool same_pids; /* events are of the task that switches say runs (a merge renumbers the events) */
	uint64_t unknown; /* since when nobody is known to run, if `running` is NULL */
	uint64_t last;	  /* time of the last one */
	struct task idle;
};

/* What a type of event means; types may have several meanings, `more`. */
struct role {
	void (*take)(struct model *m, const struct role *r, struct cpu *c, const struct event *e);
	struct row_number a, b, c, d, e;
	const struct row_field *text, *text2; /* of `type` */
	struct row_type *type;
	enum span_kind kind;
	uint32_t name, class;
	size_t pair;
	bool is_mark;  /* and it is shown as an event, too */
	bool renames;  /* the task that runs goes on under another pid: the event's */
	bool is_linux; /* its numbers are those of Linux's system calls */
	struct role *more, *chain;
};

struct pair_open {
	uint64_t from, event;
	uint32_t cpu;
	int32_t pid;
	bool is_open;
};

struct model {
	struct source *s;
	struct model_options o;
	struct model_sink sink;
	struct role **roles; /* by type */
	struct role *all;    /* to free */
	struct idmap tasks;  /* of struct task, by pid */
	struct cpu *cpus;
	uint32_t nr_cpus;
	uint32_t *cpu_of; /* by stream: index into cpus */
	uint64_t *last;	  /* by stream: time of the last event + 1 */
	bool *sched;	  /* by stream: it has events of the scheduler, or may have */
	struct losses *losses;
	struct gap {
		uint64_t from, to;
	} * gaps; /* in streams with events of the scheduler or calls, in the order of their ends */
	size_t nr_gaps, cap_gaps;
	struct strmap names;
	uint32_t syscall_names[512]; /* by number: once looked up, its word */
	struct idmap functions;	     /* 1 + name, by address */
	struct idmap *pairs;	     /* by pair: of struct pair_open, by key */
	struct model_stack *stack;   /* see model_stack() */
	uint64_t number, start, finish, calls_lost;
	uint64_t missed;	/* switches */
	uint64_t faults;	/* see model_single_faults() */
	int64_t late, late_now; /* of records of returns, after the times in them */
	uint32_t late_nr;
	bool any, show, wakeups, failed, late_known;
};

/* Bits of prev_state: what is left of a task that will not run again. */
#define STATE_DEAD 0x30u

static inline bool task_is_dead(const struct task *t)
{
	return t->state == TASK_GONE && t->why & STATE_DEAD;
}

/* Until when what is open of a task goes on: of one that is dead, until it died. */
static inline uint64_t task_end(const struct model *m, const struct task *t)
{
	if (task_is_dead(t))
		return t->since;
	return t->home->to < m->finish ? t->home->to : m->finish;
}

static inline bool model_wants(const struct model *m, enum span_kind kind)
{
	return !(m->o.without >> kind & 1);
}

void model_give(struct model *m, struct span *s);
uint32_t model_word(struct model *m, const char *text, size_t n);
struct task *model_task(struct model *m, struct cpu *c, int32_t pid);
/* Was anything lost after `since` up to `until`? Then *from is where it began, not before `since`. */
bool model_lost(const struct model *m, uint64_t since, uint64_t until, uint64_t *from);
/* The text of a row's field; "" if it has none. */
const char *model_text(const struct role *r, const struct row_field *f, const struct event *e,
		       uint32_t *n);
struct role *model_add_role(struct model *m, uint32_t type);

/* Each part adds the roles it knows by name of the type, and ends what it has open. */
void sched_roles(struct model *m, const struct schema *k);
void sched_seen(struct model *m, struct cpu *c,
		const struct event *e); /* an event of a CPU without switches, or the first */
void sched_resume(struct model *m, struct cpu *c,
		  const struct event *e); /* nobody is known to run */
void sched_missed(struct model *m, struct cpu *c,
		  const struct event *e); /* an event of another task than the one that runs */
void sched_gap(struct model *m, struct cpu *c, uint64_t from, const struct event *e);
void sched_end(struct model *m);
void sched_peek(struct model *m);
void pairs_roles(struct model *m, const struct schema *k);
bool pairs_named(struct model *m);
void pairs_gap(struct model *m, struct cpu *c, uint64_t from);
void pairs_end(struct model *m);
void pairs_peek(struct model *m);
void calls_roles(struct model *m, const struct schema *k);
void calls_end(struct model *m);
void calls_peek(struct model *m);
void model_free_task(struct task *t);
void calls_free(struct model_stack *k);

#endif
