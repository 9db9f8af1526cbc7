/* SPDX-License-Identifier: MIT */
/* graph.c -- function_graph: calls and their returns, matched through a per-task shadow stack. */
#include "arch/arch.h"
#include "arch/regs.h"
#include "fathom/stream.h"
#include "functions/graph_fast.h"
#include "functions/shadow.h"
#include "functions/sites.h"
#include "functions/tracers.h"

/*
 * A call is pushed on its task's shadow stack (shadow.c, whose invariants G1..G6 are kept here) at its entry and popped
 * at its return. Where the compiler gave return sites these are patched and nothing is replaced; elsewhere the return
 * address is, and the shadow stack keeps the right one.
 */

uint32_t fathom_graph_depth_max;
uint64_t fathom_thresh_ns;

/* Where it returns to: of a call at the end of another one, whose return was replaced, that one knows. */
static uintptr_t graph_return_to(const struct fathom_task *task, uint32_t i, const uintptr_t *slot)
{
	while (i-- > 0 && task->shadow[i].slot == (uintptr_t)slot)
		if (task->shadow[i].ret)
			return task->shadow[i].ret;
	return *slot;
}

/* Record that call `i` begins, and raise the depth. 0: refused, and nothing was done. The caller holds the guard. */
static int graph_record_entry(struct fathom_task *task, uint32_t i, uintptr_t ip, uint32_t context,
			      const uintptr_t *slot_at, uint32_t flags, uint64_t *time)
{
	uint32_t bytes = flags & GRAPH_ENTRY_ONLY ? fathom_args_entry_bytes(flags) : ENTRY_BYTES;
	struct fathom_ring *ring = fathom_tracer_ring();
	struct fathom_slot slot;
	uint8_t *to = 0;

	task->depth = i + 1; /* G4 */
	fathom_local_barrier();
	if (fathom_likely(ring))
		to = fathom_ring_reserve(ring, bytes, &slot);
	if (!to) {
		task->depth = i;
		return 0;
	}
	*time = slot.time;
	graph_put_entry(to, ip, i, context);
	if (flags & GRAPH_ENTRY_ONLY)
		fathom_args_entry(to, slot_at, graph_return_to(task, i, slot_at), flags);
	fathom_ring_commit(ring, &slot);
	return 1;
}

/*
 * Record that call `i` returns, with its value if that is not NULL, and take it off the stack. Its time; 0: refused. The caller
 * holds the guard.
 */
static uint64_t graph_record_exit(struct fathom_task *task, uint32_t i, const uintptr_t *value,
				  uint32_t context)
{
	const struct fathom_shadow *e = &task->shadow[i];
	struct fathom_ring *ring = fathom_tracer_ring();
	struct fathom_slot slot = {0};
	uint8_t *to = 0;

	if (fathom_likely(ring))
		to = fathom_ring_reserve(ring, EXIT_BYTES + (value ? (uint32_t)sizeof(*value) : 0),
					 &slot);
	if (fathom_likely(to)) {
		graph_put_exit(to, e->func, i, task->overrun, e->calltime, slot.time, context);
		if (value)
			fathom_put_word(to + EXIT_BYTES, *value);
		fathom_ring_commit(ring, &slot);
	}
	fathom_shadow_pop(task, i);
	return to ? slot.time : 0;
}

void fathom_graph_record(uintptr_t ip, uint32_t context)
{
	struct fathom_ring *ring = fathom_tracer_ring();
	struct fathom_slot slot;
	uint8_t *to;

	if (!ring)
		return;
	if ((to = fathom_ring_reserve(ring, ENTRY_BYTES, &slot))) {
		graph_put_entry(to, ip, 0, context);
		fathom_ring_commit(ring, &slot);
	}
	if ((to = fathom_ring_reserve(ring, EXIT_BYTES, &slot))) {
		graph_put_exit(to, ip, 0, 0, slot.time, slot.time, context);
		fathom_ring_commit(ring, &slot);
	}
}

