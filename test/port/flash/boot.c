/* SPDX-License-Identifier: MIT */
/* boot.c -- a Cortex-M3 image that runs from flash alone: it records events and functions, dumps them and saves a trace.dat. */
#include "start.h"
#define CREATE_TRACE_POINTS
#include "fathom/events/sched.h"
#include "fathom/instrument.h"
#include "fathom/save.h"
#include "fathom/task.h"
#include "fathom/trace.h"

TRACE_DEFINE(flash, pair, "a=%u b=%u", (U32, a), (U32, b))
TRACE_DEFINE(flash, mixed, "s=%s big=%llu p=%p small=%d", (STR, s), (U64, big), (PTR, p),
	     (S16, small))

static uint8_t memory[512 * 1024] __attribute__((aligned(4096)));
struct fathom_task flash_task;

static void sink(void *arg, const char *text, size_t bytes)
{
	(void)arg;
	for (size_t i = 0; i < bytes; i++) {
		const char c[2] = {text[i], 0};

		flash_say(c);
	}
}

static int task_name(int32_t pid, char buf[16])
{
	__builtin_memcpy(buf, pid == 7 ? "flash" : "other", 6);
	return 0;
}

static int task_at(uint32_t i, int32_t *pid, const char **name)
{
	*pid = 7;
	*name = "flash";
	return i == 0;
}

#define QUIET __attribute__((no_instrument_function, noipa))
void leaf(uint32_t n);
void middle(uint32_t n);
void outer(uint32_t n);
extern uint32_t flash_sum;
#ifdef FLASH_FUNCTIONS
extern const char flash_names[];
static int symbol_at(uint32_t i, uintptr_t *at, const char **name)
{
	static const char *const names[] = {"leaf", "middle", "outer"};
	void (*const fn[])(uint32_t) = {leaf, middle, outer};

	if (i >= 3)
		return 0;
	*at = (uintptr_t)fn[i] & ~(uintptr_t)1;
	*name = names[i];
	return 1;
}
FATHOM_INSTRUMENT_FUNCTIONS
#endif

static void must(int err, const char *what)
{
	if (err)
		flash_end(what);
}

#ifdef FLASH_FUNCTIONS
static void record_functions(void)
{
	fathom_instrument_ready(0, 0);
	must(fathom_set("current_tracer", FLASH_FUNCTIONS), "current_tracer was refused");
	if (FLASH_STACKS)
		must(fathom_set("options/func_stack_trace", "1"), "func_stack_trace was refused");
	outer(3);
	fathom_tracing_off();
}
#endif

static void record_events(void)
{
	fathom_event_enable("*", 1);
	for (uint32_t i = 0; i < 100; i++)
		trace_pair(i, i * i);
	trace_mixed("text", 0x123456789abcdefull, (void *)0xc0ffee, -5);
	trace_sched_switch("flash", 7, 120, 1, "other", 8, 100);
	trace_printk("printk %d %s %llx\n", -3, "str", 0xfedcba9876543210ull);
	trace_puts("a literal\n");
	fathom_tracing_off();
}

#ifdef FLASH_LIVE
/* It speaks to nobody: a debugger reads what it traces. A byte on the UART is the button that starts it. */
static void run_live(void)
{
	volatile uint32_t *uart = (volatile uint32_t *)0x40004000;

	must(fathom_beacon(0), "no room for the beacon");
	fathom_event_enable("flash:pair", 1);
	uart[2] = 2; /* receive */
	/* QEMU looks again for a byte that came before only at a read, which may be this one. */
	for (uint32_t early = uart[0]; !early && !(uart[1] & 2);)
		;
	for (uint32_t i = 0; i < FLASH_LIVE; i++) {
		trace_pair(i, i * i);
		for (volatile uint32_t wait = 0; wait < 3000; wait++)
			;
	}
	for (;;)
		__asm__ volatile("wfi");
}
#endif

void flash_main(void)
{
	struct fathom_config config = {.memory = memory,
				       .memory_bytes = sizeof(memory),
				       .nr_cpus = 1,
				       .pages_per_cpu = 8,
				       .clock_hz = 25000000,
				       .clock_name = "timer",
				       .release = "flash",
				       .sink = sink,
				       .task_name = task_name};
	int fd, err = fathom_init(&config);
	struct fathom_save save = {.write_at = flash_write_at, .arg = &fd, .task = task_at};

	must(err, "fathom_init() refused");
#ifdef FLASH_LIVE
	run_live();
#endif
#ifdef FLASH_FUNCTIONS
	save.symbol = symbol_at;
	(void)record_events;
	record_functions();
#else
	record_events();
#endif
	fathom_dump(4);
	fd = flash_file("trace.dat");
	err = fathom_save(&save);
	flash_end(err ? "not saved" : "saved");
}
