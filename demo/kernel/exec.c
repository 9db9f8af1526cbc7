/* SPDX-License-Identifier: MIT */
/* exec.c -- find a program in the image and lay its ELF segments into an address space; pages come at their first touch. */
#include "kernel.h"
#include "task.h"

/* programs.S, made by the build: every program of demo/user as the linker wrote it. */
struct program {
	const char *name;
	const uint8_t *start, *end;
};
extern const struct program programs[];

struct elf_header {
	uint8_t ident[16];
	uint16_t type, machine;
	uint32_t version;
	uint64_t entry, phoff, shoff;
	uint32_t flags;
	uint16_t ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
};

struct elf_segment {
	uint32_t type, flags;
	uint64_t offset, vaddr, paddr, filesz, memsz, align;
};

#define PT_LOAD	      1
#define SEGMENT_EXEC  1u
#define SEGMENT_WRITE 2u

static const struct program *find(const char *name)
{
	for (const struct program *p = programs; p->name; p++)
		if (!strcmp(p->name, name))
			return p;
	return NULL;
}

/* Programs come from our own build, aligned to pages by user.lds; what is not so is refused. */
static int add_segment(struct vm *vm, const struct program *p, const struct elf_segment *s)
{
	size_t bytes = (size_t)(p->end - p->start);

	if (s->vaddr % PAGE_SIZE || s->offset > bytes || s->filesz > bytes - s->offset)
		return -EINVAL;
	struct region r = {
		.start = s->vaddr,
		.end = (s->vaddr + s->memsz + PAGE_SIZE - 1) & ~(uintptr_t)(PAGE_SIZE - 1),
		.file = p->start + s->offset,
		.file_bytes = s->filesz,
		.flags = (s->flags & SEGMENT_WRITE ? REGION_WRITE : 0) |
			 (s->flags & SEGMENT_EXEC ? REGION_EXEC : 0),
	};
	return vm_add(vm, &r);
}

int vm_exec(struct vm *vm, const char *name, uintptr_t *entry)
{
	const struct program *p = find(name);

	if (!p)
		return -ENOENT;
	const struct elf_header *h = (const void *)p->start;

	if (memcmp(h->ident, "\177ELF\2\1", 6) || h->phentsize != sizeof(struct elf_segment))
		return -EINVAL;
	const struct elf_segment *s = (const void *)(p->start + h->phoff);

	for (int i = 0; i < h->phnum; i++) {
		int err = s[i].type == PT_LOAD && s[i].memsz ? add_segment(vm, p, &s[i]) : 0;

		if (err)
			return err;
	}
	struct region stack = {USER_TOP - USER_STACK, USER_TOP, NULL, 0, REGION_WRITE};

	*entry = h->entry;
	return vm_add(vm, &stack);
}

void exec_list(void)
{
	for (const struct program *p = programs; p->name; p++)
		kprintf("  %-10s %lu bytes\n", p->name, (uint64_t)(p->end - p->start));
}
