/* SPDX-License-Identifier: MIT */
/* forms.h -- the forms a trace can be written in: one table for convert, flame, their help and completion. */
#ifndef CMD_FORMS_H
#define CMD_FORMS_H

#include <stdbool.h>
#include <stdio.h>

/* What a form is made of. */
enum form_needs {
	FORM_EVENTS, /* of any trace */
	FORM_STACKS, /* of any trace with stacks */
	FORM_STREAM, /* of the seL4 stream; several files */
	FORM_STAGE,  /* of a backtracer capture: a step of its own pipeline */
};

struct form {
	const char *name;
	const char *suffix; /* of a file that gets its name from the trace */
	const char *what;   /* for help */
	enum form_needs needs;
	bool only_file;	    /* it cannot go to the standard output */
	const char *second; /* another name, or NULL */
};

/* NULL: there is none. */
const struct form *form_named(const char *name);
/* The names of those with such needs: "svg, html or folded"; valid until the next call. */
const char *form_names(enum form_needs needs);
/* A line for each, as help shows them; to be freed. */
char *form_help(void);

#endif
