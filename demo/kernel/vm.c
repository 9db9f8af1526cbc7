/* SPDX-License-Identifier: MIT */
/* vm.c -- address spaces: four levels of page tables, filled by page faults from the regions that allow them. */
#include "kernel.h"
#include "cpu.h"
#include "vm.h"

/*
 * The lower half of a pml4 belongs to the task, the upper half is the kernel's and the same everywhere. A task has one
 * thread and runs on one CPU at a time, and a switch loads %cr3, so no other CPU ever holds a stale entry of a user page:
 * there is no shoot-down to do.
 */
#define PTE_PRESENT 1ull
#define PTE_WRITE   2ull
#define PTE_USER    4ull
#define PTE_LARGE   0x80ull
#define PTE_NX	    (1ull << 63)
#define PTE_ADDR    0x000ffffffffff000ull

#define FAULT_PRESENT 1u
#define FAULT_WRITE   2u
#define FAULT_FETCH   16u

extern uint64_t boot_pml4[512], kernel_pd[512];
extern uint8_t text_end[];

static uint64_t *table(uint64_t entry)
{
	return phys_to_virt(entry & PTE_ADDR);
}

static uint64_t frame_zeroed(void)
{
	uint64_t f = frame_alloc();

	if (f)
		memset(phys_to_virt(f), 0, PAGE_SIZE);
	return f;
}

/* The image is linked so that text ends on a 2 MiB boundary. Text is written later only through the direct map. */
void vm_protect_kernel(void)
{
	for (uint64_t i = 0; i < 512; i++) {
		if (i << 21 < virt_to_phys(text_end))
			kernel_pd[i] &= ~PTE_WRITE;
		else
			kernel_pd[i] |= PTE_NX;
	}
	write_cr3(read_cr3());
}

/* The 2 MiB page around it becomes 512 small ones, one of them missing. */
void vm_guard(const void *page)
{
	uint64_t at = virt_to_phys(page), *pd = &kernel_pd[at >> 21];

	if (*pd & PTE_LARGE) {
		uint64_t *pages = frame_early(PAGE_SIZE);

		for (uint64_t i = 0; i < 512; i++)
			pages[i] = (*pd & ~PTE_LARGE) + i * PAGE_SIZE;
		*pd = virt_to_phys(pages) | PTE_PRESENT | PTE_WRITE;
	}
	table(*pd)[at >> 12 & 511] = 0;
	write_cr3(read_cr3());
}

int vm_is_guard(uintptr_t at)
{
	uint64_t pd = at >= KERNEL_BASE ? kernel_pd[at >> 21 & 511] : PTE_LARGE;

	return !(pd & PTE_LARGE) && !(table(pd)[at >> 12 & 511] & PTE_PRESENT);
}

/* What boot code saw at address 0 on is no more: NULL faults. */
void vm_forget_low(void)
{
	boot_pml4[0] = 0;
	write_cr3(read_cr3());
}

int vm_create(struct vm *vm)
{
	memset(vm, 0, sizeof(*vm));
	vm->pml4 = frame_zeroed();
	if (!vm->pml4)
		return -ENOMEM;
	memcpy((uint64_t *)phys_to_virt(vm->pml4) + 256, boot_pml4 + 256, 256 * 8);
	vm->heap_end = USER_HEAP;
	return 0;
}

/* Free a table and what hangs below it; level 1 entries are pages. */
static void free_pages(uint64_t at, int level)
{
	uint64_t *t = phys_to_virt(at);

	for (int i = 0; i < (level == 4 ? 256 : 512); i++) {
		if (!(t[i] & PTE_PRESENT))
			continue;
		if (level == 1)
			frame_free(t[i] & PTE_ADDR);
		else
			free_pages(t[i] & PTE_ADDR, level - 1);
	}
	frame_free(at);
}

void vm_destroy(struct vm *vm)
{
	if (vm->pml4)
		free_pages(vm->pml4, 4);
	kfree(vm->regions, vm->room * sizeof(*vm->regions));
	memset(vm, 0, sizeof(*vm));
}

void vm_load(const struct vm *vm)
{
	uint64_t pml4 = vm->pml4 ? vm->pml4 : virt_to_phys(boot_pml4);

	if (pml4 != read_cr3())
		write_cr3(pml4);
}

/* Room for twice as many regions. */
static int grow(struct vm *vm)
{
	uint32_t room = vm->room ? vm->room * 2 : 6;
	struct region *more = kmalloc(room * sizeof(*more));

	if (!more)
		return -ENOMEM;
	memcpy(more, vm->regions, vm->nr_regions * sizeof(*more));
	kfree(vm->regions, vm->room * sizeof(*more));
	vm->regions = more;
	vm->room = room;
	return 0;
}

