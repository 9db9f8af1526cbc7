/* SPDX-License-Identifier: MIT */
/* kernel.c -- a kernel of one page with the amalgamated library: riscv64, QEMU's virt machine. It traces itself and says what it saw. */
#include <stddef.h>
#define CREATE_TRACE_POINTS
#define FATHOM_EVENTS_SCHED
#include "fathom.h"

TRACE_DEFINE(kernel, work, "round=%u sum=%llu", (U32, round), (U64, sum))

#define UART ((volatile uint8_t *)0x10000000)
#define TEST ((volatile uint32_t *)0x100000) /* QEMU ends when this is written */

static uint8_t memory[1 << 20] __attribute__((aligned(FATHOM_PAGE_BYTES)));
static uint8_t stack[16384] __attribute__((aligned(16), used));
struct fathom_task kernel_task;

__asm__(".section .start, \"ax\"\n"
	".globl _start\n"
	"_start:\n"
	"	la	sp, stack + 16384\n"
	"	call	kernel_main\n"
	".text\n");

static void console(void *unused, const char *text, size_t bytes)
{
	(void)unused;
	for (size_t i = 0; i < bytes; i++)
		*UART = (uint8_t)text[i];
}

static void say(const char *text)
{
	while (*text)
		console(0, text++, 1);
}

static void end(const char *text)
{
	say(text);
	for (;;)
		*TEST = 0x5555;
}

/* All of this kernel's memory can be written, its text too. */
static void *text_map(void *at, size_t bytes)
{
	(void)bytes;
	return at;
}

static const char *symbol(uintptr_t at, uintptr_t *offset, uintptr_t *size);

/* The functions that are traced: four NOPs each, -fpatchable-function-entry=4. */
#define TRACED __attribute__((noinline, noipa, patchable_function_entry(4), aligned(4)))
TRACED uint64_t square(uint64_t n);
TRACED uint64_t squares(uint64_t n);
uint64_t square(uint64_t n)
{
	return n * n;
}

uint64_t squares(uint64_t n)
{
	uint64_t sum = 0;

	while (n)
		sum += square(n--);
	return sum;
}

static const char *symbol(uintptr_t at, uintptr_t *offset, uintptr_t *size)
{
	const uintptr_t first = (uintptr_t)square, second = (uintptr_t)squares;
	const int is_first = at - first < 64 && (at < second || second < first);
	const uintptr_t from = is_first ? first : second;

	if (at - from >= 128)
		return 0;
	*offset = at - from;
	*size = 128;
	return is_first ? "square" : "squares";
}

void kernel_main(void);
void kernel_main(void)
{
	const struct fathom_config config = {.memory = memory,
					     .memory_bytes = sizeof(memory),
					     .nr_cpus = 1,
					     .clock_hz = 10000000,
					     .release = "example",
					     .sink = console,
					     .text_map = text_map,
					     .symbol = symbol};

	if (fathom_init(&config))
		end("fathom_init() refused\n");
	if (fathom_event_enable("*", 1) < 1)
		end("no events\n");
	if (fathom_set("current_tracer", "function"))
		end("function was refused\n");
	for (uint32_t i = 0; i < 3; i++)
		trace_work(i, squares(i));
	trace_sched_switch("kernel", 1, 120, 0, "idle", 0, 140);
	trace_printk("done after %d rounds\n", 3);
	fathom_dump(0);
	end("end\n");
}

/* What the library asks of a kernel. */
void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
#define PLAIN __attribute__((optimize("no-tree-loop-distribute-patterns")))
PLAIN void *memmove(void *to, const void *from, size_t n)
{
	uint8_t *t = to;
	const uint8_t *f = from;

	for (size_t i = 0; i < n; i++)
		if (t < f)
			t[i] = f[i];
		else
			t[n - 1 - i] = f[n - 1 - i];
	return to;
}

PLAIN void *memcpy(void *to, const void *from, size_t n)
{
	return memmove(to, from, n);
}

PLAIN void *memset(void *to, int c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((uint8_t *)to)[i] = (uint8_t)c;
	return to;
}

PLAIN int memcmp(const void *a, const void *b, size_t n)
{
	const uint8_t *x = a, *y = b;

	for (; n; n--, x++, y++)
		if (*x != *y)
			return *x - *y;
	return 0;
}
