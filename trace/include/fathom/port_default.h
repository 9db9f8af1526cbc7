/* SPDX-License-Identifier: MIT */
/* port_default.h -- the hot half of a port: includes the kernel's fathom_port.h and fills in what it left out. */
#ifndef FATHOM_PORT_DEFAULT_H
#define FATHOM_PORT_DEFAULT_H

#include <stddef.h>
#include <stdint.h>

/*
 * What events define, and what these headers define inline, may lie in files that are compiled for tracing: it is not traced. With
 * -finstrument-functions gcc traces what it inlines too: add -finstrument-functions-exclude-file-list=fathom,wire/.
 * A port says FATHOM_NOTRACE with its own hooks.
 */
#if defined(__has_attribute)
#if __has_attribute(patchable_function_entry)
#define FATHOM_NOTRACE __attribute__((__no_instrument_function__, __patchable_function_entry__(0)))
#endif
#endif
#ifndef FATHOM_NOTRACE
#define FATHOM_NOTRACE __attribute__((__no_instrument_function__))
#endif

/*
 * A kernel writes fathom_port.h: static inline functions, each announced by a macro of its own name, e.g.
 *
 *	#define fathom_port_cpu fathom_port_cpu
 *	static inline uint32_t fathom_port_cpu(void) { return my_cpu()->number; }
 *
 * Required: fathom_port_cpu, fathom_port_clock. They are called once per event (cpu: twice
 * where the event leaves the fast path), from any context, NMI included.
 */
#include "fathom_port.h"

#ifndef fathom_port_cpu
#error "fathom_port.h must define fathom_port_cpu(): the number of the running CPU, 0 .. nr_cpus-1"
#endif
#ifndef fathom_port_clock
#error "fathom_port.h must define fathom_port_clock(): a clock that is monotonic on each CPU, in ticks of config.clock_hz"
#endif

/*
 * The CPU's number where the fast paths ask. A port whose fathom_port_cpu() may call something defines this one too: a
 * number out of range sends the event to the general path, which asks fathom_port_cpu().
 */
#ifndef fathom_port_cpu_quick
#define fathom_port_cpu_quick fathom_port_cpu
#endif

/* The task that runs, as the pid shown in traces; 0 is idle. Default: there are no tasks. */
#ifndef fathom_port_task
#define fathom_port_task fathom_port_task
static inline FATHOM_NOTRACE int32_t fathom_port_task(void)
{
	return 0;
}
#endif

/*
 * The context of the event: low byte enum wire_flags (irqs off, hard irq, NMI ...), high byte preempt depth. It is asked
 * after fathom_port_pin(), and `pin` is what that returned: a kernel that pins by turning interrupts off says what was before.
 * Default: unknown (Linux prints `X`).
 */
#ifndef fathom_port_context
#define fathom_port_context fathom_port_context
static inline FATHOM_NOTRACE uint32_t fathom_port_context(uintptr_t pin)
{
	(void)pin;
	return 0x02;
}
#endif

/*
 * Stay on this CPU while an event is written. A kernel that can be preempted and moved inside the kernel disables
 * preemption here; the value returned by pin is given back to unpin. Default: the kernel is not preemptible.
 */
#ifndef fathom_port_pin
#define fathom_port_pin	  fathom_port_pin
#define fathom_port_unpin fathom_port_unpin
static inline FATHOM_NOTRACE uintptr_t fathom_port_pin(void)
{
	return 0;
}
static inline FATHOM_NOTRACE void fathom_port_unpin(uintptr_t token)
{
	(void)token;
}
#endif

/* 0: functions are not traced; fathom_init() looks for none, and a linker that collects sections drops the tracers. */
#ifndef FATHOM_FUNCTIONS
#define FATHOM_FUNCTIONS 1
#endif

/*
 * 1: the library checks itself and the port: that its lock is held where it must be. A violation ends in config.fatal.
 */
#ifndef FATHOM_DEBUG
#define FATHOM_DEBUG 0
#endif

/*
 * Off events: 1 = a NOP that is patched (needs config.text_map, x86_64/aarch64/riscv64), 0 = one relaxed load and a branch.
 */
#ifndef FATHOM_PATCH
#define FATHOM_PATCH 0
#endif

/*
 * The most CPUs that config.nr_cpus may name; 1 .. 64. Tables of the library have so many entries: about 400 bytes of .bss
 * each with rings and events only, 2 KiB with everything. A machine with one CPU says 1.
 */
#ifndef FATHOM_CPUS_MAX
#define FATHOM_CPUS_MAX 64
#endif

/*
 * riscv64: 1 = the entries of traced functions save and restore fa0..fa7. For a port whose traced code calculates in
 * floating point and whose hooks or callbacks may use FP registers too: a process. The FP unit must be on wherever a
 * traced function runs. aarch64 goes by the compiler's -mgeneral-regs-only instead.
 */
#ifndef FATHOM_SAVE_FP
#define FATHOM_SAVE_FP 0
#endif

#endif
