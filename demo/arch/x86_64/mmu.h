/* SPDX-License-Identifier: MIT */
/* mmu.h -- x86_64: four levels of page tables, their entries, and the register that names them. */
#ifndef DEMO_MMU_H
#define DEMO_MMU_H

#include "arch.h"

#define MMU_LEVELS     4
#define MMU_USER_SLOTS 256 /* of a root table: the rest is the kernel's, the same everywhere */

#define PTE_PRESENT 1ull
#define PTE_WRITE   2ull
#define PTE_USER    4ull
#define PTE_LARGE   0x80ull
#define PTE_NX	    (1ull << 63)
#define PTE_ADDR    0x000ffffffffff000ull

extern uint64_t kernel_root[512]; /* boot.S */

static inline int pte_present(uint64_t e)
{
	return (e & PTE_PRESENT) != 0;
}

static inline int pte_is_large(uint64_t e)
{
	return (e & PTE_LARGE) != 0;
}

static inline uint64_t pte_phys(uint64_t e)
{
	return e & PTE_ADDR;
}

/* An entry that leads to another table. */
static inline uint64_t pte_table(uint64_t phys)
{
	return phys | PTE_PRESENT | PTE_WRITE | PTE_USER;
}

static inline uint64_t pte_kernel_table(uint64_t phys)
{
	return phys | PTE_PRESENT | PTE_WRITE;
}

static inline uint64_t pte_user(uint64_t phys, int write, int exec)
{
	return phys | PTE_PRESENT | PTE_USER | (write ? PTE_WRITE : 0) | (exec ? 0 : PTE_NX);
}

/* Page `i` of the 2 MiB that a large entry maps. */
static inline uint64_t pte_part(uint64_t large, uint64_t i)
{
	return (large & ~PTE_LARGE) + i * PAGE_SIZE;
}

static inline uint64_t pte_read_only(uint64_t e)
{
	return e & ~PTE_WRITE;
}

static inline uint64_t pte_no_exec(uint64_t e)
{
	return e | PTE_NX;
}

/* After entries of the kernel's tables have changed, at boot. */
static inline void mmu_flush_all(void)
{
	write_cr3(read_cr3());
}

/* An entry went away, or came. */
static inline void mmu_flush(uintptr_t at)
{
	invlpg(at);
}

static inline void mmu_came(uintptr_t at)
{
	(void)at; /* what was not there is not remembered */
}

/* A root for user mode: 0 is none. A switch flushes what the CPU remembers of user pages. */
static inline void mmu_load(uint64_t root)
{
	uint64_t to = root ? root : (uint64_t)kernel_root - KERNEL_BASE;

	if (to != read_cr3())
		write_cr3(to);
}

static inline void mmu_new_root(uint64_t *root)
{
	for (int i = MMU_USER_SLOTS; i < 512; i++)
		root[i] = kernel_root[i];
}

/* What boot code saw at physical addresses is no more: NULL faults. */
static inline void mmu_forget_low(void)
{
	kernel_root[0] = 0;
	mmu_flush_all();
}

#endif
