/* SPDX-License-Identifier: MIT */
/* compress.c -- the compressions a trace.dat may use: none, zlib, zstd. */
#include "decode/compress.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum compression compress_named(const char *name)
{
	if (!strcmp(name, "none"))
		return COMPRESS_NONE;
	if (!strcmp(name, "zlib"))
		return COMPRESS_ZLIB;
	if (!strcmp(name, "zstd"))
		return COMPRESS_ZSTD;
	return COMPRESS_UNKNOWN;
}

const char *compress_name(enum compression c)
{
	static const char *const names[] = {"none", "zlib", "zstd", "unknown"};

	return names[c];
}

const char *compress_version(enum compression c)
{
	return c == COMPRESS_ZLIB ? zlibVersion() : c == COMPRESS_ZSTD ? ZSTD_versionString() : "";
}

/* A context is some hundred kilobytes of tables: each thread keeps one, in the cache of its CPU. */
static pthread_key_t context_key;
static pthread_once_t context_once = PTHREAD_ONCE_INIT;

static void free_context(void *p)
{
	ZSTD_freeDCtx(p);
}

static void make_context_key(void)
{
	pthread_key_create(&context_key, free_context);
}

static ZSTD_DCtx *zstd_context(void)
{
	ZSTD_DCtx *d;

	pthread_once(&context_once, make_context_key);
	d = pthread_getspecific(context_key);
	if (!d && (d = ZSTD_createDCtx()))
		pthread_setspecific(context_key, d);
	return d;
}

static int unpack_zstd(const void *in, size_t in_bytes, void *out, size_t out_bytes)
{
	ZSTD_DCtx *d = zstd_context();

	return d && ZSTD_decompressDCtx(d, out, out_bytes, in, in_bytes) == out_bytes ? 0 : -EINVAL;
}

int decompress(enum compression c, const void *in, size_t in_bytes, void *out, size_t out_bytes)
{
	uLongf z = out_bytes;

	switch (c) {
	case COMPRESS_ZSTD: return unpack_zstd(in, in_bytes, out, out_bytes);
	case COMPRESS_ZLIB:
		return uncompress(out, &z, in, in_bytes) == Z_OK && z == out_bytes ? 0 : -EINVAL;
	case COMPRESS_NONE:
		if (in_bytes != out_bytes)
			return -EINVAL;
		memcpy(out, in, in_bytes);
		return 0;
	default: return -EINVAL;
	}
}

bool compress_begins(enum compression c, const uint8_t *p)
{
	static const uint8_t zstd[4] = {0x28, 0xb5, 0x2f, 0xfd};

	switch (c) {
	case COMPRESS_ZSTD: return !memcmp(p, zstd, sizeof(zstd));
	case COMPRESS_ZLIB: return (p[0] & 15) == 8 && (p[0] << 8 | p[1]) % 31 == 0;
	default: return true;
	}
}

size_t compress_extent(enum compression c, const uint8_t *p, size_t n)
{
	size_t extent = c == COMPRESS_ZSTD ? ZSTD_findFrameCompressedSize(p, n) : 0;

	return ZSTD_isError(extent) ? 0 : extent;
}

size_t compress_bound(enum compression c, size_t in_bytes)
{
	return c == COMPRESS_ZSTD   ? ZSTD_compressBound(in_bytes)
	       : c == COMPRESS_ZLIB ? compressBound(in_bytes)
				    : in_bytes;
}

long compress_bytes(enum compression c, int level, const void *in, size_t in_bytes, void *out,
		    size_t out_bytes)
{
	uLongf z = out_bytes;
	size_t n;

	switch (c) {
	case COMPRESS_ZSTD:
		n = ZSTD_compress(out, out_bytes, in, in_bytes, level);
		return ZSTD_isError(n) ? -1 : (long)n;
	case COMPRESS_ZLIB: return compress2(out, &z, in, in_bytes, level) == Z_OK ? (long)z : -1;
	default: return -1;
	}
}
