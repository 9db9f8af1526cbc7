/* SPDX-License-Identifier: MIT */
/* compress.c -- the compressions a trace.dat may use: none, zlib, zstd. */
#include "decode/compress.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#define OWN_PLACE (64u << 10) /* trace-cmd's chunks are 40 KB */

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

/* What each thread keeps, in the cache of its CPU: some hundred kilobytes of tables, and a place to unpack. */
struct own {
	ZSTD_DCtx *zstd;
	uint8_t place[OWN_PLACE];
};

static pthread_key_t own_key;
static pthread_once_t own_once = PTHREAD_ONCE_INIT;

static void own_free(void *p)
{
	struct own *o = p;

	ZSTD_freeDCtx(o->zstd);
	free(o);
}

static void own_make_key(void)
{
	pthread_key_create(&own_key, own_free);
}

/* NULL: out of memory. */
static struct own *own_get(void)
{
	struct own *o;

	pthread_once(&own_once, own_make_key);
	o = pthread_getspecific(own_key);
	if (o)
		return o;
	o = malloc(sizeof(*o));
	if (o && !(o->zstd = ZSTD_createDCtx())) {
		free(o);
		return NULL;
	}
	pthread_setspecific(own_key, o);
	return o;
}

static int unpack_zstd(const void *in, size_t in_bytes, void *out, size_t out_bytes)
{
	struct own *o = own_get();

	return o && ZSTD_decompressDCtx(o->zstd, out, out_bytes, in, in_bytes) == out_bytes
		       ? 0
		       : -EINVAL;
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

int decompress_apart(enum compression c, const void *in, size_t in_bytes, void *out,
		     size_t out_bytes)
{
	struct own *o = out_bytes <= OWN_PLACE ? own_get() : NULL;
	int err = decompress(c, in, in_bytes, o ? o->place : out, out_bytes);

	if (o && !err)
		memcpy(out, o->place, out_bytes);
	return err;
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
