/* SPDX-License-Identifier: MIT */
/* words.c -- words that grow: in memory while they are few, in a file without a name once they are many. */
#include "decode/btb/btb.h"
#include "base/vec.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define IN_MEMORY (8u << 20) /* words: 64 MB */

static uint64_t *in_memory(struct btb_words *v, size_t cap)
{
	uint64_t *p;

	if (!v->filed)
		return vec_resize(&v->w, cap, sizeof(*v->w)) ? v->w : NULL;
	p = malloc(cap * sizeof(*p));
	if (p) {
		memcpy(p, v->w, v->n * sizeof(*p));
		munmap(v->w, v->cap * sizeof(*p));
		close(v->fd);
		v->filed = false;
	}
	return p;
}

/* The blocks are taken from the disk now, so that a full one is an error here and not a fault later. */
static uint64_t *in_file(struct btb_words *v, size_t cap)
{
	uint64_t *p;

	if (!v->filed)
		v->fd = file_nameless();
	if (v->fd < 0)
		return NULL;
	if (!posix_fallocate(v->fd, 0, (off_t)(cap * sizeof(*p)))) {
		p = v->filed ? mremap(v->w, v->cap * sizeof(*p), cap * sizeof(*p), MREMAP_MAYMOVE)
			     : mmap(NULL, cap * sizeof(*p), PROT_READ | PROT_WRITE, MAP_SHARED,
				    v->fd, 0);
		if (p != MAP_FAILED) {
			if (!v->filed && v->n)
				memcpy(p, v->w, v->n * sizeof(*p));
			if (!v->filed)
				free(v->w);
			v->filed = true;
			return p;
		}
	}
	if (!v->filed)
		close(v->fd);
	return NULL;
}

int btb_words_room(struct btb_words *v, size_t n)
{
	size_t cap = v->cap ? v->cap : 4096;
	uint64_t *p = NULL;

	if (v->filed)
		file_map_walked(v->w, v->cap * sizeof(*p), n * sizeof(*p), &v->walked);
	if (n <= v->cap - v->n)
		return 0;
	while (cap < v->n + n)
		cap += cap < IN_MEMORY ? cap : cap / 4;
	if (cap > IN_MEMORY)
		p = in_file(v, cap);
	if (!p)
		p = in_memory(v, cap);
	if (!p)
		return -ENOMEM;
	v->w = p;
	v->cap = cap;
	return 0;
}

int btb_words_add(struct btb_words *v, const uint64_t *w, size_t n)
{
	int err = btb_words_room(v, n);

	if (err)
		return err;
	if (n)
		memcpy(v->w + v->n, w, n * sizeof(*w));
	v->n += n;
	return 0;
}

void btb_words_free(struct btb_words *v)
{
	if (v->filed) {
		munmap(v->w, v->cap * sizeof(*v->w));
		close(v->fd);
	} else {
		free(v->w);
	}
	*v = (struct btb_words){0};
}
