/* SPDX-License-Identifier: MIT */
/* parquet.h -- a trace as Parquet: one wide table, or a file for each type of event. */
#ifndef VIEW_PARQUET_H
#define VIEW_PARQUET_H

#include <stdio.h>

#include "store/scan.h"

/*
 * Rows are events in the order of time: time, cpu, pid, comm, system, event; then a column for each field of each type that the
 * trace has events of, EVENT_FIELD, null in rows of other types. 0 or a negative errno.
 */
int parquet_wide(struct source *s, const struct scan_choice *c, FILE *out);
/* DIRECTORY/SYSTEM.EVENT.parquet, of each type that has events: time, cpu, common_pid, common_comm, and its fields. 0, or a negative errno with
 * the message printed. `fresh`: -EEXIST if there is such a directory. */
int parquet_types(struct source *s, const struct scan_choice *c, const char *directory, bool fresh);

#endif
