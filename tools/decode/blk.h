/* SPDX-License-Identifier: MIT */
/* blk.h -- records of the blk tracer, Linux's and Fathom's: they have no format file. */
#ifndef DECODE_BLK_H
#define DECODE_BLK_H

#include "decode/source.h"
#include "wire/blk.h"

/* The id of such records in this trace: Linux gives them the number after user_stack's. UINT32_MAX: it can have none. */
uint32_t blk_type(struct source *s);
/* A record of at least WIRE_BLK_FIXED bytes, taken apart. `comm` is left to the caller; `more` points into the record. */
void blk_take(const struct event *e, bool big, struct fathom_text_blk *out);

#endif
