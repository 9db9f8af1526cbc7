/* SPDX-License-Identifier: MIT */
/* image.c -- a compiled program as it is loaded into a target. */
#include "program/image.h"
#include "base/vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keys that a map has room for on the target: fewer of what takes more memory. */
#define KEYS_OF_NUMBERS 4096u
#define MAP_BYTES	(128u << 10)
#define RING_BYTES	(64u << 10)
#define STACKS		256u

static uint32_t entries(const struct map_spec *m)
{
	uint32_t bytes = m->key_bytes + map_words(m) * 8, nr = KEYS_OF_NUMBERS;

	while (nr > 16 && (uint64_t)nr * bytes > MAP_BYTES)
		nr /= 2;
	return m->nr_keys ? nr : 1;
}

/* The file's name: without the @; the map that has no other name is called that. A section's dot would hide the file. */
static void name_of(const struct map_spec *m, uint32_t number, char out[BPF_IMAGE_NAME])
{
	const char *name = m->name[1] ? m->name + 1 : "@";

	if (strlen(name) < BPF_IMAGE_NAME)
		snprintf(out, BPF_IMAGE_NAME, "%s", name);
	else /* cut, and unlike others that begin so */
		snprintf(out, BPF_IMAGE_NAME, "%.10s~%u", name, number % 1000);
	if (*out == '.')
		*out = '_';
}

static void fill_map(struct bpf_image_map *to, const struct map_spec *m, uint32_t number)
{
	*to = (struct bpf_image_map){.kind = (uint8_t)map_kind(m),
				     .is_signed = m->value.is_signed,
				     .key_bytes = m->key_bytes,
				     .value_bytes = map_words(m) * 8,
				     .entries = entries(m),
				     .min = m->min,
				     .max = m->max,
				     .step = m->step};
	if (m->raw.is) {
		to->kind = (uint8_t)m->raw.kind;
		to->key_bytes = m->raw.key_bytes;
		to->value_bytes = m->raw.value_bytes;
		to->entries = m->raw.entries;
	}
	name_of(m, number, to->name);
}

uint8_t *image_build(const struct generator *c, size_t *bytes)
{
	struct bpf_image head = {.magic = BPF_IMAGE_MAGIC,
				 .version = BPF_IMAGE_VERSION,
				 .nr_maps = (uint16_t)c->nr_maps,
				 .nr_parts = (uint16_t)c->nr_probes,
				 .ring_bytes = c->nr_actions ? RING_BYTES : 0};
	struct bpf_image_map *maps;
	struct bpf_image_part *parts;
	struct bpf_insn *code;
	uint8_t *image;
	uint32_t i;

	for (i = 0; i < c->nr_probes; i++) {
		head.nr_code += c->probes[i].nr_code;
		head.nr_stacks = c->probes[i].uses_stack ? STACKS : head.nr_stacks;
	}
	for (i = 0; i < c->nr_maps; i++)
		if (c->maps[i].raw.is && c->maps[i].raw.kind == BPF_MAP_RING)
			head.ring_bytes = RING_BYTES;
	*bytes = sizeof(head) + c->nr_maps * sizeof(*maps) + c->nr_probes * sizeof(*parts) +
		 head.nr_code * sizeof(*code);
	image = calloc(1, *bytes);
	if (!image)
		return NULL;
	memcpy(image, &head, sizeof(head));
	maps = (struct bpf_image_map *)(void *)(image + sizeof(head));
	parts = (struct bpf_image_part *)(void *)(maps + c->nr_maps);
	code = (struct bpf_insn *)(void *)(parts + c->nr_probes);
	for (i = 0; i < c->nr_maps; i++)
		fill_map(&maps[i], &c->maps[i], i);
	for (i = 0, head.nr_code = 0; i < c->nr_probes; i++) {
		const struct probe *p = &c->probes[i];

		parts[i] = (struct bpf_image_part){head.nr_code, p->nr_code, p->record_bytes,
						   p->stack_bytes};
		memcpy(code + head.nr_code, p->code, p->nr_code * sizeof(*code));
		head.nr_code += p->nr_code;
	}
	return image;
}

/* ---- results ---- */

static const char *hex_word(const char *s, uint64_t *out)
{
	char *end;

	*out = strtoull(s, &end, 16);
	return end;
}

/* `KEY,KEY = VALUE VALUE` or, of histograms, `KEY,KEY = BUCKET:COUNT BUCKET:COUNT`. False: it is something else. */
static bool parse_line(struct map *m, const char *s, uint64_t *key, uint64_t *value)
{
	bool buckets = m->spec->value.kind == VALUE_HIST || m->spec->value.kind == VALUE_LHIST;
	bool percpu = m->spec->raw.is && (m->spec->raw.kind == BPF_MAP_PERCPU_HASH ||
					  m->spec->raw.kind == BPF_MAP_PERCPU_ARRAY);
	uint32_t i, keys = m->key_words - percpu;

	for (i = 0; i < keys; i++) {
		s = hex_word(s, &key[i]);
		if (i + 1 < keys && *s++ != ',')
			return false;
	}
	if (percpu) { /* ` @CPU`; of a machine with one CPU nothing */
		char *end = (char *)(uintptr_t)s;

		key[keys] = strncmp(s, " @", 2) ? 0 : strtoul(s + 2, &end, 10);
		s = end;
	}
	if (strncmp(s, " = ", 3) != 0)
		return false;
	s += 2;
	memset(value, 0, m->value_words * 8);
	for (i = 0; *s == ' ' && i < m->value_words; i++) {
		uint64_t at = i;

		if (buckets) {
			s = hex_word(s + 1, &at);
			if (*s != ':' || at >= m->value_words)
				return false;
		}
		s = hex_word(s + 1, &value[at]);
	}
	return *s == '\n';
}

int image_read_map(struct map *m, const char *text)
{
	uint64_t *room = calloc(m->key_words + m->value_words + 2, 8);
	uint64_t *value = room ? room + m->key_words + 1 : NULL;
	const char *end;
	bool ok = room;

	map_clear(m);
	for (; ok && *text; text = end + 1) {
		end = strchr(text, '\n');
		ok = end && parse_line(m, text, room, value);
		if (ok)
			map_put(m, room, value);
	}
	free(room);
	return ok ? 0 : room ? -EPROTO : -ENOMEM;
}

/* `NUMBER FRAME,FRAME,... = 0` */
int image_read_stacks(struct machine *m, const char *text)
{
	for (const char *end; *text; text = end + 1) {
		char *s;
		unsigned long number = strtoul(text, &s, 10);
		struct stack_trace *t;

		end = strchr(text, '\n');
		if (!end || !number || number > 65536 || *s != ' ')
			return -EPROTO;
		while (number > m->nr_stacks) {
			if (!VEC_MORE(m->stacks, m->nr_stacks))
				return -ENOMEM;
			m->stacks[m->nr_stacks++] = NULL;
		}
		t = calloc(1, sizeof(*t) + BPF_STACK_FRAMES * 8);
		if (!t)
			return -ENOMEM;
		do {
			s = (char *)(uintptr_t)hex_word(s + 1, &t->frames[t->nr]);
			t->nr += t->frames[t->nr] != 0;
		} while (*s == ',' && t->nr < BPF_STACK_FRAMES);
		free(m->stacks[number - 1]);
		m->stacks[number - 1] = t;
	}
	return 0;
}
