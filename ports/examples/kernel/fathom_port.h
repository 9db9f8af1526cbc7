/* SPDX-License-Identifier: MIT */
/* fathom_port.h -- the hot half of the example kernel's port: one hart in M-mode, the machine's timer. */
#ifndef FATHOM_PORT_H
#define FATHOM_PORT_H

#include <stdint.h>

#define FATHOM_CPUS_MAX	  1
#define fathom_port_cpu() 0u

#define fathom_port_clock() (*(volatile uint64_t *)0x200bff8) /* the CLINT's mtime */

struct fathom_task;
extern struct fathom_task kernel_task;
#define fathom_port_task()	 1
#define fathom_port_context(pin) ((void)(pin), 0u)
#define fathom_port_task_state() (&kernel_task)

#endif
