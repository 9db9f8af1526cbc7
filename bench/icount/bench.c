/* SPDX-License-Identifier: MIT */
/* bench.c -- instructions per event and per traced call, counted by QEMU (-icount shift=0: an instruction is a nanosecond). */
#include "test/lib/mem.h"
#include <stddef.h>
#define CREATE_TRACE_POINTS
#include "fathom/tracepoint.h"
#include "fathom/task.h"
#include "fathom/trace.h"
#include "arch/arch.h"
#include "functions/tracers.h"
#ifdef BENCH_INSTRUMENT
#include "fathom/instrument.h"
FATHOM_INSTRUMENT_FUNCTIONS
#endif

TRACE_DEFINE(bench, pair, "a=%llu b=%llu", (U64, a), (U64, b))

#define TURNS 2000

void bench_main(void);
void bench_subject(void);
struct bench_cpu bench_cpu = {.pid = 7};
static struct fathom_task task;
static uint8_t memory[1 << 20] __attribute__((aligned(4096)));

static void say(const char *text)
{
	for (; *text; text++) {
#if defined(__x86_64__) || defined(__i386__)
		__asm__ volatile("outb %0, %1" ::"a"(*text), "Nd"((uint16_t)0x3f8));
#elif defined(__aarch64__)
		*(volatile uint32_t *)0x09000000 = (uint32_t)*text;
#elif defined(__riscv)
		*(volatile uint8_t *)0x10000000 = (uint8_t)*text;
#else
		((volatile uint32_t *)0x40004000)[2] = 1; /* the transmitter is on */
		((volatile uint32_t *)0x40004000)[0] = (uint32_t)*text;
#endif
	}
}

static void end(const char *text)
{
	say(text);
	say("\nend\n");
	for (;;)
		;
}

static void say_count(const char *what, int64_t ticks)
{
	char digits[12];
	int i = sizeof(digits) - 1;
	uint32_t n = (uint32_t)(ticks > 0 ? ticks : 0) * (1000000000 / BENCH_CLOCK_HZ) / TURNS;

	digits[i] = 0;
	do
		digits[--i] = (char)('0' + n % 10);
	while (n /= 10);
	say(what);
	say(" ");
	say(digits + i);
	say("\n");
}

/* Ticks that it takes, TURNS times. */
#define TICKS(statement)                                        \
	({                                                      \
		uint64_t began = bench_clock();                 \
		for (volatile uint32_t i = 0; i < TURNS; i++) { \
			statement;                              \
		}                                               \
		(int64_t)(bench_clock() - began);               \
	})

static void *text_map(void *at, size_t bytes)
{
	(void)bytes;
	return at;
}

static void text_sync(void)
{
}

/* What the port's hooks take of every record. */
static void hooks(void)
{
	uintptr_t pin = fathom_port_pin();
	volatile uint32_t sink = fathom_port_cpu() + fathom_port_context(pin);

	(void)sink;
	(void)(fathom_port_task() + fathom_port_clock());
	fathom_port_unpin(pin);
}

/* The function's own cost, with what the compiler left in it, is subtracted. */
static void count_tracer(const char *tracer, int64_t alone)
{
	if (fathom_tracer_set(tracer))
		end("the tracer was refused");
	say_count(tracer, TICKS(bench_subject()) - alone);
	fathom_tracer_set("nop");
}

void bench_main(void)
{
	struct fathom_config config = {.memory = memory,
				       .memory_bytes = sizeof(memory),
				       .nr_cpus = 1,
				       .pages_per_cpu = 16,
				       .clock_hz = BENCH_CLOCK_HZ,
				       .text_map = text_map,
				       .sync = text_sync};
	int64_t loop, alone;

	bench_cpu.state = &task;
	if (fathom_init(&config))
		end("fathom_init() refused");
#ifdef BENCH_INSTRUMENT
	fathom_instrument_ready(0, 0);
#endif
	loop = TICKS((void)0);
	alone = TICKS(bench_subject());
	say_count("hundred", TICKS(__asm__ volatile(".rept 100\nnop\n.endr")) - loop);
	say_count("hooks", TICKS(hooks()) - loop);
	say_count("off", TICKS(trace_pair(1, 2)) - loop);
	fathom_event_enable("*", 1);
	say_count("event", TICKS(trace_pair(1, 2)) - loop);
	say_count("printk", TICKS(trace_printk("a=%d b=%d\n", 1, 2)) - loop);
	fathom_event_enable("*", 0);
#if FATHOM_ARCH_HOT
	say(fathom_hot_keeps() ? "it keeps registers\n" : "it changes registers\n");
#endif
	count_tracer("function", alone);
	count_tracer("function_graph", alone);
	end("done");
}
