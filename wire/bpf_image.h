/* SPDX-License-Identifier: MIT */
/* bpf_image.h -- a program as it is written to programs/NAME/load: maps, parts and instructions. */
#ifndef WIRE_BPF_IMAGE_H
#define WIRE_BPF_IMAGE_H

#include <stdint.h>
#include "wire/bpf.h"

/*
 * struct bpf_image, then nr_maps of struct bpf_image_map, nr_parts of struct bpf_image_part, and nr_code instructions; all
 * in the byte order of the machine that runs it. The magic shows another order, and the version another layout.
 */
#define BPF_IMAGE_MAGIC	  0x46425046u /* "FPBF" */
#define BPF_IMAGE_VERSION 1

#define BPF_IMAGE_MAPS_MAX  32
#define BPF_IMAGE_PARTS_MAX 128
#define BPF_IMAGE_NAME	    16
#define BPF_STACK_FRAMES    32 /* of a stack that BPF_STACK_ID keeps */

struct bpf_image {
	uint32_t magic;
	uint16_t version;
	uint16_t nr_maps;
	uint16_t nr_parts;
	uint16_t nr_stacks;  /* different ones that BPF_STACK_ID can keep */
	uint32_t ring_bytes; /* for BPF_EMIT and BPF_RING_OUTPUT; 0: nothing is emitted */
	uint32_t nr_code;
	uint32_t budget; /* instructions of one run; 0: as many as the target allows */
};

struct bpf_image_map {
	char name[BPF_IMAGE_NAME]; /* of its file in maps/, with its end; unlike all others */
	uint8_t kind;		   /* enum bpf_map_kind */
	uint8_t is_signed;	   /* BPF_MAP_NOTES: min and max are of signed numbers */
	uint16_t unused;
	uint32_t key_bytes, value_bytes;
	uint32_t entries; /* that it has room for */
	uint32_t unused2;
	int64_t min, max, step; /* BPF_MAP_LINEAR */
};

/* A part is one function: it begins at code[first]. */
struct bpf_image_part {
	uint32_t first, nr;
	uint32_t context_bytes; /* that a record must have */
	uint32_t stack_bytes;
};

/*
 * The context of a function is its record (ftrace/function, ftrace/funcgraph_exit) and, from the next multiple of 8 on, words
 * of 64 bits: at an entry BPF_CONTEXT_ARGS arguments, at a return the value. Without them where registers are not known.
 */
#define BPF_CONTEXT_ARGS 6

/*
 * What programs/NAME/events gives: a record after each other, each a multiple of 8 bytes.
 *
 * OFFSET SIZE  MEANING
 *      0    4  bytes of the data
 *      4    4  the action of BPF_EMIT, or 0x80000000 + the map of BPF_RING_OUTPUT
 *      8    8  time in nanoseconds
 *     16       the data, filled up to 8 bytes
 */
struct bpf_emitted {
	uint32_t bytes;
	uint32_t action;
	uint64_t time;
};
#define BPF_EMITTED_RING 0x80000000u

#endif
