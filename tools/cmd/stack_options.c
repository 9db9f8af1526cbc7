/* SPDX-License-Identifier: MIT */
/* stack_options.c -- the options that flame and graph share. */
#include "cmd/stack_options.h"
#include "base/diag.h"
#include "cmd/cmd.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

void stack_options_close(struct stack_options *s)
{
	options_close(&s->o);
}

/* The trace is open: CPUs, times, instances and the filter can be checked against what it has. */
static int settle(struct stacks_options *stacks, struct source *source)
{
	struct options *o = &((struct stack_options *)stacks->arg)->o;
	int err;

	if (!source)
		return options_choose(o) ? -EINVAL : 0;
	err = options_settle(o, source);
	stacks->choice = o->choice;
	return err;
}

void stack_options_settle(struct stack_options *s)
{
	struct stacks_options *k = &s->stacks;

	k->by = (enum stacks_by)s->by.at;
	if (s->run_given)
		s->o.source.run = s->run < INT_MAX ? (uint32_t)s->run + 1 : INT_MAX;
	k->source = s->o.source;
	k->settle = settle;
	k->arg = s;
}
