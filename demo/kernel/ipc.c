/* SPDX-License-Identifier: MIT */
/* ipc.c -- synchronous messages through endpoints: a fast path that switches straight to the partner, and a slow one. */
#include "kernel.h"
#include "lock.h"
#include "task.h"
#include "trace_points.h"

/*
 * A message is four words in registers. Sender and receiver meet at an endpoint; who comes first waits in its queue.
 * A caller, once received, waits in no queue: the receiver's `caller` is the only way to it, and its reply the only
 * thing that wakes it.
 *
 * Fast path: the partner already waits, on this CPU, and nobody here is better: the CPU goes to it without a visit to
 * the run queue. Everything else is the slow path: wake the partner wherever it lives and let the scheduler decide.
 */
#define ENDPOINTS_MAX 64

static struct endpoint endpoints[ENDPOINTS_MAX];
static struct spinlock endpoints_lock;

struct endpoint *cap_endpoint(uint32_t slot)
{
	const struct task *t = current_task();

	return slot < CAPS_MAX && t->caps[slot].type == CAP_ENDPOINT ? t->caps[slot].endpoint
								     : NULL;
}

void endpoint_get(struct endpoint *e)
{
	__atomic_fetch_add(&e->refs, 1, __ATOMIC_RELAXED);
}

void endpoint_put(struct endpoint *e)
{
	__atomic_fetch_sub(&e->refs, 1, __ATOMIC_RELEASE);
}

static struct endpoint *endpoint_take(void)
{
	struct endpoint *e = NULL;
	uint64_t flags = lock(&endpoints_lock);

	for (int i = 0; i < ENDPOINTS_MAX && !e; i++)
		if (!__atomic_load_n(&endpoints[i].refs, __ATOMIC_ACQUIRE))
			e = &endpoints[i];
	if (e) {
		e->refs = 1;
		e->owner = current_task()->pid;
		e->senders = e->receivers = NULL;
	}
	unlock(&endpoints_lock, flags);
	return e;
}

int endpoint_create(void)
{
	struct task *t = current_task();

	for (int slot = 1; slot < CAPS_MAX; slot++) {
		if (t->caps[slot].type != CAP_NULL)
			continue;
		struct endpoint *e = endpoint_take();

		if (!e)
			return -ENOMEM;
		t->caps[slot] = (struct cap){CAP_ENDPOINT, e};
		return slot;
	}
	return -ENOMEM;
}

static void append(struct task **queue, struct task *t)
{
	while (*queue)
		queue = &(*queue)->next;
	t->next = NULL;
	*queue = t;
}

static struct task *take_first(struct task **queue)
{
	struct task *t = *queue;

	if (t) {
		*queue = t->next;
		t->next = NULL;
	}
	return t;
}

/* The message and its sender's name go over; who called is remembered for the reply. */
static void deliver(const struct task *from, struct task *to, int is_call)
{
	memcpy(to->message, from->message, sizeof(to->message));
	to->ipc_result = from->pid;
	to->caller = is_call ? (struct task *)from : NULL;
	to->caps[0].type = is_call ? CAP_REPLY : CAP_NULL;
}

/*
 * The partner has what it waited for. If current must wait now, it gives the CPU away; fast if it can.
 * Interrupts are off, no lock is held, current's state is set.
 */
static void run_partner(struct task *partner, struct endpoint *e)
{
	struct task *me = current_task();
	int blocks = me->state != TASK_RUNNING;

	if (blocks && sched_can_handoff(partner)) {
		trace_fast_send(me->pid, partner->pid, (uintptr_t)e, IPC_WORDS);
		sched_handoff(partner);
		trace_fast_recv(me->pid, (int)me->ipc_result, (uintptr_t)e, IPC_WORDS);
		return;
	}
	trace_slow_path(me->pid, (uintptr_t)e,
			!blocks			   ? SLOW_NO_BLOCK
			: partner->cpu != cpu_id() ? SLOW_OTHER_CPU
						   : SLOW_BETTER);
	wakeup(partner);
	if (blocks)
		schedule();
}

