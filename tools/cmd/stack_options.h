/* SPDX-License-Identifier: MIT */
/* stack_options.h -- the options that flame and graph share. */
#ifndef CMD_STACK_OPTIONS_H
#define CMD_STACK_OPTIONS_H

#include "cmd/options.h"
#include "view/stacks.h"

struct stack_options {
	struct options o;
	struct stacks_options stacks;
	struct option_choice by; /* enum stacks_by */
	const char *only, *without;
	uint64_t run;
	bool by_given, run_given;
};

#define STACK_ARGS                                    \
	{                                             \
		.by = {.names = "none, cpu or task" } \
	}

/* Rows of a command's table, bound to a `static struct stack_options`. */
#define STACK_OPTIONS(s)                                                                           \
	{"by",		0,	 "WHAT",       "one tower for each: cpu, task or none",            \
	 OPTION_CHOICE, &(s).by, &(s).by_given},                                                   \
		{"reverse",	      0,   NULL, "from each function to its callers", OPTION_FLAG, \
		 &(s).stacks.reverse, NULL},                                                       \
		{"samples",   0,                                                                   \
		 NULL,	      "count samples or calls instead of time",                            \
		 OPTION_FLAG, &(s).stacks.samples,                                                 \
		 NULL},                                                                            \
		{"only",	0,	   "REGEX", "only stacks with a frame that matches",       \
		 OPTION_STRING, &(s).only, NULL},                                                  \
		{"without",	0,                                                                 \
		 "REGEX",	"no stacks with a frame that matches: 'idle'",                     \
		 OPTION_STRING, &(s).without,                                                      \
		 NULL},                                                                            \
		{"run",		0,                                                                 \
		 "N",		"only this run of a console log with several, from 0",             \
		 OPTION_NUMBER, &(s).run,                                                          \
		 &(s).run_given},                                                                  \
		{"symbols",	0,                                                                 \
		 "PATH",	"a file of symbols, or a folder of NAME.symt tables",              \
		 OPTION_STRING, &(s).o.source.symbols,                                             \
		 NULL},                                                                            \
		{"binaries",	0,                                                                 \
		 "LIST",	"`NAME: PATH` lines: where the binaries are",                      \
		 OPTION_STRING, &(s).o.source.meta,                                                \
		 NULL},                                                                            \
	{                                                                                          \
		"inlines", 0, NULL, "show functions that DWARF says are inlined as frames",        \
			OPTION_FLAG, &(s).o.source.inlines, NULL                                   \
	}

/* After options_parse(). */
void stack_options_settle(struct stack_options *s);
void stack_options_close(struct stack_options *s);

#endif
