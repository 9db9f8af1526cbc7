/* SPDX-License-Identifier: MIT */
/* patch_word.c -- aarch64 and riscv64: an aligned word of text is replaced by one store. */
#include "arch/text.h"
#include "fathom/trace.h"

/*
 * Both architectures let a naturally aligned 32-bit instruction (a branch, a call, a NOP) become another one under
 * running CPUs by one store; sync then makes all CPUs fetch again (riscv64: fence.i on each). Nothing else is written:
 * a site that is longer or not aligned is refused.
 */
#define PATCH_WORD 4

void fathom_arch_patch_init(const struct fathom_config *config)
{
	fathom_text_port_set(config);
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
		int err = -FATHOM_EINVAL;

		if (!bytes)
			continue;
		if (bytes == PATCH_WORD && room == PATCH_WORD && !(at % PATCH_WORD))
			err = fathom_text_write(at, code, bytes);
		if (err) {
			job->result = err;
			return;
		}
		job->result++;
	}
}

int fathom_arch_patch_many(const struct fathom_patch_set *set)
{
	struct patch_job job = {set, 0};

	if (!fathom_arch_can_patch())
		return -FATHOM_ENOSYS;
	if (fathom_text_port.stop && !fathom_text_port.sync)
		fathom_text_port.stop(patch_all, &job);
	else
		patch_all(&job);
	if (fathom_text_port.sync)
		fathom_text_port.sync();
	return job.result;
}