/* The stream of the running CPU, which must not change on the way. */
static void graph_stream(uintptr_t func, void (*record)(uintptr_t))
{
	uintptr_t pin = fathom_port_pin();

	record(func);
	fathom_port_unpin(pin);
}

__attribute__((noinline)) void fathom_graph_enter_general(uintptr_t ip, uintptr_t *slot,
							  uintptr_t hijack, uintptr_t pin)
{
	uint32_t outer, context = fathom_port_context(pin);
	struct fathom_task *task = fathom_guard_open(context, &outer);

	if (task) {
		fathom_graph_push(ip, slot, GRAPH_RECORD, hijack, context);
		fathom_guard_leave(task, outer);
	}
}

__attribute__((noinline)) void fathom_graph_enter_rest(uintptr_t ip, uintptr_t *slot,
						       uintptr_t hijack, uintptr_t pin)
{
	fathom_graph_enter_general(ip, slot, hijack, pin);
	fathom_port_unpin(pin);
}

static inline __attribute__((always_inline)) void graph_entered(uintptr_t ip, uintptr_t *slot,
								uintptr_t hijack)
{
	uintptr_t pin = fathom_port_pin();
	struct graph_here h;
	enum graph_result got = graph_enter(&h, ip, slot, hijack, pin);

	if (fathom_likely(got == GRAPH_DONE))
		fathom_port_unpin(pin);
	else if (got == GRAPH_NESTED)
		fathom_publish_rest(pin, h.end, h.ring, h.time);
	else
		fathom_graph_enter_rest(ip, slot, hijack, pin);
}

FLATTEN void fathom_graph_enter(uintptr_t ip, uintptr_t *slot)
{
	graph_entered(ip, slot, 0);
}

#if FATHOM_ARCH_DIRECT
/* The same without a stub between the site and it: the site calls this. */
FATHOM_ARCH_SAVES FLATTEN void fathom_arch_entry_graph(void)
{
	uintptr_t ip = fathom_arch_direct_site(), pin = fathom_port_pin();
	uintptr_t *slot = fathom_arch_direct_slot();
	struct graph_here h;
	enum graph_result got = graph_enter(&h, ip, slot, 0, pin);

	if (fathom_unlikely(got == GRAPH_NOT))
		fathom_arch_direct_general(ip, slot, pin);
	else if (fathom_unlikely(got == GRAPH_NESTED))
		fathom_arch_direct_publish(h.ring, h.end, h.time);
	fathom_port_unpin(pin);
}
#endif

#if FATHOM_ARCH_HOT
void fathom_graph_hijack_rest(uintptr_t ip, uintptr_t *slot, uintptr_t pin)
{
	fathom_graph_enter_rest(ip, slot, fathom_arch_return_address(), pin);
}
#endif

FLATTEN void fathom_graph_enter_hijack(uintptr_t ip, uintptr_t *slot)
{
	graph_entered(ip, slot, fathom_arch_return_address());
}

#ifdef __x86_64__
/* It came by the NOPs in front of the function: the predictor is in step there. */
FLATTEN void fathom_graph_enter_kept(uintptr_t ip, uintptr_t *slot)
{
	graph_entered(ip, slot, (uintptr_t)fathom_arch_return_kept);
}
#endif

/* ---- the slow entry ---- */

/* funcgraph-irqs off: what interrupts do is not recorded, unless set_graph_function asks for that very thing. */
static int graph_skips_irq(const struct fathom_task *task, uint32_t flags, uint32_t context)
{
	if (fathom_load(&fathom_tracer_option_bits) & FATHOM_OPT_GRAPH_IRQS ||
	    !(context & WIRE_FLAG_HARDIRQ))
		return 0;
	if (task->inside)
		flags = (uint32_t)task->shadow[task->inside - 1].flags;
	return !(flags & GRAPH_IN_IRQ);
}

