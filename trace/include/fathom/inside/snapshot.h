/* SPDX-License-Identifier: MIT */
/* snapshot.h -- a second ring per CPU that is exchanged with the live one to keep a moment. */
#ifndef FATHOM_SNAPSHOT_H
#define FATHOM_SNAPSHOT_H

#include <stdint.h>

struct fathom_ring;

#define FATHOM_SNAPSHOT_ALL UINT32_MAX

/*
 * Spare rings as large as the live ones can be, from what fathom_init() left of its memory, or smaller if that is less.
 * 0 (also if they are there), -ENOMEM. Context: task, with the lock.
 */
int fathom_snapshot_alloc(void);
/* Forget the contents and refuse to take more; the memory is kept for the next alloc. */
void fathom_snapshot_free(void);
int fathom_snapshot_is_allocated(void);

/*
 * Who may exchange rings, one word per set of rings. An exchange is also a reader of the spare, so it must not meet
 * another one: contexts that cannot wait try, the control stage, which reads, holds it as long as it has its lock.
 */
enum fathom_swap_state {
	FATHOM_SWAP_FREE,
	FATHOM_SWAP_BUSY, /* another context exchanges: it is done in a moment, and serves both */
	FATHOM_SWAP_HELD,
};
int fathom_swap_try(uint32_t *state); /* any context: 0, -EBUSY or, if it is held, -EAGAIN */
void fathom_swap_hold(uint32_t *state);
void fathom_swap_release(uint32_t *state);

/*
 * Exchange the live ring of one CPU, or of all, with the spare; what the spare held is gone. Any context, no writer
 * stops. 0, -EINVAL (no such CPU), -ENODEV (not allocated), -EBUSY (another CPU is taking one right now), -EAGAIN (it
 * is held by fathom_snapshot_hold()).
 */
int fathom_snapshot_take(uint32_t cpu);
int fathom_snapshot_take_alone(uint32_t cpu); /* of this CPU; the others' spares are emptied */
int fathom_snapshot_take_held(uint32_t cpu);  /* for the holder */
void fathom_snapshot_clear(void);	      /* for the holder, or where nobody takes any */

/* Keep snapshots from being taken while rings are read or changed. Context: task. Does not nest. */
void fathom_snapshot_hold(void);
void fathom_snapshot_release(void);

/* The spare, for readers: NULL if there is none. */
struct fathom_ring *fathom_snapshot_ring(uint32_t cpu);

/* The memory goes back with all the rest; fathom_exit() calls it. */
void fathom_snapshot_exit(void);

#endif
