/* SPDX-License-Identifier: MIT */
/* forms.h -- the forms a trace can be written in: one table for convert, flame, their help, completion and man pages. */
#ifndef CMD_FORMS_H
#define CMD_FORMS_H

#include <stdbool.h>
#include <stdio.h>

#include "decode/compress.h"
#include "store/scan.h"

struct flame;
struct flame_style;
struct progress;

/* What a form is made from. */
enum form_needs {
	FORM_EVENTS, /* any trace */
	FORM_STACKS, /* any trace with stacks */
	FORM_OWN,    /* a trace of the format that writes this form: struct source_form */
};

enum {
	FORM_ONLY_FILE = 1, /* it needs a file, not the standard output */
	FORM_DRAWING = 2,   /* it omits frames that are too narrow to be seen */
	FORM_TEXT_TOO = 4,  /* also of a trace that is the text of a latency tracer */
};

/* What write() is given: the members that the form needs. */
struct form_job {
	struct source *source;
	const struct scan_choice *choice;
	uint32_t version;	      /* of a trace.dat */
	enum compression compression; /* of version 7 */
	struct progress *bar;
	const struct flame *flame;
	const struct flame_style *style;
};

struct form {
	const char *name, *second; /* a second name, or NULL */
	const char *suffix;	   /* of a file that gets its name from the trace */
	const char *what;	   /* for help */
	enum form_needs needs;
	unsigned flags;
	/* 0 or a negative errno; NULL for FORM_OWN. */
	int (*write)(const struct form_job *j, FILE *out);
};

/* False: there is none. */
bool form_find(const char *name, struct form *out);
/* The names of the forms with such needs: "svg, html or folded"; valid until the next call. */
const char *form_names(enum form_needs needs);
/* A line for each, as help shows them; to be freed. */
char *form_help(void);
char *form_help_stacks(void);

#endif
