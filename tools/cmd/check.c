/* SPDX-License-Identifier: MIT */
/* check.c -- fathom check: check a trace against rules */
#include "base/diag.h"
#include "base/file.h"
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

static int judge(struct source *s, struct options *o, const struct rules *r)
{
	struct judgement *j = calloc(r->nr, sizeof(*j));
	int err = j ? rules_judge(s, &o->choice, r, j) : -ENOMEM;
	uint32_t i;
	int rc = EXIT_OK;

	if (err && err != -EINVAL)
		diag_error("%s: %s", s->path, strerror(-err));
	if (!err && as_junit)
		rules_junit(s, r, j, stdout);
	else if (!err && as_json)
		rules_json(s, r, j, stdout);
	else if (!err)
		rules_show(s, r, j, stdout);
	for (i = 0; !err && i < r->nr; i++)
		if (j[i].verdict == VERDICT_FAILED ||
		    (j[i].verdict == VERDICT_INCONCLUSIVE && !lenient))
			rc = EXIT_FAIL;
	free(j);
	return err ? EXIT_FAIL : rc;
}

static struct rules *load(const struct options *o)
{
	struct rules *r;
	size_t bytes;
	char *text;

	if (rule)
		return rules_parse("rule", rule, strlen(rule));
	text = file_load(o->args[1], 1u << 20, &bytes);
	if (!text) {
		diag_error("%s: %s", o->args[1], strerror(errno));
		return NULL;
	}
	r = rules_parse(o->args[1], text, bytes);
	free(text);
	return r;
}

int cmd_check(int argc, char **argv)
{
	struct options o;
	struct rules *r = NULL;
	struct source *s = NULL;
	int rc = options_parse(&spec, argc, argv, &o);

	if (rc != OPTIONS_GO)
		return rc;
	if (!rule == (o.nr_args < 2)) {
		diag_error("check: give a file of rules, or a rule with --rule (see fathom check "
			   "--help)");
		options_close(&o);
		return EXIT_USAGE;
	}
	rc = EXIT_FAIL;
	r = load(&o);
	if (r)
		s = options_open(&o);
	if (s && !options_only_text(s)) {
		rc = judge(s, &o, r);
		fflush(stdout);
		options_tell_missing(s);
	}
	source_close(s);
	rules_free(r);
	options_close(&o);
	return rc;
}
