/* SPDX-License-Identifier: MIT */
/* cause.c -- the shell's cause: delays whose cause is known, chosen by a seed, for `fathom why` to find. */
#include "kernel.h"
#include "lock.h"
#include "machine.h"
#include "shell.h"
#include "task.h"
#include "trace_points.h"

/*
 * The victim waits, and says when it runs again (event demo:late). What it waited for is one of
 *
 *   lock      a mutex whose holder was preempted by a better task
 *   storm     a task that interrupts hold up
 *   ipc       a call that goes through three servers; the last one takes long
 *   irqsoff   the timer, while a task has interrupts off
 *
 * A bystander is woken in the middle and runs for a fifth of the time: it is in the way, and is not the cause. The console says
 * what the cause was. All of it is on one CPU: others would take tasks that wait.
 */
enum {
	VICTIM,
	CULPRIT,
	HOLDER,
	BYSTANDER,
	NR_ROLES
};
enum {
	LOCK,
	STORM,
	IPC,
	IRQSOFF,
	NR_CAUSES
};

#define VICTIM_PRIO    60
#define BYSTANDER_PRIO 50
#define CULPRIT_PRIO   40
#define SERVERS	       3

struct role {
	struct task *task;
	volatile int parked, done;
};

static struct {
	uint32_t seed, us; /* us: what the cause takes */
	struct role roles[NR_ROLES];
	struct task *owner, *waiter; /* of the mutex */
	volatile uint32_t storm_us;  /* what an interrupt takes */
	struct endpoint *volatile endpoints[SERVERS];
	volatile int served;
} now;

static uint32_t dice(uint32_t n)
{
	now.seed = now.seed * 1664525 + 1013904223;
	return (now.seed >> 8) % n;
}

/* In steps: what an interruption takes does not count, but for the step it hits. */
static void work(uint32_t us)
{
	for (uint32_t i = 0; i < us; i += 10)
		delay_us(10);
}

static void park(int role)
{
	uint64_t flags = irq_save();

	now.roles[role].task = current_task();
	now.roles[role].parked = 1;
	current_task()->state = TASK_BLOCKED;
	schedule();
	irq_restore(flags);
}

static void start(int role)
{
	wakeup(now.roles[role].task);
}

static void late(void)
{
	trace_late(current_task()->pid);
	now.roles[VICTIM].done = 1;
}

/* Half of the work, the bystander, the other half. */
static void work_disturbed(uint32_t us)
{
	work(us / 2);
	start(BYSTANDER);
	work(us / 2);
}

static void bystander(void *arg)
{
	(void)arg;
	park(BYSTANDER);
	work(now.us / 5);
	now.roles[BYSTANDER].done = 1;
}

/* ---- lock: a mutex that is waited for asleep ---- */

static void mutex_take(void)
{
	uint64_t flags = irq_save();

	if (now.owner) {
		now.waiter = current_task();
		current_task()->state = TASK_BLOCKED;
		schedule();
	}
	now.owner = current_task();
	irq_restore(flags);
}

static void mutex_give(void)
{
	struct task *next = now.waiter;

	now.owner = NULL;
	now.waiter = NULL;
	if (next)
		wakeup(next);
}

static void lock_victim(void *arg)
{
	(void)arg;
	park(VICTIM);
	mutex_take();
	late();
	mutex_give();
}

static void lock_holder(void *arg)
{
	(void)arg;
	park(HOLDER);
	mutex_take();
	start(VICTIM); /* runs at once, and waits for the mutex */
	work(now.us / 10);
	start(CULPRIT); /* better than this one, and no part of it */
	work(now.us / 10);
	mutex_give();
	now.roles[HOLDER].done = 1;
}

static void lock_culprit(void *arg)
{
	(void)arg;
	park(CULPRIT);
	work_disturbed(now.us);
	now.roles[CULPRIT].done = 1;
}

/* ---- storm: interrupts, each of which takes long ---- */

void cause_interrupt(void)
{
	if (now.storm_us)
		delay_us(now.storm_us);
}

static void storm_victim(void *arg)
{
	(void)arg;
	park(VICTIM);
	late();
}

/* Has the CPU, wakes the victim, which is worse, and is interrupted again and again in its own short work. */
static void storm_holder(void *arg)
{
	uint32_t nr = 20 + dice(40);

	(void)arg;
	park(HOLDER);
	start(VICTIM);
	now.storm_us = now.us / nr;
	for (uint32_t i = 0; i < nr; i++) {
		irq_send(cpu_id(), VEC_STORM);
		work(now.us / nr / 5);
	}
	now.storm_us = 0;
	start(BYSTANDER);
	now.roles[HOLDER].done = 1;
}

/* ---- ipc: three servers ---- */

