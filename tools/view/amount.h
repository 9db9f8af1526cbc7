/* SPDX-License-Identifier: MIT */
/* amount.h -- times as people read them, and as JSON has them. */
#ifndef VIEW_AMOUNT_H
#define VIEW_AMOUNT_H

#include "base/json.h"
#include "decode/source.h"

/* "1.235 ms", or plain ticks where their length is not known; up to eight in one printf. */
const char *amount(const struct source *s, uint64_t v);
/* "12.345678" */
const char *amount_time(const struct source *s, uint64_t t);
/* {"KEY_ns": v}, or "KEY_ticks". */
void amount_json(struct json *j, const struct source *s, const char *key, uint64_t v);

#endif
