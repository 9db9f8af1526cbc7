/* SPDX-License-Identifier: MIT */
/* btb.h -- the stages of a backtracer capture: console text -> sections -> words -> entries. */
#ifndef DECODE_BTB_H
#define DECODE_BTB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "wire/btb.h"

/* What was damaged, what was rebuilt, what is gone. Added up over all stages. */
struct btb_loss {
	uint64_t lines;		  /* console lines of data seen */
	uint64_t bad_lines;	  /* of these, with something unreadable in them */
	uint64_t joined_lines;	  /* put together again after another client broke in */
	uint64_t rebuilt_words;	  /* by XOR */
	uint64_t rebuilt_lines;	  /* by parity lines */
	uint64_t corrected_lines; /* readable but wrong, found and corrected by parity lines */
	uint64_t lost_words;	  /* of sections, gone */
	uint64_t sections;
	uint64_t cut_sections; /* decoded only up to the first lost byte */
	/* words that disagree with the redundancy block and could not be corrected */
	uint64_t xor_errors;
	uint64_t runs;
	uint64_t entries;
	uint64_t skipped_words; /* of the buffer, skipped to find the next entry */
};

/* Words that grow: in memory while they are few, in a file without a name ($TMPDIR or /var/tmp) once they are many. */
struct btb_words {
	uint64_t *w;
	size_t n, cap;
	size_t walked; /* bytes since pages of the file were let go */
	int fd;
	bool filed;
};

int btb_words_room(struct btb_words *v, size_t n); /* for n more. 0, -ENOMEM */
int btb_words_add(struct btb_words *v, const uint64_t *w, size_t n);
void btb_words_free(struct btb_words *v);

/*
 * Console text to sections: finds the lines, joins broken ones, repairs by XOR and parity, and hands out each section's
 * words in order (`good` of them known; fewer than `n` if the rest is lost). `mapped`: the text is a file's map, whose
 * pages are released after they were read. Returns 0, or -ENODATA if there is none.
 */
typedef void (*btb_section_fn)(void *arg, uint32_t run, const uint64_t *w, size_t n, size_t good);
int btb_console_read(const char *text, size_t bytes, bool mapped, btb_section_fn fn, void *arg,
		     struct btb_loss *loss);

/*
 * One section to words of the buffer. `good` of its `n` words are known. Returns the words the section takes (for the
 * next one to follow), 0 if the header makes no sense. *cut is set if the payload broke off.
 */
size_t btb_section_decode(const uint64_t *w, size_t n, size_t good, struct btb_words *out,
			  bool *cut);
/* Words a section says it has, from its header; 0 if the header makes no sense. */
size_t btb_section_length(const uint64_t *w, size_t n);

/* An entry found in the buffer. */
struct btb_entry {
	uint64_t time;
	uint64_t at; /* word offset */
};

/* Where INFO says an attribute stands; -1 if the type does not have it. */
struct btb_layout {
	uint32_t nr[WIRE_BTB_TYPES]; /* attributes = words before the payload */
	char name[WIRE_BTB_TYPES][WIRE_BTB_ATTR_MAX][WIRE_BTB_NAME_BYTES + 1];
	int cpu[WIRE_BTB_TYPES];
	int task, step, depth, start; /* of STACK */
	int map_base, map_task;	      /* of MAPPING */
	int map_flags;		      /* of MAPPING, ours: bit 0 = unmapped */
	int bins, bin_size;	      /* of STATS */
};

/* A buffer, parsed: entries in time order (equal times in file order). */
struct btb {
	const uint64_t *w;
	size_t nr_words;
	bool mapped; /* w is a file map: set before btb_parse(), lets pages go that were walked */
	struct btb_layout layout;
	struct btb_entry *entries;
	size_t nr_entries;
};

/* `cuts`: word offsets (ascending) at which words are missing; an entry that spans one is dropped. 0, -EINVAL, -ENOMEM. */
int btb_parse(struct btb *b, const uint64_t *w, size_t n, const size_t *cuts, size_t nr_cuts,
	      const char *file, struct btb_loss *loss);
void btb_free(struct btb *b);
/* An entry was walked and will not be soon again: a file larger than memory passes through a window. */
void btb_walked(const struct btb *b, size_t at, size_t *since);

/* Index of a type bit: 0 STACK ... 4 STATS, -1 if it is none. */
static inline int btb_type_index(uint64_t type)
{
	switch (type) {
	case WIRE_BTB_STACK: return 0;
	case WIRE_BTB_MAPPING: return 1;
	case WIRE_BTB_INFO: return 2;
	case WIRE_BTB_CONTROL: return 3;
	case WIRE_BTB_STATS: return 4;
	default: return -1;
	}
}

/* An entry's words. */
static inline const uint64_t *btb_entry_words(const struct btb *b, const struct btb_entry *e)
{
	return b->w + e->at;
}
uint64_t btb_entry_cpu(const struct btb *b, const struct btb_entry *e);
/* Frame i of a STACK entry, innermost first, the ring form unrolled. */
size_t btb_stack_frames(const struct btb *b, const struct btb_entry *e);
uint64_t btb_stack_frame(const struct btb *b, const struct btb_entry *e, size_t i);

#endif
