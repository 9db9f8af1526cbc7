/* SPDX-License-Identifier: MIT */
/* record_memory.c -- recover the rings from a memory image: find the beacon, take everything. */
#include "capture/record.h"
#include "capture/rings.h"
#include "base/diag.h"
#include "wire/ringpage.h"

#include <stdio.h>
#include <string.h>

static bool read_image(void *arg, uint64_t at, void *to, uint64_t n)
{
	const uint8_t *p = image_at(arg, at, n);

	if (p && to)
		memcpy(to, p, n);
	return p != NULL;
}

/* Every page of the image, which may be small, may begin with a beacon. */
static int find_beacon(struct rings *r, const struct image *im)
{
	unsigned damaged = 0;

	for (uint32_t i = 0; i < im->nr_segs; i++) {
		const struct image_segment *s = &im->seg[i];

		for (uint64_t off = (0 - s->at) & (WIRE_PAGE_LEAST - 1);
		     off + sizeof(r->b) <= s->bytes; off += WIRE_PAGE_LEAST) {
			const uint8_t *p = im->map + s->offset + off;

			if (memcmp(p, WIRE_BEACON_MAGIC, sizeof(r->b.magic)))
				continue;
			if (rings_beacon(r, s->at + off, p))
				return 0;
			damaged++;
		}
	}
	diag_error("%s: found no rings: %s", im->path,
		   damaged ? "their beacon is damaged" : "no beacon of a Fathom tracer in it");
	return -1;
}

static int recover(struct rings *r, const struct image *im, const struct record_options *o)
{
	unsigned rings = 0;

	if (find_beacon(r, im) || rings_begin(r, o->kernel))
		return -1;
	for (uint32_t cpu = 0; cpu < r->b.nr_cpus; cpu++)
		rings += !rings_all(r, cpu);
	rings_end(r);
	if (!r->c->ended[0])
		snprintf(r->c->ended, sizeof(r->c->ended), "read from a memory image");
	return rings ? 0 : -1;
}

int record_memory(const struct record_options *o, const char *path, struct capture *c,
		  struct recording *out)
{
	struct image image, kernel = {0};
	struct rings r = {.name = path,
			  .read = read_image,
			  .arg = &image,
			  .kernel = &kernel,
			  .c = c,
			  .out = out};
	int err = -1;

	if (!image_open(&image, path, o->base) && !image_kernel(&kernel, o->kernel)) {
		c->big = kernel.big;
		c->long_bytes = kernel.long_bytes;
		err = recover(&r, &image, o);
	}
	image_close(&image);
	image_close(&kernel);
	return err;
}
