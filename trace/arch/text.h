/* SPDX-License-Identifier: MIT */
/* text.h -- what the patchers share: the port's hooks, and writing one instruction. */
#ifndef ARCH_TEXT_H
#define ARCH_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include "fathom/inside/patch.h"

/* The members of struct fathom_config that writing text needs. */
struct text_port {
	void *(*map)(void *at, size_t bytes);
	void (*unmap)(void *alias, size_t bytes);
	void (*sync)(void);
	void (*stop)(void (*fn)(void *), void *arg);
};
extern struct text_port fathom_text_port;

void fathom_text_port_set(const struct fathom_config *config);

/*
 * Write `bytes` of text at `at`. One byte, two bytes (x86_64) and an aligned word are one store each: a CPU that fetches, or
 * an interrupt of this one, sees the old or the new. 0, or -EFAULT if the port cannot map it; nothing is written then.
 */
int fathom_text_write(uintptr_t at, const uint8_t *code, size_t bytes);

/*
 * What was written at `alias` is what this CPU fetches from `at` from now on; on aarch64 all CPUs do, once they have
 * synchronised. (arch/<a>/flush.c)
 */
void fathom_arch_text_flush(const void *alias, uintptr_t at, size_t bytes);

#endif
