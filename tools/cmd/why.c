/* SPDX-License-Identifier: MIT */
/* why.c -- fathom why: the chain behind a delay. */
#include "base/diag.h"
#include "cmd/answer_options.h"
#include "view/why.h"

#include <errno.h>
#include <string.h>

#define DELAYS                                                                            \
	(1u << SPAN_WAKEUP | 1u << SPAN_READY | 1u << SPAN_BLOCKED | 1u << SPAN_RUNNING | \
	 1u << SPAN_SYSCALL | 1u << SPAN_FAULT | 1u << SPAN_IPC | 1u << SPAN_PAIR |       \
	 1u << SPAN_KINDS)

static struct why_options why = {.least = 1};
static struct chain_choice choice;
static int worst = -1;
static const char *at;

static bool parse_worst(const char *name)
{
	worst = answer_kind(name, strlen(name), DELAYS);
	return worst >= 0;
}

static struct option_call choose_worst = {parse_worst};

static const struct option_spec own[] = {
	{"task", 0, "TASK", "whose delay: pid, name or name-pid", OPTION_STRING, &choice.task,
	 NULL},
	{"at", 0, "TIME", "the wait that covers TIME, or the last one before it", OPTION_STRING,
	 &at, NULL},
	{"worst", 'w', "KIND",
	 "the longest wakeup, ready, blocked, syscall, pair, or off (the CPU)", OPTION_CALL,
	 &choose_worst, NULL},
	{"least", 0, "PERCENT", "combine links that take less into one line (default: 1)",
	 OPTION_PERCENT, &why.least, NULL},
	ANSWER_PAIR,
	{"json", 'j', NULL, "print JSON", OPTION_FLAG, &why.json, NULL},
	{0},
};

static const struct command_spec spec = {
	.name = "why",
	.args = "FILE",
	.about = "The chain behind a delay: which tasks ran instead, which woke it, what those "
		 "waited for, and so on\n"
		 "to the root, with the time of each link. The links add up to the delay.",
	.more = "examples:\n"
		"  fathom why trace.dat                            the longest wakeup of all\n"
		"  fathom why trace.dat --task sshd --worst off\n"
		"  fathom why trace.dat --task 138 --at 12.345678",
	.own = own,
	.shared = OPTIONS_EVENTS,
	.min_args = 1,
	.max_args = 1,
};

static int print(struct source *s, struct answer *w)
{
	int err;

	if (at && (!choice.task || !chain_at(s, at, &choice))) {
		diag_error(choice.task ? "why: --at: '%s' is not a time; 12.345678, +5ms, -1s"
				       : "why: --at needs --task: whose delay at %s?",
			   at);
		return EXIT_USAGE;
	}
	choice.walk = w->walk;
	choice.worst = worst >= 0	  ? (enum span_kind)worst
		       : w->walk.nr_pairs ? SPAN_PAIR
					  : SPAN_WAKEUP;
	why.bold = w->bold;
	why.plain = w->plain;
	err = why_print(s, &choice, &why, stdout);
	if (err != -ENOENT)
		return err;
	diag_error("%s: %s%s%s; `fathom latency --by task` lists the delays", s->path,
		   choice.task ? "no delay of a task " : "no delay of this kind",
		   choice.task ? choice.task : "", choice.task && !at ? " of this kind" : "");
	return -EINVAL;
}

int cmd_why(int argc, char **argv)
{
	return answer_run(&spec, argc, argv, print, NULL);
}
