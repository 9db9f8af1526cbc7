/* SPDX-License-Identifier: MIT */
/* index.c -- the index file of a seL4 stream: write, open with every bound checked, look up. */
#include "decode/sel4/index.h"
#include "base/file.h"
#include "base/output.h"
#include "wire/crc32.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

uint32_t sel4_index_crc(const struct sel4_index_head *h)
{
	return fathom_crc32(0, h, offsetof(struct sel4_index_head, crc));
}

static bool part_ok(const struct sel4_part *p, uint64_t each, size_t bytes)
{
	return p->offset % 8 == 0 && p->offset <= bytes && p->nr <= (bytes - p->offset) / each;
}

static bool head_ok(const struct sel4_index_head *h, size_t bytes)
{
	if (bytes < sizeof(*h) || memcmp(h->magic, SEL4_INDEX_MAGIC, 8) ||
	    h->version != SEL4_INDEX_VERSION || h->head_bytes != sizeof(*h) ||
	    h->index_bytes != bytes || h->crc != sel4_index_crc(h))
		return false;
	if (!part_ok(&h->checkpoints, sizeof(struct sel4_checkpoint), bytes) ||
	    !part_ok(&h->threads, sizeof(uint64_t), bytes))
		return false;
	for (uint32_t t = 0; t < WIRE_SEL4_NR_TYPES; t++)
		if (!part_ok(&h->list[t], sel4_posting_bytes(t), bytes))
			return false;
	return h->checkpoints.nr > 0 || !h->nr_words;
}

/* Places must ascend and lie in the stream: everything that walks from a checkpoint relies on it. */
static bool checkpoints_ok(const struct sel4_index *ix)
{
	const struct sel4_checkpoint *c = ix->checkpoints;
	uint64_t nr = ix->head->checkpoints.nr;

	for (uint64_t i = 0; i < nr; i++) {
		uint64_t end = i + 1 < nr ? c[i + 1].word : ix->head->nr_words;

		if (c[i].word > end || end > ix->head->nr_words ||
		    end - c[i].word > SEL4_BLOCK_WORDS + SEL4_AHEAD ||
		    c[i].event > ix->head->nr_events || (i && c[i].event < c[i - 1].event))
			return false;
	}
	return true;
}

struct sel4_index *sel4_index_adopt(uint8_t *image, size_t bytes, bool mapped)
{
	const struct sel4_index_head *h = (const void *)image;
	struct sel4_index *ix = head_ok(h, bytes) ? calloc(1, sizeof(*ix)) : NULL;

	if (!ix) {
		if (mapped)
			munmap(image, bytes);
		else
			free(image);
		return NULL;
	}
	ix->head = h;
	ix->checkpoints = (const void *)(image + h->checkpoints.offset);
	ix->threads = (const void *)(image + h->threads.offset);
	ix->image = image;
	ix->bytes = bytes;
	ix->mapped = mapped;
	if (!checkpoints_ok(ix)) {
		sel4_index_free(ix);
		return NULL;
	}
	return ix;
}

void sel4_index_free(struct sel4_index *ix)
{
	if (!ix)
		return;
	if (ix->mapped)
		munmap(ix->image, ix->bytes);
	else
		free(ix->image);
	free(ix);
}

int sel4_index_write(const struct sel4_index *ix, const char *path)
{
	struct output out;
	int err = output_open(&out, path, false);

	return err ? err : output_close(&out, file_write(fileno(out.f), ix->image, ix->bytes));
}

int sel4_index_open(const char *path, uint64_t file_bytes, int64_t file_time_ns,
		    struct sel4_index **out)
{
	size_t bytes;
	void *map = (void *)file_map(path, &bytes);
	struct sel4_index *ix;

	if (!map)
		return errno == ENODATA || errno == EINVAL ? -EBADMSG : -errno;
	ix = sel4_index_adopt(map, bytes, true);
	if (!ix)
		return -EBADMSG;
	if (ix->head->file_bytes != file_bytes || ix->head->file_time_ns != file_time_ns ||
	    ix->head->nr_words != file_bytes / 2) {
		sel4_index_free(ix);
		return -ESTALE;
	}
	*out = ix;
	return 0;
}

uint64_t sel4_index_block(const struct sel4_index *ix, uint64_t event)
{
	uint64_t low = 0, high = ix->head->checkpoints.nr;

	while (high - low > 1) {
		uint64_t mid = low + (high - low) / 2;

		if (ix->checkpoints[mid].event <= event)
			low = mid;
		else
			high = mid;
	}
	return low;
}

void sel4_index_state(const struct sel4_index *ix, uint64_t block, struct sel4_state *st)
{
	const struct sel4_checkpoint *c = &ix->checkpoints[block];

	*st = (struct sel4_state){
		.event = c->event,
		.time = c->time,
		.time_raw = c->time_raw,
		.entry_time = c->entry_time,
		.tcb = c->tcb,
		.depth = c->depth,
		.vmid = c->vmid,
		.wraps = c->wraps,
		.time_known = c->flags & SEL4_AT_TIME,
		.entry_known = c->flags & SEL4_AT_ENTRY,
		.depth_known = c->flags & SEL4_AT_DEPTH,
	};
}

const struct sel4_posting *sel4_index_posting(const struct sel4_index *ix, uint32_t type,
					      uint64_t n)
{
	const struct sel4_part *p = &ix->head->list[type];

	if (type >= WIRE_SEL4_NR_TYPES || !p->offset || n >= p->nr)
		return NULL;
	return (const void *)(ix->image + p->offset + n * sel4_posting_bytes(type));
}
