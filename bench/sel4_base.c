/* SPDX-License-Identifier: MIT */
/* sel4_base.c -- what the seL4 benchmark compares with: sel4_base empty | read FILE | zeros FILE BYTES. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char buf[131072];

/* The same way as the fixed records are written: one buffer that stays in the cache, write() after write(). */
static int zeros(const char *path, unsigned long long bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	while (fd >= 0 && bytes) {
		size_t n = bytes < sizeof(buf) ? (size_t)bytes : sizeof(buf);

		memset(buf, 0, n);
		__asm__ volatile("" ::: "memory");
		if (write(fd, buf, n) != (ssize_t)n)
			return 1;
		bytes -= n;
	}
	return fd < 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "zeros"))
		return zeros(argv[2], strtoull(argv[3], NULL, 0));
	if (argc == 3 && !strcmp(argv[1], "read")) {
		int fd = open(argv[2], O_RDONLY);

		while (read(fd, buf, sizeof(buf)) > 0)
			;
		return fd < 0;
	}
	return argc != 2;
}
