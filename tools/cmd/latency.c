/* SPDX-License-Identifier: MIT */
/* latency.c -- fathom latency: how long things took, and the worst cases. */
#include "cmd/answer_options.h"
#include "view/disks.h"
#include "view/latency.h"

#include <string.h>

static struct latency_options latency = {.top = 10};
static struct option_choice by = {.names = "kind, name, task, cpu or prio"};
static uint64_t worst = 3;
static bool disks;

static bool parse_kinds(const char *list)
{
	for (const char *p = list; *p;) {
		size_t n = strcspn(p, ",");
		int kind = answer_kind(p, n, LATENCY_KINDS);

		if (kind < 0)
			return false;
		latency.kinds |= 1u << kind;
		p += n + (p[n] == ',');
	}
	return true;
}

static struct option_call add_kinds = {parse_kinds};

static const struct option_spec own[] = {
	{"by", 0, "WHAT", "group by name, task, cpu or prio", OPTION_CHOICE, &by, NULL},
	{"kind", 'k', "LIST", "only these kinds: wakeup,irq", OPTION_CALL, &add_kinds, NULL},
	{"worst", 'w', "N", "the N longest of each kind (default: 3)", OPTION_NUMBER, &worst, NULL},
	{"top", 'n', "N", "groups of each kind (default: 10; 0: all)", OPTION_NUMBER, &latency.top,
	 NULL},
	{"histogram", 0, NULL, "distributions as bars", OPTION_FLAG, &latency.histogram, NULL},
	{"disks", 0, NULL,
	 "block I/O: what each device and task did, and its stages (Q2D, D2C ...)", OPTION_FLAG,
	 &disks, NULL},
	ANSWER_PAIR,
	{"json", 'j', NULL, "print JSON", OPTION_FLAG, &latency.json, NULL},
	{0},
};

static const struct command_spec spec = {
	.name = "latency",
	.args = "FILE",
	.about = "How long things took: wakeups, tasks that ran, were ready or blocked, system "
		 "calls, "
		 "interrupts,\nfaults, IPC, functions, and pairs of events that you name; with "
		 "percentiles and the worst of each.",
	.more = "examples:\n"
		"  fathom latency trace.dat --by task --kind wakeup\n"
		"  fathom latency trace.dat --pair block_rq_issue=block_rq_complete:sector "
		"--histogram",
	.own = own,
	.shared = OPTIONS_EVENTS,
	.min_args = 1,
	.max_args = 1,
};

static int print(struct source *s, struct answer *a)
{
	if (disks)
		return disks_print(s,
				   &(struct disks_options){.walk = a->walk,
							   .json = latency.json,
							   .bold = a->bold,
							   .plain = a->plain},
				   stdout);
	if (!latency.kinds)
		latency.kinds = LATENCY_KINDS;
	latency.walk = a->walk;
	latency.walk.without = ~latency.kinds;
	latency.walk.numbered = worst > 0;
	latency.by = (enum latency_by)by.at;
	latency.worst = worst < 1000000 ? (uint32_t)worst : 1000000;
	latency.bold = a->bold;
	latency.plain = a->plain;
	return latency_print(s, &latency, stdout);
}

int cmd_latency(int argc, char **argv)
{
	return answer_run(
		&spec, argc, argv, print,
		"nothing to measure: the trace has no switches, interrupts, system calls, "
		"calls or (--disks) block I/O; --pair names other spans");
}
