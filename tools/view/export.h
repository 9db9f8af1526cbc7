/* SPDX-License-Identifier: MIT */
/* export.h -- a trace as JSON lines, CSV or Chrome's trace JSON: the events of a choice in the order of time. */
#ifndef VIEW_EXPORT_H
#define VIEW_EXPORT_H

#include <stdio.h>

#include "store/scan.h"

/* 0 or a negative errno. Errors of `out` are left for the caller, which opened it, to find. */
int export_jsonl(struct source *s, const struct scan_choice *c, FILE *out);
int export_csv(struct source *s, const struct scan_choice *c, FILE *out);
/* chrome.c: for Perfetto and chrome://tracing. */
int export_chrome(struct source *s, const struct scan_choice *c, FILE *out);
/*
 * Its symbols, to be kept with it: tables of every program in it in the folder `dir`, or DIR.kallsyms. What was written goes to stderr. 0
 * or a negative errno with a message.
 */
int export_symbols(struct source *s, const char *dir);

#endif