/* What else is to be recorded of calls. */
static uint32_t graph_more(void)
{
	uint32_t options = fathom_load(&fathom_tracer_option_bits);

	return (options & FATHOM_OPT_GRAPH_ARGS ? GRAPH_ARGS : 0) |
	       (options & FATHOM_OPT_GRAPH_RETVAL ? GRAPH_RETVAL : 0) |
	       (options & FATHOM_OPT_GRAPH_RETADDR ? GRAPH_RETADDR : 0);
}

uint32_t fathom_graph_wanted(uint32_t index, uint32_t context)
{
	struct fathom_task *task = fathom_port_task_state();
	uint32_t flags = fathom_stream_is_on() ? GRAPH_STREAM
			 : fathom_thresh_ns    ? GRAPH_THRESH
					       : GRAPH_RECORD;
	uint32_t limit = fathom_load(&fathom_graph_depth_max);

	fathom_shadow_refresh(task);
	if (task->inside > task->depth)
		task->inside = 0;
	if (task->quiet > task->depth)
		task->quiet = 0;
	if (task->quiet || (limit && task->depth >= limit))
		return 0;
	if (fathom_functions.set[FATHOM_SET_GRAPH].count && !task->inside) {
		if (!fathom_set_has(FATHOM_SET_GRAPH, index))
			return 0;
		flags |= GRAPH_INSIDE;
		if (context & WIRE_FLAG_HARDIRQ)
			flags |= GRAPH_IN_IRQ;
	}
	if (graph_skips_irq(task, flags, context))
		return 0;
	if (fathom_set_has(FATHOM_SET_GRAPH_NOTRACE, index))
		return GRAPH_QUIET;
	return flags | graph_more();
}

/* Follow a call; `name` names its frame, which is `slot` if there is one. The caller holds the guard. */
static void graph_push(uintptr_t ip, uintptr_t *slot, uintptr_t name, uint32_t flags,
		       uintptr_t hijack, uint32_t context)
{
	struct fathom_task *task = fathom_port_task_state();
	int i = fathom_shadow_room(task, slot);
	struct fathom_shadow *e = &task->shadow[i];
	uint64_t time = 0;

	if (i < 0) {
		task->left_out += !hijack;
		return;
	}
	if (!slot) { /* of a call that tells of itself no register is known */
		task->left_out = 0;
		flags &= ~(uint32_t)GRAPH_ENTRY_ONLY;
	}
	if (flags & GRAPH_RECORD &&
	    !graph_record_entry(task, (uint32_t)i, ip, context, slot, flags, &time)) {
		fathom_counts()->refused += (uint64_t)fathom_tracing_is_on();
		if (slot && !(flags & (GRAPH_PROFILE | GRAPH_PROGRAM))) {
			task->left_out += !hijack;
			return;
		}
		flags &= ~(uint32_t)GRAPH_RECORD;
	}
	if (!(flags & GRAPH_RECORD)) {
		time = fathom_port_clock();
		task->depth = (uint32_t)i + 1;
	}
	if (flags & GRAPH_STREAM)
		graph_stream(ip, fathom_stream_enter);
	if (flags & GRAPH_INSIDE)
		task->inside = (uint32_t)i + 1;
	if (flags & GRAPH_QUIET)
		task->quiet = (uint32_t)i + 1;
	e->func = ip;
	e->flags = (fathom_load(&fathom_hot.graph_plain) & ~(uintptr_t)GRAPH_FLAGS) |
		   (flags & ~(uint32_t)GRAPH_ENTRY_ONLY);
	e->children = 0;
	e->calltime = time;
	e->ret = hijack ? *slot : 0;
	e->slot = name;
	fathom_local_barrier();
	if (hijack)
		*(volatile uintptr_t *)slot = hijack;
}

void fathom_graph_push(uintptr_t ip, uintptr_t *slot, uint32_t flags, uintptr_t hijack,
		       uint32_t context)
{
	graph_push(ip, slot, (uintptr_t)slot, flags, hijack, context);
}

/* ---- returns ---- */

