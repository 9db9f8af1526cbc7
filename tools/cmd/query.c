/* SPDX-License-Identifier: MIT */
/* query.c -- fathom query: events by number, by type, by filter. */
#include "base/colour.h"
#include "base/diag.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/select.h"
#include "store/store.h"
#include "view/eventline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static bool as_json, event_given, limit_given, count_only;
static uint64_t event_number, context, limit, offset;
static const char *type_name;

static const struct option_spec own[] = {
	{"event", 'e', "N", "the event with this number; the first is 0", OPTION_NUMBER,
	 &event_number, &event_given},
	{"context", 'C', "K", "with --event: K events before and behind it", OPTION_NUMBER,
	 &context, NULL},
	{"type", 't', "NAME", "only events of this type: sched_switch, sched:sched_switch",
	 OPTION_STRING, &type_name, NULL},
	{"limit", 'n', "L", "stop after L events", OPTION_NUMBER, &limit, &limit_given},
	{"offset", 'o', "K", "leave the first K out", OPTION_NUMBER, &offset, NULL},
	{"count", 0, NULL, "print only how many there are", OPTION_FLAG, &count_only, NULL},
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
	struct store *store; /* NULL: not needed */
	struct merge *merge;
	struct select *select;
	struct eventline *line;
	const struct schema *type; /* NULL: any */
	bool numbered;
	uint64_t matched, printed;
	bool colour;
};

static void print(struct query *q, const struct event *e, bool mark)
{
	uint64_t n = q->merge->number - 1;

	q->printed++;
	if (as_json) {
		struct json j;

		json_init(&j, stdout, false);
		json_open(&j, NULL, '{');
		eventline_json(q->line, e, q->numbered ? n : UINT64_MAX, &j);
		json_close(&j, '}');
		json_end(&j);
		return;
	}
	if (mark && q->colour)
		fputs(COLOUR_BOLD, stdout);
	if (q->numbered &&
	    !q->source->ops->type_name) /* such a format's own lines tell the number */
		printf("%9" PRIu64 "%c ", n, mark ? '>' : ' ');
	eventline_text(q->line, e, stdout);
	if (mark && q->colour)
		fputs(COLOUR_OFF, stdout);
}

static int need_store(struct query *q)
{
	struct progress bar;
	struct store_options so = {
		.no_file = q->o->no_index, .progress = progress_show, .arg = &bar};
	int err;

	if (q->store)
		return 0;
	progress_start(&bar, "indexing", 1);
	err = store_open(q->source, &so, &q->store);
	progress_end(&bar);
	if (!err)
		q->store->options.progress = NULL; /* the bar ends here, the store does not */
	return err;
}

/* ---- by number ---- */

static int by_number(struct query *q)
{
	uint64_t first = event_number > context ? event_number - context : 0, last;
	const struct event *e;

	if (need_store(q))
		return EXIT_FAIL;
	if (store_seek_number(q->store, q->merge, first) || event_number >= q->store->nr_events) {
		diag_error("%s: there is no event %" PRIu64 ": it has %" PRIu64 ", from 0 on",
			   q->source->path, event_number, q->store->nr_events);
		return EXIT_FAIL;
	}
	q->numbered = true;
	last = __builtin_add_overflow(event_number, context, &last) ? UINT64_MAX : last;
	while ((e = merge_next(q->merge)) && q->merge->number - 1 <= last)
		print(q, e, context && q->merge->number - 1 == event_number);
	return EXIT_OK;
}

/* ---- by type, filter, time ---- */

static bool enough(const struct query *q)
{
	return limit_given && q->matched >= offset && q->matched - offset >= limit;
}

static bool wanted(struct query *q, const struct event *e)
{
	return (!q->type || e->type == q->type->id) && options_cpu(q->o, e->cpu) &&
	       options_keep(q->source, e->stream, q->o) && options_time(q->o, e->time) &&
	       select_match(q->select, e);
}

static void take(struct query *q, const struct event *e)
{
	if (q->matched++ >= offset && !count_only)
		print(q, e, false);
}

/* Only a type is asked for: the index knows where it is. */
static bool type_alone(const struct query *q)
{
	return q->type && !options_restrict(q->o);
}

/* Of a type that is rarer than this, going to each by the index is less work than reading what lies between. */
#define RARE 20000

static int rare_type(struct query *q, uint64_t total)
{
	const struct event *e;

	for (uint64_t i = offset; i < total && !enough(q); i++) {
		if (store_seek_type(q->store, q->merge, q->type->id, i) ||
		    !(e = merge_next(q->merge)))
			return EXIT_FAIL;
		q->matched = i;
		take(q, e);
	}
	return EXIT_OK;
}

