/* SPDX-License-Identifier: MIT */
/* mmu.h -- riscv64: Sv39, three levels of page tables, their entries, and the register that names them. */
#ifndef DEMO_MMU_H
#define DEMO_MMU_H

#include "arch.h"

#define MMU_LEVELS     3
#define MMU_USER_SLOTS 256 /* of a root table: the rest is the kernel's, the same everywhere */

#define PTE_VALID 1ull
#define PTE_READ  2ull
#define PTE_WRITE 4ull
#define PTE_EXEC  8ull
#define PTE_USER  0x10ull
#define PTE_USED  0xc0ull /* accessed and dirty: nobody here asks, so no fault is taken for them */
#define SATP_SV39 (8ull << 60)

extern uint64_t kernel_root[512]; /* boot.S */

static inline int pte_present(uint64_t e)
{
	return (e & PTE_VALID) != 0;
}

static inline int pte_is_large(uint64_t e)
{
	return (e & (PTE_READ | PTE_WRITE | PTE_EXEC)) != 0;
}

static inline uint64_t pte_phys(uint64_t e)
{
	return (e >> 10 & 0xfffffffffffull) << 12;
}

/* An entry that leads to another table. */
static inline uint64_t pte_table(uint64_t phys)
{
	return phys >> 2 | PTE_VALID;
}

static inline uint64_t pte_kernel_table(uint64_t phys)
{
	return phys >> 2 | PTE_VALID;
}

static inline uint64_t pte_user(uint64_t phys, int write, int exec)
{
	return phys >> 2 | PTE_VALID | PTE_READ | PTE_USER | PTE_USED | (write ? PTE_WRITE : 0) |
	       (exec ? PTE_EXEC : 0);
}

/* Page `i` of the 2 MiB that a large entry maps. */
static inline uint64_t pte_part(uint64_t large, uint64_t i)
{
	return large + (i << 10);
}

static inline uint64_t pte_read_only(uint64_t e)
{
	return e & ~PTE_WRITE;
}

static inline uint64_t pte_no_exec(uint64_t e)
{
	return e & ~PTE_EXEC;
}

/* After entries of the kernel's tables have changed, at boot. */
static inline void mmu_flush_all(void)
{
	__asm__ volatile("sfence.vma" ::: "memory");
}

/* An entry went away, or came: that it was not there may be remembered too. */
static inline void mmu_flush(uintptr_t at)
{
	__asm__ volatile("sfence.vma %0" ::"r"(at) : "memory");
}

static inline void mmu_came(uintptr_t at)
{
	mmu_flush(at);
}

/* A root for user mode: 0 is none. A switch flushes what the CPU remembers of user pages. */
static inline void mmu_load(uint64_t root)
{
	uint64_t to =
		SATP_SV39 | (root ? root : (uint64_t)kernel_root - KERNEL_BASE + RAM_BASE) >> 12;

	if (to == csr_read(satp))
		return;
	csr_write(satp, to);
	mmu_flush_all();
}

static inline void mmu_new_root(uint64_t *root)
{
	for (int i = MMU_USER_SLOTS; i < 512; i++)
		root[i] = kernel_root[i];
}

/* What boot code saw at physical addresses is no more: such a pointer faults. */
static inline void mmu_forget_low(void)
{
	kernel_root[RAM_BASE >> 30] = 0;
	mmu_flush_all();
}

#endif
