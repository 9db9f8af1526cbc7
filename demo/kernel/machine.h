/* SPDX-License-Identifier: MIT */
/* machine.h -- what an architecture gives the kernel. demo/arch has a folder for each, with the same files in all. */
#ifndef DEMO_MACHINE_H
#define DEMO_MACHINE_H

#include "layout.h"
#include <stddef.h>
#include <stdint.h>

struct cpu;
struct task;
struct trapframe;

/* machine.c: what the loader handed over, and what only this machine can do. */
struct machine {
	char cmdline[512];
	uint64_t
		memory_end; /* physical: of the RAM that the kernel lies in, as far as it is mapped */
	uint32_t nr_cpus;   /* at most CPUS_MAX */
};
extern struct machine machine;

void machine_init(uint64_t handed_over);
uint64_t machine_clock_hz(void); /* the rate of clock_counter() */
/* 0: it has begun, and goes to ap_main(ap_number) on ap_stack; else it did not answer and never will. */
int machine_start_cpu(uint32_t cpu);
extern uint64_t ap_stack; /* smp.c */
extern uint32_t ap_number;
void power_off(int code) __attribute__((noreturn)); /* QEMU leaves with code * 2 + 1 */
void warm_reset(void) __attribute__((noreturn));    /* memory stays as it is */

/* cpu.c */
void cpu_init(struct cpu *c); /* registers of the running CPU; c->current becomes current_task() */
void cpu_guard_stacks(void);  /* boot only: stacks beside the tasks' own that end in a fault */
/* What the first switch to a task finds: it runs fn(arg) in the kernel or, without fn, `entry` as a program. */
void cpu_build_stack(struct task *t, void (*fn)(void *), uint64_t arg, uintptr_t entry);
void switch_to(struct task *from, struct task *to); /* entry.S; vm_load() has come before */

/* vectors.c */
void frame_print(const struct trapframe *f); /* the registers, on the console */

/* irq.c: interrupts by the vectors of layout.h. */
#define TICK_HZ 250
void irq_init(void);	       /* of this CPU */
void irq_init_devices(void);   /* the serial ports' lines, to CPU 0 */
void irq_timer_start(void);    /* VEC_TIMER on this CPU, TICK_HZ times a second */
void irq_timer_next(void);     /* from its handler */
void irq_end(uint32_t vector); /* the handler is done with it */
void irq_send(uint32_t cpu, uint32_t vector);
int irq_send_nmi(uint32_t cpu); /* -ENOSYS: this architecture has none */
int irq_nmi_timer(
	uint32_t us); /* an NMI to every CPU, that often; 0: no more. -EINVAL: too often */

/* pci.c: 32-bit words of configuration space, by slot of bus 0; I/O ports, of 1, 2 or 4 bytes. */
uint32_t pci_config(uint32_t slot, uint32_t reg);
void pci_set_config(uint32_t slot, uint32_t reg, uint32_t v);
uint32_t port_in(uint32_t port, int bytes);
void port_out(uint32_t port, int bytes, uint32_t v);

/* uart.c: port 0 is the console, port 1 the trace line of a machine that has no virtio console. */
void uart_init(void);
void uart_put(int port, const uint8_t *data, size_t bytes); /* waits until they are taken */
int uart_get(int port);					    /* the next byte that has come, or -1 */

#endif