/* Call `i` returns: everyone who followed it is told, and it is taken off the stack. */
static void graph_exit(struct fathom_task *task, uint32_t i, uint32_t context, int named)
{
	const struct fathom_shadow *e = &task->shadow[i];
	uintptr_t flags = e->flags, func = e->func, ret = e->ret, slot = e->slot, value;
	int has_value = flags & GRAPH_RETVAL && !named &&
			fathom_arch_retval((const uintptr_t *)slot, ret != 0, &value);
	uint64_t calltime = e->calltime;
	uint64_t took = 0, rettime = 0;

	if (task->inside > i)
		task->inside = 0;
	if (task->quiet > i)
		task->quiet = 0;
	if (flags & (GRAPH_PROFILE | GRAPH_THRESH))
		took = fathom_port_clock() - e->calltime;
	if (flags & GRAPH_PROFILE) {
		if (i)
			task->shadow[i - 1].children += took;
		fathom_profile_leave(e->func, took, took - e->children);
	}
	if (flags & GRAPH_STREAM)
		graph_stream(e->func, fathom_stream_leave);
	if (!(flags & GRAPH_RECORD) &&
	    !(flags & GRAPH_THRESH && fathom_to_ns(took) >= fathom_load(&fathom_thresh_ns)))
		fathom_shadow_pop(task, i);
	else if (!(rettime = graph_record_exit(task, i, has_value ? &value : 0, context)))
		fathom_counts()->cut++;
	if (flags & GRAPH_PROGRAM) {
		struct fathom_left left;

		left.func = func;
		left.depth = i;
		left.overrun = task->overrun;
		left.calltime = calltime;
		left.rettime = rettime ? rettime : fathom_port_clock();
		left.slot = named ? 0 : (const uintptr_t *)slot;
		left.ret = ret || !left.slot ? ret : *left.slot;
		left.replaced = ret != 0;
		for (uint32_t k = 0; k < FATHOM_WATCHERS; k++) {
			const struct fathom_watch *w =
				__atomic_load_n(&fathom_watch[k], __ATOMIC_ACQUIRE);

			if (w)
				w->leave(&left, context);
		}
	}
}

/*
 * A return whose call was not seen. While sites change, return sites are on and entries are not yet or no more; a call that
 * is older than all that are open was made before its entry was on. Neither is a fault.
 */
static void graph_count_unseen(const struct fathom_task *task, uintptr_t slot)
{
	if (fathom_load(&fathom_functions.changing) || !task->depth || slot > task->shadow[0].slot)
		fathom_counts()->earlier++;
	else
		fathom_counts()->unmatched++;
}

/*
 * A return that is not simply recorded: another kind of call, another tracing, or calls above it that never returned.
 * Its return address, 0 if the call was not followed.
 */
static __attribute__((noinline)) uintptr_t graph_leave_slow(uintptr_t slot, uintptr_t named,
							    uintptr_t pin)
{
	struct fathom_task *task = fathom_port_task_state();
	uint32_t context = fathom_port_context(pin), outer;
	uintptr_t ret = 0;
	int i, own;

	if (!task)
		return 0;
	/* Of a function that the tracer itself has called: its call was not let in, and was counted then. */
	own = fathom_guard_is_held(task, context);
	/* G5; and from here on no interrupt moves an entry */
	outer = fathom_guard_enter(task, context);
	fathom_shadow_trim(task);
	i = named ? fathom_shadow_find_named(task, named) : fathom_shadow_find(task, slot);
	if (i < 0) {
		if (task->left_out && !own)
			task->left_out--;
		else if (!own)
			graph_count_unseen(task, slot);
	} else {
		ret = task->shadow[i].ret;
		fathom_shadow_unwind(task, (uint32_t)i);
		if (fathom_shadow_is_over(&task->shadow[i]))
			fathom_shadow_pop(task, (uint32_t)i);
		else
			graph_exit(task, (uint32_t)i, context, named != 0);
	}
	fathom_guard_leave(task, outer);
	return ret;
}

