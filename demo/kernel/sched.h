/* SPDX-License-Identifier: MIT */
/* sched.h -- run queues and what the scheduler does for others. */
#ifndef DEMO_SCHED_H
#define DEMO_SCHED_H

#include <stdint.h>

struct task;

struct spinlock {
	uint32_t held;
};

/* One per CPU. The lock also guards `current` of that CPU and the state of every task whose home it is. */
struct runq {
	struct spinlock lock;
	struct task *ready;    /* best first; the running task is not in it */
	struct task *sleepers; /* earliest first */
	uint32_t nr_ready;
};

/* Classes, and priorities as Linux counts them: smaller is better, so any reader of a trace can tell the class. */
enum sched_class {
	SCHED_ORDINARY,
	SCHED_REALTIME,
	SCHED_DEADLINE,
};
#define PRIO_DEADLINE (-1)
#define PRIO_REALTIME 0 /* .. 98; the user's 1..99 turned round */
#define PRIO_ORDINARY 120
#define PRIO_IDLE     140

void sched_init(uint32_t cpu); /* first of all: set the CPU up; the caller is its idle task */
void sched_idle(void) __attribute__((noreturn));
void schedule(void);	     /* give the CPU to the best task; may return much later, elsewhere */
void wakeup(struct task *t); /* any context but NMI */
void sched_start(struct task *t); /* a new task's first wakeup */
void scheduler_tick(void);	  /* the timer interrupt */
void sleep_prepare(
	uint64_t when_ns); /* current will sleep from its next schedule() on, or be woken before */
void sleep_until(uint64_t when_ns); /* block current */
int sched_can_handoff(const struct task *to);
void sched_handoff(
	struct task *to); /* current blocks and `to`, blocked on this CPU, runs at once */
void sched_resched(void); /* the interrupt that another CPU's wakeup() sent */
void task_first(void);
int sched_set(struct task *t, int class, int prio, uint64_t period_ns);

#endif
