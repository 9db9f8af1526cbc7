/* SPDX-License-Identifier: MIT */
/* machine_work.c -- functions with a kernel's names, for function tracers and their filters. */
#include "machine.h"

#define FN(name) void __attribute__((noinline, noipa)) name(void)

void schedule(void);
void schedule_tail(void);
void scheduler_tick(void);
void try_to_lock(void);
void spin_lock(void);
void spin_trylock(void);
void pin_unlock(void);
void mutex_lock(void);
void mutex_trylock(void);
void mutex_unlock(void);
void cond_unlock_all(void);
void vfs_read(void);
void sys_read(void);
void sys_write(void);
void SyS_open(void);
void do_syscall(unsigned int n);

static volatile unsigned int turns;

FN(schedule_tail)
{
	turns++;
}

FN(schedule)
{
	turns++;
	machine_switch((int)turns);
	schedule_tail();
}

FN(scheduler_tick)
{
	machine_tick();
	turns++;
}

FN(spin_lock)
{
	turns++;
}

FN(spin_trylock)
{
	turns++;
}

FN(pin_unlock)
{
	turns++;
}

FN(mutex_lock)
{
	spin_lock();
	turns++;
}

FN(mutex_trylock)
{
	spin_trylock();
	turns++;
}

FN(mutex_unlock)
{
	pin_unlock();
	turns++;
}

FN(cond_unlock_all)
{
	turns++;
}

FN(kernel_clone)
{
	machine_alloc(100 + turns % 400);
	turns++;
}

FN(vfs_read)
{
	turns++;
}

FN(do_execve)
{
	turns++;
}

FN(sys_read)
{
	mutex_lock();
	vfs_read();
	machine_alloc(64);
	mutex_unlock();
	machine_syscall(0, 64);
}

FN(sys_write)
{
	mutex_trylock();
	machine_syscall(1, 10);
	cond_unlock_all();
}

FN(SyS_open)
{
	machine_syscall(2, 3);
}

void __attribute__((noinline, noipa)) do_syscall(unsigned int n)
{
	if (n % 3 == 0)
		sys_read();
	else if (n % 3 == 1)
		sys_write();
	else
		SyS_open();
	turns++;
}

void __attribute__((noinline, noipa)) machine_work(unsigned int n)
{
	do_syscall(n);
	scheduler_tick();
	if (n % 16 == 0)
		kernel_clone();
	if (n % 64 == 0)
		machine_signal(10 + (int)(n / 64 % 6));
	schedule();
	turns++;
}
