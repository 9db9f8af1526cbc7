/* SPDX-License-Identifier: MIT */
/* lanes.c -- lanes of a trace: from the file beside it if that fits, else built, and kept there if it is worth it. */
#include "view/page/lanes.h"
#include "base/bytes.h"
#include "base/file.h"
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC	"FATHPAGE"
#define VERSION 1u
#define ORDER	0x01020304u

static uint64_t head_check(const struct lanes_header *h)
{
	return bytes_hash(1, h, offsetof(struct lanes_header, head_check));
}

static uint64_t tables_check(const struct lanes_header *h, const uint8_t *map, uint64_t bytes)
{
	return bytes_hash(1, map + h->chunks_at, bytes - h->chunks_at);
}

/* ---- a file that may be anything ---- */

static bool table_fits(uint64_t at, uint64_t nr, size_t entry, uint64_t bytes)
{
	return at <= bytes && nr <= (bytes - at) / entry;
}

static bool chunks_fit(const struct lanes *l, const struct lane *k)
{
	const struct lane_chunk *c = lane_chunks(l, k);
	uint64_t body = sizeof(struct lane_item);

	for (uint64_t i = 0; i < k->nr_chunks; i++)
		if (!c[i].nr || c[i].nr > LANE_CHUNK_COUNTS || c[i].to < c[i].from || c[i].at & 3 ||
		    (!lane_counts(k->kind) && c[i].nr > 1 &&
		     !table_fits(c[i].at, c[i].nr, body, l->map_bytes)))
			return false;
	return true;
}

static bool place_tables(struct lanes *l, const struct lanes_header *h)
{
	if ((h->chunks_at | h->lanes_at) & 7 ||
	    !table_fits(h->chunks_at, h->nr_chunks, sizeof(*l->chunk), l->map_bytes) ||
	    !table_fits(h->lanes_at, h->nr_lanes, sizeof(*l->lane), l->map_bytes) ||
	    !table_fits(h->meta_at, h->meta_bytes, 1, l->map_bytes) || h->span >> 62 ||
	    h->check != tables_check(h, l->map, l->map_bytes))
		return false;
	l->chunk = (const void *)(l->map + h->chunks_at);
	l->nr_chunks = h->nr_chunks;
	l->lane = (const void *)(l->map + h->lanes_at);
	l->nr_lanes = h->nr_lanes;
	l->meta = (const char *)l->map + h->meta_at;
	l->meta_bytes = h->meta_bytes;
	l->start = h->start;
	l->span = h->span;
	l->nr_events = h->nr_events;
	for (l->scale = 8; l->span >> l->scale; l->scale++)
		;
	for (uint64_t i = 0; i < l->nr_lanes; i++) {
		const struct lane *k = &l->lane[i];

		if (k->kind >= LANE_KINDS || k->first_chunk > l->nr_chunks ||
		    k->nr_chunks > l->nr_chunks - k->first_chunk || !chunks_fit(l, k))
			return false;
	}
	return true;
}

/* 0; -ESTALE if it is not the file of this trace, or not a good one. */
static int map_file(int fd, const struct lanes_header *expected, struct lanes *l)
{
	struct lanes_header h;
	struct stat st;
	void *map;

	if (fstat(fd, &st) || (uint64_t)st.st_size < sizeof(h) ||
	    pread(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h) || h.head_check != head_check(&h) ||
	    memcmp(h.magic, MAGIC, 8) || h.version != VERSION || h.order != ORDER ||
	    h.trace_bytes != expected->trace_bytes || h.trace_sample != expected->trace_sample ||
	    h.trace_mtime_ns != expected->trace_mtime_ns || h.chunks_at > (uint64_t)st.st_size)
		return -ESTALE;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	l->map = map;
	l->map_bytes = (uint64_t)st.st_size;
	if (place_tables(l, &h))
		return 0;
	munmap(map, l->map_bytes);
	l->map = NULL;
	return -ESTALE;
}

/* ---- making one ---- */

static int seal(FILE *f, struct lanes_header *h)
{
	uint64_t bytes = 0;
	void *map;

	if (fflush(f))
		return -errno;
	bytes = h->meta_at + h->meta_bytes;
	map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fileno(f), 0);
	if (map == MAP_FAILED)
		return -errno;
	memcpy(h->magic, MAGIC, 8);
	h->version = VERSION;
	h->order = ORDER;
	h->check = tables_check(h, map, bytes);
	h->head_check = head_check(h);
	munmap(map, bytes);
	return pwrite(fileno(f), h, sizeof(*h), 0) == (ssize_t)sizeof(*h) ? 0 : -EIO;
}

static int build(struct source *s, const struct lanes_options *o, FILE *f, struct lanes_header *h)
{
	int err;

	setvbuf(f, NULL, _IOFBF, 1 << 18);
	if (fwrite(h, 1, sizeof(*h), f) != sizeof(*h))
		return -EIO;
	err = lanes_build(s, o, f, h);
	return err ? err : seal(f, h);
}

/* In a file without a name: it is gone when it is closed. */
static int build_nameless(struct source *s, const struct lanes_options *o, struct lanes_header *h,
			  struct lanes *l)
{
	int fd = file_nameless(), err;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w+");

	if (!f) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	err = build(s, o, f, h);
	if (!err)
		err = map_file(fd, h, l);
	fclose(f);
	return err;
}

/* Beside the trace. A folder that cannot be written is not an error. */
static int build_beside(struct source *s, const struct lanes_options *o, const char *path,
			struct lanes_header *h, struct lanes *l)
{
	struct output out;
	int err = output_open(&out, path, false);

	if (err)
		return build_nameless(s, o, h, l);
	err = build(s, o, out.f, h);
	if (!err)
		err = map_file(fileno(out.f), h, l);
	return output_close(&out, err);
}

static bool worth_keeping(const struct source *s, const struct lanes_options *o)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < s->nr_streams; i++)
		bytes += s->streams[i].bytes;
	return !o->no_file && bytes >= STORE_SAVE_BYTES && scan_is_whole(o->choice) &&
	       !scan_is_choosy(o->choice) && !o->choice->cpus && !o->choice->buffer;
}

int lanes_open(struct source *s, const struct lanes_options *o, struct lanes **out)
{
	struct lanes *l = calloc(1, sizeof(*l));
	struct lanes_header h = {0};
	char *path = NULL;
	bool keep = worth_keeping(s, o) &&
		    !store_identity(s, &h.trace_bytes, &h.trace_mtime_ns, &h.trace_sample);
	int fd, err;

	if (!l || (keep && asprintf(&path, "%s.fpage", s->path) < 0)) {
		free(l);
		return -ENOMEM;
	}
	fd = keep ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	err = fd < 0 ? -ENOENT : map_file(fd, &h, l);
	if (fd >= 0)
		close(fd);
	l->from_file = !err;
	if (err)
		err = keep ? build_beside(s, o, path, &h, l) : build_nameless(s, o, &h, l);
	free(path);
	if (err) {
		free(l);
		return err;
	}
	*out = l;
	return 0;
}

void lanes_close(struct lanes *l)
{
	if (!l)
		return;
	munmap((void *)(uintptr_t)l->map, l->map_bytes);
	free(l);
}
