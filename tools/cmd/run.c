/* SPDX-License-Identifier: MIT */
/* run.c -- fathom run: run a bpftrace program over a trace. */
#include "base/diag.h"
#include "base/file.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/run_live.h"
#include "program/program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *text;
static bool listing;
static uint64_t threads, seconds;
static const char *target;

static const struct option_spec own[] = {
	{"expression", 'e', "PROGRAM", "the program, instead of a file", OPTION_STRING, &text,
	 NULL},
	{"threads", 0, "N", "at most N threads (default: one per CPU, where order does not matter)",
	 OPTION_NUMBER, &threads, NULL},
	{"target", 0, "TARGET", "run it inside a live target, as in fathom record", OPTION_STRING,
	 &target, NULL},
	{"seconds", 0, "N", "with --target: stop after N seconds (default: at SIGINT or exit())",
	 OPTION_NUMBER, &seconds, NULL},
	{"listing", 'd', NULL, "print the compiled program and stop", OPTION_FLAG, &listing, NULL},
	{0},
};

static const struct command_spec spec = {
	.name = "run",
	.args = "[PROGRAM.bt|OBJECT.o] [FILE [ARGUMENT...]]",
	.about = "Run a bpftrace program, or an object of clang -target bpf, over a trace or "
		 "inside a live target. Time, tasks and CPUs are those of the trace or target.",
	.more = "examples:\n"
		"  fathom run -e 'tracepoint:sched:sched_switch { @[args->next_comm] = count(); }' "
		"trace.dat\n"
		"  fathom run runqlat.bt trace.dat\n"
		"  fathom run --target 4711 -e 'kprobe:parse* { @[func] = count(); }'",
	.own = own,
	.shared = OPTIONS_EVENTS,
	.min_args = 0,
	.max_args = 8,
};

/* The program's text: from -e, or from the file named by the first argument, which is then removed. */
static int program_text(struct options *o, struct program_options *p, char **owned)
{
	size_t bytes;
	int i;

	*owned = NULL;
	p->file = "stdin"; /* as bpftrace calls it */
	p->text = text;
	if (!text) {
		if (!o->nr_args) {
			diag_error("run: give a program: a file, or -e 'PROGRAM' (see fathom run "
				   "--help)");
			return EXIT_USAGE;
		}
		p->file = o->args[0];
		*owned = file_load(o->args[0], 1u << 20, &bytes);
		if (!*owned) {
			diag_error("%s: %s", o->args[0], strerror(errno));
			return EXIT_FAIL;
		}
		p->text = *owned;
		p->bytes = bytes;
		for (i = 1; i < o->nr_args; i++)
			o->args[i - 1] = o->args[i];
		o->nr_args--;
	} else {
		p->bytes = strlen(text);
	}
	if (!o->nr_args && !target)
		o->args[o->nr_args++] = "trace.dat";
	return EXIT_OK;
}

static int run_in(struct options *o, struct program_options *p)
{
	p->parameters = (char **)o->args;
	p->nr_parameters = (uint32_t)o->nr_args;
	p->listing = listing;
	return run_live(target, p, (uint32_t)seconds);
}

static int run_on(struct options *o, struct program_options *p)
{
	struct source *s = options_open(o);
	int err;

	if (!s)
		return EXIT_FAIL;
	if (options_only_text(s)) {
		source_close(s);
		return EXIT_FAIL;
	}
	p->choice = &o->choice;
	p->parameters = (char **)o->args + 1;
	p->nr_parameters = (uint32_t)o->nr_args - 1;
	p->threads = threads < UINT32_MAX ? (uint32_t)threads : UINT32_MAX;
	p->listing = listing;
	err = program_run(s, p, stdout);
	if (err && err != -EINVAL)
		diag_error("%s: %s", s->path, strerror(-err));
	options_tell_missing(s);
	source_close(s);
	return err ? EXIT_FAIL : EXIT_OK;
}

int cmd_run(int argc, char **argv)
{
	struct program_options p = {0};
	struct options o;
	char *owned = NULL;
	int rc = options_parse(&spec, argc, argv, &o);

	if (rc != OPTIONS_GO)
		return rc;
	rc = program_text(&o, &p, &owned);
	if (rc == EXIT_OK && seconds && (!target || seconds > UINT32_MAX)) {
		diag_error("run: --seconds is for --target");
		rc = EXIT_USAGE;
	}
	if (rc == EXIT_OK)
		rc = target ? run_in(&o, &p) : run_on(&o, &p);
	free(owned);
	options_close(&o);
	return rc;
}
