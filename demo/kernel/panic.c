/* SPDX-License-Identifier: MIT */
/* panic.c -- the end: say what happened and where, show the last events, leave QEMU. */
#include "kernel.h"
#include "lock.h"
#include "machine.h"
#include "task.h"
#include "trace_points.h"
#include "fathom/task.h"

#define BACKTRACE_ENDS 12  /* shown of a backtrace: so many of the newest, and of the oldest */
#define BACKTRACE_MAX  512 /* and no further */
#define PANIC_EVENTS   40
#define EXIT_PANIC     0x21

/* `back`: an address that is returned to. The call is before it, and may be the last instruction of its function. */
static void print_address(uintptr_t at, int back)
{
	uintptr_t offset, size;
	const char *name = ksym_name(at - (uintptr_t)back, &offset, &size);

	if (name)
		kprintf("  %p %s+0x%lx/0x%lx\n", (void *)at, name, offset + (uintptr_t)back, size);
	else
		kprintf("  %p\n", (void *)at);
}

/* Frame pointers: two words, the caller's frame pointer and the way back. Only kernel addresses are followed, upwards. */
static const uintptr_t *next_frame(uintptr_t above, uintptr_t fp)
{
	uintptr_t at = fp - FRAME_RECORD;
	const uintptr_t *f = (const uintptr_t *)at;

	return fp && at > above && at >= PHYS_BASE && !(at & 7) && f[1] >= KERNEL_BASE ? f : NULL;
}

/* On whatever stack this is; but what function_graph has put in place of a way back, the tracer must tell. */
void backtrace(uintptr_t fp)
{
	const uintptr_t *f = next_frame(0, fp);
	int n = 0, i = 0;

	for (; f && n < BACKTRACE_MAX; n++)
		f = next_frame((uintptr_t)f, f[0]);
	for (f = next_frame(0, fp); i < n; i++, f = next_frame((uintptr_t)f, f[0]))
		if (i < BACKTRACE_ENDS || i >= n - BACKTRACE_ENDS)
			print_address(fathom_return_address((uintptr_t)(f + 1), f[1]), 1);
		else if (i == BACKTRACE_ENDS)
			kprintf("  ... %d more ...\n", n - 2 * BACKTRACE_ENDS);
}

/* The first CPU that panics speaks; the others are stopped before it does. */
static void panic_begin(void)
{
	static uint32_t panicking;

	irq_mask();
	if (__atomic_exchange_n(&panicking, 1, __ATOMIC_ACQ_REL))
		cpu_halt();
	tracing_off();
	stop_other_cpus();
	console_unlock();
}

static void panic_end(void) __attribute__((noreturn));
static void panic_end(void)
{
	kprintf("last events:\n");
	fathom_dump(PANIC_EVENTS);
	kprintf("---[ end of panic ]---\n");
	power_off(EXIT_PANIC);
}

static void print_where(void)
{
	kprintf("cpu %u, task %s[%d]\n", cpu_id(), current_task()->name, current_task()->pid);
}

void panic(const char *fmt, ...)
{
	char text[160];
	va_list ap;

	panic_begin();
	va_start(ap, fmt);
	kvsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	kprintf("\nPANIC: %s\n", text);
	print_where();
	backtrace((uintptr_t)__builtin_frame_address(0));
	panic_end();
}

void panic_text(const char *text)
{
	panic("%s", text);
}

void panic_frame(const struct trapframe *f, const char *what)
{
	panic_begin();
	kprintf("\nPANIC: %s: vector %lu error %lx ip %lx sp %lx address %lx\n", what, f->vector,
		f->error, frame_ip(f), frame_sp(f), frame_fault_at(f));
	frame_print(f);
	print_where();
	print_address(frame_ip(f), 0);
	backtrace(frame_fp(f));
	panic_end();
}
