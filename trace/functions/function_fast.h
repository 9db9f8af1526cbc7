/* SPDX-License-Identifier: MIT */
/* function_fast.h -- the fast half of the function tracer: a call when all is as it nearly always is. */
#ifndef FUNCTIONS_FUNCTION_FAST_H
#define FUNCTIONS_FUNCTION_FAST_H

#include "fathom/inside/emit.h"
#include "functions/tracers.h"

#define FUNCTION_BYTES (8 + 2 * (uint32_t)sizeof(uintptr_t)) /* common, ip, parent_ip */

/* hot.h finds them where they are at the time: no register is needed to keep them. */
#ifndef CALL_IP
#define CALL_IP(ip)	    (ip)
#define CALL_PARENT(parent) (parent)
#endif

/* Whatever the fast entry could not do. The caller is pinned, and no more when it returns. */
void fathom_function_rest(uintptr_t ip, uintptr_t parent_ip, uintptr_t pin);

/* Where a record was made and is left to close: fathom_ring_close() wants it. */
struct function_open {
	struct fathom_ring *ring;
	unsigned long end;
	uint64_t time;
};

/* It calls nothing, so it needs no guard and no frame. 0: nothing was done. The caller is pinned. */
static inline __attribute__((always_inline)) int function_try(struct function_open *o, uintptr_t ip,
							      uintptr_t parent_ip, uintptr_t pin)
{
	const struct fathom_task *task = fathom_port_task_state();
	struct fathom_rec_function *to;
	unsigned long at;

	if (fathom_unlikely(!task || task->busy))
		return 0;
	o->ring = fathom_ring_quick();
	to = fathom_ring_try(o->ring, FUNCTION_BYTES, &at, &o->time);
	if (fathom_unlikely(!to))
		return 0;
	fathom_put_common(to, WIRE_ID_FUNCTION, fathom_port_context(pin));
	to->ip = CALL_IP(ip);
	to->parent_ip = CALL_PARENT(parent_ip);
	o->end = fathom_ring_end(at, fathom_ring_words(FUNCTION_BYTES));
	return 1;
}

#endif
