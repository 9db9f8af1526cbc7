/* SPDX-License-Identifier: MIT */
/* map.h -- the maps of a program that runs on the host. */
#ifndef PROGRAM_MAP_H
#define PROGRAM_MAP_H

#include "program/compile.h"

struct map_entry {
	uint64_t hash;
	struct map_entry *next_free;
	uint64_t data[]; /* the key, then the value; both in words of 8 bytes */
};

/* A hash table whose entries stay where they are until they are deleted. */
struct map {
	const struct map_spec *spec;
	uint32_t key_words, value_words;
	struct map_entry **slots;
	size_t nr, cap;
	struct map_entry *free;
	struct arena *arena;
};

void map_init(struct map *m, const struct map_spec *spec);
void map_free(struct map *m);
void map_clear(struct map *m);
void map_zero(struct map *m);
/* The value, made of zeros if it is not there and `make` is set; else NULL. */
uint64_t *map_at(struct map *m, const void *key, bool make);
void map_delete(struct map *m, const void *key);
int64_t map_add(struct map *m, const void *key, int64_t by);
void map_note(struct map *m, const void *key, int64_t v);
void map_hist(struct map *m, const void *key, int64_t v);
/* Add what was gathered of a key elsewhere; a value that is not gathered is set if it is new. */
void map_put(struct map *m, const void *key, const uint64_t *value);
/* Add what another map of the same spec has gathered. */
void map_merge(struct map *to, const struct map *from);
/* Words of a value, as it is kept. */
uint32_t map_words(const struct map_spec *spec);
/* As the machine that runs the program knows it. */
enum bpf_map_kind map_kind(const struct map_spec *spec);
struct bpf_map_info map_info(const struct map_spec *spec);
/* Buckets of a histogram. */
uint32_t map_buckets(const struct map_spec *spec);

static inline uint64_t *map_value(const struct map *m, struct map_entry *e)
{
	return e->data + m->key_words;
}

#endif
