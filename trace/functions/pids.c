/* SPDX-License-Identifier: MIT */
/* pids.c -- a set of tasks that forks and exits on any CPU change while events look. */
#include "functions/pids.h"
#include "fathom/inside/errno.h"
#include "fathom/inside/event.h"
#include "functions/tracers.h"

int fathom_pids_has(const struct fathom_pids *p, int32_t pid)
{
	uint32_t high = fathom_load(&p->high);

	for (uint32_t i = 0; i < high; i++)
		if (fathom_load(&p->slot[i]) == pid + 1)
			return 1;
	return 0;
}

int fathom_pids_put(struct fathom_pids *p, int32_t pid)
{
	if (fathom_pids_has(p, pid))
		return 0;
	for (uint32_t i = 0; i < FATHOM_PIDS_MAX; i++) {
		int32_t none = 0;
		uint32_t high = fathom_load(&p->high);

		if (!__atomic_compare_exchange_n(&p->slot[i], &none, pid + 1, 0, __ATOMIC_RELAXED,
						 __ATOMIC_RELAXED))
			continue;
		while (high <= i &&
		       !__atomic_compare_exchange_n(&p->high, &high, i + 1, 0, __ATOMIC_RELAXED,
						    __ATOMIC_RELAXED))
			;
		return 0;
	}
	return -FATHOM_ENOSPC;
}

void fathom_pids_take(struct fathom_pids *p, int32_t pid)
{
	for (uint32_t i = 0; i < FATHOM_PIDS_MAX; i++) {
		int32_t was = pid + 1;

		__atomic_compare_exchange_n(&p->slot[i], &was, 0, 0, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
	}
}

void fathom_pids_clear(struct fathom_pids *p)
{
	for (uint32_t i = 0; i < FATHOM_PIDS_MAX; i++)
		fathom_store(&p->slot[i], 0);
	fathom_store(&p->high, 0);
}

/* The smallest that is larger than the one before, as often as it takes. */
int32_t fathom_pids_nth(const struct fathom_pids *p, uint32_t index)
{
	int64_t last = -1;

	do {
		int64_t best = -1;

		for (uint32_t i = 0; i < FATHOM_PIDS_MAX; i++) {
			int64_t pid = (int64_t)fathom_load(&p->slot[i]) - 1;

			if (pid > last && (best < 0 || pid < best))
				best = pid;
		}
		last = best;
	} while (last >= 0 && index--);
	return (int32_t)last;
}
