/* SPDX-License-Identifier: MIT */
/* load.c -- an image becomes a program: checked, verified, with all the memory that it will ever use. */
#include "wire/cold.h"
#include "programs/programs.h"

#define LOAD_CODE_MAX	 16384u /* instructions */
#define LOAD_SCRATCH_MAX (512u << 10)

static int load_refuse(const struct program *p, const char *why, int32_t part, uint32_t at)
{
	char text[128];
	struct fathom_text t;

	fathom_text_init(&t, text, sizeof(text));
	fathom_text_str(&t, p->name);
	if (part >= 0) {
		fathom_text_str(&t, ": part ");
		fathom_text_u64(&t, (uint32_t)part, 0, ' ');
		fathom_text_str(&t, ", instruction ");
		fathom_text_u64(&t, at, 0, ' ');
	}
	fathom_ctl_error(&fathom_ctl.top, "program", why, fathom_text_cstr(&t), t.len, 0);
	return -FATHOM_EINVAL;
}

/* Bytes of the whole image; 0: the head is wrong. */
static uint32_t load_size(const struct bpf_image *h)
{
	if (h->magic != BPF_IMAGE_MAGIC || h->version != BPF_IMAGE_VERSION ||
	    h->nr_maps > BPF_IMAGE_MAPS_MAX || !h->nr_parts || h->nr_parts > BPF_IMAGE_PARTS_MAX ||
	    !h->nr_code || h->nr_code > LOAD_CODE_MAX)
		return 0;
	return (uint32_t)(sizeof(*h) + h->nr_maps * sizeof(struct bpf_image_map) +
			  h->nr_parts * sizeof(struct bpf_image_part) +
			  h->nr_code * sizeof(struct bpf_insn));
}

/* ---- verification ---- */

static int load_verify_part(struct program *p, uint32_t n, const struct bpf_map_info *maps,
			    void *scratch, uint32_t bytes)
{
	const struct bpf_image_part *part = &p->parts[n];
	struct bpf_subject in = {.code = p->code + part->first,
				 .nr = part->nr,
				 .context_bytes = part->context_bytes,
				 .stack_bytes = part->stack_bytes,
				 .maps = maps,
				 .nr_maps = p->head.nr_maps,
				 .scratch = scratch,
				 .scratch_bytes = bytes};
	struct bpf_verdict out;
	int err;

	if (part->first > p->head.nr_code || part->nr > p->head.nr_code - part->first)
		return load_refuse(p, "a part lies outside the code", (int32_t)n, 0);
	err = fathom_bpf_verify(&in, &out);
	if (err == -FATHOM_EINVAL)
		return load_refuse(p, out.why, (int32_t)n, out.at);
	if (err)
		load_refuse(p, "too many jump targets for the memory that there is", (int32_t)n, 0);
	return err;
}

/* The verifier's memory is the pool's, until it is done. */
static int load_verify(struct program *p)
{
	struct bpf_map_info maps[BPF_IMAGE_MAPS_MAX + 1];
	size_t room = fathom_pool_room();
	void *scratch;
	int err = 0;

	for (uint32_t i = 0; i < p->head.nr_maps; i++)
		maps[i] = (struct bpf_map_info){p->maps[i].spec.key_bytes,
						p->maps[i].spec.value_bytes, p->maps[i].spec.kind};
	room = room > LOAD_SCRATCH_MAX ? LOAD_SCRATCH_MAX : room;
	scratch = fathom_pool_get(room);
	if (!scratch)
		return -FATHOM_ENOMEM;
	for (uint32_t i = 0; i < p->head.nr_parts && !err; i++)
		err = load_verify_part(p, i, maps, scratch, (uint32_t)room);
	fathom_pool_put(scratch);
	return err;
}

/* ---- memory ---- */

static int load_names_differ(const struct program *p)
{
	for (uint32_t i = 0; i < p->head.nr_maps; i++) {
		const char *name = p->maps[i].spec.name;

		if (!name[0] || name[0] == '.' || name[BPF_IMAGE_NAME - 1])
			return 0;
		for (uint32_t k = 0; name[k]; k++)
			if (name[k] == '/' || name[k] < ' ')
				return 0;
		for (uint32_t k = 0; k < i; k++)
			if (!__builtin_memcmp(name, p->maps[k].spec.name, BPF_IMAGE_NAME))
				return 0;
	}
	return 1;
}

static uint64_t load_map_bytes(const struct bpf_image_map *s)
{
	return (uint64_t)s->entries * 2 *
	       (s->key_bytes +
		(uint64_t)s->value_bytes *
			(s->kind == BPF_MAP_PERCPU_HASH || s->kind == BPF_MAP_PERCPU_ARRAY
				 ? fathom_core.nr_cpus
				 : 1));
}

