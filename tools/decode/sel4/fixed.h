/* SPDX-License-Identifier: MIT */
/* fixed.h -- fixed 16-byte records of a seL4 stream (ftrace.idx) back into the words they were made of. */
#ifndef DECODE_SEL4_FIXED_H
#define DECODE_SEL4_FIXED_H

#include "decode/sel4/sel4.h"

/* The words of all records of the source's file into `to`, finished; the addresses of functions into `d`. 0 or an errno. */
int sel4_fixed_words(struct source *s, struct spool *to, struct sel4_dict *d, uint64_t *nr_words);

#endif
