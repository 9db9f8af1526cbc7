/* SPDX-License-Identifier: MIT */
/* stack_options.c -- what flame and graph, which draw stacks, take on their command line alike. */
#include "cmd/stack_options.h"
#include "base/diag.h"
#include "cmd/cmd.h"

#include <limits.h>
#include <string.h>

/* The trace is open: CPUs, times and instances can be told from what it has. */
static int settle(struct stacks_options *stacks, const struct source *source)
{
	struct options *o = stacks->arg;
	int err;

	options_close(o); /* of the other trace, when two are compared */
	err = options_settle(o, source);
	stacks->from = o->from;
	stacks->to = o->to;
	return err;
}

static bool keep_cpu(const void *arg, uint32_t cpu)
{
	return options_cpu(arg, cpu);
}

int stack_options_settle(struct stack_options *s, const char *command)
{
	struct stacks_options *k = &s->stacks;

	if (s->by && !strcmp(s->by, "cpu")) {
		k->by = STACKS_BY_CPU;
	} else if (s->by && !strcmp(s->by, "task")) {
		k->by = STACKS_BY_TASK;
	} else if (s->by && !strcmp(s->by, "none")) {
		k->by = STACKS_BY_NONE;
	} else if (s->by) {
		diag_error("%s: --by takes cpu, task or none, not '%s'", command, s->by);
		return EXIT_USAGE;
	}
	k->run = s->run_given ? (int)(s->run < INT_MAX ? s->run : INT_MAX) : -1;
	k->symbols = k->names.tables = s->symbols;
	k->settle = settle;
	k->stream = options_keep;
	k->cpu = keep_cpu;
	k->arg = &s->o;
	return EXIT_OK;
}
