/* SPDX-License-Identifier: MIT */
/* listeners.c -- calls of functions for the instances of control/: each has its own functions, tasks and rings. */
#include "fathom/inside/event.h"
#include "fathom/inside/snapshot.h"
#include "fathom/trace.h"
#include "functions/listeners.h"
#include "functions/sites.h"
#include "functions/tracers.h"

struct fathom_listener *fathom_listeners[FATHOM_INSTANCES_MAX];

/* The listener, the last calls and its sets lie in one block. */
static size_t listener_head(void)
{
	return (sizeof(struct fathom_listener) + 15) & ~(size_t)15;
}

size_t fathom_listener_bytes(void)
{
	return listener_head() + fathom_core.nr_cpus * sizeof(struct function_last) +
	       (FATHOM_SET_NOTRACE + 1) * fathom_function_set_bytes();
}

struct fathom_listener *fathom_listener_init(void *memory)
{
	struct fathom_listener *l = memory;
	uint8_t *bits = (uint8_t *)memory + listener_head();

	l->last = (struct function_last *)(void *)bits;
	bits += fathom_core.nr_cpus * sizeof(struct function_last);
	l->options = FATHOM_OPT_FUNCTION_TRACE;

	for (uint32_t i = 0; i <= FATHOM_SET_NOTRACE; i++)
		l->set[i].word = (uint32_t *)(void *)(bits + i * fathom_function_set_bytes());
	return l;
}

static int listener_wants(const struct fathom_listener *l, uint32_t site)
{
	const struct function_set *only = &l->set[FATHOM_SET_FILTER];

	return fathom_load(&l->on) && (fathom_set_is_empty(only) || fathom_set_test(only, site)) &&
	       !fathom_set_test(&l->set[FATHOM_SET_NOTRACE], site);
}

uint32_t fathom_listeners_want(uint32_t site)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < FATHOM_INSTANCES_MAX; i++)
		n += (uint32_t)(fathom_listeners[i] && listener_wants(fathom_listeners[i], site));
	return n;
}

static int listener_hears(const struct fathom_listener *l, uint32_t site)
{
	int (*gate)(void) = fathom_load(&l->gate);

	return listener_wants(l, site) && (!gate || gate()) &&
	       fathom_pids_pass(l->pids, fathom_port_task());
}

/* Pairs with the release store of who makes an instance. */
static struct fathom_listener *listener_at(uint32_t i)
{
	return __atomic_load_n(&fathom_listeners[i], __ATOMIC_ACQUIRE);
}

void fathom_listeners_call(uint32_t site, uintptr_t ip, uintptr_t parent_ip, const uintptr_t *slot,
			   uintptr_t fp, uint32_t context)
{
	uint32_t cpu = fathom_port_cpu(), options;

	if (cpu >= fathom_core.nr_cpus)
		return;
	fathom_gate.enter(cpu);
	for (uint32_t i = 0; i < FATHOM_INSTANCES_MAX; i++) {
		const struct fathom_listener *l = listener_at(i);
		struct fathom_ring *ring;

		if (!l || !listener_hears(l, site))
			continue;
		ring = fathom_load(&l->ring[cpu]);
		options = fathom_load(&l->options);
		if (options & FATHOM_OPT_FUNC_NO_REPEATS &&
		    fathom_function_repeats(&l->last[cpu], ring, ip, parent_ip, context))
			continue;
		fathom_function_record_in(ring, ip, parent_ip,
					  options & FATHOM_OPT_FUNC_ARGS ? slot : 0, context);
		if (options & FATHOM_OPT_FUNC_STACK)
			fathom_stack_record(ring, ip, parent_ip, fp, context);
	}
	fathom_gate.leave(cpu);
}

void fathom_listeners_fork(fork_lists_fn fork_lists, int32_t parent, int32_t child)
{
	uintptr_t pin = fathom_port_pin();
	uint32_t cpu = fathom_port_cpu();

	if (cpu < fathom_core.nr_cpus && fathom_gate.enter) {
		fathom_gate.enter(cpu);
		for (uint32_t i = 0; i < FATHOM_INSTANCES_MAX; i++) {
			struct fathom_listener *l = listener_at(i);

			if (l && fathom_load(&l->options) & FATHOM_OPT_FUNCTION_FORK)
				fork_lists(l->pids, parent, child);
		}
		fathom_gate.leave(cpu);
	}
	fathom_port_unpin(pin);
}

int fathom_listeners_follow_forks(void)
{
	for (uint32_t i = 0; i < FATHOM_INSTANCES_MAX; i++)
		if (fathom_listeners[i] && fathom_listeners[i]->options & FATHOM_OPT_FUNCTION_FORK)
			return 1;
	return 0;
}

void fathom_listener_turn(struct fathom_listener *l, int on)
{
	__atomic_store_n(l->off, (uint32_t)!on, __ATOMIC_SEQ_CST);
	fathom_rings_follow(l->ring, l->off);
}

int fathom_listener_is_recording(const struct fathom_listener *l)
{
	return !__atomic_load_n(l->off, __ATOMIC_RELAXED);
}
