/* SPDX-License-Identifier: MIT */
/* patch.h -- rewriting kernel text while other CPUs run it. */
#ifndef FATHOM_PATCH_H
#define FATHOM_PATCH_H

#include <stddef.h>
#include <stdint.h>

struct fathom_config;

#define FATHOM_PATCH_BYTES_MAX 16 /* the longest: what stands in front of a function on x86_64 */

/*
 * A set of sites to rewrite at once. `at` gives the address of site i and how many bytes it has; addresses ascend with
 * i. `code` fills in what site i shall become and returns its length, or 0 to leave the site as it is; it must answer
 * the same each time it is asked within one call. Both and `arg` must live for ever: a CPU that ran into a breakpoint
 * may ask `at` once more after fathom_arch_patch_many() has returned.
 */
struct fathom_patch_set {
	uint32_t nr;
	uintptr_t (*at)(const void *arg, uint32_t i, size_t *bytes);
	size_t (*code)(const void *arg, uint32_t i, uint8_t out[FATHOM_PATCH_BYTES_MAX]);
	const void *arg;
};

/* Take text_map, text_unmap, sync and stop_cpus from the config. Called by fathom_init(). Context: init. */
void fathom_arch_patch_init(const struct fathom_config *config);

/*
 * Rewrite `bytes` of text at `at`: one instruction becomes one instruction. Live where the port gives config.sync,
 * else under config.stop_cpus, else in place (one CPU). Context: task, with the lock.
 * 0, -ENOSYS (no config.text_map), -EINVAL (length; aarch64 and riscv64: anything but an aligned word), -EFAULT (the port
 * cannot map it): then the site is as it was.
 */
int fathom_arch_patch(void *at, const void *code, size_t bytes);

/*
 * The same for a set, with three syncs in all. Number of sites rewritten, or an error as above: then the sites before
 * the one that failed are rewritten, the others as they were. -EIO: an earlier call failed between its steps.
 */
int fathom_arch_patch_many(const struct fathom_patch_set *set);

/* Whether text can be written at all. */
int fathom_arch_can_patch(void);

#endif