static int load_maps(struct program *p)
{
	uint64_t bytes =
		p->head.ring_bytes + (uint64_t)p->head.nr_stacks * 2 * BPF_STACK_FRAMES * 8;
	int err = 0;

	p->runs = fathom_pool_get(fathom_core.nr_cpus * sizeof(*p->runs));
	if (!p->runs)
		return -FATHOM_ENOMEM;
	for (uint32_t i = 0; i < p->head.nr_maps; i++)
		bytes += load_map_bytes(&p->maps[i].spec);
	if (bytes > FATHOM_PROGRAM_BYTES) {
		load_refuse(p, "its maps are larger than FATHOM_PROGRAM_BYTES", -1, 0);
		return -FATHOM_E2BIG;
	}
	for (uint32_t i = 0; i < p->head.nr_maps && !err; i++) {
		err = fathom_map_init(&p->maps[i]);
		if (err == -FATHOM_EINVAL)
			load_refuse(p, "a map's sizes do not fit its kind", -1, 0);
	}
	if (!err && p->head.nr_stacks) {
		p->stacks.spec = (struct bpf_image_map){.kind = BPF_MAP_HASH,
							.key_bytes = BPF_STACK_FRAMES * 8,
							.value_bytes = 8,
							.entries = p->head.nr_stacks};
		err = fathom_map_init(&p->stacks);
	}
	if (!err && p->head.ring_bytes) {
		p->ring.words = fathom_pool_get(p->head.ring_bytes);
		p->ring.bytes = p->ring.words ? p->head.ring_bytes : 0;
		err = p->ring.words ? 0 : -FATHOM_ENOMEM;
	}
	return err;
}

/* The parts of the image, which is whole and stays where it is. */
static int load_open(struct program *p)
{
	const struct bpf_image_map *spec;
	uint8_t *at = p->image + sizeof(p->head);

	p->maps = fathom_pool_get((p->head.nr_maps + 1u) * sizeof(*p->maps));
	if (!p->maps)
		return -FATHOM_ENOMEM;
	spec = (const struct bpf_image_map *)(void *)at;
	for (uint32_t i = 0; i < p->head.nr_maps; i++)
		p->maps[i].spec = spec[i];
	at += p->head.nr_maps * sizeof(*spec);
	p->parts = (struct bpf_image_part *)(void *)at;
	p->code = (struct bpf_insn *)(void *)(at + p->head.nr_parts * sizeof(*p->parts));
	if (!load_names_differ(p))
		return load_refuse(p, "two maps have one name, or it is not a file's", -1, 0);
	if (p->head.ring_bytes & (p->head.ring_bytes - 1) ||
	    (p->head.ring_bytes && p->head.ring_bytes < 64))
		return load_refuse(p, "the ring's size is not a power of two", -1, 0);
	return 0;
}

static int load_finish(struct program *p)
{
	int err = load_open(p);

	if (!err)
		err = load_maps(p);
	if (!err)
		err = load_verify(p);
	if (err) {
		fathom_program_unload(p);
		return err;
	}
	p->started = fathom_ticks_to_ns(fathom_port_clock());
	p->loaded = 1;
	return 0;
}

int fathom_program_load(struct program *p, const void *bytes, size_t n)
{
	uint32_t all;

	if (p->loaded)
		return -FATHOM_EBUSY;
	/* The head says how much there is; until it is whole, it is kept where it belongs. */
	if (p->image_bytes < sizeof(p->head)) {
		size_t part = sizeof(p->head) - p->image_bytes;

		part = part < n ? part : n;
		__builtin_memcpy((uint8_t *)&p->head + p->image_bytes, bytes, part);
		p->image_bytes += (uint32_t)part;
		if (p->image_bytes < sizeof(p->head))
			return 0;
		bytes = (const uint8_t *)bytes + part;
		n -= part;
		all = load_size(&p->head);
		if (!all) {
			fathom_program_unload(p);
			return load_refuse(p, "not a program of this version and byte order", -1,
					   0);
		}
		p->image = fathom_pool_get(all);
		p->image_room = all;
		if (!p->image) {
			fathom_program_unload(p);
			return -FATHOM_ENOMEM;
		}
	}
	if (n > p->image_room - p->image_bytes) {
		fathom_program_unload(p);
		return load_refuse(p, "there is more than the program's head says", -1, 0);
	}
	__builtin_memcpy(p->image + p->image_bytes, bytes, n);
	p->image_bytes += (uint32_t)n;
	return p->image_bytes == p->image_room ? load_finish(p) : 0;
}

void fathom_program_retire(struct program *p)
{
	for (uint32_t i = 0; p->maps && i < p->head.nr_maps; i++) {
		fathom_pool_retire(p->maps[i].data);
		fathom_pool_retire(p->maps[i].state);
	}
	fathom_pool_retire(p->stacks.data);
	fathom_pool_retire(p->stacks.state);
	fathom_pool_retire(p->ring.words);
	fathom_pool_retire(p->runs);
	fathom_pool_retire(p->maps);
	fathom_pool_retire(p->image);
}

void fathom_program_unload(struct program *p)
{
	fathom_program_retire(p);
	p->stacks = (struct program_map){0};
	p->ring = (struct program_ring){0};
	p->maps = 0;
	p->runs = 0;
	p->image = 0;
	p->image_bytes = p->image_room = 0;
	p->loaded = 0;
}
