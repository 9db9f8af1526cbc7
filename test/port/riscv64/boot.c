/* SPDX-License-Identifier: MIT */
/* boot.c -- a riscv64 image that traces its own functions in QEMU, with the FP unit off, or on and its arguments live. */
#include <stddef.h>
#include <stdint.h>
#include "fathom/task.h"
#include "fathom/trace.h"

#define UART ((volatile uint8_t *)0x10000000)
#define TEST ((volatile uint32_t *)0x100000) /* QEMU ends when this is written */

void boot_main(void);
void boot_trap(uintptr_t cause, uintptr_t at);

__asm__(".section .start, \"ax\"\n"
	".globl _start\n"
	"_start:\n"
	"	la	sp, boot_stack_end\n"
	"	la	t0, boot_fault\n"
	"	csrw	mtvec, t0\n"
	"	li	t0, 0x6000\n" /* mstatus.FS */
#if FATHOM_SAVE_FP
	"	csrs	mstatus, t0\n"
#else
	"	csrc	mstatus, t0\n"
#endif
	"	call	boot_main\n"
	".balign 4\n"
	"boot_fault:\n"
	"	csrr	a0, mcause\n"
	"	csrr	a1, mepc\n"
	"	call	boot_trap\n"
	".text\n");

static char memory[1 << 20] __attribute__((aligned(4096)));
static char stack[16384] __attribute__((aligned(16), used));
__asm__(".globl boot_stack_end\n.set boot_stack_end, stack + 16384");
struct fathom_task boot_task;

static void say(const char *text)
{
	while (*text)
		*UART = (uint8_t)*text++;
}

static void end(const char *text)
{
	say(text);
	say("\n");
	for (;;)
		*TEST = 0x5555;
}

void boot_trap(uintptr_t cause, uintptr_t at)
{
	(void)at;
	end(cause == 2 ? "illegal instruction" : "trap");
}

void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
#define PLAIN \
	__attribute__((patchable_function_entry(0), optimize("no-tree-loop-distribute-patterns")))
PLAIN void *memmove(void *to, const void *from, size_t n)
{
	uint8_t *t = to;
	const uint8_t *f = from;

	for (size_t i = 0; i < n; i++)
		t < f ? (void)(t[i] = f[i]) : (void)(t[n - 1 - i] = f[n - 1 - i]);
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

static void *text_map(void *at, size_t bytes)
{
	(void)bytes;
	return at;
}

#define TRACED __attribute__((noipa, patchable_function_entry(4)))
#if FATHOM_SAVE_FP
TRACED double eight(double a, double b, double c, double d, double e, double f, double g, double h)
{
	__asm__ volatile(""); /* or one call would do for all */
	return a + 2 * b + 4 * c + 8 * d + 16 * e + 32 * f + 64 * g + 128 * h;
}
static int right(void)
{
	return eight(1, 2, 3, 4, 5, 6, 7, 8) == 1793;
}
#else
TRACED uint64_t eight(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f,
		      uint64_t g, uint64_t h)
{
	__asm__ volatile(""); /* or one call would do for all */
	return a + 2 * b + 4 * c + 8 * d + 16 * e + 32 * f + 64 * g + 128 * h;
}
static int right(void)
{
	return eight(1, 2, 3, 4, 5, 6, 7, 8) == 1793;
}
#endif

static void trace_with(const char *tracer, uint64_t records)
{
	struct fathom_ring_stats st;

	if (fathom_set("current_tracer", tracer))
		end("the tracer was refused");
	for (int i = 0; i < 10; i++)
		if (!right())
			end("an argument or the result was changed");
	fathom_ring_stats(fathom_ring_of(0), &st);
	if (st.written != records)
		end("not every call was recorded");
	if (fathom_set("current_tracer", "nop"))
		end("nop was refused");
}

void boot_main(void)
{
	struct fathom_config config = {.memory = memory,
				       .memory_bytes = sizeof(memory),
				       .nr_cpus = 1,
				       .pages_per_cpu = 8,
				       .text_map = text_map};

	if (fathom_init(&config))
		end("fathom_init() refused");
	if (!right())
		end("wrong without tracing");
	trace_with("function", 10);
	trace_with("function_graph", 20);
	end("traced");
}
