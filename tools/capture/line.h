/* SPDX-License-Identifier: MIT */
/* line.h -- 9P through a line that loses bytes and has a console on it: frames outside, a clean pipe inside. */
#ifndef CAPTURE_LINE_H
#define CAPTURE_LINE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Ask the target at the other end of `fd` for frames. If it has them, a thread carries 9P between the line, which it takes, and the
 * pipe that is returned; if not, `fd` itself is returned. What the line says beside the frames goes to `text_fd`, -1: nowhere.
 * The thread ends when the pipe is closed, or the line.
 */
int line_open(int fd, int text_fd);
/* Does it carry datagrams? A target that does not use frames cannot be reached by them. */
bool line_is_datagrams(int fd);

#endif
