/* SPDX-License-Identifier: MIT */
/* local.h -- read-modify-write that one CPU's nested contexts may race on (riscv64: relaxed lr/sc and amoadd). */
#ifndef FATHOM_ARCH_LOCAL_H
#define FATHOM_ARCH_LOCAL_H

/*
 * The generic forms of fathom/local.h are right here: a trap return breaks an lr reservation, relaxed ones carry no
 * fence. Misaligned stores may trap to M-mode, so payloads align to 8: Linux does the same on such machines, by
 * always using the sized form of the record header.
 */
#define FATHOM_RING_ALIGN 8

#endif
