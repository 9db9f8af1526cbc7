/* SPDX-License-Identifier: MIT */
/* tools_memory.c -- fuzz target: a memory image of every kind, changed at some places, its beacon sealed again. */
#include "capture/record.h"
#include "lib/fuzz_file.h"
#include "lib/image_make.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void path_of(int fd, char path[32])
{
	snprintf(path, 32, "/proc/self/fd/%d", fd);
}

static int file_of(const void *bytes, size_t n, char path[32])
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
		abort();
	path_of(fd, path);
	return fd;
}

/* First byte: 1 big endian, 2 32-bit, 4 cut by the size of the input; then u16 place, u8 value, again and again. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct image_make m;
	char image[32], kernel[32];
	struct record_options o = {.output = "/dev/null", .image = image, .kernel = kernel};
	struct capture c;
	uint8_t elf[1024];
	size_t n = IMAGE_BYTES;
	int fd[2], status;

	if (!size)
		return 0;
	m.big = data[0] & 1;
	m.longs = data[0] & 2 ? 4 : 8;
	image_make(&m);
	for (size_t i = 1; i + 3 <= size; i += 3)
		m.bytes[(size_t)(data[i] | data[i + 1] << 8) % IMAGE_BYTES] = data[i + 2];
	if (!(data[0] & 8))
		image_seal(&m);
	if (data[0] & 4)
		n = IMAGE_BYTES - size % IMAGE_BYTES;
	fd[0] = file_of(m.bytes, n, image);
	fd[1] = file_of(elf, image_kernel_elf(&m, elf), kernel);
	capture_init(&c);
	record_run(&o, &c, &status);
	capture_free(&c);
	close(fd[0]);
	close(fd[1]);
	return 0;
}
