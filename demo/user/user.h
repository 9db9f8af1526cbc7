/* SPDX-License-Identifier: MIT */
/* user.h -- what a user program has: the system calls, and a print. */
#ifndef USER_USER_H
#define USER_USER_H

#include <stddef.h>
#include <stdint.h>
#include "../kernel/syscalls.h"
#include "syscall.h" /* of the architecture */

enum {
	ORDINARY = 0,
	REALTIME = 1 << 8, /* | 1..99 */
	DEADLINE = 2 << 8,
};

struct message {
	uint64_t word[4];
};

static inline int64_t syscall5(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
			       uint64_t e)
{
	uint64_t word[4] = {b, c, d, e};

	return syscall_words(number, a, word);
}

#define sys0(name)	 syscall5(SYS_##name, 0, 0, 0, 0, 0)
#define sys1(name, a)	 syscall5(SYS_##name, (uint64_t)(a), 0, 0, 0, 0)
#define sys2(name, a, b) syscall5(SYS_##name, (uint64_t)(a), (uint64_t)(b), 0, 0, 0)
#define sys5(name, a, b, c, d, e)                                                        \
	syscall5(SYS_##name, (uint64_t)(a), (uint64_t)(b), (uint64_t)(c), (uint64_t)(d), \
		 (uint64_t)(e))
#define sys_message(name, slot, m) syscall_words(SYS_##name, (uint64_t)(slot), (m)->word)

int program(uint64_t arg); /* each program's main: the exit code */

void print(const char *s);
void print_number(const char *before, uint64_t n, const char *after);
int spawn(const char *name, uint64_t arg, int slot, int sched, uint64_t period_ns);
int wait_all(void); /* for every child; how many ended with a code other than 0 */

#endif
