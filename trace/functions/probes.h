/* SPDX-License-Identifier: MIT */
/* probes.h -- matching functions by pattern, and the commands that hang on them. */
#ifndef PROBE_PROBES_H
#define PROBE_PROBES_H

#include <stddef.h>
#include <stdint.h>
#include "functions/tracer.h"

/* A walk over the functions that a name, glob or number means. */
struct function_match {
	const char *pattern;
	size_t bytes;
	uint32_t number;
	uint32_t hash;
	uint32_t next;
	int glob;
	const char *module; /* only functions of modules like that; NULL: of any and of none */
	size_t module_bytes;
};
void fathom_match_init(struct function_match *m, const char *pattern, size_t bytes);
/* The next function's index, or -1. */
int fathom_match_next(struct function_match *m);
/* Put them into a copy of the set, or take them out of it. 0, -EINVAL: there are none. */
int fathom_set_edit(enum fathom_function_set set, uint32_t *copy, struct function_match *m, int on);
int fathom_same_name(const char *name, const char *s, size_t bytes);

/* As Linux reads them: decimal, 0x hex, or octal with a 0 in front. 0, -EINVAL, -ERANGE. */
int fathom_parse_number(const char *s, size_t bytes, uint32_t *out);

struct fathom_listener;
/* `[!]glob:command[:arg][:count]`: see fathom_listener_edit(). NULL: the top's. */
int fathom_probe_write(struct fathom_listener *l, const char *token, size_t bytes);
/* Whether the command of such a line, or `mod`, is one that there is. */
int fathom_probe_is_known(const char *token, size_t bytes);
void fathom_probe_clear(void); /* all */
void fathom_probe_clear_of(const struct fathom_listener *l);
/* Those whose command was opened with that data. How many there were. */
uint32_t fathom_probe_drop(const void *data);
int fathom_probe_on(uint32_t function);
/* Run what hangs on the function. Any context. */
void fathom_probe_run(uint32_t function, uintptr_t ip, uintptr_t parent_ip, uintptr_t fp,
		      uint32_t context);

int fathom_pids_any(void);
int fathom_pid_traced(int32_t pid);

#endif
