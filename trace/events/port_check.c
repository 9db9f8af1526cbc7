/* SPDX-License-Identifier: MIT */
/* port_check.c -- tests the port's contract (port_default.h, struct fathom_config) from inside, and names what it breaks. */
#include "wire/cold.h"
#include "arch/arch.h"
#include "events/lock.h"
#include "fathom/inside/emit.h"
#include "functions/tracers.h"
#include "wire/record.h"
#include "wire/text.h"

#define CHECK_READS  1000u  /* of the clock, in a row */
#define CHECK_STILL  100000 /* reads after which a clock that shows the same time stands still */
#define CHECK_NAME   64
#define CHECK_CANARY 0x5a
#define CHECK_MS     20	     /* for which task switches are watched ... */
#define CHECK_LOOKS  2000000 /* ... or so many reads of a clock that does not go on */

struct port_check {
	fathom_write_fn write;
	void *arg;
	int broken;
};

static void check_says(struct port_check *c, const char *what, const char *why)
{
	char line[256];
	struct fathom_text t;

	fathom_text_init(&t, line, sizeof(line));
	fathom_text_str(&t, what);
	fathom_text_str(&t, ": ");
	fathom_text_str(&t, why);
	fathom_text_char(&t, '\n');
	if (c->write)
		c->write(c->arg, line, t.len);
	c->broken++;
}

static void check_cpu(struct port_check *c)
{
	if (fathom_port_cpu() >= fathom_core.nr_cpus)
		check_says(c, "fathom_port_cpu",
			   "not below config.nr_cpus: events of this CPU are refused");
}

/* core.c reads the clock by fathom_now(): a clock that each file has for itself shows another time there. */
static void check_clock(struct port_check *c)
{
	uint64_t first = fathom_port_clock(), last = first, now;
	uint32_t back = 0, apart = 0, still;

	for (uint32_t i = 0; i < CHECK_READS; i++) {
		now = fathom_port_clock();
		back += now < last;
		last = now;
	}
	for (uint32_t i = 0; i < CHECK_READS; i++) {
		now = fathom_now();
		apart += now < last;
		last = fathom_port_clock();
		apart += last < now;
	}
	for (still = 0; still < CHECK_STILL && fathom_port_clock() == last; still++)
		;
	if (back)
		check_says(c, "fathom_port_clock", "goes back on one CPU");
	else if (apart)
		check_says(c, "fathom_port_clock",
			   "differs from file to file: a static variable in fathom_port.h?");
	if (still == CHECK_STILL)
		check_says(c, "fathom_port_clock", "stands still");
}

/* Pinned for a while: whoever is preempted meanwhile may go on elsewhere, or find that another task ran. */
static void check_pin(struct port_check *c)
{
	uintptr_t pin = fathom_port_pin(), inner;
	uint32_t cpu = fathom_port_cpu(), context = fathom_port_context(pin), after;
	int32_t task = fathom_port_task();
	int moved = 0, other = 0;

	for (uint32_t i = 0; i < CHECK_STILL; i++) {
		moved |= fathom_port_cpu() != cpu;
		other |= fathom_port_task() != task;
	}
	inner = fathom_port_pin();
	fathom_port_unpin(inner);
	after = fathom_port_context(pin);
	fathom_port_unpin(pin);
	if (moved)
		check_says(c, "fathom_port_pin", "the CPU changes while it is pinned");
	if (other)
		check_says(c, "fathom_port_pin", "the task changes while it is pinned");
	if ((context ^ after) & ~(uint32_t)WIRE_FLAG_NEED_RESCHED)
		check_says(c, "fathom_port_unpin", "a pin inside another is not undone");
	if (context & WIRE_FLAG_IRQS_OFF)
		check_says(c, "fathom_port_context",
			   "says that interrupts are off: that is the pin's own doing, use its "
			   "argument");
	if (context >> 8 & 0xff)
		check_says(c, "fathom_port_context",
			   "says that preemption is off: the pin's own depth counts in");
	if (context & (WIRE_FLAG_HARDIRQ | WIRE_FLAG_NMI))
		check_says(c, "fathom_port_context", "says that a task is an interrupt");
	pin = fathom_port_pin();
	if ((fathom_port_context(pin) ^ context) & WIRE_FLAG_IRQS_OFF)
		check_says(c, "fathom_port_unpin", "interrupts stay off after it");
	fathom_port_unpin(pin);
}

/* One call is traced for it. */
static void check_leaf(struct port_check *c)
{
#if FATHOM_ARCH_HOT
	if (!fathom_hot_keeps())
		check_says(c, "FATHOM_PORT_LEAF",
			   "arguments of a traced function change: one of the hot hooks calls "
			   "something");
#else
	(void)c;
#endif
}

static void check_text(struct port_check *c)
{
	const struct fathom_config *config = &fathom_core.config;
	uintptr_t at = (uintptr_t)fathom_port_check & ~(uintptr_t)3;
	const volatile uint8_t *text = (const volatile uint8_t *)at, *alias;
	int same = 1;

	if (!config->text_map)
		return;
	alias = config->text_map((void *)at, 4);
	if (!alias) {
		check_says(c, "config.text_map", "refuses text of the kernel's own");
		return;
	}
	if (((uintptr_t)alias ^ at) & 3)
		check_says(c, "config.text_map", "gives an alias of another alignment");
	else
		for (int i = 0; i < 4; i++)
			same &= alias[i] == text[i];
	if (config->text_unmap)
		config->text_unmap((void *)(uintptr_t)alias, 4);
	if (!same)
		check_says(c, "config.text_map", "gives an alias that holds other text");
}

static void check_count(void *arg)
{
	uint32_t *ran = arg;

	ran[0]++;
	ran[1] = fathom_port_cpu();
}

