/* SPDX-License-Identifier: MIT */
/* task.c -- tasks: making one, its end, waiting for it. */
#include "kernel.h"
#include "lock.h"
#include "machine.h"
#include "task.h"
#include "sample.h"
#include "trace_points.h"
#include "fathom/task.h"

/*
 * Slots are handed out under tasks_lock. A slot is freed when nobody stands on its stack (task_died) and nobody will ask
 * for its exit code. Pids only grow, so a pid names one task for good; names are kept for the last NAMES of them.
 */
#define NAMES 4096

static struct task tasks[TASKS_MAX], idle_tasks[CPUS_MAX];
static struct kstack stacks[TASKS_MAX + CPUS_MAX];
static struct fathom_task traces[TASKS_MAX + CPUS_MAX];
static char names[NAMES][NAME_MAX];
static int32_t last_pid;
static struct spinlock tasks_lock;

_Static_assert(offsetof(struct task, sp) == TASK_SP, "layout.h");
_Static_assert(offsetof(struct task, kstack) == TASK_KSTACK, "layout.h");
_Static_assert(offsetof(struct task, cpu) == TASK_CPU, "layout.h");
_Static_assert(offsetof(struct task, preempt_count) == TASK_PREEMPT, "layout.h");
_Static_assert(offsetof(struct task, scratch) == TASK_SCRATCH, "layout.h");
_Static_assert(offsetof(struct cpu, current) == CPU_CURRENT, "layout.h");
_Static_assert(offsetof(struct cpu, id) == CPU_ID, "layout.h");
_Static_assert(offsetof(struct cpu, nmi_depth) == CPU_NMI, "layout.h");
_Static_assert(offsetof(struct cpu, arch) == CPU_ARCH, "layout.h");

extern struct kstack bsp_stack;

struct task *task_idle(uint32_t cpu)
{
	struct task *t = &idle_tasks[cpu];

	ksnprintf(t->name, sizeof(t->name), "idle/%u", cpu);
	t->cpu = cpu;
	t->prio = PRIO_IDLE;
	t->kstack = cpu ? stacks[TASKS_MAX + cpu].bytes
			: bsp_stack.bytes; /* CPU 0 idles on the stack it booted on */
	t->trace = &traces[TASKS_MAX + cpu];
	return t;
}

void task_init(void)
{
	char above[16];

	if (boot_option("pids", above, sizeof(above)))
		last_pid = (int32_t)parse_u64(above);
	for (int i = 0; i < TASKS_MAX; i++) {
		tasks[i].state = TASK_FREE;
		tasks[i].kstack = stacks[i].bytes;
		tasks[i].trace = &traces[i];
	}
	for (int i = 0; i < TASKS_MAX + CPUS_MAX; i++)
		vm_guard(stacks[i].guard);
	vm_guard(bsp_stack.guard);
}

static struct task *take_slot(void)
{
	struct task *t = NULL;
	uint64_t flags = lock(&tasks_lock);

	for (int i = 0; i < TASKS_MAX && !t; i++)
		if (tasks[i].state == TASK_FREE)
			t = &tasks[i];
	if (t) {
		struct task fresh = {.kstack = t->kstack, .trace = t->trace};

		*t = fresh;
		t->state = TASK_NEW;
		t->pid = ++last_pid;
	}
	unlock(&tasks_lock, flags);
	return t;
}

static struct task *find(int32_t pid)
{
	for (int i = 0; i < TASKS_MAX; i++)
		if (tasks[i].pid == pid && tasks[i].state != TASK_FREE)
			return &tasks[i];
	return NULL;
}

const char *task_name(int32_t pid)
{
	return pid > 0 && pid <= last_pid && pid > last_pid - NAMES ? names[pid % NAMES] : NULL;
}

int task_spawn(const struct spawn *s)
{
	struct task *t = take_slot();
	uintptr_t entry = 0;
	int err = 0;

	if (!t)
		return -EAGAIN;
	if (!s->fn) {
		err = vm_create(&t->vm);
		if (!err)
			err = vm_exec(&t->vm, s->name, &entry);
	}
	if (!err)
		err = sched_set(t, s->class, s->prio, s->period);
	if (err) {
		vm_destroy(&t->vm);
		t->state = TASK_FREE;
		return err;
	}
	copy_name(t->name, s->name, NAME_MAX);
	copy_name(names[t->pid % NAMES], s->name, NAME_MAX);
	if (!s->fn)
		sample_map(t->pid, t->name, 0);
	t->parent = s->detached ? 0 : current_task()->pid;
	if (s->endpoint) {
		endpoint_get(s->endpoint);
		t->caps[1] = (struct cap){CAP_ENDPOINT, s->endpoint};
	}
	cpu_build_stack(t, s->fn, s->arg, entry);
	t->pinned = s->pinned;
	t->cpu = s->cpu;
	t->preempt_count = 1; /* of the lock that finish_switch() releases */
	int pid = t->pid;

	trace_sched_process_fork(current_task()->name, current_task()->pid, t->name, pid);
	fathom_task_new(t->trace, current_task()->pid, pid);
	sched_start(t);
	return pid;
}