static void server(void *arg)
{
	uint64_t n = (uint64_t)arg;
	int slot = endpoint_create();

	if (slot < 0)
		return;
	now.endpoints[n] = cap_endpoint((uint32_t)slot);
	ipc(IPC_RECV, (uint32_t)slot);
	if (n)
		ipc(IPC_CALL, 1); /* the next one's endpoint came with the birth */
	else
		work_disturbed(now.us);
	now.served++;
	ipc(IPC_REPLY_RECV, (uint32_t)slot); /* who asks now wants it to end */
	if (n)
		ipc(IPC_SEND, 1);
}

static void ipc_victim(void *arg)
{
	(void)arg;
	park(VICTIM);
	ipc(IPC_CALL, 1);
	late();
	ipc(IPC_SEND, 1);
}

/* ---- irqsoff ---- */

static void irqsoff_victim(void *arg)
{
	(void)arg;
	park(VICTIM);
	start(CULPRIT);
	sleep_until(clock_ns() + 1000000);
	late();
}

static void irqsoff_culprit(void *arg)
{
	uint64_t flags;

	(void)arg;
	park(CULPRIT);
	flags = irq_save();
	trace_irq_disable((void *)irqsoff_culprit);
	delay_us(now.us);
	trace_irq_enable((void *)irqsoff_culprit);
	irq_restore(flags);
	start(BYSTANDER);
	now.roles[CULPRIT].done = 1;
}

/* ---- all of them ---- */

static const char *const names[] = {"amber", "birch", "cedar", "dune",	  "elm",  "fjord",
				    "grove", "heath", "iris",  "juniper", "kelp", "larch"};
#define NR_NAMES (sizeof(names) / sizeof(names[0]))

static void spawn(const char *name, void (*fn)(void *), uint64_t arg, int prio, struct endpoint *e)
{
	struct spawn s = {.name = name,
			  .fn = fn,
			  .arg = arg,
			  .endpoint = e,
			  .class = prio ? SCHED_REALTIME : SCHED_ORDINARY,
			  .prio = prio,
			  .detached = 1};

	task_spawn(&s);
}

static void pause(void)
{
	sleep_until(clock_ns() + 5000000);
}

static void until(const volatile int *what)
{
	for (int i = 0; i < 400 && !*what; i++)
		pause();
}

static void spawn_servers(uint32_t first)
{
	for (uint64_t i = 0; i < SERVERS; i++) {
		now.endpoints[i] = NULL;
		spawn(names[(first + i) % NR_NAMES], server, i, 0, i ? now.endpoints[i - 1] : NULL);
		for (int k = 0; k < 400 && !now.endpoints[i]; k++)
			pause();
	}
}

static void run_cause(uint32_t cause, uint32_t first)
{
	static void (*const victims[])(void *) = {lock_victim, storm_victim, ipc_victim,
						  irqsoff_victim};
	const char *culprit = names[(first + 4) % NR_NAMES],
		   *holder = names[(first + 5) % NR_NAMES];

	if (cause == IPC)
		spawn_servers(first);
	spawn("victim", victims[cause], 0, cause == STORM ? 30 : VICTIM_PRIO,
	      cause == IPC ? now.endpoints[SERVERS - 1] : NULL);
	spawn(names[(first + 6) % NR_NAMES], bystander, 0, BYSTANDER_PRIO, NULL);
	if (cause == LOCK)
		spawn(culprit, lock_culprit, 0, CULPRIT_PRIO, NULL);
	if (cause == IRQSOFF)
		spawn(culprit, irqsoff_culprit, 0, CULPRIT_PRIO, NULL);
	if (cause == LOCK)
		spawn(holder, lock_holder, 0, 0, NULL);
	if (cause == STORM)
		spawn(holder, storm_holder, 0, CULPRIT_PRIO, NULL);
	until(&now.roles[VICTIM].parked);
	until(&now.roles[BYSTANDER].parked);
	pause();
	start(cause == LOCK || cause == STORM ? HOLDER : VICTIM);
	until(&now.roles[VICTIM].done);
	until(&now.roles[BYSTANDER].done);
	pause();
}

/* cause SEED */
int cmd_cause(int argc, char **argv)
{
	static const char *const causes[] = {"lock", "storm", "ipc", "irqsoff"};
	uint32_t seed = argc == 2 ? (uint32_t)parse_u64(argv[1]) : 0, first;

	if (argc != 2 || nr_cpus > 1) {
		kprintf(nr_cpus > 1 ? "cause: with one CPU only\n" : "cause SEED\n");
		return -EINVAL;
	}
	memset(&now, 0, sizeof(now));
	now.seed = seed;
	first = dice(NR_NAMES);
	now.us = 12000 + dice(20000);
	run_cause(seed % NR_CAUSES, first);
	kprintf("cause %u: %s culprit=%s holder=%s servers=%s,%s,%s us=%u\n", seed,
		causes[seed % NR_CAUSES], names[(first + 4) % NR_NAMES],
		names[(first + 5) % NR_NAMES], names[first % NR_NAMES],
		names[(first + 1) % NR_NAMES], names[(first + 2) % NR_NAMES], now.us);
	return 0;
}
