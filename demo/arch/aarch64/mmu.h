/* SPDX-License-Identifier: MIT */
/* mmu.h -- aarch64: four levels of page tables, their entries, and the two registers that name them. */
#ifndef DEMO_MMU_H
#define DEMO_MMU_H

#include "arch.h"

/* The kernel's tables have a register of their own (TTBR1), so a task's root holds nothing of it. */
#define MMU_LEVELS     4
#define MMU_USER_SLOTS 512

#define PTE_VALID      1ull
#define PTE_TABLE      2ull /* not a large page; on the last level: a page */
#define PTE_EL0	       (1ull << 6)
#define PTE_READ_ONLY  (1ull << 7)
#define PTE_SHARED     (3ull << 8) /* inner shareable; MAIR's attribute 0 is normal memory */
#define PTE_USED       (1ull << 10)
#define PTE_NOT_GLOBAL (1ull << 11)
#define PTE_PXN	       (1ull << 53)
#define PTE_UXN	       (1ull << 54)
#define PTE_ADDR       0x0000fffffffff000ull

extern uint64_t low_root[512]; /* boot.S: what TTBR0 holds when there is no user */

static inline int pte_present(uint64_t e)
{
	return (e & PTE_VALID) != 0;
}

static inline int pte_is_large(uint64_t e)
{
	return (e & (PTE_VALID | PTE_TABLE)) == PTE_VALID;
}

static inline uint64_t pte_phys(uint64_t e)
{
	return e & PTE_ADDR;
}

/* An entry that leads to another table. */
static inline uint64_t pte_table(uint64_t phys)
{
	return phys | PTE_TABLE | PTE_VALID;
}

static inline uint64_t pte_kernel_table(uint64_t phys)
{
	return phys | PTE_TABLE | PTE_VALID;
}

static inline uint64_t pte_user(uint64_t phys, int write, int exec)
{
	return phys | PTE_VALID | PTE_TABLE | PTE_EL0 | PTE_SHARED | PTE_USED | PTE_NOT_GLOBAL |
	       PTE_PXN | (write ? 0 : PTE_READ_ONLY) | (exec ? 0 : PTE_UXN);
}

/* Page `i` of the 2 MiB that a large entry maps. */
static inline uint64_t pte_part(uint64_t large, uint64_t i)
{
	return (large | PTE_TABLE) + i * PAGE_SIZE;
}

static inline uint64_t pte_read_only(uint64_t e)
{
	return e | PTE_READ_ONLY;
}

static inline uint64_t pte_no_exec(uint64_t e)
{
	return e | PTE_PXN;
}

/* After entries of the kernel's tables have changed, at boot. */
static inline void mmu_flush_all(void)
{
	__asm__ volatile("dsb ishst\n\ttlbi vmalle1is\n\tdsb ish\n\tisb" ::: "memory");
}

/* An entry went away, or came. */
static inline void mmu_flush(uintptr_t at)
{
	__asm__ volatile("dsb ishst\n\ttlbi vaae1, %0\n\tdsb ish\n\tisb" ::"r"(at >> 12)
			 : "memory");
}

static inline void mmu_came(uintptr_t at)
{
	(void)at; /* what was not there is not remembered, but the store must be seen by the walk */
	__asm__ volatile("dsb ishst\n\tisb" ::: "memory");
}

/* A root for user mode: 0 is none. A switch flushes what the CPU remembers of user pages: all have address space 0. */
static inline void mmu_load(uint64_t root)
{
	uint64_t to = root ? root : (uint64_t)low_root - KERNEL_BASE + RAM_BASE;

	if (to == reg_read(ttbr0_el1))
		return;
	reg_write(ttbr0_el1, to);
	__asm__ volatile("isb\n\ttlbi aside1, xzr\n\tdsb nsh\n\tisb" ::: "memory");
}

static inline void mmu_new_root(uint64_t *root)
{
	(void)root;
}

/* What boot code saw at physical addresses is no more: such a pointer faults. */
static inline void mmu_forget_low(void)
{
	low_root[0] = 0;
	mmu_flush_all();
}

#endif
