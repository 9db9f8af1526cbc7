/* SPDX-License-Identifier: MIT */
/* load.h -- open a backtracer capture at any of its stages. */
#ifndef DECODE_BTB_LOAD_H
#define DECODE_BTB_LOAD_H

#include "decode/btb/btb.h"

/* The stages in their order; a later one is made from an earlier one. */
enum btb_stage {
	BTB_NONE,
	BTB_TRACED,	/* the console log as captured */
	BTB_CLEANED,	/* without colours and CR */
	BTB_COMPRESSED, /* sections */
	BTB_PLAIN,	/* the buffer's words */
};

/* By what the bytes are; the name decides where they do not. */
enum btb_stage btb_stage_of(const char *path, const uint8_t *head, size_t bytes);

struct btb_file {
	char *path;
	enum btb_stage stage;
	const uint8_t *map;
	size_t map_bytes;
	struct btb_words words; /* the buffer, if it had to be made; else it is the map */
	size_t *cuts;		/* offsets into it at which words are missing */
	size_t nr_cuts, cap_cuts;
	struct btb_loss loss;
	struct btb btb;
	bool parsed;
};

/* Map the file and find its stage. 0, or a negative errno with a message. */
int btb_open(struct btb_file *f, const char *path);
/* Read all stages up to the entries. `run` >= 0: only that run of the log. */
int btb_load(struct btb_file *f, int run);
void btb_close(struct btb_file *f);

/* Only up to the words of the buffer: f->btb.w, f->btb.nr_words, cuts. */
int btb_load_words(struct btb_file *f, int run);

/* One line for a person about what was repaired and what is lost; nothing if all was well. */
void btb_loss_report(const struct btb_loss *l, const char *path);

#endif
