/* SPDX-License-Identifier: MIT */
/* task.h -- a task: its registers' place, its memory, its capabilities, its place in the scheduler. */
#ifndef DEMO_TASK_H
#define DEMO_TASK_H

#include "cpu.h"
#include "vm.h"
#include "ipc.h"

/* States, as the bits Linux's sched_switch prints. */
enum task_state {
	TASK_RUNNING = 0x00,  /* R: runs, or waits in a run queue */
	TASK_SLEEPING = 0x01, /* S: for a time */
	TASK_BLOCKED = 0x02,  /* D: for another task */
	TASK_DEAD = 0x10,     /* X: on its last switch */
	TASK_ZOMBIE = 0x20,   /* Z: only its exit code is left */
	TASK_FREE = 0x40,
	/* being made: has no stack yet, so a wakeup meant for the slot's last owner must not start it */
	TASK_NEW = 0x80,
};

#define TASKS_MAX 128
#define CAPS_MAX  16
#define NAME_MAX  16

struct fathom_task;

struct task {
	uint64_t sp; /* while it does not run: its stack, as switch_to() left it */
	uint8_t *kstack;
	/* home: whose run queue. Changes only while the task is ready and not running */
	volatile uint32_t cpu;
	volatile uint32_t preempt_count; /* > 0: schedule() may not be called here */
	uint64_t scratch[2];		 /* entry.S: registers, while they have no other place */
	volatile uint32_t state;
	int32_t pid;
	char name[NAME_MAX];
	int32_t parent; /* pid; 0 when nobody waits */
	int32_t exit_code;

	int prio;
	enum sched_class class;
	uint64_t period, deadline; /* ns; deadline class only */
	int slice;		   /* ticks left */
	struct task *next;	   /* in the one list it waits in: ready, sleepers or an endpoint */
	uint64_t wake_at;
	void (*tick)(
		void *arg); /* of a sleeper: called in the timer's interrupt that wakes it; or NULL */
	void *tick_arg;
	int pinned; /* its home is its CPU for ever */

	struct vm vm;
	struct cap caps[CAPS_MAX];
	uint64_t message[IPC_WORDS];
	int64_t ipc_result;
	int ipc_op;
	struct task *caller; /* who waits for this task's reply */
	int32_t waits_for;   /* pid in task_wait(), -1: any */

	struct fathom_task *trace; /* what tracers keep for it */
};

/* The task's kernel stack, [at, *hi), if that is what `at` is on; of an NMI's the tracer takes the page it runs on. */
static inline void kstack_bounds(uintptr_t at, uintptr_t *lo, uintptr_t *hi)
{
	uintptr_t base = (uintptr_t)current_task()->kstack;

	if (at >= base && at < base + KSTACK_SIZE) {
		*lo = at;
		*hi = base + KSTACK_SIZE;
	}
}

/* fn runs in the kernel if `program` is NULL. Returns the pid or -errno. */
struct spawn {
	const char *name;
	void (*fn)(void *arg);
	uint64_t arg;
	struct endpoint *endpoint; /* becomes the child's capability 1 */
	int class, prio;
	uint64_t period;
	int detached; /* nobody waits for it */
	int pinned;   /* to `cpu` */
	uint32_t cpu;
};

void task_init(void);
int task_spawn(const struct spawn *s);
void task_exit(int code) __attribute__((noreturn));
int task_wait(int32_t pid, int *code); /* -1: any child. The pid, or -ECHILD */
void task_died(struct task *t); /* from finish_switch(): nobody stands on its stack any more */
struct task *task_idle(uint32_t cpu); /* the idle task of a CPU */
const char *task_name(
	int32_t pid); /* of tasks that are gone too, while their number is not reused; or NULL */
void task_list(void); /* `ps` */
void task_each_program(void (*tell)(int32_t pid, const char *program)); /* of all that run one */
uint32_t task_count(void);

#endif
