/* SPDX-License-Identifier: MIT */
/* gdb.h -- a target's memory through GDB's remote serial protocol: QEMU's stub, OpenOCD, a kernel's own on a serial line. */
#ifndef CAPTURE_GDB_H
#define CAPTURE_GDB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GDB_TARGET "gdb:"

/* How long the target was halted, in microseconds. */
struct gdb_stops {
	uint64_t nr, total, longest;
};

/*
 * GDB_TARGET, then HOST:PORT, or what fathom mount takes: unix:PATH, tcp:HOST:PORT, a serial device. The target is halted then, as stubs do
 * for every client. NULL with a message.
 */
struct gdb *gdb_open(const char *target);
struct gdb *gdb_attach(int fd, const char *target); /* over a line that is open already; takes it */
/* Lets the target run and leaves it. */
struct gdb_stops gdb_close(struct gdb *g);
/* Why the line is dead; NULL: it is not. Every call fails then. */
const char *gdb_dead(const struct gdb *g);

/* Calls return 0 or a negative errno. A target that runs is halted, and its memory can be read until it runs again. */
int gdb_halt(struct gdb *g);
int gdb_run(struct gdb *g);
/* While it runs. 1: it was halted, not by us, and `signal` says by which signal; 0: the time passed, or a signal came to this program. */
int gdb_wait(struct gdb *g, int ms, unsigned *signal);
/* -EFAULT: there is no memory. */
int gdb_read(struct gdb *g, uint64_t at, void *to, size_t n);
/* From here on addresses are physical, or not. -ENOSYS: the stub does not know them (QEMU's does). */
int gdb_physical(struct gdb *g, bool on);
/* Calls `each` for every range of RAM that the stub reports, if it reports any. */
int gdb_ram(struct gdb *g, int (*each)(void *arg, uint64_t at, uint64_t bytes), void *arg);

#endif
