/* SPDX-License-Identifier: MIT */
/* start.h -- the machine of the flash tests. */
#ifndef FLASH_START_H
#define FLASH_START_H

#include <stddef.h>
#include <stdint.h>

void flash_main(void);
void flash_say(const char *text);
void flash_end(const char *text);
int flash_file(const char *name);
int flash_write_at(void *arg, uint64_t at, const void *bytes, size_t n);

#endif
