/* SPDX-License-Identifier: MIT */
/* string.h -- what FreeRTOS uses of a libc, for an image without one. */
#ifndef DEMO_STRING_H
#define DEMO_STRING_H

#include <stddef.h>

void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
char *strcpy(char *to, const char *from);
size_t strlen(const char *s);

#endif
