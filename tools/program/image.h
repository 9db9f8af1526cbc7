/* SPDX-License-Identifier: MIT */
/* image.h -- a compiled program as it is loaded into a target, and its results as they come back. */
#ifndef PROGRAM_IMAGE_H
#define PROGRAM_IMAGE_H

#include "program/machine.h"
#include "wire/bpf_image.h"

/* To be freed; NULL: no memory. */
uint8_t *image_build(const struct generator *c, size_t *bytes);
/* The text of maps/NAME, and of stacks. 0, -EPROTO: it is not that, -ENOMEM. */
int image_read_map(struct map *m, const char *text);
int image_read_stacks(struct machine *m, const char *text);

#endif
