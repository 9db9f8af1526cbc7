/* SPDX-License-Identifier: MIT */
/* vm.h -- address spaces: page tables and the regions that say what a page fault may bring in; frames under them. */
#ifndef DEMO_VM_H
#define DEMO_VM_H

#include "layout.h"
#include <stddef.h>
#include <stdint.h>

struct trapframe;

enum region_flags {
	REGION_WRITE = 1,
	REGION_EXEC = 2,
};

/* A range of user addresses; pages come in at the first touch: from `file` as far as it reaches, else zeroed. */
struct region {
	uintptr_t start, end;
	const uint8_t *file;
	size_t file_bytes;
	uint32_t flags;
};

struct vm {
	uint64_t root;		/* physical; 0: a kernel task, which has the kernel's own tables */
	struct region *regions; /* from kmalloc, grown as needed */
	uint32_t nr_regions, room;
	uintptr_t heap_end;
	uint64_t nr_faults;
};

static inline void *phys_to_virt(uint64_t phys)
{
	return (void *)(phys + PHYS_BASE);
}

static inline uint64_t virt_to_phys(const void *p)
{
	uintptr_t at = (uintptr_t)p;

	return at >= KERNEL_BASE ? at - KERNEL_BASE + RAM_BASE : at - PHYS_BASE;
}

/* frame.c: physical memory. alloc returns a physical address, 0 if there is none; contents are not cleared. */
void frame_init(uint64_t start, uint64_t end);
void *frame_early(size_t bytes); /* before frame_init: a piece of memory for good */
uint64_t frame_alloc(void);
void frame_free(uint64_t frame);
uint64_t frames_free(void); /* in the pool and in all caches */

/* kmalloc.c: up to 2048 bytes, not cleared; NULL if there is no memory. */
void *kmalloc(size_t bytes);
void kfree(void *object, size_t bytes);

/* vm.c */
void vm_forget_low(void);	 /* once no CPU begins any more */
void vm_protect_kernel(void);	 /* text read-only, the rest not executable */
void vm_guard(const void *page); /* boot only: this page of the kernel's image faults */
int vm_is_guard(uintptr_t at);
int vm_create(struct vm *vm);
void vm_destroy(struct vm *vm); /* not the one that is loaded */
void vm_load(const struct vm *vm);
int vm_add(struct vm *vm, const struct region *r);
uintptr_t vm_map(struct vm *vm, size_t bytes);
int vm_unmap(struct vm *vm, uintptr_t start);
int vm_fault(struct vm *vm, uintptr_t at, uint64_t error); /* 0: mapped; -EFAULT: not theirs */
/* The page that holds a user address, through the kernel's own mapping; NULL: not there. Any context. */
const uint8_t *vm_peek(struct vm *vm, uintptr_t at);
int vm_read(void *to, uintptr_t from,
	    size_t bytes); /* any memory, if it is there: 0; any context */
int vm_readable(const struct vm *vm, uintptr_t at, size_t bytes);
int vm_exec(struct vm *vm, const char *program, uintptr_t *entry); /* exec.c */
void exec_list(void);

#endif
