/* SPDX-License-Identifier: MIT */
/* write.h -- what a seL4 trace can be written as: ftrace.bin with ftrace.meta, and fixed records. */
#ifndef DECODE_SEL4_WRITE_H
#define DECODE_SEL4_WRITE_H

#include "decode/source.h"

/*
 * bin: the stream and its description, OUT and OUT with the suffix .meta. A log with several dumps gives OUT, OUT-2,
 *      OUT-3 ... (ftrace.bin, ftrace-2.bin).
 * idx: fixed 16-byte records in OUT, the lists of rare types in OUT.types, what both mean in OUT.meta (wire/FORMAT.md).
 *
 * None of these files is replaced if the writing is to be fresh. Damage of the source is an error once all is written.
 */
extern const struct source_form sel4_forms[];

#endif
