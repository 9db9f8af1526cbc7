/* SPDX-License-Identifier: MIT */
/* check.c -- fathom_port_check() finds each of these wrong ports by name, and nothing wrong with a sound one. */
#include <sys/mman.h>
#include "fathom/inside/errno.h"
#include "fathom/trace.h"
#include "harness.h"
#include "hooks.h"

static uint8_t memory[1 << 20] __attribute__((aligned(4096)));
static char said[2048];
static uint64_t ticks;

static void hear(void *arg, const char *text, size_t bytes)
{
	size_t len = strlen(said);

	(void)arg;
	if (len + bytes < sizeof(said)) {
		memcpy(said + len, text, bytes);
		said[len + bytes] = 0;
	}
}

static void *map_same(void *at, size_t bytes)
{
	(void)bytes;
	return at;
}

static void stop_sound(void (*fn)(void *), void *arg)
{
	fn(arg);
}

static int name_sound(int32_t pid, char buf[16])
{
	(void)pid;
	memcpy(buf, "task", 5);
	return 0;
}

static const char *symbol_sound(uintptr_t at, uintptr_t *offset, uintptr_t *size)
{
	*offset = at & 15;
	*size = 16;
	return "there";
}

static uintptr_t lookup_sound(const char *name)
{
	(void)name;
	return (uintptr_t)fathom_port_check & ~(uintptr_t)15;
}

static void lock_none(void *arg)
{
	(void)arg;
}

static const struct fathom_config sound = {.memory = memory,
					   .memory_bytes = sizeof(memory),
					   .nr_cpus = 2,
					   .pages_per_cpu = 4,
					   .text_map = map_same,
					   .stop_cpus = stop_sound,
					   .task_name = name_sound,
					   .symbol = symbol_sound,
					   .lookup = lookup_sound};

static void (*before)(void); /* what the port does between fathom_init() and the check */

/* Lines about `what`, -1 if there are others or their number is not what was returned. */
static int broken(const struct fathom_config *config, const struct contract_hooks *hooks,
		  const char *what)
{
	int lines = 0, others = 0, n;

	said[0] = 0;
	ticks = 0;
	REQUIRE(!fathom_init(config));
	contract_hooks = *hooks;
	if (before)
		before();
	n = fathom_port_check(hear, 0);
	contract_hooks = HOOKS_SOUND;
	fathom_exit();
	for (const char *l = said; *l; l = strchr(l, '\n') + 1) {
		lines++;
		others += strncmp(l, what, strlen(what)) != 0;
	}
	if (others || lines != n)
		printf("  %d lines: %s", n, said);
	return others || lines != n ? -1 : lines;
}

static int broken_hook(const struct contract_hooks *hooks, const char *what)
{
	return broken(&sound, hooks, what);
}

TEST(check_sound)
{
	struct contract_hooks h = HOOKS_SOUND;

	CHECK_EQ(broken_hook(&h, "nothing"), 0);
}

TEST(check_before_init)
{
	said[0] = 0;
	CHECK_EQ(fathom_port_check(hear, 0), 1);
	CHECK_STR(said, "fathom_init: has not succeeded yet\n");
}

static uint32_t cpu_beyond(void)
{
	return 2;
}

/* As if the task moved in the middle of everything. */
static uint32_t cpu_moves(void)
{
	return (uint32_t)(ticks++ >> 10 & 1);
}

TEST(check_cpu)
{
	struct contract_hooks h = HOOKS_SOUND;

	h.cpu = cpu_beyond;
	CHECK_EQ(broken_hook(&h, "fathom_port_cpu"), 1);
	h.cpu = cpu_moves;
	CHECK_EQ(broken_hook(&h, "fathom_port_pin"), 1);
}

static int32_t task_changes(void)
{
	return (int32_t)(ticks++ >> 10);
}

TEST(check_preempted)
{
	struct contract_hooks h = HOOKS_SOUND;

	h.task = task_changes;
	CHECK_EQ(broken_hook(&h, "fathom_port_pin"), 1);
}

