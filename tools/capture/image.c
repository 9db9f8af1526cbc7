/* SPDX-License-Identifier: MIT */
/* image.c -- physical memory as a file: raw from some address on, or an ELF core; and a kernel's ELF file for its addresses. */
#include "capture/image.h"
#include "base/diag.h"
#include "base/file.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>
#include <sys/mman.h>

static int map_file(struct image *im, const char *path)
{
	*im = (struct image){.path = path};
	im->map = file_map(path, &im->bytes);
	if (!im->map)
		diag_error("%s: %s", path,
			   errno == EINVAL || errno == ENODATA ? "is empty, or not a regular file"
							       : strerror(errno));
	return im->map ? 0 : -1;
}

void image_close(struct image *im)
{
	if (im->map)
		munmap((void *)im->map, (size_t)im->bytes);
	im->map = NULL;
}

static bool is_elf(const struct image *im)
{
	return im->bytes > EI_NIDENT && !memcmp(im->map, ELFMAG, SELFMAG);
}

/* One program header; `virtual` says which address the segment is found by. */
static void add_segment(struct image *im, const GElf_Phdr *p, bool virtual)
{
	if (p->p_type != PT_LOAD || !p->p_memsz || im->nr_segs > IMAGE_SEGMENTS_MAX)
		return;
	if (im->nr_segs == IMAGE_SEGMENTS_MAX) {
		diag_warn("%s: only the first %d segments are read", im->path, IMAGE_SEGMENTS_MAX);
		im->nr_segs++;
		return;
	}
	if (!virtual && (p->p_offset > im->bytes || p->p_filesz > im->bytes - p->p_offset)) {
		diag_at(im->path, p->p_offset, "a segment of %llu bytes reaches beyond the file",
			(unsigned long long)p->p_filesz);
		return;
	}
	im->seg[im->nr_segs++] =
		(struct image_segment){virtual ? p->p_vaddr : p->p_paddr, p->p_paddr, p->p_offset,
				       virtual ? p->p_memsz : p->p_filesz};
}

/* The load segments of an ELF file of either class and byte order. */
static int load_segments(struct image *im, bool virtual)
{
	Elf *elf = elf_version(EV_CURRENT) != EV_NONE
			   ? elf_memory((char *)(uintptr_t)im->map, (size_t)im->bytes)
			   : NULL;
	size_t nr = 0;
	GElf_Phdr p;

	if (!elf || elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &nr)) {
		diag_error("%s: not an ELF file that can be read: %s", im->path, elf_errmsg(-1));
		elf_end(elf);
		return -1;
	}
	im->big = im->map[EI_DATA] == ELFDATA2MSB;
	im->long_bytes = im->map[EI_CLASS] == ELFCLASS32 ? 4 : 8;
	for (size_t i = 0; i < nr; i++)
		if (gelf_getphdr(elf, (int)i, &p))
			add_segment(im, &p, virtual);
		else
			diag_at(im->path, 0, "program header %zu lies outside of the file", i);
	elf_end(elf);
	if (im->nr_segs > IMAGE_SEGMENTS_MAX)
		im->nr_segs = IMAGE_SEGMENTS_MAX;
	if (!im->nr_segs)
		diag_error("%s: holds no memory segment", im->path);
	return im->nr_segs ? 0 : -1;
}

int image_open(struct image *im, const char *path, uint64_t base)
{
	if (map_file(im, path))
		return -1;
	if (is_elf(im))
		return load_segments(im, false);
	im->seg[0] = (struct image_segment){base, base, 0, im->bytes};
	im->nr_segs = 1;
	return 0;
}

int image_kernel(struct image *im, const char *path)
{
	if (map_file(im, path))
		return -1;
	if (!is_elf(im)) {
		diag_error("%s: not an ELF file", path);
		return -1;
	}
	return load_segments(im, true);
}

const uint8_t *image_at(const struct image *im, uint64_t phys, uint64_t n)
{
	for (uint32_t i = 0; i < im->nr_segs; i++) {
		const struct image_segment *s = &im->seg[i];

		if (phys >= s->at && n <= s->bytes && phys - s->at <= s->bytes - n)
			return im->map + s->offset + (phys - s->at);
	}
	return NULL;
}

bool image_phys(const struct image *kernel, uint64_t at, uint64_t n, uint64_t *phys)
{
	for (uint32_t i = 0; i < kernel->nr_segs; i++) {
		const struct image_segment *s = &kernel->seg[i];

		if (at >= s->at && n <= s->bytes && at - s->at <= s->bytes - n) {
			*phys = s->phys + (at - s->at);
			return true;
		}
	}
	return false;
}

static bool find_symbol(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, const char *name, uint64_t *at)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = data && sh->sh_entsize ? sh->sh_size / sh->sh_entsize : 0;
	GElf_Sym sym;

	for (size_t i = 0; i < n && gelf_getsym(data, (int)i, &sym); i++) {
		const char *is = elf_strptr(elf, sh->sh_link, sym.st_name);

		if (is && !strcmp(is, name) && sym.st_shndx != SHN_UNDEF) {
			*at = sym.st_value;
			return true;
		}
	}
	return false;
}

bool image_symbol(const struct image *kernel, const char *name, uint64_t *at)
{
	Elf *elf = elf_memory((char *)(uintptr_t)kernel->map, kernel->bytes);
	Elf_Scn *scn = NULL;
	bool found = false;
	GElf_Shdr sh;

	while (!found && (scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_SYMTAB)
			found = find_symbol(elf, scn, &sh, name, at);
	elf_end(elf);
	return found;
}
