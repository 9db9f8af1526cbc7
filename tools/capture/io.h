/* SPDX-License-Identifier: MIT */
/* io.h -- bytes to a line that may be slow, and the clock that patience is measured by. */
#ifndef CAPTURE_IO_H
#define CAPTURE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int64_t io_now_ms(void); /* monotonic */
/* Writes everything, even to a non-blocking fd; false if it was closed or accepted nothing for `patience_ms`. */
bool io_write_all(int fd, const void *from, size_t n, int64_t patience_ms);

#endif
