/* SPDX-License-Identifier: MIT */
/* syscalls.h -- names of Linux's system calls by number, on the machines whose numbers are known. */
#ifndef MODEL_SYSCALLS_H
#define MODEL_SYSCALLS_H

#include <stddef.h>
#include <stdint.h>

/* Of the machine that `uname` ("Linux host release machine") names; NULL: the machine or the number is not known. */
const char *syscall_name(const char *uname, uint64_t nr, size_t *length);

#endif
