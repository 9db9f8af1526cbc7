/* SPDX-License-Identifier: MIT */
/* sources.h -- the list of trace formats: SOURCE(name); decode/NAME*.c defines `const struct source_ops source_NAME`. */
SOURCE(tracedat)
SOURCE(rawpages)
SOURCE(textlog)
SOURCE(graphtext)
SOURCE(sel4)
SOURCE(sel4_log)
SOURCE(sel4_fixed)
SOURCE(btb)
SOURCE(sel4_entries)
SOURCE(sel4_tii)
SOURCE(sel4_tracepoints)
SOURCE(veridian)
