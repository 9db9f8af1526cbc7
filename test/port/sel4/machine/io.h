/* SPDX-License-Identifier: MIT */
/* io.h -- stand-in: the console. */
#ifndef MACHINE_IO_H
#define MACHINE_IO_H
void kernel_putDebugChar(unsigned char c);
int printf(const char *format, ...);
#endif
