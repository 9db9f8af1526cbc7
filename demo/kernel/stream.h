/* SPDX-License-Identifier: MIT */
/* stream.h -- the kernel in the 16-bit stream: entries and exits, interrupts, faults, who runs. */
#ifndef DEMO_STREAM_H
#define DEMO_STREAM_H

#include <stdint.h>

struct trapframe;
struct task;

#if LEVEL >= 4
void stream_init(uint32_t cpus);
/* The CPU came from a task in user mode, or out of the idle task; with interrupts off. */
void stream_syscall(struct trapframe *f);
void stream_trap(const struct trapframe *f);
/* It goes back there. */
void stream_leave(void);
void stream_fault(uintptr_t at, uint64_t error);
void stream_interrupt(uint32_t vector);
/* From here on another task's stack is in use. */
void stream_switch(const struct task *next, int idle);
int stream_command(const char *what);
#else
static inline void stream_init(uint32_t cpus)
{
	(void)cpus;
}
#define stream_syscall(f)	  ((void)0)
#define stream_trap(f)		  ((void)0)
#define stream_leave()		  ((void)0)
#define stream_fault(at, error)	  ((void)0)
#define stream_interrupt(vector)  ((void)0)
#define stream_switch(next, idle) ((void)0)
#define stream_command(what)	  (-1)
#endif

#endif
