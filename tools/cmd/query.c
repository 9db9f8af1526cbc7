/* SPDX-License-Identifier: MIT */
/* query.c -- fathom query: events by number, by type, by filter. */
#include "base/colour.h"
#include "base/diag.h"
#include "base/guess.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "view/eventline.h"
#include "view/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool as_json, event_given, limit_given, count_only;
static uint64_t event_number, context, limit, offset;
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
};

struct query {
	struct source *source;
	struct options *o;
	struct scan_options scan_options;
	struct scan *scan;
	struct eventline *line;
	struct report_line *text;
	struct report_options report;
	char native[4096];
	uint32_t type; /* of --type */
	struct progress bar;
	bool colour;
};

/* What the format's own tools print, with the number in it; else the number and the line of the report. */
static void put_line(struct query *q, const struct event *e, uint64_t n, bool mark)
{
	const struct source_index *own = source_index(q->source);
	int native = own ? own->print(q->source, e, q->native, sizeof(q->native)) : -1;
	const char *line;
	size_t bytes;

	if (native >= 0) {
		fwrite_unlocked(q->native, 1, (size_t)native, stdout);
		if (!native || q->native[native - 1] != '\n')
			putc_unlocked('\n', stdout);
		return;
	}
	if (n != UINT64_MAX)
		printf("%9" PRIu64 "%c ", n, mark ? '>' : ' ');
	line = report_line(q->text, e, &bytes);
	fwrite_unlocked(line, 1, bytes, stdout);
}

static void print(struct query *q, const struct event *e, bool mark)
{
	uint64_t n = scan_number(q->scan);

	if (as_json) {
		struct json j;

		json_init(&j, stdout, false);
		json_open(&j, NULL, '{');
		eventline_json(q->line, e, n, &j);
		json_close(&j, '}');
		json_end(&j);
		return;
	}
	if (mark && q->colour)
		fputs(COLOUR_BOLD, stdout);
	put_line(q, e, n, mark);
	if (mark && q->colour)
		fputs(COLOUR_OFF, stdout);
}

static int by_number(struct query *q)
{
	uint64_t first = event_number > context ? event_number - context : 0, last, nr;
	const struct event *e;

	if (scan_seek(q->scan, first, &nr) || event_number >= nr) {
		diag_error("%s: there is no event %" PRIu64 ": it has %" PRIu64 ", from 0 on",
			   q->source->path, event_number, nr);
		return EXIT_FAIL;
	}
	last = __builtin_add_overflow(event_number, context, &last) ? UINT64_MAX : last;
	while ((e = scan_next(q->scan)) && scan_number(q->scan) <= last)
		print(q, e, context && scan_number(q->scan) == event_number);
	return EXIT_OK;
}

static int search(struct query *q)
{
	const struct event *e;

	scan_skip(q->scan, offset);
	for (uint64_t n = 0; !limit_given || n < limit; n++) {
		if (!(e = scan_next(q->scan)))
			break;
		print(q, e, false);
	}
	return EXIT_OK;
}

static int count(struct query *q)
{
	uint64_t n;

	if (!scan_count(q->source, &q->o->choice, &q->scan_options, &n))
		return EXIT_FAIL;
	n -= offset < n ? offset : n;
	printf("%" PRIu64 "\n", limit_given && n > limit ? limit : n);
	return EXIT_OK;
}

static void no_such_type(const struct source *s, const char *name)
{
	unsigned told = 0;

	diag_error("%s: no event type '%s'", s->path, name);
	if (strpbrk(name, "*?["))
		fprintf(stderr, "        --filter '%s' takes patterns\n", name);
	for (size_t i = 0; i < s->nr_schemas && told < 5; i++)
		if (guess_similar(name, strlen(name), s->schemas[i].name)) {
			fprintf(stderr, "        did you mean '%s'?\n", s->schemas[i].name);
			told++;
		}
}

/* Options that contradict each other. */
static bool is_wrong(const struct options *o)
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

static int run(struct query *q)
{
	const struct schema *type = type_name ? scan_type(q->source, type_name) : NULL;
	int rc;

	if (type_name && !type) {
		no_such_type(q->source, type_name);
		return EXIT_FAIL;
	}
	if (type) {
		q->type = type->id;
		q->o->choice.types = &q->type;
		q->o->choice.nr_types = 1;
	}
	if (count_only && !event_given)
		return count(q);
	progress_start(&q->bar, "", 1);
	q->scan = scan_open(q->source, &q->o->choice, &q->scan_options);
	rc = !q->scan ? EXIT_FAIL : event_given ? by_number(q) : search(q);
	progress_end(&q->bar);
	return rc;
}

int cmd_query(int argc, char **argv)
{
	struct options o;
	struct query q = {.o = &o, .scan_options = {.numbered = true, .progress = progress_scan}};
	int rc = options_parse(&spec, argc, argv, &o);

	if (rc != OPTIONS_GO)
		return rc;
	if (is_wrong(&o)) {
		options_close(&o);
		return EXIT_USAGE;
	}
	q.source = options_open(&o);
	if (!q.source)
		return EXIT_FAIL;
	options_only_text(q.source);
	q.scan_options.no_index = o.no_index;
	q.scan_options.arg = &q.bar;
	q.colour = colour_wanted(STDOUT_FILENO);
	q.line = eventline_new(q.source);
	q.report = (struct report_options){.choice = &o.choice, .colour = q.colour};
	q.text = report_line_new(q.source, &q.report);
	rc = q.line && q.text ? run(&q) : EXIT_FAIL;
	options_tell_missing(q.source);
	scan_close(q.scan);
	eventline_free(q.line);
	report_line_free(q.text);
	source_close(q.source);
	options_close(&o);
	return rc;
}