/* At a return site. Context: any. */
FLATTEN void fathom_graph_leave(uintptr_t *slot)
{
	uintptr_t pin = fathom_port_pin();
	struct graph_here h;
	enum graph_result got = graph_leave(&h, slot, 0, pin);

	if (fathom_unlikely(got == GRAPH_NOT))
		graph_leave_slow((uintptr_t)slot, 0, pin);
	else if (fathom_unlikely(got == GRAPH_NESTED))
		fathom_ring_publish(h.ring, h.end, h.time);
	fathom_port_unpin(pin);
}

/*
 * What returned at the slot had no replaced return: a call whose return site was not seen lay above the one that has. G3
 * says it is there; if the port has exchanged the task's state under a traced function, it is not.
 */
static __attribute__((noinline)) uintptr_t graph_return_again(uintptr_t *slot, uintptr_t pin)
{
	uintptr_t ret = 0;

	while (!ret) {
		const struct fathom_task *task = fathom_port_task_state();

		if (!task || fathom_shadow_find(task, (uintptr_t)slot) < 0)
			fathom_return_lost((uintptr_t)slot);
		ret = graph_leave_slow((uintptr_t)slot, 0, pin);
	}
	return ret;
}

/* What the fast return leaves to do if it was not all; it had done its part if `done`. Never 0: nothing may jump there. */
static __attribute__((noinline)) uintptr_t graph_return_rest(uintptr_t *slot, int done,
							     uintptr_t pin)
{
	uintptr_t ret = done ? 0 : graph_leave_slow((uintptr_t)slot, 0, pin);

	if (!ret)
		ret = graph_return_again(slot, pin);
	fathom_port_unpin(pin);
	return ret;
}

static __attribute__((noinline)) uintptr_t graph_return_nested(struct fathom_ring *ring,
							       unsigned long end, uint64_t time,
							       uintptr_t *slot, uintptr_t ret,
							       uintptr_t pin)
{
	fathom_ring_publish(ring, end, time);
	if (!ret)
		return graph_return_rest(slot, 1, pin);
	fathom_port_unpin(pin);
	return ret;
}

/* At a replaced return. Context: any. */
FLATTEN uintptr_t fathom_graph_return(uintptr_t *slot)
{
	uintptr_t pin = fathom_port_pin(), ret = 0;
	struct graph_here h;
	enum graph_result got = graph_leave(&h, slot, &ret, pin);

	if (fathom_unlikely(got == GRAPH_NESTED))
		return graph_return_nested(h.ring, h.end, h.time, slot, ret, pin);
	if (fathom_unlikely(!ret))
		return graph_return_rest(slot, got == GRAPH_DONE, pin);
	fathom_port_unpin(pin);
	return ret;
}

/*
 * -finstrument-functions gives no slot, but calls it back strictly nested: the function itself names the call, and the
 * innermost call of that name is the one that returns. So every call that will be told to return is on the stack, whatever
 * is wanted of it (G5), or counted as beyond it.
 */
void fathom_graph_push_named(uintptr_t ip, uintptr_t named, uint32_t flags, uint32_t context)
{
	graph_push(ip, 0, named, flags, 0, context);
}

uintptr_t fathom_graph_come_named(uintptr_t told, uintptr_t from, int own_stack)
{
	struct fathom_task *task = fathom_port_task_state();
	uintptr_t named = fathom_shadow_named(told, from);

	fathom_shadow_refresh(task);
	if (own_stack)
		fathom_shadow_leave_named(task, named);
	return named;
}

void fathom_graph_leave_named(uintptr_t ip)
{
	uintptr_t pin = fathom_port_pin();
	struct fathom_task *task = fathom_port_task_state();

	/* What the tracer called itself, or a signal in the middle of it, was not let in: it would be taken for another's. */
	if (task && fathom_guard_is_held(task, fathom_port_context(pin)))
		;
	else if (task && task->left_out)
		task->left_out--;
	else
		graph_leave_slow(0, ip, pin);
	fathom_port_unpin(pin);
}
