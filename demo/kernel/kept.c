/* SPDX-License-Identifier: MIT */
/* kept.c -- memory that a warm reset leaves as it is, for the tracer; the shell's reset and spoil. */
#include "kernel.h"
#include "machine.h"
#include "shell.h"
#include "vm.h"

#define KEPT_KIB    1024
#define SPOIL_BYTES 64

struct kept kept;

/*
 * QEMU's loaders put the image, the device tree and the firmware's own in place again after a reset, and the kernel clears its
 * .bss: what lies behind the image is nobody's.
 */
void kept_init(void)
{
	char kib[8];

	kept.bytes = (boot_option("keep_kib", kib, sizeof(kib)) ? parse_u64(kib) : KEPT_KIB) << 10;
	kept.memory = frame_early(kept.bytes);
}

int cmd_reset(int argc, char **argv)
{
	(void)argc, (void)argv;
	warm_reset();
}

/* What a bug, or memory that was without power for a moment, would do. */
int cmd_spoil(int argc, char **argv)
{
	size_t at = argc > 1 ? parse_u64(argv[1]) * PAGE_SIZE + PAGE_SIZE / 2 : kept.bytes;

	if (at + SPOIL_BYTES > kept.bytes) {
		kprintf("spoil PAGE, below %lu\n", kept.bytes / PAGE_SIZE);
		return -EINVAL;
	}
	memset(kept.memory + at, 0xff, SPOIL_BYTES);
	return 0;
}
