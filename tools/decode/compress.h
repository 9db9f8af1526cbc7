/* SPDX-License-Identifier: MIT */
/* compress.h -- the compressions a trace.dat may use: none, zlib, zstd. */
#ifndef DECODE_COMPRESS_H
#define DECODE_COMPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum compression {
	COMPRESS_NONE,
	COMPRESS_ZLIB,
	COMPRESS_ZSTD,
	COMPRESS_UNKNOWN,
};

/* By the name in the file: "none", "zlib", "zstd". */
enum compression compress_named(const char *name);
const char *compress_name(enum compression c);

/* Fill exactly `out_bytes`. 0, or -EINVAL: damaged, or another size. */
int decompress(enum compression c, const void *in, size_t in_bytes, void *out, size_t out_bytes);
/*
 * The same into memory that another CPU may have used. To unpack is to read over and over what was just written, and each of
 * its lines would have to come from that CPU first: it can take twice the time. So it is done elsewhere and copied.
 */
int decompress_apart(enum compression c, const void *in, size_t in_bytes, void *out,
		     size_t out_bytes);

/* Four bytes that compressed data may begin with. Where such data end in `n` bytes, by their own account; 0: not known. */
bool compress_begins(enum compression c, const uint8_t *p);
size_t compress_extent(enum compression c, const uint8_t *p, size_t n);

/* Bytes written, or -1. */
long compress_bytes(enum compression c, int level, const void *in, size_t in_bytes, void *out,
		    size_t out_bytes);
size_t compress_bound(enum compression c, size_t in_bytes);
const char *compress_version(enum compression c);

#endif
