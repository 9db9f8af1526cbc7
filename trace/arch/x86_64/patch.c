/* SPDX-License-Identifier: MIT */
/* patch.c -- x86_64: instructions are rewritten under running CPUs, breakpoint first, then tail, then head. */
#include "wire/cold.h"
#include "arch/text.h"
#include "fathom/trace.h"

/*
 * The architecture allows a CPU to run bytes that another one changes only if the first byte changes by a single-byte
 * store to or from int3. So, for each site of a set:
 *
 *	old      0f 1f 44 00 00      nopl
 *	step 1   cc 1f 44 00 00      a CPU that comes by traps; the handler lets it go on behind the site
 *	  sync
 *	step 2   cc 12 34 56 78      nobody runs the tail now
 *	  sync
 *	step 3   e8 12 34 56 78      call
 *	  sync                       no CPU still sees int3 once this returns
 *	step 4   e8 once more        for machines that translate code: QEMU may have read the old bytes before
 *	                             step 3 and filed its translation after it; this store throws it away
 *	  sync                       for ports that keep text writable from one to the next
 *
 * P1. While a site holds int3 it is in `flight`, and `flight` is published before the first int3 is written.
 * P2. A handler that runs after step 3 (its CPU trapped before) finds no int3 at the site and runs it again.
 * P3. A site never holds half of an old and half of a new instruction behind a first byte other than int3.
 */

#define INT3	 0xcc
#define JMP_REL8 0xeb

static int patch_broken; /* text could not be written half-way: see patch_live() */

/* Written by the one patcher, read by breakpoint handlers; `seq` is odd while it changes. */
static struct {
	uint32_t seq;
	struct fathom_patch_set set;
} flight;

static void flight_publish(const struct fathom_patch_set *set)
{
	/* Pairs with the acquire loads in flight_find(). */
	__atomic_store_n(&flight.seq, flight.seq + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	if (set)
		flight.set = *set;
	else
		flight.set.nr = 0;
	__atomic_store_n(&flight.seq, flight.seq + 1, __ATOMIC_RELEASE);
}

void fathom_arch_patch_init(const struct fathom_config *config)
{
	fathom_text_port_set(config);
	patch_broken = 0;
	flight_publish(0);
}

/* Bytes of the site at `at` if the set holds it, else 0. */
static size_t patch_set_find(const struct fathom_patch_set *set, uintptr_t at)
{
	uint32_t lo = 0, hi = set->nr;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		size_t bytes;
		uintptr_t here = set->at(set->arg, mid, &bytes);

		if (here == at)
			return bytes;
		if (here < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return 0;
}

static size_t flight_find(uintptr_t at)
{
	for (int tries = 0; tries < 1000; tries++) {
		struct fathom_patch_set set;
		uint32_t seq = __atomic_load_n(&flight.seq, __ATOMIC_ACQUIRE);

		set = flight.set;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(seq & 1) && seq == __atomic_load_n(&flight.seq, __ATOMIC_RELAXED))
			return patch_set_find(&set, at);
	}
	return 0;
}

int fathom_arch_breakpoint(uintptr_t *ip)
{
	uintptr_t at = *ip - 1;

	for (int tries = 0; tries < 2; tries++) {
		size_t bytes = flight_find(at);

		if (bytes) {
			*ip = at + bytes;
			return 1;
		}
		if (*(const volatile uint8_t *)at != INT3) {
			*ip = at;
			return 1;
		}
	}
	return 0;
}

enum patch_step {
	STEP_BREAK,
	STEP_TAIL,
	STEP_HEAD,
	STEP_WHOLE
};

/*
 * Without breakpoints: no other CPU runs now, but interrupts of this one do, and NMIs everywhere. A short jump over the rest
 * goes first, by one store, and the head last: whoever comes by in between runs a NOP.
 */
static int patch_whole(uintptr_t at, const uint8_t *code, size_t bytes)
{
	const uint8_t over[2] = {JMP_REL8, (uint8_t)(bytes - 2)};
	int err;

	if (bytes <= 2)
		return fathom_text_write(at, code, bytes);
	err = fathom_text_write(at, over, 2);
	if (!err)
		err = fathom_text_write(at + 2, code + 2, bytes - 2);
	return err ? err : fathom_text_write(at, code, 2);
}

static int patch_site(enum patch_step step, uintptr_t at, const uint8_t *code, size_t bytes)
{
	static const uint8_t int3 = INT3;

	switch (step) {
	case STEP_BREAK: return fathom_text_write(at, &int3, 1);
	case STEP_TAIL: return bytes > 1 ? fathom_text_write(at + 1, code + 1, bytes - 1) : 0;
	case STEP_HEAD: return fathom_text_write(at, code, 1);
	default: return patch_whole(at, code, bytes);
	}
}

/* One step over sites [0, nr); on an error `*nr` says how far it came. */
static int patch_step(const struct fathom_patch_set *set, enum patch_step step, uint32_t *nr)
{
	int changed = 0;

	for (uint32_t i = 0; i < *nr; i++) {
		uint8_t code[FATHOM_PATCH_BYTES_MAX];
		size_t room, bytes = set->code(set->arg, i, code);
		uintptr_t at = set->at(set->arg, i, &room);
		int err;

		if (!bytes)
			continue;
		err = bytes == room ? patch_site(step, at, code, bytes) : -FATHOM_EINVAL;
		if (err) {
			*nr = i;
			return err;
		}
		changed++;
	}
	return changed;
}

struct patch_job {
	const struct fathom_patch_set *set;
	int result;
};

static void patch_stopped(void *arg)
{
	struct patch_job *job = arg;
	uint32_t nr = job->set->nr;

	job->result = patch_step(job->set, STEP_WHOLE, &nr);
}

/*
 * If a breakpoint cannot be written the sites before it are finished and the rest stays as it was. If text turns
 * read-only between the steps, the sites that hold int3 stay in flight (they act as NOPs) and nothing is patched again.
 */
static int patch_live(const struct fathom_patch_set *set)
{
	uint32_t nr = set->nr;
	int result, begun;

	if (patch_broken)
		return -FATHOM_EIO;
	flight_publish(set);
	begun = patch_step(set, STEP_BREAK, &nr);
	if (!begun) { /* nothing was written, so nobody need look again */
		flight_publish(0);
		return 0;
	}
	fathom_text_port.sync();
	for (int step = STEP_TAIL; step <= STEP_HEAD; step++) {
		result = patch_step(set, step, &nr);
		fathom_text_port.sync();
		if (result < 0) {
			patch_broken = 1;
			return result;
		}
	}
	patch_step(set, STEP_HEAD, &nr);
	fathom_text_port.sync();
	flight_publish(0);
	return begun;
}

int fathom_arch_patch_many(const struct fathom_patch_set *set)
{
	struct patch_job job = {set, 0};

	if (!fathom_arch_can_patch())
		return -FATHOM_ENOSYS;
	if (fathom_text_port.sync)
		return patch_live(set);
	if (fathom_text_port.stop)
		fathom_text_port.stop(patch_stopped, &job);
	else
		patch_stopped(&job);
	return job.result;
}
