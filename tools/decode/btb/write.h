/* SPDX-License-Identifier: MIT */
/* write.h -- what a backtracer capture can be written as: the steps of its own pipeline, and its texts. */
#ifndef DECODE_BTB_WRITE_H
#define DECODE_BTB_WRITE_H

#include "decode/source.h"

extern const struct source_form btb_forms[];

#endif
