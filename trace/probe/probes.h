/* SPDX-License-Identifier: MIT */
/* probes.h -- matching functions by pattern, and the commands that hang on them. */
#ifndef PROBE_PROBES_H
#define PROBE_PROBES_H

#include <stddef.h>
#include <stdint.h>

/* A walk over the functions that a name, glob or number means. */
struct function_match {
	const char *pattern;
	size_t bytes;
	uint32_t number;
	uint32_t hash;
	uint32_t next;
	int glob;
};
void fathom_match_init(struct function_match *m, const char *pattern, size_t bytes);
/* The next function's index, or -1. */
int fathom_match_next(struct function_match *m);

struct fathom_listener;
/* `[!]glob:command[:arg][:count]`: see fathom_function_set_write(). NULL: the top's. */
int fathom_probe_write(struct fathom_listener *l, const char *token, size_t bytes);
void fathom_probe_clear(void); /* all */
void fathom_probe_clear_of(const struct fathom_listener *l);
int fathom_probe_on(uint32_t function);
/* Run what hangs on the function. Any context. */
void fathom_probe_run(uint32_t function, uintptr_t ip, uintptr_t parent_ip, uintptr_t fp);

int fathom_pids_any(void);
int fathom_pid_traced(int32_t pid);

#endif