static uint64_t clock_back(const char *file)
{
	(void)file;
	return ++ticks % 100;
}

/* The static variable of a header: one in each file. */
static uint64_t clock_per_file(const char *file)
{
	static uint64_t here, elsewhere;

	return strstr(file, "port_check.c") ? ++here : ++elsewhere;
}

static uint64_t clock_still(const char *file)
{
	(void)file;
	return 12345;
}

TEST(check_clock)
{
	struct contract_hooks h = HOOKS_SOUND;

	h.clock = clock_back;
	CHECK_EQ(broken_hook(&h, "fathom_port_clock: goes back"), 1);
	h.clock = clock_per_file;
	CHECK_EQ(broken_hook(&h, "fathom_port_clock: differs from file to file"), 1);
	h.clock = clock_still;
	CHECK_EQ(broken_hook(&h, "fathom_port_clock: stands still"), 1);
}

static uint32_t context_after_pin(uintptr_t pin)
{
	(void)pin;
	return hooks_irqs_off ? 0x01 : 0;
}

static uint32_t context_counts_pin(uintptr_t pin)
{
	(void)pin;
	return hooks_irqs_off ? 0x100 : 0;
}

static uint32_t context_is_irq(uintptr_t pin)
{
	(void)pin;
	return 0x08;
}

static void unpin_forgets(uintptr_t pin)
{
	(void)pin;
}

static uint32_t context_live(uintptr_t pin)
{
	return pin ? 0x01 : 0;
}

TEST(check_context)
{
	struct contract_hooks h = HOOKS_SOUND;

	h.context = context_after_pin;
	CHECK_EQ(broken_hook(&h, "fathom_port_context: says that interrupts are off"), 1);
	h.context = context_counts_pin;
	CHECK_EQ(broken_hook(&h, "fathom_port_context: says that preemption is off"), 1);
	h.context = context_is_irq;
	CHECK_EQ(broken_hook(&h, "fathom_port_context: says that a task"), 1);
	h.context = context_live;
	h.unpin = unpin_forgets;
	CHECK_EQ(broken_hook(&h, "fathom_port_unpin: interrupts stay off"), 1);
	hooks_irqs_off = 0;
}

static uint8_t other_page[8192];

static void *map_other(void *at, size_t bytes)
{
	(void)bytes;
	return other_page + ((uintptr_t)at & 4095);
}

static void *map_shifted(void *at, size_t bytes)
{
	(void)bytes;
	return (uint8_t *)at + 1;
}

static void *map_refuses(void *at, size_t bytes)
{
	(void)at, (void)bytes;
	return 0;
}

TEST(check_text)
{
	struct contract_hooks h = HOOKS_SOUND;
	struct fathom_config config = sound;

	config.text_map = map_other;
	CHECK_EQ(broken(&config, &h, "config.text_map: gives an alias that holds other text"), 1);
	config.text_map = map_shifted;
	CHECK_EQ(broken(&config, &h, "config.text_map: gives an alias of another alignment"), 1);
	config.text_map = map_refuses;
	CHECK_EQ(broken(&config, &h, "config.text_map: refuses"), 1);
}

static void stop_later(void (*fn)(void *), void *arg)
{
	(void)fn, (void)arg;
}

static void stop_everywhere(void (*fn)(void *), void *arg)
{
	fn(arg);
	fn(arg);
}

static int name_long(int32_t pid, char buf[16])
{
	(void)pid;
	for (int i = 0; i < 24; i++)
		((volatile char *)buf)[i] = "a name that is too long"[i];
	return 0;
}

static uintptr_t lookup_wrong(const char *name)
{
	(void)name;
	return 4096;
}

TEST(check_config)
{
	struct contract_hooks h = HOOKS_SOUND;
	struct fathom_config config = sound;

	config.stop_cpus = stop_later;
	CHECK_EQ(broken(&config, &h, "config.stop_cpus"), 1);
	config.stop_cpus = stop_everywhere;
	CHECK_EQ(broken(&config, &h, "config.stop_cpus"), 1);
	config.stop_cpus = stop_sound;
	config.task_name = name_long;
	CHECK_EQ(broken(&config, &h, "config.task_name"), 1);
	config.task_name = name_sound;
	config.lookup = lookup_wrong;
	CHECK_EQ(broken(&config, &h, "config.lookup"), 1);
	config.lookup = lookup_sound;
	config.lock = lock_none;
	CHECK_EQ(broken(&config, &h, "config.lock"), 1);
}

