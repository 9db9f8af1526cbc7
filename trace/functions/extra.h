/* SPDX-License-Identifier: MIT */
/* extra.h -- tracers that a port asks for: what fathom_config.noise and .blk lead to. Nothing else names them, so that a linker takes them only then. */
#ifndef FUNCTIONS_EXTRA_H
#define FUNCTIONS_EXTRA_H

#include "fathom/trace.h"
#include "functions/tracer.h"
#include "wire/text_line.h"

struct fathom_view;
struct fathom_fs_entry;

/* A folder in the root of the tree. */
struct fathom_extra_folder {
	const char *name;
	const struct fathom_fs_entry *files;
};

struct fathom_extra {
	const struct fathom_tracer *tracers;	   /* ends with a NULL name */
	const struct fathom_extra_folder *folders; /* ends with a NULL name; NULL: none */
	struct fathom_object *events;		   /* NULL: none */
	/* The head of `trace` while one of them runs: 1, or 0: the ordinary one. NULL: the ordinary one. */
	int (*header)(const struct fathom_view *v, struct fathom_text *out);
	/* A record's whole line, without the ordinary columns: 1; or 0. NULL: none has one. */
	int (*line)(struct fathom_view *v, struct fathom_text *out,
		    const struct fathom_text_entry *e);
	/* What a record says after the columns: 1; 0: it is none of theirs. */
	int (*body)(struct fathom_view *v, struct fathom_text *out);
};

#define FATHOM_EXTRAS 2
static inline const struct fathom_extra *fathom_extra_at(uint32_t i)
{
	const struct fathom_noise *noise = fathom_core.config.noise;

	return i ? fathom_core.config.blk : noise ? noise->tracers : 0;
}

#endif
