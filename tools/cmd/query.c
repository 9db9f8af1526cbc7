/* SPDX-License-Identifier: MIT */
/* query.c -- fathom query: events by number, by type, by filter. */
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "view/find.h"

#include <inttypes.h>
#include <stdio.h>

static bool as_json, event_given, limit_given, count_only;
static uint64_t event_number, context, limit = UINT64_MAX, offset;
static const char *type_name;

static const struct option_spec own[] = {
	{"event", 0, "N", "the event with this number; the first is 0", OPTION_NUMBER,
	 &event_number, &event_given},
	{"context", 'C', "K", "with --event: K events around it", OPTION_NUMBER, &context, NULL},
	{"type", 0, "NAME", "only events of this type: sched_switch, sched:sched_switch",
	 OPTION_STRING, &type_name, NULL},
	{"limit", 'n', "L", "stop after L events", OPTION_NUMBER, &limit, &limit_given},
	{"offset", 0, "K", "skip the first K", OPTION_NUMBER, &offset, NULL},
	{"count", 0, NULL, "print only the number of events", OPTION_FLAG, &count_only, NULL},
	{"json", 'j', NULL, "one JSON object per line", OPTION_FLAG, &as_json, NULL},
	{0},
};

static const struct command_spec spec = {
	.name = "query",
	.args = "FILE",
	.about = "Events of a trace, found by number, type, time or filter. Each line begins with "
		 "the\n"
		 "event's number where it is known.",
	.more = "examples:\n"
		"  fathom query trace.dat --event 500000 --context 3\n"
		"  fathom query trace.dat --type sched_switch --limit 10 --offset 100\n"
		"  fathom query trace.dat --filter 'prev_pid == 13 && next_comm ~ \"ker*\"'",
	.own = own,
	.shared = OPTIONS_EVENTS,
	.min_args = 1,
	.max_args = 1,
	.text_too = true,
};

/* Options that contradict each other. */
static bool is_wrong(struct options *o)
{
	const char *why = NULL;

	if (event_given && (type_name || o->filter || limit_given || offset))
		why = "asks for one event; it does not go with --type, --filter, --limit or "
		      "--offset";
	else if (event_given && (o->cpus || o->buffer))
		why = "counts all events: omit --cpu and --buffer";
	if (why)
		diag_error("query: --event N %s", why);
	return why != NULL;
}

static int count(struct source *s, struct options *o)
{
	struct scan_options so = {
		.no_index = o->no_index, .progress = progress_show, .arg = &o->bar};
	uint64_t n;

	if (!scan_count(s, &o->choice, &so, &n))
		return EXIT_FAIL;
	progress_end(&o->bar);
	n -= offset < n ? offset : n;
	printf("%" PRIu64 "\n", n > limit ? limit : n);
	return EXIT_OK;
}

static int query(struct source *s, struct options *o)
{
	struct find_options f = {.choice = &o->choice,
				 .by_number = event_given,
				 .event = event_number,
				 .context = context,
				 .offset = offset,
				 .limit = limit,
				 .json = as_json,
				 .no_index = o->no_index,
				 .progress = progress_show,
				 .arg = &o->bar};
	const struct schema *type = type_name ? scan_type(s, type_name) : NULL;

	options_only_text(s);
	if (type_name && !type) {
		find_no_type(s, type_name);
		return EXIT_FAIL;
	}
	if (type) {
		o->choice.types = &type->id;
		o->choice.nr_types = 1;
	}
	if (count_only && !event_given)
		return count(s, o);
	return find_events(s, &f) ? EXIT_FAIL : EXIT_OK;
}

int cmd_query(int argc, char **argv)
{
	return options_run(&spec, argc, argv, is_wrong, query);
}