static void check_stop(struct port_check *c)
{
	uint32_t ran[2] = {0, 0};

	if (!fathom_core.config.stop_cpus)
		return;
	fathom_core.config.stop_cpus(check_count, ran);
	if (ran[0] != 1)
		check_says(c, "config.stop_cpus", "has not run its function once when it returns");
}

static void check_sync(struct port_check *c)
{
	uint32_t missed = 0;

	if (!fathom_core.config.sync)
		return;
	for (uint32_t i = 0; i < fathom_core.nr_cpus; i++)
		fathom_store(&fathom_core.synced[i], 0);
	fathom_core.config.sync();
	for (uint32_t i = 0; i < fathom_core.nr_cpus; i++)
		missed += !fathom_load_acquire(&fathom_core.synced[i]);
	/* All of them: the port does not say FATHOM_SYNCED(). */
	if (missed && missed < fathom_core.nr_cpus)
		check_says(c, "config.sync", "returns before every CPU has synchronised");
}

static void check_names(struct port_check *c)
{
	const struct fathom_config *config = &fathom_core.config;
	uintptr_t at = (uintptr_t)fathom_port_check & ~(uintptr_t)1, offset = 0, size = 0;
	uint8_t room[CHECK_NAME];
	const char *name;
	int ends = 0;

	for (int i = 0; i < CHECK_NAME; i++)
		room[i] = CHECK_CANARY;
	if (config->task_name && config->task_name(fathom_port_task(), (char *)room) >= 0) {
		for (int i = 0; i < 16; i++)
			ends |= !room[i];
		for (int i = 16; i < CHECK_NAME; i++)
			if (room[i] != CHECK_CANARY)
				ends = 0;
		if (!ends)
			check_says(c, "config.task_name", "writes more than 15 characters and a 0");
	}
	name = config->symbol ? config->symbol(at, &offset, &size) : 0;
	if (name && config->lookup && offset < at && config->lookup(name) &&
	    config->lookup(name) != at - offset)
		check_says(c, "config.lookup", "finds another address than config.symbol names");
}

static void check_lock(struct port_check *c)
{
	if (!fathom_core.config.lock != !fathom_core.config.unlock)
		check_says(c, "config.lock", "only one of lock and unlock is given");
}

#if FATHOM_FUNCTIONS && defined(fathom_port_stack)
static struct {
	struct fathom_task
		*state; /* of the task that runs fathom_port_check(), on the stack [lo, hi) */
	uintptr_t lo, hi;
	uint32_t early;
} watched;

static void check_switch(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	if (here >= watched.lo && here < watched.hi && fathom_port_task_state() != watched.state)
		fathom_store(&watched.early, 1);
}

/* The watched task may lose the CPU meanwhile: its scheduler then says so on its stack. */
static void check_task_state(struct port_check *c)
{
	uint64_t hz = fathom_core.config.clock_hz, start = fathom_port_clock();
	uint64_t ticks = (hz ? hz : 1000000000u) / 1000 * CHECK_MS;

	watched.state = fathom_port_task_state();
	watched.early = 0;
	fathom_lock();
	fathom_store(&fathom_switch_watch, check_switch);
	fathom_want_change(FATHOM_WANT_SWITCH, 0);
	fathom_unlock();
	for (int i = 0; i < CHECK_LOOKS && fathom_port_clock() - start < ticks; i++)
		;
	fathom_lock();
	fathom_store(&fathom_switch_watch, NULL);
	fathom_want_switches();
	fathom_unlock();
	if (fathom_load(&watched.early))
		check_says(c, "fathom_port_task_state", "changes before the stack does");
}

/* 0: it is not known on which stack this runs. */
static int check_stack(struct port_check *c)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	watched.lo = watched.hi = 0;
	fathom_port_stack(here, &watched.lo, &watched.hi);
	if (!watched.hi || (here >= watched.lo && here < watched.hi))
		return watched.hi != 0;
	check_says(c, "fathom_port_stack", "names a stack that the address is not on");
	return 0;
}
#endif

#if FATHOM_DEBUG
static void check_seen(struct port_check *c)
{
	if (fathom_load(&fathom_port_seen.lock_in_irq))
		check_says(c, "fathom_lock",
			   "was taken in an interrupt: it may have interrupted its holder");
	if (fathom_load(&fathom_port_seen.flat))
		check_says(c, "fathom_port_context",
			   "is a task's for an event that interrupted another");
}

/* The checks themselves take the lock, and may do so under a context that is wrong. */
static void check_forget(void)
{
	fathom_port_seen = (struct fathom_port_seen){0, 0};
}
#else
#define check_seen(c)  ((void)0)
#define check_forget() ((void)0)
#endif

static void check_alone(struct port_check *c)
{
	check_lock(c);
	check_cpu(c);
	check_clock(c);
	check_pin(c);
	check_names(c);
	check_leaf(c);
	fathom_lock();
	check_text(c);
	fathom_unlock();
}

#if FATHOM_DEBUG
int fathom_port_check_alone(fathom_write_fn write, void *arg)
{
	struct port_check c = {write, arg, 0};

	check_alone(&c);
	check_forget();
	return c.broken;
}
#endif

int fathom_port_check(fathom_write_fn write, void *arg)
{
	struct port_check c = {write, arg, 0};

	if (!fathom_core.nr_cpus) {
		check_says(&c, "fathom_init", "has not succeeded yet");
		return c.broken;
	}
	check_seen(&c);
	check_alone(&c);
#if FATHOM_FUNCTIONS && defined(fathom_port_stack)
	if (check_stack(&c))
		check_task_state(&c);
#endif
	fathom_lock();
	check_stop(&c);
	check_sync(&c);
	fathom_unlock();
	check_forget();
	return c.broken;
}
