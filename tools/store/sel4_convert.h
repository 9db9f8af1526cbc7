/* SPDX-License-Identifier: MIT */
/* sel4_convert.h -- what `fathom convert` makes of seL4 traces: ftrace.bin with ftrace.meta, and fixed records. */
#ifndef STORE_SEL4_CONVERT_H
#define STORE_SEL4_CONVERT_H

#include <stdbool.h>

#include "decode/source.h"

/* Is this source made into `to` ("bin" or "idx") here? */
bool sel4_convert_takes(const struct source *s, const char *to);
/*
 * bin: the stream and its description, OUT and OUT with the suffix .meta. A log with several dumps gives OUT, OUT-2,
 *      OUT-3 ... (ftrace.bin, ftrace-2.bin).
 * idx: fixed 16-byte records in OUT, the lists of rare types in OUT.types, what both mean in OUT.meta (wire/FORMAT.md).
 * `fresh`: none of these files is replaced. 0, or a negative errno with a message. Damage of the source is the caller's to report.
 */
int sel4_convert(struct source *s, const char *out, const char *to, bool fresh);

#endif
