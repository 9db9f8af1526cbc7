/* SPDX-License-Identifier: MIT */
/* syscalls.h -- the system calls: read by the kernel, by user programs and by the event that names them. */
#ifndef DEMO_SYSCALLS_H
#define DEMO_SYSCALLS_H

/*
 * X(number, name): number in rax; arguments in rdi rsi rdx r10 r8; result in rax, negative: errno.
 *
 *	exit(code)			write(text, bytes)		getpid()		yield()
 *	sleep(nanoseconds)		spawn(name, argument, endpoint slot or 0, class << 8 | priority, period): pid
 *	wait(pid or -1, &code): pid	map(bytes): address		unmap(address)
 *	endpoint(): slot		send(slot, four words)		recv(slot): sender, words in rsi rdx r10 r8
 *	call(slot, words): replier, words	reply_recv(slot, words for the last caller): next sender, words
 *	storm(times): an interrupt to every CPU			clock(): nanoseconds	cpu(): number
 *	sample(flags, argument): fathom_sampler_control()	trace(file of tracefs, text, bytes): bytes taken
 */
/* clang-format off */
#define SYSCALLS(FIRST, X) \
	FIRST(0, exit) X(1, write) X(2, getpid) X(3, yield) X(4, sleep) X(5, spawn) X(6, wait) X(7, map) X(8, unmap) \
	X(9, endpoint) X(10, send) X(11, recv) X(12, call) X(13, reply_recv) X(14, storm) X(15, clock) X(16, cpu) \
	X(17, sample) X(18, trace)
/* clang-format on */

#define SYSCALL_NUMBER(number, name) SYS_##name = number,
enum {
	SYSCALLS(SYSCALL_NUMBER, SYSCALL_NUMBER) SYS_COUNT
};

#endif