/* Every thousandth look at the clock the scheduler takes the task away, for as long as it takes to say so. */
static struct fathom_task other_task;
static int switching;

static uint64_t clock_switches(const char *file)
{
	const struct fathom_sched_task me = {.task = &hooks_task}, other = {.task = &other_task};

	if (++ticks % 1000 == 0 && !switching) {
		switching = 1;
		fathom_task_switch(&me, &other);
		switching = 0;
	}
	return hook_clock(file);
}

static struct fathom_task *state_early(void)
{
	return switching ? &other_task : &hooks_task;
}

static void stack_other(uintptr_t at, uintptr_t *lo, uintptr_t *hi)
{
	*lo = at + 4096;
	*hi = at + 8192;
}

TEST(check_task_state)
{
	struct contract_hooks h = HOOKS_SOUND;

	h.clock = clock_switches;
	CHECK_EQ(broken_hook(&h, "nothing"), 0);
	h.task_state = state_early;
	CHECK_EQ(broken_hook(&h, "fathom_port_task_state: changes before the stack"), 1);
	h = HOOKS_SOUND;
	h.stack = stack_other;
	CHECK_EQ(broken_hook(&h, "fathom_port_stack"), 1);
}

static void sync_all(void)
{
	for (hooks_cpu = 1; hooks_cpu; hooks_cpu--)
		FATHOM_SYNCED();
	FATHOM_SYNCED();
}

static void sync_here(void)
{
	FATHOM_SYNCED();
}

static void sync_silent(void)
{
}

TEST(check_sync)
{
	struct contract_hooks h = HOOKS_SOUND;
	struct fathom_config config = sound;

	config.sync = sync_all;
	CHECK_EQ(broken(&config, &h, "nothing"), 0);
	config.sync = sync_silent;
	CHECK_EQ(broken(&config, &h, "nothing"), 0);
	config.sync = sync_here;
	CHECK_EQ(broken(&config, &h, "config.sync"), 1);
}

static uint32_t interrupt_is; /* what the context says in the interrupt below */

/* A record is open; an interrupt writes another. */
static void interrupted(void)
{
	struct fathom_slot slot;

	REQUIRE(fathom_ring_reserve(fathom_ring_of(0), 16, &slot));
	hooks_in = interrupt_is;
	trace_puts("in an interrupt\n");
	hooks_in = 0;
	fathom_ring_commit(fathom_ring_of(0), &slot);
}

static void lock_in_interrupt(void)
{
	hooks_in = 0x08;
	fathom_lock();
	fathom_unlock();
	hooks_in = 0;
}

TEST(check_interrupts)
{
	struct contract_hooks h = HOOKS_SOUND;

	before = interrupted;
	interrupt_is = 0x08;
	CHECK_EQ(broken_hook(&h, "nothing"), 0);
	interrupt_is = 0;
	CHECK_EQ(broken_hook(&h, "fathom_port_context: is a task's"), 1);
	before = lock_in_interrupt;
	CHECK_EQ(broken_hook(&h, "fathom_lock: was taken in an interrupt"), 1);
	before = NULL;
	CHECK_EQ(broken_hook(&h, "nothing"), 0);
}

static char sunk[2048];

static void sink(void *arg, const char *text, size_t bytes)
{
	(void)arg;
	strncat(sunk, text, bytes);
}

/* Debug builds look by themselves. */
TEST(check_at_init)
{
	struct fathom_config config = sound;

	config.sink = sink;
	config.lookup = lookup_wrong;
	REQUIRE(!fathom_init(&config));
	fathom_exit();
	CHECK_STR(sunk, "config.lookup: finds another address than config.symbol names\n");
}

TEST_MAIN
