/* SPDX-License-Identifier: MIT */
/* crc32.c -- CRC-32 as Ethernet, zip and the seL4 dump use it. */
#include "wire/crc32.h"

/* Half a byte at a time: a table of 1 KiB would be a large part of a small kernel's tracer. */
uint32_t fathom_crc32(uint32_t crc, const void *data, size_t bytes)
{
	static const uint32_t nibble[16] = {
		0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
		0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
		0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
	};
	const uint8_t *p = data;

	crc = ~crc;
	for (size_t i = 0; i < bytes; i++) {
		crc ^= p[i];
		crc = crc >> 4 ^ nibble[crc & 15u];
		crc = crc >> 4 ^ nibble[crc & 15u];
	}
	return ~crc;
}