/* Without the lock: a program that begins or ends meanwhile tells of itself. */
void task_each_program(void (*tell)(int32_t pid, const char *program))
{
	for (int i = 0; i < TASKS_MAX; i++)
		if (tasks[i].state < TASK_DEAD && tasks[i].vm.root && tasks[i].name[0])
			tell(tasks[i].pid, tasks[i].name);
}

/* Children outlive their parent as nobody's: the dead ones vanish, the living ones will. */
static void abandon_children(int32_t pid)
{
	uint64_t flags = lock(&tasks_lock);

	for (int i = 0; i < TASKS_MAX; i++) {
		if (tasks[i].parent != pid || tasks[i].state == TASK_FREE)
			continue;
		tasks[i].parent = 0;
		if (tasks[i].state == TASK_ZOMBIE)
			tasks[i].state = TASK_FREE;
	}
	unlock(&tasks_lock, flags);
}

void task_exit(int code)
{
	struct task *t = current_task();

	trace_sched_process_exit(t->name, t->pid, t->prio);
	fathom_task_exit(t->pid);
	if (t->vm.root)
		sample_map(t->pid, t->name, 1);
	abandon_children(t->pid);
	ipc_task_exit(t);
	struct vm mine = t->vm;

	/* First, and in one store: a switch away and back loads the kernel's tables now, never half an address. */
	__atomic_store_n(&t->vm.root, 0, __ATOMIC_RELEASE);
	memset(&t->vm, 0, sizeof(t->vm));
	vm_load(&t->vm);
	vm_destroy(&mine);
	t->exit_code = code;
	irq_save();
	t->state = TASK_DEAD;
	schedule();
	panic("a dead task runs");
}

/*
 * Interrupts are off; whoever runs now is not t. The parent is woken under the lock: behind it, another child's end
 * could have let it go, and its slot could be a new task's.
 */
void task_died(struct task *t)
{
	struct task *parent;

	raw_lock(&tasks_lock);
	if (t->parent) {
		t->state = TASK_ZOMBIE;
		parent = find(t->parent);
		if (parent && (parent->waits_for == -1 || parent->waits_for == t->pid))
			wakeup(parent);
	} else {
		t->state = TASK_FREE;
	}
	raw_unlock(&tasks_lock);
}

/* A dead child that matches, or the number of living ones that do. */
static struct task *find_zombie(int32_t pid, int *living)
{
	*living = 0;
	for (int i = 0; i < TASKS_MAX; i++) {
		struct task *t = &tasks[i];

		if (t->state == TASK_FREE || t->parent != current_task()->pid ||
		    (pid != -1 && t->pid != pid))
			continue;
		if (t->state == TASK_ZOMBIE)
			return t;
		++*living;
	}
	return NULL;
}

int task_wait(int32_t pid, int *code)
{
	for (;;) {
		int living;
		uint64_t flags = lock(&tasks_lock);
		struct task *t = find_zombie(pid, &living);

		if (t) {
			int got = t->pid;

			*code = t->exit_code;
			t->state = TASK_FREE;
			current_task()->waits_for = 0;
			unlock(&tasks_lock, flags);
			return got;
		}
		if (living) {
			current_task()->waits_for = pid;
			current_task()->state = TASK_BLOCKED;
		}
		unlock(&tasks_lock, flags);
		if (!living)
			return -ECHILD;
		schedule();
	}
}

static const char *state_name(const struct task *t)
{
	switch (t->state) {
	case TASK_RUNNING: return cpus[t->cpu].current == t ? "runs" : "ready";
	case TASK_SLEEPING: return "sleeps";
	case TASK_BLOCKED: return "blocked";
	default: return "dead";
	}
}

void task_list(void)
{
	kprintf("  PID CPU PRIO STATE    FAULTS NAME\n");
	for (int i = 0; i < TASKS_MAX; i++)
		if (tasks[i].state != TASK_FREE)
			kprintf("%5d %3u %4d %-8s %6lu %s\n", tasks[i].pid, tasks[i].cpu,
				tasks[i].prio, state_name(&tasks[i]), tasks[i].vm.nr_faults,
				tasks[i].name);
}

uint32_t task_count(void)
{
	uint32_t n = 0;

	for (int i = 0; i < TASKS_MAX; i++)
		n += tasks[i].state != TASK_FREE;
	return n;
}
