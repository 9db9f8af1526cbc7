/* SPDX-License-Identifier: MIT */
/* snapshot.h -- a second ring per CPU that is exchanged with the live one to keep a moment. */
#ifndef FATHOM_SNAPSHOT_H
#define FATHOM_SNAPSHOT_H

#include <stdint.h>

struct fathom_ring;

#define FATHOM_SNAPSHOT_ALL UINT32_MAX

/*
 * Spare rings as large as the live ones are now, from what fathom_init() left of its memory, or smaller if that is less.
 * 0 (also if they are there), -ENOMEM. Context: task, serialised by the caller.
 */
int fathom_snapshot_alloc(void);
/* Forget the contents and refuse to take more; the memory is kept for the next alloc. */
void fathom_snapshot_free(void);
int fathom_snapshot_is_allocated(void);

/*
 * Exchange the live ring of one CPU, or of all, with the spare; what the spare held is gone. Any context, no writer
 * stops. 0, -EINVAL (no such CPU), -ENODEV (not allocated), -EBUSY (another CPU is taking one right now).
 */
int fathom_snapshot_take(uint32_t cpu);
void fathom_snapshot_clear(void);

/* The spare, for readers: NULL if there is none. */
struct fathom_ring *fathom_snapshot_ring(uint32_t cpu);

/* The memory goes back with all the rest; fathom_exit() calls it. */
void fathom_snapshot_exit(void);

#endif
