/* SPDX-License-Identifier: MIT */
/* eventline.h -- one event as a JSON object or a row of CSV: for query and convert. */
#ifndef VIEW_EVENTLINE_H
#define VIEW_EVENTLINE_H

#include <stdio.h>

#include "base/json.h"
#include "decode/source.h"

struct eventline;

struct eventline *eventline_new(struct source *s);
void eventline_free(struct eventline *l);

/* The event's own text, as `report -N` prints it but for aliases: by its print fmt. Valid until the next call. */
const char *eventline_info(struct eventline *l, const struct event *e, size_t *bytes);
/* Members of an object: n (if not UINT64_MAX), time, cpu, pid, comm, event, fields, call (of functions), text. */
void eventline_json(struct eventline *l, const struct event *e, uint64_t number, struct json *j);
/* time,cpu,pid,comm,event,text; quoted where needed. */
void eventline_csv(struct eventline *l, const struct event *e, FILE *out);
extern const char eventline_csv_head[];

#endif
