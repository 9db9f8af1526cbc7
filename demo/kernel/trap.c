/* SPDX-License-Identifier: MIT */
/* trap.c -- what interrupted us, and what to do about it: exceptions, device and timer interrupts, IPIs, NMIs. */
#include "kernel.h"
#include "lock.h"
#include "machine.h"
#include "sample.h"
#include "task.h"
#include "stream.h"
#include "trace_points.h"
#include "fathom/trace.h"

static const char *const exception_names[VEC_EXCEPTIONS] = {
	"divide error",
	"debug",
	"NMI",
	"breakpoint",
	"overflow",
	"bound range",
	"invalid opcode",
	"no FPU",
	"double fault",
	"",
	"invalid TSS",
	"no segment",
	"stack fault",
	"general protection",
	"page fault",
	"",
	"FPU error",
	"alignment",
	"machine check",
	"SIMD error",
};

static const struct cpu *speaker; /* panics, and wants the other CPUs still */

/* User mode, or the idle task: the kernel had nothing to do. */
static NOTRACE int from_outside(const struct trapframe *f)
{
	return frame_is_user(f) ||
	       (f->vector >= VEC_EXCEPTIONS && this_cpu()->current == this_cpu()->idle);
}

/* What Linux calls the end that an exception brings. */
static int signal_of(uint64_t vector)
{
	switch (vector) {
	case VEC_DIVIDE:
	case 16:
	case 19: return 8;		   /* SIGFPE */
	case VEC_INVALID_OPCODE: return 4; /* SIGILL */
	case VEC_BREAKPOINT: return 5;	   /* SIGTRAP */
	case VEC_ALIGNMENT: return 7;	   /* SIGBUS */
	default: return 11;		   /* SIGSEGV */
	}
}

/* A task did what it may not: say so and end it. The kernel goes on. */
static void crash(const struct trapframe *f, uintptr_t at)
{
	const char *what = f->vector < VEC_EXCEPTIONS ? exception_names[f->vector] : "exception";

	kprintf("%s[%d]: %s at ip %lx, address %lx, sp %lx\n", current_task()->name,
		current_task()->pid, what, frame_ip(f), at, frame_sp(f));
	trace_signal_generate(signal_of(f->vector), (int)f->vector, current_task()->name,
			      current_task()->pid);
	irq_enable();
	task_exit(-(int)f->vector);
}

static void page_fault(struct trapframe *f)
{
	uintptr_t at = frame_fault_at(f);

	stream_fault(at, f->error);
	if (frame_is_user(f))
		trace_page_fault_user(at, frame_ip(f), f->error);
	else
		trace_page_fault_kernel(at, frame_ip(f), f->error);
	if (!vm_fault(&current_task()->vm, at, f->error))
		return;
	if (frame_is_user(f))
		crash(f, at);
	panic_frame(f, "page fault in the kernel");
}

static NOTRACE void exception(struct trapframe *f)
{
	if (f->vector == VEC_BREAKPOINT && fathom_arch_breakpoint(&frame_ip(f)))
		return; /* text is being patched on another CPU, and the frame now leads around it */
	if (f->vector == VEC_PAGE_FAULT)
		page_fault(f);
	else if (frame_is_user(f))
		crash(f, 0);
	else if (f->vector == VEC_DOUBLE_FAULT && vm_is_guard(frame_fault_at(f)))
		panic_frame(f, "kernel stack overflow");
	else
		panic_frame(f, exception_names[f->vector]);
}

/* The speaker goes on: an NMI that was on its way to it when it stopped the others is like any. */
static NOTRACE int must_stop(void)
{
	const struct cpu *s = __atomic_load_n(&speaker, __ATOMIC_RELAXED);

	return s && s != this_cpu();
}

static void halt_if_told(void)
{
	if (must_stop())
		cpu_halt();
}

static void tick(void)
{
	this_cpu()->ticks++;
	irq_timer_next();
	scheduler_tick();
}

static void dispatch(uint32_t vector)
{
	switch (vector) {
	case VEC_TIMER: tick(); break;
	case VEC_RESCHED: sched_resched(); break;
	case VEC_CALL: smp_call_interrupt(); break;
	case VEC_STORM:
		this_cpu()->nr_ipis++;
		cause_interrupt();
		halt_if_told();
		break;
	case VEC_SERIAL1: serial_interrupt(1); break;
	case VEC_SERIAL0: serial_interrupt(0); break;
	default: break;
	}
}

static const char *vector_name(uint32_t vector)
{
	switch (vector) {
	case VEC_TIMER: return "timer";
	case VEC_RESCHED: return "resched";
	case VEC_CALL: return "call";
	case VEC_STORM: return "storm";
	case VEC_SERIAL1: return "serial1";
	case VEC_SERIAL0: return "serial0";
	default: return "spurious";
	}
}

static IRQ_ENTRY void interrupt(struct trapframe *f)
{
	uint32_t vector = (uint32_t)f->vector;

	stream_interrupt(vector);
	trace_irq_handler_entry((int)vector, vector_name(vector));
	if (vector == VEC_TIMER)
		sample_tick(f);
	dispatch(vector);
	trace_irq_handler_exit((int)vector, 1);
	irq_end(vector);
}

/* Every vector but NMI arrives here, with interrupts off. On the way out the scheduler may take over. */
NOTRACE void trap(struct trapframe *f)
{
	if (frame_irqs_on(f))
		hook_irqs_off();
	if (from_outside(f))
		stream_trap(f);
	if (f->vector < VEC_EXCEPTIONS) {
		exception(f);
	} else {
		this_cpu()
			->irq_depth++; /* before the first function that is traced: it is seen in its context */
		interrupt(f);
		this_cpu()->irq_depth--;
	}
	struct cpu *c = this_cpu();

	if (c->need_resched && frame_irqs_on(f) && !preempt_count() && !c->irq_depth)
		schedule();
	if (from_outside(f))
		stream_leave();
	if (frame_irqs_on(f))
		hook_irqs_on();
}

/* May interrupt anything, the middle of a trace record included: touches nothing but counters and the tracer. */
static __attribute__((noinline)) void nmi_work(struct trapframe *f)
{
	this_cpu()->nr_nmis++;
	trace_nmi_handler(frame_ip(f), frame_is_user(f));
	sample_nmi(f);
	halt_if_told();
}

/* Not traced itself: a breakpoint here would find nmi_depth 0, and leave by an iretq that lets the next NMI in. */
NOTRACE void nmi(struct trapframe *f)
{
	this_cpu()->nmi_depth++;
	nmi_work(f);
	this_cpu()->nmi_depth--;
}

/* Without NMIs a CPU whose interrupts are off goes on: it has 20 ms to come out of that. */
void stop_other_cpus(void)
{
	__atomic_store_n(&speaker, this_cpu(), __ATOMIC_SEQ_CST);
	for_each_cpu (c)
		if (c != this_cpu() && irq_send_nmi(c->id))
			irq_send(c->id, VEC_STORM);
	delay_us(20000);
}
