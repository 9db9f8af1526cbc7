/* SPDX-License-Identifier: MIT */
/* check.c -- fathom check: check a trace against rules */
#include "base/diag.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "rules/rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool as_json, as_junit, lenient;
static const char *rule;

static const struct option_spec own[] = {
	{"rule", 'r', "RULE", "a rule, instead of a file", OPTION_STRING, &rule, NULL},
	{"json", 0, NULL, "print JSON", OPTION_FLAG, &as_json, NULL},
	{"junit", 0, NULL, "print JUnit's XML", OPTION_FLAG, &as_junit, NULL},
	{"lenient", 0, NULL, "inconclusive rules do not fail the command", OPTION_FLAG, &lenient,
	 NULL},
	{0},
};

static const struct command_spec spec = {
	.name = "check",
	.args = "FILE [RULES]",
	.about = "Judge a trace by rules. A rule that lost events could break unseen is "
		 "inconclusive.",
	.more = "rules, one per line:\n"
		"  wakeup p99 < 200us where prio < 100\n"
		"  every raw_syscalls:sys_enter has raw_syscalls:sys_exit within 5ms\n"
		"  span critical = lock_taken to lock_released by lock\n"
		"  never irq_handler_entry inside critical\n"
		"  count(page_fault_user) <= 300\n"
		"  no loss in +1.5s..+2.0s",
	.own = own,
	.shared = OPTIONS_EVENTS,
	.min_args = 1,
	.max_args = 2,
};

static bool wrong(struct options *o)
{
	if (!rule != (o->nr_args < 2))
		return false;
	diag_error("check: give a file of rules, or a rule with --rule (see fathom check --help)");
	return true;
}

static int judge(struct source *s, struct options *o)
{
	struct rules *r = rule ? rules_parse("rule", rule, strlen(rule)) : rules_load(o->args[1]);
	struct judgement *j = r ? calloc(r->nr, sizeof(*j)) : NULL;
	int err = !r ? -EINVAL : j ? rules_judge(s, &o->choice, r, j) : -ENOMEM;
	bool failed = err;

	if (err && err != -EINVAL)
		diag_error("%s: %s", s->path, strerror(-err));
	if (!err)
		(as_junit ? rules_junit : as_json ? rules_json : rules_show)(s, r, j, stdout);
	for (uint32_t i = 0; !err && i < r->nr; i++)
		failed |= j[i].verdict == VERDICT_FAILED ||
			  (j[i].verdict == VERDICT_INCONCLUSIVE && !lenient);
	free(j);
	rules_free(r);
	return failed ? EXIT_FAIL : EXIT_OK;
}

int cmd_check(int argc, char **argv)
{
	return options_run(&spec, argc, argv, wrong, judge);
}
