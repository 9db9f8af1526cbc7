/* SPDX-License-Identifier: MIT */
/* idmap.h -- things by a number: pids, addresses, pairs of small numbers. */
#ifndef BASE_IDMAP_H
#define BASE_IDMAP_H

#include <stddef.h>
#include <stdint.h>

/* Open addressing; {0} is an empty one. Its owner frees what it holds: every slots[i].value of `cap` that is not NULL. */
struct idmap {
	struct idmap_slot {
		uint64_t key;
		void *value;
	} * slots;
	size_t nr, cap;
};

/* The value of `key`, or NULL. */
void *idmap_find(const struct idmap *m, uint64_t key);
/* Where the value of `key` goes: the slot holds NULL if the key is new, and the caller must fill it. NULL: out of memory. */
void **idmap_at(struct idmap *m, uint64_t key);
/* Remove the value of `key` and return it; NULL if there is none. */
void *idmap_remove(struct idmap *m, uint64_t key);
/* Empty it, and keep its memory. */
void idmap_clear(struct idmap *m);
void idmap_free(struct idmap *m);

#endif
