/* SPDX-License-Identifier: MIT */
/* fathom_port.h -- a port whose every hook is a test's to replace: threads are CPUs, a word per thread is its interrupts. */
#ifndef FATHOM_PORT_H
#define FATHOM_PORT_H

#include <stdint.h>

struct fathom_task;
struct contract_hooks {
	uint32_t (*cpu)(void);
	uint64_t (*clock)(const char *file); /* where it is compiled */
	int32_t (*task)(void);
	uint32_t (*context)(uintptr_t pin);
	uintptr_t (*pin)(void);
	void (*unpin)(uintptr_t pin);
	struct fathom_task *(*task_state)(void);
	void (*stack)(uintptr_t at, uintptr_t *lo, uintptr_t *hi);
};
extern struct contract_hooks contract_hooks;

#define fathom_port_cpu()	      contract_hooks.cpu()
#define fathom_port_clock()	      contract_hooks.clock(__FILE__)
#define fathom_port_task()	      contract_hooks.task()
#define fathom_port_context(pin)      contract_hooks.context(pin)
#define fathom_port_pin()	      contract_hooks.pin()
#define fathom_port_unpin(pin)	      contract_hooks.unpin(pin)
#define fathom_port_task_state()      contract_hooks.task_state()
#define fathom_port_stack(at, lo, hi) contract_hooks.stack(at, lo, hi)

#define FATHOM_CPUS_MAX 4
#define FATHOM_DEBUG	1

#endif
