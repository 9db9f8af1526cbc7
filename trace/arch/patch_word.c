/* SPDX-License-Identifier: MIT */
/* patch_word.c -- aarch64 and riscv64: an aligned word of text is replaced by one store. */
#include "fathom/errno.h"
#include "fathom/patch.h"
#include "fathom/trace.h"

/*
 * Both architectures let a naturally aligned 32-bit instruction (a branch, a call, a NOP) become another one under
 * running CPUs, by one store that poke makes, with the cache maintenance it needs; sync then makes all CPUs fetch again
 * (riscv64: fence.i on each). What is longer or unaligned does not change at once: it needs config.stop_cpus.
 */
#define PATCH_WORD 4

static int (*patch_poke)(void *at, const void *code, size_t bytes);
static void (*patch_sync)(void);
static void (*patch_stop)(void (*fn)(void *), void *arg);

void fathom_arch_patch_init(const struct fathom_config *config)
{
	patch_poke = config->poke;
	patch_sync = config->sync;
	patch_stop = config->stop_cpus;
}

int fathom_arch_can_patch(void)
{
	return patch_poke != 0;
}

int fathom_arch_breakpoint(uintptr_t *ip)
{
	(void)ip; /* no breakpoint is ever written here */
	return 0;
}

struct patch_job {
	const struct fathom_patch_set *set;
	int result;
};

static void patch_all(void *arg)
{
	struct patch_job *job = arg;

	for (uint32_t i = 0; i < job->set->nr; i++) {
		uint8_t code[FATHOM_PATCH_BYTES_MAX];
		size_t room, bytes = job->set->code(job->set->arg, i, code);
		uintptr_t at = job->set->at(job->set->arg, i, &room);
		int err;

		if (!bytes)
			continue;
		err = bytes == room ? patch_poke((void *)at, code, bytes) : -FATHOM_EINVAL;
		if (err) {
			job->result = err;
			return;
		}
		job->result++;
	}
}

/* Sites longer than a word cannot change at once: those need the other CPUs to stand. */
static int patch_words_only(const struct fathom_patch_set *set)
{
	for (uint32_t i = 0; i < set->nr; i++) {
		size_t bytes;
		uintptr_t at = set->at(set->arg, i, &bytes);

		if (bytes != PATCH_WORD || at % PATCH_WORD)
			return 0;
	}
	return 1;
}

int fathom_arch_patch_many(const struct fathom_patch_set *set)
{
	struct patch_job job = {set, 0};

	if (!patch_poke)
		return -FATHOM_ENOSYS;
	if (patch_stop && !(patch_sync && patch_words_only(set)))
		patch_stop(patch_all, &job);
	else
		patch_all(&job);
	if (patch_sync)
		patch_sync();
	return job.result;
}

struct patch_one {
	uintptr_t at;
	const uint8_t *code;
	size_t bytes;
};

static uintptr_t patch_one_at(const void *arg, uint32_t i, size_t *bytes)
{
	const struct patch_one *one = arg;

	(void)i;
	*bytes = one->bytes;
	return one->at;
}

static size_t patch_one_code(const void *arg, uint32_t i, uint8_t out[FATHOM_PATCH_BYTES_MAX])
{
	const struct patch_one *one = arg;

	(void)i;
	for (size_t k = 0; k < one->bytes; k++)
		out[k] = one->code[k];
	return one->bytes;
}

int fathom_arch_patch(void *at, const void *code, size_t bytes)
{
	struct patch_one one = {(uintptr_t)at, code, bytes};
	struct fathom_patch_set set = {1, patch_one_at, patch_one_code, &one};
	int result;

	if (!bytes || bytes > FATHOM_PATCH_BYTES_MAX)
		return -FATHOM_EINVAL;
	result = fathom_arch_patch_many(&set);
	return result < 0 ? result : 0;
}
