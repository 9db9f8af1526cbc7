/* SPDX-License-Identifier: MIT */
/* stack.c -- stacks in the trace, and the stack tracer: the deepest stack seen, frame by frame. */
#include "fathom/inside/event.h"
#include "fathom/inside/unwind.h"
#include "functions/sites.h"
#include "functions/tracers.h"
#include "wire/format.h"

#define STACK_HEAD offsetof(struct fathom_rec_stack, caller)

/* The stack of the deepest call seen. Written under the lock by whoever found it, copied out under it in task context. */
static struct fathom_stack_seen deepest;
static uint32_t deepest_lock;
static uint8_t deepest_on;

/*
 * The frames are counted first and then written into the ring where they belong: no array on a stack that may be 4 KiB,
 * and no memcpy. The frame pointers do not change in between, since they are our callers'.
 */
void fathom_stack_record(struct fathom_ring *ring, uintptr_t ip, uintptr_t parent_ip, uintptr_t fp,
			 uint32_t context)
{
	uint32_t head = (ip != 0) + (parent_ip != 0), n = head;
	struct fathom_unwind u;
	struct fathom_slot slot;
	struct fathom_rec_stack *to;

	fathom_unwind_kernel(&u, fp);
	while (n < FATHOM_STACK_FRAMES && fathom_unwind_next(&u, 0))
		n++;
	to = ring ? fathom_ring_reserve(ring, (uint32_t)(STACK_HEAD + n * sizeof(uintptr_t)), &slot)
		  : 0;
	if (to) {
		fathom_put64(to, fathom_common_word(WIRE_ID_KERNEL_STACK, context));
		fathom_put_word(&to->size,
				n); /* and the padding in front of caller[], if there is any */
		if (ip)
			to->caller[0] = ip;
		if (parent_ip)
			to->caller[head - 1] = parent_ip;
		fathom_unwind_kernel(&u, fp);
		for (uint32_t i = head; i < n; i++)
			to->caller[i] = fathom_unwind_next(&u, 0);
		fathom_ring_commit(ring, &slot);
	}
}

/* The library's own frames lie below it. */
uintptr_t fathom_stack_event_frame(uintptr_t fp)
{
	struct fathom_unwind u;

	fathom_unwind_kernel(&u, fp);
	for (int i = 0; i < 8 && u.fp && fathom_core.config.symbol; i++) {
		uintptr_t offset, size, ret = fathom_unwind_next(&u, 0);
		const char *name = ret ? fathom_core.config.symbol(ret, &offset, &size) : 0;

		if (name && fathom_name_is_own(name))
			fp = u.fp; /* static functions of the library lie below such a one */
	}
	return fp;
}

/* The port names the frames, with functions that may be traced: they are not part of what happened here. */
static void stack_event_record(struct fathom_ring *ring, uintptr_t fp, uint32_t context)
{
	struct fathom_task *task = fathom_port_task_state();
	uint32_t outer = 0;
	int guarded = task && !fathom_guard_is_held(task, context);

	if (guarded)
		outer = fathom_guard_enter(task, context);
	fathom_stack_record(ring, 0, 0, fathom_stack_event_frame(fp), context);
	if (guarded)
		fathom_guard_leave(task, outer);
}

void fathom_stack_event_in(struct fathom_ring *ring, uint32_t context)
{
	stack_event_record(ring, (uintptr_t)__builtin_frame_address(0), context);
}

/* fathom_gate.stack */
void fathom_stack_event(uint32_t context)
{
	stack_event_record(fathom_tracer_ring(), (uintptr_t)__builtin_frame_address(0), context);
}

/* ---- the deepest stack ---- */

static void deepest_note(uintptr_t ip, uintptr_t *slot, uintptr_t fp, uintptr_t hi)
{
	struct fathom_unwind u;
	uintptr_t at = 0, ret;
	uint32_t n = 2;

	deepest.ip[0] = ip + fathom_arch_site_bytes();
	deepest.at[0] = (uintptr_t)(slot - 1);
	deepest.ip[1] = fathom_return_address((uintptr_t)slot, *slot);
	deepest.at[1] = (uintptr_t)slot;
	fathom_unwind_kernel(&u, fp);
	while (n < FATHOM_STACK_SEEN_MAX && (ret = fathom_unwind_next(&u, &at)) != 0) {
		deepest.at[n] = at;
		deepest.ip[n++] = ret;
	}
	deepest.nr = n;
	deepest.top = hi;
}

/* Asked at each call while the stack tracer is on. Context: any; nested and concurrent finders leave it to the first. */
void fathom_stack_check(uintptr_t ip, uintptr_t *slot, uintptr_t fp, uint32_t context)
{
	uintptr_t lo, hi;
	uint64_t used;

	if (!fathom_stack_known((uintptr_t)slot, &lo, &hi) || hi < (uintptr_t)slot)
		return; /* an interrupt's, or the kernel is between two tasks */
	used = hi - (uintptr_t)(slot - 1);
	if (used <= fathom_load(&deepest.bytes) || context & WIRE_FLAG_NMI)
		return;
	if (__atomic_exchange_n(&deepest_lock, 1, __ATOMIC_ACQUIRE))
		return;
	if (used > deepest.bytes) {
		deepest_note(ip, slot, fp, hi);
		fathom_store(&deepest.bytes, used);
	}
	__atomic_store_n(&deepest_lock, 0, __ATOMIC_RELEASE);
}

int fathom_stack_tracer_set(int on)
{
	int err = on ? fathom_functions_check() : 0;

	if (err)
		return err;
	deepest_on = on != 0;
	return fathom_tracer_refresh();
}

int fathom_stack_tracer_is_on(void)
{
	return deepest_on;
}

uint64_t fathom_stack_max(void)
{
	return fathom_load(&deepest.bytes);
}

void fathom_stack_max_set(uint64_t bytes)
{
	fathom_store(&deepest.bytes, bytes);
}

/* Who finds a deeper one meanwhile leaves it. Context: task. */
void fathom_stack_copy(struct fathom_stack_seen *out)
{
	while (__atomic_exchange_n(&deepest_lock, 1, __ATOMIC_ACQUIRE))
		;
	out->bytes = deepest.bytes;
	out->top = deepest.top;
	out->nr = deepest.nr;
	for (uint32_t i = 0; i < deepest.nr; i++) {
		out->ip[i] = deepest.ip[i];
		out->at[i] = deepest.at[i];
	}
	__atomic_store_n(&deepest_lock, 0, __ATOMIC_RELEASE);
}

static void stack_line(struct fathom_text *out, const struct fathom_stack_seen *s, uint32_t i)
{
	uintptr_t end = i + 1 < s->nr ? s->at[i + 1] : s->top;

	fathom_text_printf(out, "%3u) %8lu   %5lu   %pS\n", i, (unsigned long)(s->top - s->at[i]),
			   (unsigned long)(end - s->at[i]), (void *)s->ip[i]);
}

void fathom_stack_text(struct fathom_text *out, const struct fathom_stack_seen *s)
{
	fathom_text_printf(out,
			   "        Depth    Size   Location    (%u entries)\n"
			   "        -----    ----   --------\n",
			   s->nr);
	if (!s->bytes && !deepest_on) {
		fathom_text_str(out,
				"#\n#  Stack tracer disabled\n#\n"
				"# To enable the stack tracer, either add 'stacktrace' to the\n"
				"# kernel command line\n"
				"# or 'echo 1 > /proc/sys/kernel/stack_tracer_enabled'\n#\n");
		return;
	}
	for (uint32_t i = 0; i < s->nr; i++)
		stack_line(out, s, i);
}
