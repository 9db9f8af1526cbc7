/* SPDX-License-Identifier: MIT */
/* save.h -- the rings as a trace.dat, written by the target itself, and what a reader of its memory needs. */
#ifndef FATHOM_SAVE_H
#define FATHOM_SAVE_H

#include <stddef.h>
#include <stdint.h>

struct wire_beacon;

struct fathom_save {
	/* Put `n` bytes at offset `at` of the file; 0 or a negative errno, which ends the saving. Required. */
	int (*write_at)(void *arg, uint64_t at, const void *bytes, size_t n);
	void *arg;
	/*
	 * Entry `index` of a list, 1, or 0 behind its end; asked twice over, so it must answer the same. NULL: none.
	 * symbol: an address and its name (kallsyms); task: a pid and its name (saved_cmdlines).
	 */
	int (*symbol)(uint32_t index, uintptr_t *at, const char **name);
	int (*task)(uint32_t index, int32_t *pid, const char **name);
	/* The kernel is dead, and who holds the lock may never release it: do without. */
	uint8_t dying;
	/* fathom_tracer_stats().shadow_full, if the tracers are linked: the file carries it as a loss. */
	uint64_t calls_lost;
	/* A moment of the trace's clock, in its ticks, and what another clock said then: the file's times are that clock's.
	 * 0: they are the trace's own. */
	uint64_t moment_ticks, moment_ns;
};

/*
 * Writes what the rings hold and takes it out of them. Uses the memory of fathom_dump(), so not while one runs. Stop
 * recording before, or the file ends where a ring happened to be empty.
 * 0, what write_at returned, -E2BIG (a format longer than FATHOM_DUMP_BYTES), -ENOSYS (that is 0). Context: task, and any in which
 * write_at may be called if nobody can hold the lock.
 */
int fathom_save(const struct fathom_save *save);

/*
 * Write the beacon (wire/beacon.h) and the events' formats into what is left of the memory given to fathom_init(): a page,
 * and about one KiB per event. `alone`: for memory that is kept without the rest of the program, a file that is mapped: the
 * heads of the rings move into it, so call it before the first event; after a snapshot it describes the rings before it. 0,
 * -EINVAL (not initialised), -ENOMEM. Context: task, after fathom_init().
 */
int fathom_beacon(int alone);
/* Where it lies, for a debugger that has the kernel's symbols: fathom record --target gdb:HOST:PORT. NULL: nowhere yet. */
extern const struct wire_beacon *fathom_beacon_at;

#endif
