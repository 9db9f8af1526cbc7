/* SPDX-License-Identifier: MIT */
/* stack_options.c -- what flame and graph, which draw stacks, take on their command line alike. */
#include "cmd/stack_options.h"
#include "base/diag.h"
#include "cmd/cmd.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

void stack_options_close(struct stack_options *s)
{
	select_close(s->select);
	s->select = NULL;
	options_close(&s->o);
}

/* The trace is open: CPUs, times, instances and the filter can be told from what it has. */
static int settle(struct stacks_options *stacks, struct source *source)
{
	struct stack_options *s = stacks->arg;
	int err;

	select_close(s->select); /* of the other trace, when two are compared */
	s->select = NULL;
	if (!source)
		return s->o.cpu_list || options_restrict(&s->o) ? -EINVAL : 0;
	err = options_settle(&s->o, source);
	stacks->from = s->o.from;
	stacks->to = s->o.to;
	if (err || !s->o.filter)
		return err;
	if (!source->ops) {
		diag_error("%s: --filter is of events, and this has only stacks", source->path);
		return -EINVAL;
	}
	s->select = select_open(source, &s->o);
	return s->select ? 0 : -EINVAL;
}

static bool keep_stream(const struct source *source, uint32_t stream, void *arg)
{
	return options_keep(source, stream, &((struct stack_options *)arg)->o);
}

static bool keep_event(const void *arg, const struct event *e)
{
	const struct stack_options *s = arg;

	return options_time(&s->o, e->time) && (!s->select || select_match(s->select, e));
}

static bool keep_cpu(const void *arg, uint32_t cpu)
{
	return options_cpu(&((const struct stack_options *)arg)->o, cpu);
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
	k->source = s->o.source;
	k->names.tables = s->o.source.symbols;
	k->settle = settle;
	k->stream = keep_stream;
	k->event = keep_event;
	k->cpu = keep_cpu;
	k->arg = s;
	return EXIT_OK;
}
