/* SPDX-License-Identifier: MIT */
/* unwind.h -- who called: frame-pointer unwinding of kernel and user stacks, bounded and safe on garbage. */
#ifndef FATHOM_UNWIND_H
#define FATHOM_UNWIND_H

#include <stddef.h>
#include <stdint.h>

/* One walk. lo <= a frame < hi is what may be read; every step goes up, so a walk ends after (hi - lo) / 16 steps. */
struct fathom_unwind {
	uintptr_t fp; /* of the frame to look at next; 0: done */
	uintptr_t lo;
	uintptr_t hi;
	/*
	 * Reads two words (saved frame pointer, return address) at `at`; 0 or -EFAULT. NULL: plain loads, for memory that
	 * is known to be there.
	 */
	int (*read)(uintptr_t at, uintptr_t out[2]);
	/* sees through hijacked returns; NULL: none */
	uintptr_t (*fix)(uintptr_t slot, uintptr_t ret);
};

/* From frame pointer `fp` on the running kernel stack. */
void fathom_unwind_kernel(struct fathom_unwind *u, uintptr_t fp);
/* From frame pointer `fp` on the stack [lo, hi) of user space (or of any task that does not run), through `read`. */
void fathom_unwind_user(struct fathom_unwind *u, uintptr_t fp, uintptr_t lo, uintptr_t hi,
			int (*read)(uintptr_t at, uintptr_t out[2]));
/* The next return address, or 0 at the end or where the chain stops making sense. `*slot`, if given: where it lies. */
uintptr_t fathom_unwind_next(struct fathom_unwind *u, uintptr_t *slot);

/* All at once: at most `max` return addresses into `out`; how many. Any context. */
uint32_t fathom_unwind(uintptr_t fp, uintptr_t *out, uint32_t max);

#endif
