/* SPDX-License-Identifier: MIT */
/* why.c -- fathom why: the chain behind a delay. */
#include "base/colour.h"
#include "base/diag.h"
#include "base/guess.h"
#include "cmd/answer_options.h"
#include "view/why.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct answer_options args;
static const char *task, *at, *worst, *least;
static bool as_json;

static const struct option_spec own[] = {
	{"task", 0, "TASK", "whose delay: pid, name or name-pid", OPTION_STRING, &task, NULL},
	{"at", 0, "TIME", "the time off the CPU at, or last before, TIME", OPTION_STRING, &at,
	 NULL},
	{"worst", 'w', "KIND",
	 "the longest wakeup, ready, blocked, syscall, pair, or off (the CPU)", OPTION_STRING,
	 &worst, NULL},
	{"least", 0, "PERCENT", "links that take less are one line; 1 if not given", OPTION_STRING,
	 &least, NULL},
	ANSWER_OPTIONS(args),
	{"json", 'j', NULL, "print JSON", OPTION_FLAG, &as_json, NULL},
	{0},
};

static const struct command_spec spec = {
	.name = "why",
	.args = "FILE",
	.about = "The chain behind a delay: who ran instead, who woke the task, what that one "
		 "waited "
		 "for, and so on\nto the root, with the time of each link. The links add up to the "
		 "delay.",
	.more = "examples:\n"
		"  fathom why trace.dat                            the longest wakeup of all\n"
		"  fathom why trace.dat --task sshd --worst off\n"
		"  fathom why trace.dat --task 138 --at 12.345678",
	.own = own,
	.shared = OPTIONS_EVENTS,
	.min_args = 1,
	.max_args = 1,
};

static bool parse_worst(enum span_kind *out)
{
	static const enum span_kind kinds[] = {SPAN_WAKEUP,  SPAN_READY, SPAN_BLOCKED, SPAN_RUNNING,
					       SPAN_SYSCALL, SPAN_FAULT, SPAN_IPC,     SPAN_PAIR};

	*out = args.nr_pairs ? SPAN_PAIR : SPAN_WAKEUP;
	if (!worst)
		return true;
	*out = SPAN_KINDS;
	if (!strcmp(worst, "off"))
		return true;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(worst, span_kind_name(kinds[i]))) {
			*out = kinds[i];
			return true;
		}
	diag_error("why: '%s' is not a kind of delay; kinds are: off", worst);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		fprintf(stderr, "        %s%s\n", span_kind_name(kinds[i]),
			guess_similar(worst, strlen(worst), span_kind_name(kinds[i]))
				? "   <- did you mean this?"
				: "");
	return false;
}

static bool parse_least(double *out)
{
	char *end;

	*out = 1;
	if (!least)
		return true;
	*out = strtod(least, &end);
	if (end != least && !*end && *out >= 0 && *out <= 100)
		return true;
	diag_error("why: --least takes percent, not '%s'", least);
	return false;
}

/* As for --from and --to: a time of the trace, or one from its beginning (+) or its end (-). */
static bool parse_at(struct source *s, struct chain_choice *c)
{
	struct scan_choice window = SCAN_ALL;

	c->has_at = at != NULL;
	if (!at)
		return true;
	if (!scan_time_is(at) && !scan_time_parse(at, s->unit, &window.to)) {
		diag_error("why: --at: '%s' is not a time; 12.345678, +5ms, -1s", at);
		return false;
	}
	scan_window(s, NULL, at, &window);
	c->at = window.to;
	return true;
}

static int explain(struct source *s, struct chain_choice *c, const struct why_options *o)
{
	struct chain_delay delay;
	struct chain chain = {0};
	struct account a;
	int err = chain_find(s, c, &delay);

	if (!err)
		err = chain_make(s, &c->walk, &delay, &chain);
	if (!err)
		err = model_account(s, &c->walk, chain.model, &a);
	if (!err) {
		if (as_json)
			why_json(s, &chain, &a, stdout);
		else
			why_text(s, &chain, &a, o, stdout);
		account_free(&a);
	}
	chain_free(&chain);
	if (err == -ENOENT)
		diag_error("%s: %s%s%s; `fathom latency --by task` lists what there is", s->path,
			   task ? "no delay of a task " : "no delay of this kind", task ? task : "",
			   task && !c->has_at ? " of this kind" : "");
	else if (err && err != -EINVAL)
		diag_error("%s: %s", s->path, strerror(-err));
	return err;
}

int cmd_why(int argc, char **argv)
{
	struct chain_choice c = {.task = NULL};
	struct why_options o = {.bold = "", .plain = ""};
	struct progress bar;
	struct source *s;
	int rc = options_parse(&spec, argc, argv, &args.o);

	if (rc != OPTIONS_GO)
		return rc;
	if (at && !task)
		diag_error("why: --at needs --task");
	if ((at && !task) || !answer_pairs(&args) || !parse_worst(&c.worst) ||
	    !parse_least(&o.least)) {
		answer_close(&args);
		return EXIT_USAGE;
	}
	s = options_open(&args.o);
	if (!s || !parse_at(s, &c)) {
		source_close(s);
		answer_close(&args);
		return s ? EXIT_USAGE : EXIT_FAIL;
	}
	answer_walk(&args, &c.walk, &bar);
	c.task = task;
	if (colour_wanted(STDOUT_FILENO)) {
		o.bold = COLOUR_BOLD;
		o.plain = COLOUR_OFF;
	}
	progress_start(&bar, "", 1);
	rc = explain(s, &c, &o) ? EXIT_FAIL : EXIT_OK;
	progress_end(&bar);
	source_close(s);
	answer_close(&args);
	return rc;
}
