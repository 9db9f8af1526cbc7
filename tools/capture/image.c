/* SPDX-License-Identifier: MIT */
/* image.c -- physical memory as a file: raw from address 0, or an ELF core; and a kernel's ELF file for its addresses. */
#include "capture/image.h"
#include "base/diag.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int map_file(struct image *im, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	*im = (struct image){.path = path};
	if (fd < 0 || fstat(fd, &st)) {
		diag_error("%s: %s", path, strerror(errno));
	} else if (!S_ISREG(st.st_mode) || st.st_size == 0) {
		diag_error("%s: not a file with something in it", path);
	} else {
		void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);

		if (p == MAP_FAILED) {
			diag_error("%s: %s", path, strerror(errno));
		} else {
			im->map = p;
			im->bytes = (uint64_t)st.st_size;
		}
	}
	if (fd >= 0)
		close(fd);
	return im->map ? 0 : -1;
}

void image_close(struct image *im)
{
	if (im->map)
		munmap((void *)im->map, (size_t)im->bytes);
	im->map = NULL;
}

static bool is_elf64(const struct image *im)
{
	return im->bytes >= sizeof(Elf64_Ehdr) && !memcmp(im->map, ELFMAG, SELFMAG) &&
	       im->map[EI_CLASS] == ELFCLASS64 && im->map[EI_DATA] == ELFDATA2LSB;
}

/* The load segments; `virtual` says which address they are found by. */
static int load_segments(struct image *im, bool virtual)
{
	Elf64_Ehdr h;

	memcpy(&h, im->map, sizeof(h));
	if (h.e_phentsize != sizeof(Elf64_Phdr) || h.e_phoff > im->bytes ||
	    (uint64_t)h.e_phnum * sizeof(Elf64_Phdr) > im->bytes - h.e_phoff) {
		diag_at(im->path, h.e_phoff, "program headers lie outside of the file");
		return -1;
	}
	for (uint32_t i = 0; i < h.e_phnum; i++) {
		Elf64_Phdr p;

		memcpy(&p, im->map + h.e_phoff + i * sizeof(p), sizeof(p));
		if (p.p_type != PT_LOAD || !p.p_memsz)
			continue;
		if (im->nr_segs == IMAGE_SEGMENTS_MAX) {
			diag_warn("%s: only the first %d segments are read", im->path,
				  IMAGE_SEGMENTS_MAX);
			break;
		}
		if (!virtual && (p.p_offset > im->bytes || p.p_filesz > im->bytes - p.p_offset)) {
			diag_at(im->path, h.e_phoff + i * sizeof(p),
				"a segment reaches beyond the file");
			continue;
		}
		im->seg[im->nr_segs++] =
			(struct image_segment){virtual ? p.p_vaddr : p.p_paddr, p.p_paddr,
					       p.p_offset, virtual ? p.p_memsz : p.p_filesz};
	}
	if (!im->nr_segs)
		diag_error("%s: no memory in it", im->path);
	return im->nr_segs ? 0 : -1;
}

int image_open(struct image *im, const char *path)
{
	if (map_file(im, path))
		return -1;
	if (is_elf64(im))
		return load_segments(im, false);
	im->seg[0] = (struct image_segment){0, 0, 0, im->bytes};
	im->nr_segs = 1;
	return 0;
}

int image_kernel(struct image *im, const char *path)
{
	if (map_file(im, path))
		return -1;
	if (!is_elf64(im)) {
		diag_error("%s: not a 64-bit little-endian ELF file", path);
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
