/* SPDX-License-Identifier: MIT */
/* btb_make.h -- make a backtrace buffer and its console text, for tests and benchmarks. */
#ifndef TEST_BTB_MAKE_H
#define TEST_BTB_MAKE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fathom/inside/btb.h"

struct made {
	uint64_t *w;
	size_t n, cap;
	char *text;
	size_t bytes, text_cap;
};

static inline uint64_t made_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static inline void made_word(struct made *m, uint64_t v)
{
	if (m->n == m->cap) {
		m->cap = m->cap ? m->cap * 2 : 4096;
		m->w = realloc(m->w, m->cap * sizeof(*m->w));
	}
	m->w[m->n++] = v;
}

static inline void made_name(struct made *m, const char *name)
{
	char text[16] = {0};
	uint64_t w[2];

	memcpy(text, name, strnlen(name, 15));
	memcpy(w, text, sizeof(w));
	made_word(m, w[0]);
	made_word(m, w[1]);
}

static inline void made_info(struct made *m, uint64_t time)
{
	static const char *const names[] = {
		"entry_type", "entry_length", "tsc_time",    "tsc_duration", "cpu_id",
		"task_id",    "timer_step",   "stack_depth", "entry_type",   "entry_length",
		"tsc_time",   "tsc_duration", "cpu_id",	     "mapping_base", "mapping_task_id",
		"entry_type", "entry_length", "tsc_time",    "tsc_duration", "version",
		"type_count",
	};
	size_t at = m->n;

	made_word(m, WIRE_BTB_INFO);
	made_word(m, 0);
	made_word(m, time);
	made_word(m, 0);
	made_word(m, 1);
	made_word(m, 3);
	made_word(m, 8);
	made_word(m, 7);
	made_word(m, 6);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		made_name(m, names[i]);
	m->w[at + 1] = m->n - at;
}

static inline void made_mapping(struct made *m, uint64_t time, uint64_t base, uint64_t task,
				const char *name)
{
	uint64_t w[4] = {0};

	memcpy(w, name, strlen(name) < 31 ? strlen(name) : 31);
	made_word(m, WIRE_BTB_MAPPING);
	made_word(m, 11);
	made_word(m, time);
	made_word(m, 300);
	made_word(m, 0);
	made_word(m, base);
	made_word(m, task);
	for (int i = 0; i < 4; i++)
		made_word(m, w[i]);
}

/* Stacks of 2 to 12 frames out of 64 functions of the binary "hello" at 0x1000000 and 64 of the kernel. */
static inline void made_stacks(struct made *m, size_t stacks, uint32_t cpus, uint64_t seed)
{
	uint64_t time = 5000000000ull, r = seed * 2654435761u + 88172645463325252ull;

	made_info(m, time);
	made_mapping(m, time + 1000, 0x1000000, 0x2a, "hello");
	for (size_t i = 0; i < stacks; i++) {
		uint64_t depth = 2 + made_random(&r) % 6 + made_random(&r) % 6;

		time += 1000000 / cpus + made_random(&r) % 1000;
		made_word(m, WIRE_BTB_STACK);
		made_word(m, 8 + depth);
		made_word(m, time);
		made_word(m, 2000 + made_random(&r) % 3000);
		made_word(m, i % cpus);
		made_word(m, 0x2a);
		made_word(m, i);
		made_word(m, depth);
		for (uint64_t k = 0; k < depth; k++) {
			uint64_t f = made_random(&r) % 64;
			int kernel = k * 3 < depth && made_random(&r) % 2;

			made_word(m, (kernel ? 0xffffffff80000000ull : 0x1000000) + f * 256 +
					     made_random(&r) % 4 * 16);
		}
	}
}

static inline void made_put(void *arg, const char *text, size_t bytes)
{
	struct made *m = arg;

	if (m->bytes + bytes > m->text_cap) {
		m->text_cap = (m->text_cap + bytes) * 2;
		m->text = realloc(m->text, m->text_cap);
	}
	memcpy(m->text + m->bytes, text, bytes);
	m->bytes += bytes;
}

/* As the log server prints it: colour, tag, CR. */
static inline void made_put_tagged(void *arg, const char *text, size_t bytes)
{
	made_put(arg, "\033[33mbacktrac| ", 15);
	made_put(arg, text, bytes - 1);
	made_put(arg, "\033[0m\r\n", 6);
}

/* With memory for so many groups of parity lines. */
static inline int made_export_in(struct made *m, uint32_t percent, int tagged, uint32_t groups)
{
	size_t bytes = FATHOM_BTB_EXPORT_BYTES + groups * FATHOM_BTB_GROUP_BYTES(25);
	void *memory = aligned_alloc(8, bytes);
	struct fathom_btb_export e;
	int err = fathom_btb_export_begin(&e, memory, bytes, percent, m->n,
					  tagged ? made_put_tagged : made_put, m);

	m->bytes = 0;
	if (!err) {
		fathom_btb_export_words(&e, m->w, m->n);
		fathom_btb_export_end(&e);
	}
	free(memory);
	return err;
}

static inline int made_export(struct made *m, uint32_t percent, int tagged)
{
	return made_export_in(m, percent, tagged, 512);
}

static inline void made_free(struct made *m)
{
	free(m->w);
	free(m->text);
	memset(m, 0, sizeof(*m));
}

#endif
