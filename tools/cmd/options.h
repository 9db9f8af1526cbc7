/* SPDX-License-Identifier: MIT */
/* options.h -- the command line of a subcommand: its own options, and those all commands that read a trace share. */
#ifndef CMD_OPTIONS_H
#define CMD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "store/scan.h"

/*
 * A command lists its own options in a table and calls options_parse(); --help is made from the table.
 *
 *	static bool json;
 *	static const struct option_spec own[] = {
 *		{"json", 'j', NULL, "print JSON", OPTION_FLAG, &json},
 *		{0},
 *	};
 *	static const struct command_spec spec = {
 *		.name = "stat", .args = "FILE", .about = "What is in a trace.", .own = own,
 *		.shared = OPTIONS_EVENTS, .min_args = 1, .max_args = 1,
 *	};
 *	...
 *	struct options o;
 *	int rc = options_parse(&spec, argc, argv, &o);
 *
 *	if (rc != OPTIONS_GO)
 *		return rc;
 */
enum option_kind {
	OPTION_FLAG,	 /* bool: set to true */
	OPTION_STRING,	 /* const char * */
	OPTION_JOINED,	 /* char *: a string; if repeated, the values are joined with "; "; owned */
	OPTION_NUMBER,	 /* uint64_t; decimal, or hex with 0x */
	OPTION_PERCENT,	 /* double: not negative */
	OPTION_CHOICE,	 /* struct option_choice: one of some words */
	OPTION_CALL,	 /* struct option_call: called with each value, in the order given */
	OPTION_LIST,	 /* struct option_list: every value is added */
	OPTION_OPTIONAL, /* const char *: --name or --name=VALUE; "" without a value */
};

struct option_choice {
	const char *names; /* "self, total or calls", as a message says it */
	unsigned at;	   /* which of them; set it to the default */
};

struct option_list {
	const char **values;
	unsigned *nr, most;
};

struct option_call {
	bool (*fn)(const char *value); /* false, with a message: it is wrong */
};

struct option_spec {
	const char *name; /* without the dashes */
	char letter;	  /* 0: none */
	const char *arg;  /* name of the value in the help; NULL for flags */
	const char *help;
	enum option_kind kind;
	void *to;
	bool *given; /* may be NULL */
};

/* Which shared options a command takes: none; those of a source; those, and the choice of events. */
enum option_set {
	OPTIONS_NONE,
	OPTIONS_SOURCE,
	OPTIONS_EVENTS,
};

struct command_spec {
	const char *name;
	const char *args;    /* "FILE" */
	const char *about;   /* a sentence or two for --help */
	const char *more;    /* printed after the options: examples; may be NULL */
	char *(*list)(void); /* printed before `more`, and freed; may be NULL */
	const struct option_spec *own;
	enum option_set shared; /* a command's own option hides a shared one of the same name */
	int min_args, max_args;
	bool runs_command;   /* the words after the options are a command: options.command */
	bool to_may_be_word; /* --to WORD is not a wrong time: the command understands it */
	/* For options_run(): */
	bool text_too;	   /* also a trace that is the text of a latency tracer */
	bool says_missing; /* the answer itself says what is missing */
};

/* A bar on stderr when it is a terminal and the work takes more than a second. */
struct progress {
	uint64_t done, started_ns, shown_ns;
	bool on, shown;
};

void progress_start(struct progress *p);
/* For work that says what it does, and how much of it is done; `arg` is the progress. All of it: the bar goes. Cheap. */
void progress_show(void *arg, const char *what, uint64_t done, uint64_t total);
void progress_end(struct progress *p);

struct options {
	const char *args[8];
	int nr_args;
	char **command; /* of a spec with runs_command, ended by NULL; NULL: none */
	/* Shared by commands that read a trace. */
	const char *cpu_list, *from_text, *to_text, *buffer;
	char *filter_text; /* freed by options_close(), as are the next two */
	struct filter *filter;
	uint64_t *cpus;
	struct source_options source;
	bool no_index;
	struct scan_choice choice; /* set by options_open() */
	struct progress bar;	   /* of options_run(); end it before printing */
};

#define OPTIONS_GO (-1)

/* OPTIONS_GO, or the exit code to return: after --help, or when the command line is wrong (reported on stderr). */
int options_parse(const struct command_spec *spec, int argc, char **argv, struct options *o);
/* Open the trace named by args[0] and settle what needs it: CPUs, times, buffer. NULL with the message printed. */
struct source *options_open(struct options *o);
/* 0, or a negative errno with the message printed: for other files than args[0]. */
int options_settle(struct options *o, struct source *s);
/*
 * A command that reads one trace: parse the line, open args[0], work() with a progress bar, warn of what is missing, close.
 * Gives work()'s exit code. wrong() may be NULL; true, with a message: the line makes no sense.
 */
int options_run(const struct command_spec *spec, int argc, char **argv,
		bool (*wrong)(struct options *o), int (*work)(struct source *s, struct options *o));
/* The same after options_parse(), which is undone too. */
int options_work(const struct command_spec *spec, struct options *o,
		 int (*work)(struct source *s, struct options *o));
/* Does the line choose some of the events? */
bool options_choose(const struct options *o);
/* Does the line name symbols, tasks or formats that are not the trace's own? The files kept beside the trace do not apply then. */
bool options_name_source(const struct options *o);
/* After reading the trace: warn if parts are damaged, or if it says that it lost events or calls. */
void options_tell_missing(const struct source *s);
/* True, with a message, if the trace is the text of a latency tracer, which has no events. */
bool options_only_text(const struct source *s);
/* Frees what options_parse() made. */
void options_close(struct options *o);

#endif
