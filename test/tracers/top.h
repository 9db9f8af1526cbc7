/* SPDX-License-Identifier: MIT */
/* top.h -- for tests without the tree: one line written to a set of functions or of tasks at the top. */
#ifndef TRACERS_TOP_H
#define TRACERS_TOP_H

#include <stdlib.h>
#include "events/modules.h"
#include "fathom/inside/errno.h"
#include "functions/listeners.h"
#include "functions/sites.h"
#include "functions/tracers.h"

static inline struct function_set *top_set(enum fathom_function_set set)
{
	return &fathom_functions.set[set];
}

static inline int top_set_replace(enum fathom_function_set set, const uint32_t *copy)
{
	fathom_set_put(top_set(set), copy, fathom_waiting_count(NULL, set));
	return fathom_tracer_refresh();
}

static inline int top_set_write(enum fathom_function_set set, const char *token, size_t bytes)
{
	int err = fathom_listener_command(NULL, set, token, bytes);

	if (err)
		return err < 0 ? err : 0;
	err = fathom_listener_edit(NULL, set, top_set(set)->word, token, bytes);
	return err ? err : top_set_replace(set, top_set(set)->word);
}

static inline void top_set_clear(enum fathom_function_set set)
{
	uint32_t *none;

	if (!top_set(set)->word)
		return;
	none = calloc(1, fathom_function_set_bytes());
	fathom_waiting_clear(NULL, set);
	fathom_set_put(top_set(set), none, 0);
	free(none);
	fathom_tracer_refresh();
}

static inline int top_pid_add(enum fathom_pid_set set, int32_t pid)
{
	int err = fathom_list_add(fathom_function_pids(set), pid);

	return err ? err : fathom_tracer_refresh();
}

static inline void top_pid_clear(enum fathom_pid_set set)
{
	fathom_list_clear(fathom_function_pids(set));
	fathom_tracer_refresh();
}

#endif
