/* SPDX-License-Identifier: MIT */
/* modules.h -- functions that belong to a module, and lines of filters that wait for theirs: `glob:mod:module`. */
#ifndef PROBE_MODULES_H
#define PROBE_MODULES_H

#include <stddef.h>
#include <stdint.h>
#include "functions/listeners.h"

#define WAITING_BYTES 152u /* of a line: more than a word of control/ has */

/* `glob:mod:module`, with a `!` in front or not. */
int fathom_is_module_line(const char *token, size_t bytes);
/*
 * Do what the line says to `copy`, a copy of the set. If no function matches and there is no such module, the line waits
 * for it. 0, -EINVAL, -ENOMEM: too many wait.
 */
int fathom_module_edit(struct fathom_listener *l, enum fathom_function_set set, uint32_t *copy,
		       const char *token, size_t bytes);
/* All there are, the newest first. */
const struct fathom_module *fathom_module_list(void);
int fathom_module_matches(uint32_t function, const char *pattern, size_t bytes);

/* The lines that wait: of an instance, or of the top (NULL). */
uint32_t fathom_waiting_count(const struct fathom_listener *l, enum fathom_function_set set);
const char *fathom_waiting_at(const struct fathom_listener *l, enum fathom_function_set set,
			      uint32_t index); /* NULL behind the last */
void fathom_waiting_clear(const struct fathom_listener *l, enum fathom_function_set set);
void fathom_waiting_exit(void);

#endif