/* Send, or the first half of a call. Interrupts are off. */
static void send(struct endpoint *e, enum ipc_op op)
{
	struct task *me = current_task();

	raw_lock(&e->lock);
	struct task *to = take_first(&e->receivers);

	if (!e->owner) {
		raw_unlock(&e->lock);
		me->ipc_result = -EPIPE;
		return;
	}
	if (!to) {
		me->ipc_op = op;
		me->state = TASK_BLOCKED;
		append(&e->senders, me);
		raw_unlock(&e->lock);
		trace_slow_path(me->pid, (uintptr_t)e, SLOW_NO_PARTNER);
		schedule();
		return;
	}
	deliver(me, to, op == IPC_CALL);
	me->ipc_result = 0;
	if (op == IPC_CALL)
		me->state = TASK_BLOCKED;
	raw_unlock(&e->lock);
	run_partner(to, e);
}

/* Receive; `replied` is the caller that was just answered and not yet woken, or NULL. Interrupts are off. */
static void receive(struct endpoint *e, struct task *replied)
{
	struct task *me = current_task();

	raw_lock(&e->lock);
	struct task *from = take_first(&e->senders);

	if (from) {
		int is_call = from->ipc_op == IPC_CALL;

		deliver(from, me, is_call);
		from->ipc_result = 0;
		raw_unlock(&e->lock);
		if (replied)
			run_partner(replied, e);
		if (!is_call)
			wakeup(from);
		return;
	}
	me->state = TASK_BLOCKED;
	append(&e->receivers, me);
	raw_unlock(&e->lock);
	if (replied) {
		run_partner(replied, e);
		return;
	}
	trace_slow_path(me->pid, (uintptr_t)e, SLOW_NO_PARTNER);
	schedule();
}

/* Answer the caller: it gets the message; waking it is left to who calls this. */
static struct task *reply(void)
{
	struct task *me = current_task(), *to = me->caller;

	if (to) {
		memcpy(to->message, me->message, sizeof(to->message));
		to->ipc_result = me->pid;
		me->caller = NULL;
		me->caps[0].type = CAP_NULL;
	}
	return to;
}

NOTRACE int ipc_is_fast(enum ipc_op op, uint32_t slot)
{
	const struct task *me = current_task(), *partner = NULL;
	const struct endpoint *e;

	if (slot >= CAPS_MAX || me->caps[slot].type != CAP_ENDPOINT)
		return 0;
	e = me->caps[slot].endpoint;
	if (op == IPC_CALL)
		partner = __atomic_load_n(&e->receivers, __ATOMIC_RELAXED);
	else if (op == IPC_REPLY_RECV && !__atomic_load_n(&e->senders, __ATOMIC_RELAXED))
		partner = me->caller;
	return partner && sched_can_handoff(partner);
}

int64_t ipc(enum ipc_op op, uint32_t slot)
{
	struct endpoint *e = cap_endpoint(slot);

	if (!e)
		return -EBADF;
	trace_cap_invoke(slot, CAP_ENDPOINT, op);
	uint64_t flags = irq_save();

	if (op == IPC_SEND || op == IPC_CALL)
		send(e, op);
	else
		receive(e, op == IPC_REPLY_RECV ? reply() : NULL);
	irq_restore(flags);
	return current_task()->ipc_result;
}

/* The owner is gone: everyone in the queues gets an error. */
static void endpoint_close(struct endpoint *e)
{
	for (;;) {
		uint64_t flags = lock(&e->lock);
		struct task *t = take_first(&e->senders);

		e->owner = 0;
		if (!t)
			t = take_first(&e->receivers);
		unlock(&e->lock, flags);
		if (!t)
			return;
		t->ipc_result = -EPIPE;
		wakeup(t);
	}
}

void ipc_task_exit(struct task *t)
{
	if (t->caller) {
		t->caller->ipc_result = -EPIPE;
		wakeup(t->caller);
		t->caller = NULL;
	}
	for (int slot = 1; slot < CAPS_MAX; slot++) {
		struct endpoint *e = t->caps[slot].endpoint;

		if (t->caps[slot].type != CAP_ENDPOINT)
			continue;
		if (e->owner == t->pid)
			endpoint_close(e);
		t->caps[slot].type = CAP_NULL;
		endpoint_put(e);
	}
}
