/* SPDX-License-Identifier: MIT */
/* vm.c -- address spaces: page tables, filled by page faults from the regions that allow them. */
#include "kernel.h"
#include "cpu.h"
#include "hooks.h"
#include "machine.h"
#include "mmu.h"
#include "task.h"
#include "vm.h"

/*
 * The lower part of a root table belongs to the task, the rest is the kernel's and the same everywhere. A task has one
 * thread and runs on one CPU at a time, and a switch forgets its pages, so no other CPU ever holds a stale entry of a
 * user page: there is no shoot-down to do.
 */
extern uint64_t kernel_pd[512]; /* boot.S: RAM from RAM_BASE on, 2 MiB an entry, at KERNEL_BASE */
extern uint8_t text_end[];

static uint64_t *table(uint64_t entry)
{
	return phys_to_virt(pte_phys(entry));
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
		if (KERNEL_BASE + (i << 21) < (uintptr_t)text_end)
			kernel_pd[i] = pte_read_only(kernel_pd[i]);
		else if (pte_is_large(kernel_pd[i]))
			kernel_pd[i] = pte_no_exec(kernel_pd[i]);
	}
	mmu_flush_all();
}

/* The 2 MiB page around it becomes 512 small ones, one of them missing. */
void vm_guard(const void *page)
{
	uintptr_t at = (uintptr_t)page;
	uint64_t *pd = &kernel_pd[at >> 21 & 511];

	if (pte_is_large(*pd)) {
		uint64_t *pages = frame_early(PAGE_SIZE);

		for (uint64_t i = 0; i < 512; i++)
			pages[i] = pte_no_exec(pte_part(*pd, i)); /* data: text has no guards */
		*pd = pte_kernel_table(virt_to_phys(pages));
	}
	table(*pd)[at >> 12 & 511] = 0;
	mmu_flush_all();
}

int vm_is_guard(uintptr_t at)
{
	uint64_t pd = at >= KERNEL_BASE ? kernel_pd[at >> 21 & 511] : 0;

	return pte_present(pd) && !pte_is_large(pd) && !pte_present(table(pd)[at >> 12 & 511]);
}

void vm_forget_low(void)
{
	mmu_forget_low();
}

int vm_create(struct vm *vm)
{
	memset(vm, 0, sizeof(*vm));
	vm->root = frame_zeroed();
	if (!vm->root)
		return -ENOMEM;
	mmu_new_root(phys_to_virt(vm->root));
	vm->heap_end = USER_HEAP;
	return 0;
}

/* Free a table and what hangs below it; level 1 entries are pages. */
static void free_pages(uint64_t at, int level)
{
	uint64_t *t = phys_to_virt(at);

	for (int i = 0; i < (level == MMU_LEVELS ? MMU_USER_SLOTS : 512); i++) {
		if (!pte_present(t[i]))
			continue;
		if (level == 1)
			frame_free(pte_phys(t[i]));
		else
			free_pages(pte_phys(t[i]), level - 1);
	}
	frame_free(at);
}

void vm_destroy(struct vm *vm)
{
	if (vm->root)
		free_pages(vm->root, MMU_LEVELS);
	kfree(vm->regions, vm->room * sizeof(*vm->regions));
	memset(vm, 0, sizeof(*vm));
}

void vm_load(const struct vm *vm)
{
	mmu_load(vm->root);
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
	uint64_t *t = phys_to_virt(vm->root);

	for (int shift = 12 + 9 * (MMU_LEVELS - 1); shift > 12; shift -= 9) {
		uint64_t *e = &t[at >> shift & 511];

		if (!pte_present(*e)) {
			uint64_t f = make ? frame_zeroed() : 0;

			if (!f)
				return NULL;
			*e = pte_table(f);
		}
		t = table(*e);
	}
	return &t[at >> 12 & 511];
}

const uint8_t *vm_peek(struct vm *vm, uintptr_t at)
{
	uint64_t *e = vm->root && at < USER_TOP ? walk(vm, at, 0) : NULL;

	return e && pte_present(*e) ? (const uint8_t *)table(*e) : NULL;
}

extern uint8_t text_start[];

/* Where `at` can be read without a fault: the image and free RAM, or the running task's own memory. */
NOTRACE static const uint8_t *readable(uintptr_t at)
{
	uint64_t phys = virt_to_phys((void *)at);
	const uint8_t *page;

	if (at >= PHYS_BASE)
		return phys >= virt_to_phys(text_start) && phys < machine.memory_end &&
				       !vm_is_guard(at)
			       ? (const uint8_t *)at
			       : NULL;
	page = vm_peek(&current_task()->vm, at);
	return page ? page + at % PAGE_SIZE : NULL;
}

NOTRACE int vm_read(void *to, uintptr_t from, size_t bytes)
{
	for (size_t done = 0; done < bytes; done++) {
		const uint8_t *at = readable(from + done);

		if (!at)
			return -EFAULT;
		((volatile uint8_t *)to)[done] = *at;
	}
	return 0;
}

int vm_unmap(struct vm *vm, uintptr_t start)
{
	for (uint32_t i = 0; i < vm->nr_regions; i++) {
		struct region r = vm->regions[i];

		if (r.start != start || start < USER_HEAP || r.file)
			continue;
		for (uintptr_t at = r.start; at < r.end; at += PAGE_SIZE) {
			uint64_t *e = walk(vm, at, 0);

			if (!e || !pte_present(*e))
				continue;
			frame_free(pte_phys(*e));
			*e = 0;
			mmu_flush(at);
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
	const struct region *r = vm->root ? region_of(vm, at) : NULL;

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
	*e = pte_user(f, r->flags & REGION_WRITE, r->flags & REGION_EXEC);
	mmu_came(page);
	vm->nr_faults++;
	return 0;
}

/* A range the kernel may touch on the task's behalf: its pages may be missing, but a fault will bring them. */
int vm_readable(const struct vm *vm, uintptr_t at, size_t bytes)
{
	const struct region *r = region_of(vm, at);

	return r && bytes <= r->end - at;
}
