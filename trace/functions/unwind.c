/* SPDX-License-Identifier: MIT */
/* unwind.c -- frame-pointer unwinding, bounded and safe on garbage. */
#include "fathom/port_default.h"
#include "fathom/inside/unwind.h"
#include "functions/tracers.h"

/*
 * A frame is two words: the caller's frame pointer and the return address (x86_64, aarch64 at fp; riscv64 right below
 * fp). A frame is believed if it is aligned, lies within the stack, and above the one before it. So a walk over
 * garbage ends, and reads nothing but the stack.
 */
#if defined(__riscv)
#define FRAME_OFFSET (2 * sizeof(uintptr_t))
#else
#define FRAME_OFFSET 0
#endif
#define FRAME_BYTES (2 * sizeof(uintptr_t))

int fathom_stack_known(uintptr_t at, uintptr_t *lo, uintptr_t *hi)
{
	*lo = *hi = 0;
#ifdef fathom_port_stack
	fathom_port_stack(at, lo, hi);
#else
	(void)at;
#endif
	return *hi != 0;
}

/*
 * The stack that `at` is on, [*lo, *hi). In code without frame pointers `at` is anything, so what the port does not know
 * counts only if it is on the page that we stand on ourselves: that one is surely there.
 */
static void unwind_bounds(uintptr_t at, uintptr_t *lo, uintptr_t *hi)
{
	if (!fathom_stack_known(at, lo, hi) &&
	    (at ^ (uintptr_t)__builtin_frame_address(0)) < 4096) {
		*lo = at;
		*hi = (at | 4095) + 1;
	}
}

void fathom_unwind_kernel(struct fathom_unwind *u, uintptr_t fp)
{
	u->fp = fp;
	u->read = 0;
	u->fix = fathom_return_address;
	unwind_bounds(fp - FRAME_OFFSET, &u->lo, &u->hi);
}

void fathom_unwind_user(struct fathom_unwind *u, uintptr_t fp, uintptr_t lo, uintptr_t hi,
			int (*read)(uintptr_t at, uintptr_t out[2]))
{
	u->fp = fp;
	u->lo = lo;
	u->hi = hi;
	u->read = read;
	u->fix = 0;
}

uintptr_t fathom_unwind_next(struct fathom_unwind *u, uintptr_t *slot)
{
	uintptr_t frame = u->fp - FRAME_OFFSET, word[2], ret;

	if (!u->fp || frame > u->fp || frame % sizeof(uintptr_t) || frame < u->lo ||
	    frame >= u->hi || u->hi - frame < FRAME_BYTES)
		return u->fp = 0;
	if (!u->read) {
		word[0] = ((const volatile uintptr_t *)frame)[0];
		word[1] = ((const volatile uintptr_t *)frame)[1];
	} else if (u->read(frame, word)) {
		return u->fp = 0;
	}
	ret = word[1];
	if (slot)
		*slot = frame + sizeof(uintptr_t);
	if (u->fix)
		ret = u->fix(frame + sizeof(uintptr_t), ret);
	u->lo = frame + FRAME_BYTES;
	u->fp = ret ? word[0] : 0;
	return ret;
}

uint32_t fathom_unwind(uintptr_t fp, uintptr_t *out, uint32_t max)
{
	struct fathom_unwind u;
	uint32_t n = 0;

	fathom_unwind_kernel(&u, fp);
	while (n < max) {
		uintptr_t ret = fathom_unwind_next(&u, 0);

		if (!ret)
			break;
		out[n++] = ret;
	}
	return n;
}
