/* SPDX-License-Identifier: MIT */
/* image.h -- physical memory as a file: raw from some address on, or an ELF core; and a kernel's ELF file for its addresses. */
#ifndef CAPTURE_IMAGE_H
#define CAPTURE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMAGE_SEGMENTS_MAX 256

struct image_segment {
	uint64_t at; /* physical in an image, virtual in a kernel */
	uint64_t phys;
	uint64_t offset; /* in the file */
	uint64_t bytes;
};

struct image {
	const char *path;
	const uint8_t *map;
	size_t bytes;
	struct image_segment seg[IMAGE_SEGMENTS_MAX];
	uint32_t nr_segs;
	/* of an ELF file */
	bool big;
	uint32_t long_bytes;
};

/* A raw image begins at physical address `base`. 0, or -1 with a message. */
int image_open(struct image *im, const char *path, uint64_t base);
/* The load segments of a kernel: virtual to physical. */
int image_kernel(struct image *im, const char *path);
void image_close(struct image *im);
/* Where a kernel has the variable of this name; false: it has none, or no symbols. */
bool image_symbol(const struct image *kernel, const char *name, uint64_t *at);
/* `n` bytes at a physical address, or NULL if the image does not hold all of them. */
const uint8_t *image_at(const struct image *im, uint64_t phys, uint64_t n);
/* Physical address of `n` bytes at a kernel's virtual one; false if no segment holds all of them. */
bool image_phys(const struct image *kernel, uint64_t at, uint64_t n, uint64_t *phys);

#endif
