/* SPDX-License-Identifier: MIT */
/* function.c -- the function tracer: one record per call, and the general entry that serves every user of a site. */
#include "fathom/inside/errno.h"
#include "fathom/inside/unwind.h"
#include "functions/function_fast.h"
#include "functions/probes.h"
#include "functions/sites.h"
#include "functions/tracers.h"

static struct function_last function_last[FATHOM_CPUS_MAX]; /* the top's */

static inline void function_write(struct fathom_ring *ring, uintptr_t ip, uintptr_t parent_ip,
				  uint32_t context)
{
	struct fathom_slot slot;
	uint8_t *to;

	if (fathom_likely(ring) && (to = fathom_ring_reserve(ring, FUNCTION_BYTES, &slot))) {
		fathom_put_common(to, WIRE_ID_FUNCTION, context);
		((struct fathom_rec_function *)(void *)to)->ip = ip;
		((struct fathom_rec_function *)(void *)to)->parent_ip = parent_ip;
		fathom_ring_commit(ring, &slot);
	}
}

void fathom_function_record(uintptr_t ip, uintptr_t parent_ip, uint32_t context)
{
	function_write(fathom_tracer_ring(), ip, parent_ip, context);
}

void fathom_function_record_in(struct fathom_ring *ring, uintptr_t ip, uintptr_t parent_ip,
			       const uintptr_t *regs, uint32_t context)
{
	if (regs)
		fathom_args_function(ring, ip, parent_ip, regs, context);
	else
		function_write(ring, ip, parent_ip, context);
}

__attribute__((noinline)) void fathom_function_rest(uintptr_t ip, uintptr_t parent_ip,
						    uintptr_t pin)
{
	uint32_t context = fathom_port_context(pin), outer;
	struct fathom_task *task = fathom_guard_open(context, &outer);

	if (task) {
		function_write(fathom_tracer_ring(), ip, parent_ip, context);
		fathom_guard_leave(task, outer);
	}
	fathom_port_unpin(pin);
}

/* FATHOM_ENTRY_FUNCTION: every call that gets here is recorded. Context: any. */
void fathom_function_enter(uintptr_t ip, uintptr_t parent_ip)
{
	uintptr_t pin = fathom_port_pin();
	struct function_open o;

	if (fathom_unlikely(!function_try(&o, ip, parent_ip, pin)))
		fathom_function_rest(ip, parent_ip, pin);
	else if (fathom_unlikely(fathom_ring_close(o.ring, o.end, o.time)))
		fathom_publish_rest(pin, o.end, o.ring, o.time);
	else
		fathom_port_unpin(pin);
}

/* func_repeats: common, ip, parent_ip, count u16, how long ago in ns: high u16, low u32 */
#define REPEATS_BYTES (FUNCTION_BYTES + 8)

/* Say how often the last call came again, before another one is recorded. */
static void function_flush_repeats(struct function_last *last, struct fathom_ring *ring,
				   uint32_t context)
{
	struct fathom_rec_repeats *r;
	struct fathom_slot slot;
	uint8_t *to;
	uint64_t ago;

	to = last->count && ring ? fathom_ring_reserve(ring, REPEATS_BYTES, &slot) : 0;
	if (!to)
		return;
	ago = fathom_to_ns(slot.time - last->last_ts);
	fathom_put64(to, fathom_common_word(WIRE_ID_FUNC_REPEATS, context));
	r = (void *)to;
	r->ip = last->ip;
	r->parent_ip = last->parent_ip;
	r->count = (uint16_t)last->count;
	r->top_delta_ts = (uint16_t)(ago >> 32);
	r->bottom_delta_ts = (uint32_t)ago;
	fathom_ring_commit(ring, &slot);
	last->count = 0;
}

/* Linux's counter has 16 bits. */
int fathom_function_repeats(struct function_last *last, struct fathom_ring *ring, uintptr_t ip,
			    uintptr_t parent_ip, uint32_t context)
{
	if (last->ip == ip && last->parent_ip == parent_ip && last->count < 0xffff) {
		last->count++;
		last->last_ts = fathom_port_clock();
		return 1;
	}
	function_flush_repeats(last, ring, context);
	last->ip = ip;
	last->parent_ip = parent_ip;
	return 0;
}

/* A call, as its users are told of it. */
struct function_call {
	uintptr_t ip, parent_ip;
	uintptr_t *slot; /* where its return address lies; NULL: nobody knows */
	uintptr_t fp; /* the frame of the caller; 0: nobody knows. Of who tells, if it is named */
	int named;    /* told from inside the function: its return will not know the slot */
};

/* Beside which its registers are, if they are wanted and known. */
static const uintptr_t *function_regs(const struct function_call *call, uint32_t options)
{
	return options & FATHOM_OPT_FUNC_ARGS && !call->named ? call->slot : 0;
}

static void function_slow(const struct function_call *call, uint32_t context)
{
	uintptr_t ip = call->ip, parent_ip = call->parent_ip;
	uint32_t options = fathom_load(&fathom_tracer_option_bits), cpu = fathom_port_cpu();
	struct fathom_ring *ring = fathom_tracer_ring();

	if (options & FATHOM_OPT_FUNC_NO_REPEATS && ring &&
	    fathom_function_repeats(&function_last[cpu], ring, ip, parent_ip, context))
		return;
	fathom_function_record_in(ring, ip, parent_ip, function_regs(call, options), context);
	if (options & FATHOM_OPT_FUNC_STACK)
		fathom_stack_record(ring, ip, parent_ip, call->fp, context);
}

