/* SPDX-License-Identifier: MIT */
/* run.c -- fathom run: run a bpftrace program over a trace. */
#include "base/diag.h"
#include "base/file.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "live/sessions.h"
#include "program/program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct program_options program = {.file = "stdin"}; /* as bpftrace calls it */
static const char *text;
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
	{"listing", 'd', NULL, "print the compiled program and stop", OPTION_FLAG, &program.listing,
	 NULL},
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
static int program_text(struct options *o, char **owned)
{
	if (!text && !o->nr_args) {
		diag_error("run: give a program: a file, or -e 'PROGRAM' (see fathom run --help)");
		return EXIT_USAGE;
	}
	if (text) {
		program.bytes = strlen(text);
	} else {
		program.file = o->args[0];
		text = *owned = file_load(o->args[0], 1u << 20, &program.bytes);
		memmove(o->args, o->args + 1, (size_t)--o->nr_args * sizeof(o->args[0]));
	}
	if (!text)
		diag_error("%s: %s", program.file, strerror(errno));
	program.text = text;
	if (!o->nr_args && !target)
		o->args[o->nr_args++] = "trace.dat";
	program.parameters = (char **)o->args + !target;
	program.nr_parameters = (uint32_t)o->nr_args - !target;
	return text ? EXIT_OK : EXIT_FAIL;
}

static int run_on(struct source *s, struct options *o)
{
	int err;

	program.choice = &o->choice;
	err = program_run(s, &program, stdout);
	if (err && err != -EINVAL)
		diag_error("%s: %s", s->path, strerror(-err));
	return err ? EXIT_FAIL : EXIT_OK;
}

int cmd_run(int argc, char **argv)
{
	struct options o;
	char *owned = NULL;
	int rc = options_parse(&spec, argc, argv, &o);

	if (rc != OPTIONS_GO)
		return rc;
	rc = program_text(&o, &owned);
	program.threads = threads < UINT32_MAX ? (uint32_t)threads : UINT32_MAX;
	if (rc == EXIT_OK && seconds && (!target || seconds > UINT32_MAX)) {
		diag_error("run: --seconds is for --target");
		rc = EXIT_USAGE;
	}
	if (rc == EXIT_OK && !target)
		rc = options_work(&spec, &o, run_on);
	else if (rc == EXIT_OK)
		rc = live_run_program(target, &program, (uint32_t)seconds) ? EXIT_FAIL : EXIT_OK;
	free(owned);
	options_close(&o);
	return rc;
}
