/* SPDX-License-Identifier: MIT */
/* hooks.c -- functions that register_trace_<event>() attaches, and when what was removed may be used again. */
#include "wire/cold.h"
#include "fathom/inside/errno.h"
#include "fathom/inside/event.h"
#include "fathom/port_default.h"
#include "fathom/trace.h"

#if FATHOM_ATTACH

/*
 * An event walks its list of nodes in any context, on any CPU, and may be moved to another CPU meanwhile.
 *
 * H1  A node's fn and data change only while no walk can have seen it: it was never linked, or is FREE again.
 * H2  A walk counts itself in one of two counters before it loads the list, and out of the same one behind its last call.
 * H3  A removed node waits for each counter to be seen at 0 once after the removal. Whoever counted itself in before that
 *     look has left; whoever counts itself in after it finds the list without the node.
 * H4  While one counter is waited for, new walks use the other: a stream of events cannot keep a node for ever.
 */

enum hook_state {
	HOOK_FREE,
	HOOK_WAITS_0 = 1, /* removed: for walks counted in hooks.in[0] ... */
	HOOK_WAITS_1 = 2, /* ... and in [1] */
	HOOK_WAITS = HOOK_WAITS_0 | HOOK_WAITS_1,
	HOOK_LINKED = 4,
};

static struct {
	struct fathom_hook node[FATHOM_HOOKS_MAX];
	uint32_t side;	/* the counter that new walks use; task context writes */
	uint32_t in[2]; /* walks under way */
} hooks;

uint32_t fathom_hooks_enter(void)
{
	uint32_t side = __atomic_load_n(&hooks.side, __ATOMIC_RELAXED);

	__atomic_fetch_add(&hooks.in[side], 1, __ATOMIC_RELAXED);
	/* Before the load of the list; pairs with the fence in hooks_reap(). */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return side;
}

void fathom_hooks_leave(uint32_t in)
{
	/* Pairs with the acquire in hooks_reap(). */
	__atomic_fetch_sub(&hooks.in[in], 1, __ATOMIC_RELEASE);
}

/* Nodes that wait for nobody any more are free. The number that still wait. Keeps H3, H4. */
static uint32_t hooks_reap(void)
{
	uint32_t gone = 0, waiting = 0, side = hooks.side;

	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* behind the removal; pairs with enter's */
	for (uint32_t i = 0; i < 2; i++)
		if (!__atomic_load_n(&hooks.in[i], __ATOMIC_ACQUIRE))
			gone |= i ? HOOK_WAITS_1 : HOOK_WAITS_0;
	for (uint32_t i = 0; i < FATHOM_HOOKS_MAX; i++) {
		struct fathom_hook *h = &hooks.node[i];

		if (h->state & HOOK_WAITS)
			h->state &= ~gone;
		waiting += (h->state & HOOK_WAITS) != 0;
	}
	if (waiting && !(gone & (side ? HOOK_WAITS_1 : HOOK_WAITS_0)))
		__atomic_store_n(&hooks.side, !side, __ATOMIC_RELAXED);
	return waiting;
}

int fathom_hooks_quiet(void)
{
	uint32_t waiting;

	fathom_lock();
	waiting = hooks_reap();
	fathom_unlock();
	return waiting == 0;
}

static struct fathom_hook *hooks_free(void)
{
	for (uint32_t i = 0; i < FATHOM_HOOKS_MAX; i++)
		if (hooks.node[i].state == HOOK_FREE)
			return &hooks.node[i];
	return NULL;
}

/* A walk that stands at the node goes on by its `next`, which leads back into the list. */
int fathom_event_unhook_locked(struct fathom_event *ev, void (*fn)(void), const void *data)
{
	struct fathom_hook **at = &ev->hooks, *h;

	for (; (h = *at); at = &h->next)
		if (h->fn == fn && h->data == data)
			break;
	if (!h)
		return -FATHOM_ENOENT;
	__atomic_store_n(at, h->next, __ATOMIC_RELEASE);
	h->state = HOOK_WAITS;
	return ev->hooks ? 0 : fathom_event_set(ev, 0, FATHOM_EVENT_HOOK);
}

/* Filled in before it is linked. */
int fathom_event_hook_locked(struct fathom_event *ev, void (*fn)(void), void *data)
{
	uint32_t waiting = hooks_reap();
	struct fathom_hook *h;
	int err;

	for (h = ev->hooks; h; h = h->next)
		if (h->fn == fn && h->data == data)
			return -FATHOM_EEXIST;
	h = hooks_free();
	if (!h)
		return waiting ? -FATHOM_EAGAIN : -FATHOM_ENOSPC;
	h->fn = fn;
	h->data = data;
	h->next = ev->hooks;
	h->state = HOOK_LINKED;
	/* Pairs with the acquire in FATHOM_HOOKS(). */
	__atomic_store_n(&ev->hooks, h, __ATOMIC_RELEASE);
	err = fathom_event_set(ev, FATHOM_EVENT_HOOK, 0);
	if (err)
		fathom_event_unhook_locked(ev, fn, data);
	return err;
}

int fathom_event_hook(struct fathom_event *ev, void (*fn)(void), void *data)
{
	int err;

	fathom_lock();
	err = fathom_event_hook_locked(ev, fn, data);
	fathom_unlock();
	return err;
}

int fathom_event_unhook(struct fathom_event *ev, void (*fn)(void), void *data)
{
	int err;

	fathom_lock();
	err = fathom_event_unhook_locked(ev, fn, data);
	fathom_unlock();
	return err;
}

#endif
