/* SPDX-License-Identifier: MIT */
/* profile.c -- fathom profile: where the time went. */
#include "cmd/answer_options.h"
#include "view/profile.h"

static struct profile_options profile = {.top = 20};
static struct option_choice sort = {.names = "self, total, calls, mean, p99, max or name"};

static const struct option_spec own[] = {
	{"sort", 0, "WHAT", "functions by self, total, calls, mean, p99, max or name",
	 OPTION_CHOICE, &sort, NULL},
	{"function", 0, "NAME", "also print its callers and callees", OPTION_STRING,
	 &profile.function, NULL},
	{"top", 'n', "N", "lines per table (default: 20; 0: all)", OPTION_NUMBER, &profile.top,
	 NULL},
	{"json", 'j', NULL, "print JSON", OPTION_FLAG, &profile.json, NULL},
	{0},
};

static const struct command_spec spec = {
	.name = "profile",
	.args = "FILE",
	.about = "Where the time went: functions with calls, total and own time; each task's time "
		 "running, "
		 "ready and\nblocked, its switches and migrations; the load of each CPU; "
		 "interrupts.",
	.more = "examples:\n"
		"  fathom profile trace.dat --sort total --top 50\n"
		"  fathom profile trace.dat --function vfs_read --from +1s --to +2s",
	.own = own,
	.shared = OPTIONS_EVENTS,
	.min_args = 1,
	.max_args = 1,
};

static int print(struct source *s, struct answer *a)
{
	profile.walk = a->walk;
	profile.walk.without = 1u << SPAN_WAKEUP | 1u << SPAN_SYSCALL | 1u << SPAN_FAULT |
			       1u << SPAN_IPC | 1u << SPAN_PAIR;
	profile.sort = (enum profile_sort)sort.at;
	profile.bold = a->bold;
	profile.plain = a->plain;
	return profile_print(s, &profile, stdout);
}

int cmd_profile(int argc, char **argv)
{
	return answer_run(&spec, argc, argv, print,
			  "no time to account for: the trace has no switches, interrupts or calls");
}
