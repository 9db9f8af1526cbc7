/* SPDX-License-Identifier: MIT */
/* syscalls.h -- the system calls, one line each: read by the kernel, by user programs and by who names them in a trace. */
/* SYSCALL(name, arguments) -- number in rax; arguments in rdi rsi rdx r10 r8 r9; result in rax, negative: errno. */
SYSCALL(exit, 1)  /* code */
SYSCALL(write, 2) /* text, bytes: to the console */
SYSCALL(getpid, 0)
SYSCALL(yield, 0)
SYSCALL(sleep, 1)      /* nanoseconds */
SYSCALL(spawn, 5)      /* name, argument, endpoint slot or 0, class << 8 | priority, period: pid */
SYSCALL(wait, 2)       /* pid or -1, where the exit code goes: pid */
SYSCALL(map, 1)	       /* bytes: address of fresh memory */
SYSCALL(unmap, 1)      /* address that map gave */
SYSCALL(endpoint, 0)   /* a new one: slot */
SYSCALL(send, 5)       /* slot, four words */
SYSCALL(recv, 1)       /* slot: sender's pid, words in rsi rdx r10 r8 */
SYSCALL(call, 5)       /* slot, four words: replier's pid, words */
SYSCALL(reply_recv, 5) /* slot, four words to the last caller: next sender's pid, words */
SYSCALL(storm, 1)      /* an interrupt to every CPU, that many times */
SYSCALL(clock, 0)      /* nanoseconds since boot */
SYSCALL(cpu, 0)	       /* number of the CPU */
