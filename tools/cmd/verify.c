/* SPDX-License-Identifier: MIT */
/* verify.c -- fathom verify: which parts of a trace are damaged, and what can still be read. */
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "view/verify.h"

static bool as_json;

static const struct option_spec own[] = {
	{"json", 'j', NULL, "print JSON", OPTION_FLAG, &as_json, NULL},
	{0},
};

static const struct command_spec spec = {
	.name = "verify",
	.args = "FILE",
	.about = "Read everything in a trace and say what is damaged, at which offset, and what is "
		 "still\n"
		 "readable. Exit code 0: it is whole; 1: something is damaged.",
	.own = own,
	.shared = OPTIONS_SOURCE,
	.min_args = 1,
	.max_args = 1,
	.text_too = true,
	.says_missing = true,
};

static int verify_trace(struct source *s, struct options *o)
{
	struct verify_options v = {.json = as_json, .progress = progress_show, .arg = &o->bar};

	if (verify(s, &v)) {
		diag_error("%s: out of memory", s->path);
		return EXIT_FAIL;
	}
	return s->damage_total ? EXIT_FAIL : EXIT_OK;
}

int cmd_verify(int argc, char **argv)
{
	return options_run(&spec, argc, argv, NULL, verify_trace);
}
