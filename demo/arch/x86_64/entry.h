/* SPDX-License-Identifier: MIT */
/* entry.h -- x86_64: what entry.S and vectors.c have for cpu.c. */
#ifndef DEMO_ENTRY_H
#define DEMO_ENTRY_H

#include <stdint.h>

struct descriptor_ptr {
	uint16_t limit;
	const void *base;
} __attribute__((packed));

void entry_init(void); /* this CPU's ways into the kernel */
void syscall_entry(void);
void task_entry(void); /* where a new task's first switch_to() returns to */

#endif
