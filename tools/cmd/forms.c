/* SPDX-License-Identifier: MIT */
/* forms.c -- the forms a trace can be written in: one table for convert, flame, their help and completion. */
#include "cmd/forms.h"

#include <string.h>

static const struct form forms[] = {
	{"dat", "dat", "trace.dat, for trace-cmd and KernelShark", FORM_EVENTS, true, NULL},
	{"txt", "txt", "text, as `fathom report` prints it", FORM_EVENTS, false, "text"},
	{"jsonl", "jsonl", "JSON lines: one object per event with its fields", FORM_EVENTS, false,
	 NULL},
	{"csv", "csv", "time,cpu,pid,comm,event,text", FORM_EVENTS, false, NULL},
	{"json", "json", "Chrome's trace JSON, for Perfetto and chrome://tracing", FORM_EVENTS,
	 false, "chrome"},
	{"bin", "bin", "seL4: the 16-bit stream, with its description beside it (ftrace.meta)",
	 FORM_STREAM, true, NULL},
	{"idx", "idx", "seL4: fixed 16-byte records, ftrace.idx.types and ftrace.idx.meta",
	 FORM_STREAM, true, NULL},
	{"svg", "svg", "a flame graph of its stacks", FORM_STACKS, false, NULL},
	{"html", "html", "the same as a page, with search and zoom", FORM_STACKS, false, NULL},
	{"folded", "folded", "stacks as text, for other flame graph tools", FORM_STACKS, false,
	 NULL},
	{"speedscope", "json", "stacks for speedscope.app", FORM_STACKS, false, NULL},
	{"pprof", "pb.gz", "stacks for pprof", FORM_STACKS, false, NULL},
	{"cleaned", "cleaned", "backtracer: its lines without the console's", FORM_STAGE, false,
	 NULL},
	{"compressed", "compressed", "backtracer: the sections of its lines", FORM_STAGE, false,
	 NULL},
	{"btb", "btb", "backtracer: the unpacked buffer", FORM_STAGE, false, NULL},
	{"interpreted", "interpreted", "backtracer: every entry as text", FORM_STAGE, false, NULL},
	{"btb_lines", "btb_lines", "backtracer: the words of every entry, in hex", FORM_STAGE,
	 false, NULL},
	{"histogram", "histogram", "backtracer: samples by depth, and their cost", FORM_STAGE,
	 false, NULL},
	{"durations", "durations", "backtracer: what each sample cost, and the time between",
	 FORM_STAGE, false, NULL},
};

#define NR_FORMS (sizeof(forms) / sizeof(forms[0]))

const struct form *form_named(const char *name)
{
	for (size_t i = 0; i < NR_FORMS; i++)
		if (!strcmp(forms[i].name, name) ||
		    (forms[i].second && !strcmp(forms[i].second, name)))
			return &forms[i];
	return NULL;
}

const char *form_names(enum form_needs needs)
{
	static char text[200];
	size_t n = 0, left = 0;

	for (size_t i = 0; i < NR_FORMS; i++)
		left += forms[i].needs == needs;
	for (size_t i = 0; i < NR_FORMS && n < sizeof(text); i++)
		if (forms[i].needs == needs)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", forms[i].name,
					      --left > 1  ? ", "
					      : left == 1 ? " or "
							  : "");
	return text;
}

char *form_help(void)
{
	char *text = NULL;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);

	if (!f)
		return NULL;
	fputs("forms:\n", f);
	for (size_t i = 0; i < NR_FORMS; i++)
		fprintf(f, "  %-11s %s\n", forms[i].name, forms[i].what);
	return fclose(f) ? NULL : text;
}