static int call_is_traced(void)
{
	int (*gate)(void) = fathom_load(&fathom_tracer_wants.gate);

	return (!fathom_pids_any() || fathom_pid_traced(fathom_port_task())) && (!gate || gate());
}

/* Who may look at the stack. */
static int function_wants_frame(uint32_t users)
{
	return users & (SITE_STACK | SITE_PROBE | SITE_LISTENER | SITE_PROGRAM) ||
	       fathom_load(&fathom_tracer_option_bits) & FATHOM_OPT_FUNC_STACK;
}

/*
 * fp is the frame of what the function called to tell: the frame above it is the function's own, if that has one, and
 * then it returns to where the function was called from. Code without frame pointers has anything there.
 */
static void function_find_frame(struct function_call *call)
{
	struct fathom_unwind u;
	uintptr_t at = 0;

	fathom_unwind_kernel(&u, call->fp);
	call->fp = 0;
	if (fathom_unwind_next(&u, 0) && fathom_unwind_next(&u, &at) == call->parent_ip) {
		call->slot = (uintptr_t *)at;
		call->fp = u.fp;
	}
}

#define FUNCTION_IRQ \
	(WIRE_FLAG_HARDIRQ | WIRE_FLAG_SOFTIRQ | WIRE_FLAG_NMI) /* may be on another stack */

/* When the call began: as it is followed, or else now. */
static uint64_t function_time(uintptr_t ip, uint32_t flags)
{
	const struct fathom_task *task = fathom_port_task_state();

	if (flags && task->depth && task->depth <= FATHOM_SHADOW_DEPTH &&
	    task->shadow[task->depth - 1].func == ip)
		return task->shadow[task->depth - 1].calltime;
	return fathom_port_clock();
}

static void function_watched(const struct function_call *call, uint32_t site, uint64_t time,
			     uint32_t context)
{
	struct fathom_call c = {site,	  call->ip, call->parent_ip,
				call->fp, time,	    call->named ? 0 : call->slot};

	for (uint32_t i = 0; i < FATHOM_WATCHERS; i++) {
		const struct fathom_watch *w = __atomic_load_n(&fathom_watch[i], __ATOMIC_ACQUIRE);

		if (w)
			w->enter(&c, context);
	}
}

static void function_serve(struct function_call *call, uint32_t context)
{
	uintptr_t ip = call->ip, parent_ip = call->parent_ip;
	int index = fathom_site_find(ip), traced, hijack = 1;
	uint32_t users = fathom_instrument_users(), flags = 0;
	uintptr_t name = 0;

	if (index >= 0) {
		users = fathom_load(&fathom_functions.site[index].users);
		hijack = !(fathom_functions.site[index].flags & SITE_HAS_RETURNS);
	}
	if (!users)
		return;
	traced = call_is_traced();
	if (call->named && users & SITE_RETURNS)
		name = fathom_graph_come_named(call->fp, parent_ip, !(context & FUNCTION_IRQ));
	if (call->named && function_wants_frame(users))
		function_find_frame(call);
	if (users & SITE_PROBE)
		fathom_probe_run((uint32_t)index, ip, parent_ip, call->fp, context);
	if (users & SITE_STACK && call->slot)
		fathom_stack_check(ip, call->slot, call->fp, context);
	if (users & SITE_LISTENER)
		fathom_listeners_call((uint32_t)index, ip, parent_ip, call->named ? 0 : call->slot,
				      call->fp, context);
	if (users & SITE_FUNCTION && traced)
		function_slow(call, context);
	if (users & SITE_GRAPH && traced)
		flags |= fathom_graph_wanted((uint32_t)index, context);
	if (users & SITE_PROFILE) {
		fathom_profile_enter((uint32_t)index);
		flags |= GRAPH_PROFILE;
	}
	if (users & SITE_PROGRAM_RETURN)
		flags |= GRAPH_PROGRAM;
	if (call->named && users & SITE_RETURNS)
		fathom_graph_push_named(ip, name, flags, context);
	else if (flags)
		fathom_graph_push(ip, call->slot, flags, hijack ? fathom_arch_return_address() : 0,
				  context);
	else if (users & SITE_RETURNS && !hijack)
		fathom_port_task_state()->left_out++;
	if (users & SITE_PROGRAM)
		function_watched(call, (uint32_t)index, function_time(ip, flags), context);
}

/* FATHOM_ENTRY_ANY: look the function up and serve its users. Context: any. */
void fathom_function_any(uintptr_t ip, uintptr_t *slot, uintptr_t fp)
{
	uintptr_t pin = fathom_port_pin();
	uint32_t context = fathom_port_context(pin), outer;
	struct fathom_task *task = fathom_guard_open(context, &outer);

	if (fathom_likely(task)) {
		struct function_call call = {ip, *slot, slot, fp, 0};

		function_serve(&call, context);
		fathom_guard_leave(task, outer);
	}
	fathom_port_unpin(pin);
}

/* Context: any. */
void fathom_function_named(uintptr_t ip, uintptr_t parent_ip, uintptr_t fp)
{
	uintptr_t pin = fathom_port_pin();
	uint32_t context = fathom_port_context(pin), outer;
	struct fathom_task *task = fathom_guard_open(context, &outer);

	if (fathom_likely(task)) {
		struct function_call call = {ip, parent_ip, 0, fp, 1};

		function_serve(&call, context);
		fathom_guard_leave(task, outer);
	}
	fathom_port_unpin(pin);
}
