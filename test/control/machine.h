/* SPDX-License-Identifier: MIT */
/* machine.h -- the traced half of the machine (machine_work.c, compiled with function sites) and what it calls. */
#ifndef TEST_CONTROL_MACHINE_H
#define TEST_CONTROL_MACHINE_H

#include <stdint.h>

void machine_work(unsigned int n);
void kernel_clone(void);
void do_execve(void);

void machine_switch(int next);
void machine_alloc(uint64_t bytes);
void machine_signal(int sig);
void machine_tick(void);
void machine_syscall(long nr, long ret);

#endif