int vm_add(struct vm *vm, const struct region *r)
{
	if (vm->nr_regions == vm->room && grow(vm))
		return -ENOMEM;
	if (r->start >= r->end || r->end > USER_TOP)
		return -EINVAL;
	vm->regions[vm->nr_regions++] = *r;
	return 0;
}

/* Fresh zeroed memory at the heap's end; a page's gap behind each piece turns an overrun into a fault. */
uintptr_t vm_map(struct vm *vm, size_t bytes)
{
	uintptr_t start = vm->heap_end;

	if (!bytes || bytes > USER_TOP / 2 - USER_HEAP)
		return 0;
	bytes = (bytes + PAGE_SIZE - 1) & ~(size_t)(PAGE_SIZE - 1);
	struct region r = {start, start + bytes, NULL, 0, REGION_WRITE};

	if (vm_add(vm, &r))
		return 0;
	vm->heap_end += bytes + PAGE_SIZE;
	return start;
}

/* The entry for `at`; the tables on the way are made if `make` is set. NULL: not there, or no memory. */
static uint64_t *walk(struct vm *vm, uintptr_t at, int make)
{
	uint64_t *t = phys_to_virt(vm->pml4);

	for (int shift = 39; shift > 12; shift -= 9) {
		uint64_t *e = &t[at >> shift & 511];

		if (!(*e & PTE_PRESENT)) {
			uint64_t f = make ? frame_zeroed() : 0;

			if (!f)
				return NULL;
			*e = f | PTE_PRESENT | PTE_WRITE | PTE_USER;
		}
		t = table(*e);
	}
	return &t[at >> 12 & 511];
}

const uint8_t *vm_peek(struct vm *vm, uintptr_t at)
{
	uint64_t *e = vm->pml4 && at < USER_TOP ? walk(vm, at, 0) : NULL;

	return e && *e & PTE_PRESENT ? (const uint8_t *)table(*e) : NULL;
}

int vm_unmap(struct vm *vm, uintptr_t start)
{
	for (uint32_t i = 0; i < vm->nr_regions; i++) {
		struct region r = vm->regions[i];

		if (r.start != start || start < USER_HEAP || r.file)
			continue;
		for (uintptr_t at = r.start; at < r.end; at += PAGE_SIZE) {
			uint64_t *e = walk(vm, at, 0);

			if (!e || !(*e & PTE_PRESENT))
				continue;
			frame_free(*e & PTE_ADDR);
			*e = 0;
			invlpg(at);
		}
		vm->regions[i] = vm->regions[--vm->nr_regions];
		return 0;
	}
	return -EINVAL;
}

static const struct region *region_of(const struct vm *vm, uintptr_t at)
{
	for (uint32_t i = 0; i < vm->nr_regions; i++)
		if (at >= vm->regions[i].start && at < vm->regions[i].end)
			return &vm->regions[i];
	return NULL;
}

static int allowed(const struct region *r, uint64_t error)
{
	return r && !(error & FAULT_PRESENT) &&
	       (!(error & FAULT_WRITE) || (r->flags & REGION_WRITE)) &&
	       (!(error & FAULT_FETCH) || (r->flags & REGION_EXEC));
}

int vm_fault(struct vm *vm, uintptr_t at, uint64_t error)
{
	const struct region *r = vm->pml4 ? region_of(vm, at) : NULL;

	if (!allowed(r, error))
		return -EFAULT;
	uint64_t *e = walk(vm, at, 1), f = e ? frame_zeroed() : 0;

	if (!f)
		return -ENOMEM;
	uintptr_t page = at & ~(uintptr_t)(PAGE_SIZE - 1);
	size_t offset = page - r->start;

	if (r->file && offset < r->file_bytes) {
		size_t n = r->file_bytes - offset;

		memcpy(phys_to_virt(f), r->file + offset, n < PAGE_SIZE ? n : PAGE_SIZE);
	}
	*e = f | PTE_PRESENT | PTE_USER | (r->flags & REGION_WRITE ? PTE_WRITE : 0) |
	     (r->flags & REGION_EXEC ? 0 : PTE_NX);
	vm->nr_faults++;
	return 0;
}

/* A range the kernel may touch on the task's behalf: its pages may be missing, but a fault will bring them. */
int vm_readable(const struct vm *vm, uintptr_t at, size_t bytes)
{
	const struct region *r = region_of(vm, at);

	return r && bytes <= r->end - at;
}
