/* SPDX-License-Identifier: MIT */
/* lock.c -- the one lock: around everything that reads rings, patches text or steers. */
#include "wire/cold.h"
#include "events/lock.h"
#include "fathom/trace.h"
#include "wire/record.h"

/*
 * K1. Public functions take it themselves; what they share is called with it and takes nothing. Events never wait for it.
 * K2. While it is held no snapshot is exchanged, so a reader's ring stays where it is (fathom_gate.hold).
 */
static struct {
	uint32_t word;	/* without a lock of the port's */
	uint32_t depth; /* the holder's: a port's lock may let it in again */
	uint32_t holds; /* K2 was asked for: control/ may come up while the lock is held */
} lock;

#if FATHOM_DEBUG
struct fathom_port_seen fathom_port_seen;

static void lock_see_context(void)
{
	uintptr_t pin = fathom_port_pin();
	uint32_t context = fathom_port_context(pin);

	fathom_port_unpin(pin);
	if (context & (WIRE_FLAG_HARDIRQ | WIRE_FLAG_NMI))
		fathom_store(&fathom_port_seen.lock_in_irq, 1);
}
#else
#define lock_see_context() ((void)0)
#endif

/* Before fathom_init() there is nobody else. */
void fathom_lock(void)
{
	if (!fathom_core.nr_cpus)
		return;
	lock_see_context();
	if (fathom_core.config.lock)
		fathom_core.config.lock(fathom_core.config.lock_arg);
	else
		while (__atomic_exchange_n(&lock.word, 1, __ATOMIC_ACQUIRE))
			;
	if (lock.depth++)
		return;
	lock.holds = fathom_gate.hold != 0;
	if (lock.holds)
		fathom_gate.hold();
}

void fathom_unlock(void)
{
	if (!lock.depth)
		return;
	if (lock.depth == 1 && lock.holds)
		fathom_gate.release();
	lock.depth--;
	if (fathom_core.config.unlock)
		fathom_core.config.unlock(fathom_core.config.lock_arg);
	else
		__atomic_store_n(&lock.word, 0, __ATOMIC_RELEASE);
}

#if FATHOM_DEBUG
void fathom_lock_check(const char *what)
{
	char buf[128];
	struct fathom_text t;

	if (__atomic_load_n(&lock.depth, __ATOMIC_RELAXED) || !fathom_core.nr_cpus)
		return;
	fathom_text_init(&t, buf, sizeof(buf));
	fathom_text_str(&t, "fathom: ");
	fathom_text_str(&t, what);
	fathom_text_str(&t, "() was called without fathom_lock()\n");
	if (fathom_core.config.fatal)
		fathom_core.config.fatal(fathom_text_cstr(&t));
	if (fathom_core.config.sink)
		fathom_core.config.sink(fathom_core.config.sink_arg, buf, t.len);
	__builtin_trap();
}
#endif
