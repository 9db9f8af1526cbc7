/* SPDX-License-Identifier: MIT */
/* crc32.h -- CRC-32 as Ethernet, zip and the seL4 dump use it. */
#ifndef WIRE_CRC32_H
#define WIRE_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* The CRC of the bytes so far (0 to begin with) and of these. Any context; two table steps a byte, 64 bytes of table. */
uint32_t fathom_crc32(uint32_t crc, const void *data, size_t bytes);

#endif