static int scan(struct query *q)
{
	struct progress bar;
	const struct event *e;
	uint64_t blocks = 0, seen = 0;

	for (size_t i = 0; i < q->source->nr_streams; i++)
		blocks += q->source->streams[i].nr_blocks;
	progress_start(&bar, "searching", blocks);
	while (!enough(q) && (e = merge_next(q->merge))) {
		if (e->time > q->o->to)
			break;
		if (!e->at.skip)
			progress_at(&bar, ++seen);
		if (wanted(q, e))
			take(q, e);
	}
	progress_end(&bar);
	return EXIT_OK;
}

/* A format with lists of its own finds the n-th event of a type at once. -1: not this type. */
static int own_list(struct query *q)
{
	const struct source_ops *ops = q->source->ops;
	struct cursor **cursors = q->merge->cursors;
	uint64_t total;

	if (!ops->seek_type || !ops->count || !ops->count(q->source, q->type->id, &total) ||
	    ops->seek_type(q->source, cursors, q->type->id, offset) == -ENOTSUP)
		return -1;
	if (count_only) {
		q->matched = total;
		return EXIT_OK;
	}
	q->numbered = true;
	for (q->matched = offset; q->matched < total && !enough(q);) {
		struct event e;

		if (ops->seek_type(q->source, cursors, q->type->id, q->matched) ||
		    !cursor_next(cursors[0], &e))
			return EXIT_FAIL;
		take(q, &e);
	}
	return EXIT_OK;
}

static int by_type(struct query *q)
{
	const struct store_type *t;
	uint64_t total;
	int rc = own_list(q);

	if (rc >= 0)
		return rc;
	if (need_store(q) || store_complete(q->store))
		return EXIT_FAIL;
	t = store_type(q->store, q->type->id);
	total = t ? t->count : 0;
	q->numbered = !q->source->ops->seek_type;
	if (count_only) {
		q->matched = total;
		return EXIT_OK;
	}
	if (offset >= total)
		return EXIT_OK;
	if (q->store->nr_events / total >= RARE)
		return rare_type(q, total);
	if (offset && !store_seek_type(q->store, q->merge, q->type->id, offset))
		q->matched = offset;
	return scan(q);
}

static int search(struct query *q)
{
	if (type_alone(q))
		return by_type(q);
	/* Numbers are of all events: with some streams left out they are not known. */
	q->numbered = !q->o->cpus && !q->o->buffer;
	if (q->o->from_text && q->numbered) {
		if (need_store(q))
			return EXIT_FAIL;
		store_seek_time(q->store, q->merge, q->o->from);
	} else if (q->o->from_text) {
		merge_seek_time(q->merge, q->o->from);
	}
	return scan(q);
}

/* By the schema's name, or by what the format's own tools call it, in any case. */
static const struct schema *find_type(struct query *q, const char *name)
{
	const struct source *s = q->source;
	const struct schema *found = source_schema_named(s, name);

	for (size_t i = 0; !found && i < s->nr_schemas; i++) {
		const char *own =
			s->ops->type_name ? s->ops->type_name(q->source, s->schemas[i].id) : NULL;

		if (!strcasecmp(s->schemas[i].name, name) || (own && !strcasecmp(own, name)))
			found = &s->schemas[i];
	}
	return found;
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

static int run(struct query *q)
{
	int rc;

	if (event_given && (type_name || q->o->filter || limit_given || offset)) {
		diag_error("query: --event N asks for one event; it does not go with --type, "
			   "--filter, --limit or --offset");
		return EXIT_USAGE;
	}
	if (type_name && !(q->type = find_type(q, type_name))) {
		no_such_type(q->source, type_name);
		return EXIT_FAIL;
	}
	rc = event_given ? by_number(q) : search(q);
	if (rc == EXIT_OK && count_only)
		printf("%" PRIu64 "\n", q->matched);
	return rc;
}

int cmd_query(int argc, char **argv)
{
	struct options o;
	struct query q = {.o = &o};
	int rc = options_parse(&spec, argc, argv, &o);

	if (rc != OPTIONS_GO)
		return rc;
	q.source = options_open(&o);
	if (!q.source)
		return EXIT_FAIL;
	options_only_text(q.source);
	q.colour = colour_wanted(STDOUT_FILENO);
	q.select = select_open(q.source, &o);
	q.line = eventline_new(q.source);
	/* Numbers count all streams, so by number or type all are merged; else only those asked for. */
	q.merge = merge_open(q.source, o.cpus || o.buffer ? options_keep : NULL, &o);
	if (q.select && q.line && q.merge) {
		if (event_given && (o.cpus || o.buffer)) {
			diag_error(
				"query: --event N counts all events: leave --cpu and --buffer out");
			rc = EXIT_USAGE;
		} else {
			rc = run(&q);
		}
	} else {
		rc = EXIT_FAIL;
	}
	options_tell_missing(q.source);
	store_close(q.store);
	merge_close(q.merge);
	eventline_free(q.line);
	select_close(q.select);
	source_close(q.source);
	options_close(&o);
	return rc;
}
