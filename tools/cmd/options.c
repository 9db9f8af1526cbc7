/* SPDX-License-Identifier: MIT */
/* options.c -- the command line of a subcommand: its own options, and those all commands that read a trace share. */
#include "cmd/options.h"
#include "base/diag.h"
#include "base/guess.h"
#include "cmd/cmd.h"
#include "query/filter.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NR_EVENTS 6 /* of them choose events: they come first */
#define NR_SHARED 14

/* The shared options, bound to one struct options. */
static void shared_table(struct options *o, struct option_spec *t)
{
	const struct option_spec list[NR_SHARED] = {
		{"cpu", 'c', "LIST", "only these CPUs: 0,2-4", OPTION_STRING, &o->cpu_list, NULL},
		{"from", 0, "TIME",
		 "from this time on: 12.345; +5ms after the start, -1s before the end",
		 OPTION_STRING, &o->from_text, NULL},
		{"to", 0, "TIME", "up to this time, written the same way", OPTION_STRING,
		 &o->to_text, NULL},
		{"filter", 'F', "EXPR", "only events for which it is true: 'prev_pid == 13'",
		 OPTION_JOINED, &o->filter_text, NULL},
		{"buffer", 'B', "NAME", "only this trace instance (\"\" is the main one)",
		 OPTION_STRING, &o->buffer, NULL},
		{"no-index", 0, NULL, "neither read nor write FILE.fidx", OPTION_FLAG, &o->no_index,
		 NULL},
		{"as", 0, "FORMAT", "read the file as this format instead of detecting it",
		 OPTION_STRING, &o->source.as, NULL},
		{"formats", 0, "DIR", "format files (an events directory, or a tar of it)",
		 OPTION_STRING, &o->source.formats, NULL},
		{"symbols", 0, "FILE", "symbols: kallsyms, System.map, ELF", OPTION_STRING,
		 &o->source.symbols, NULL},
		{"kernel", 0, "ELF", "the ELF file of the traced kernel, for its symbols",
		 OPTION_STRING, &o->source.symbols, NULL},
		{"types", 0, "FILE", "types of arguments: ELF with DWARF, or BTF", OPTION_STRING,
		 &o->source.types, NULL},
		{"cmdlines", 0, "FILE", "task names: saved_cmdlines", OPTION_STRING,
		 &o->source.cmdlines, NULL},
		{"meta", 0, "FILE", "the file that describes the trace, if it is not beside it",
		 OPTION_STRING, &o->source.meta, NULL},
	};

	memcpy(t, list, sizeof(list));
}

static const struct option_spec *find(const struct option_spec *t, const char *name, size_t n,
				      char letter)
{
	for (; t && t->name; t++)
		if (letter ? t->letter == letter
			   : strlen(t->name) == n && !memcmp(t->name, name, n))
			return t;
	return NULL;
}

/* Those that are not in `hidden`. */
static void help_options(const struct option_spec *t, const struct option_spec *hidden)
{
	for (; t && t->name; t++) {
		char left[48];

		if (find(hidden, t->name, strlen(t->name), 0))
			continue;

		snprintf(left, sizeof(left), "%s%c%s--%s%s%s", t->letter ? "-" : " ",
			 t->letter ? t->letter : ' ', t->letter ? ", " : "  ", t->name,
			 !t->arg		      ? ""
			 : t->kind == OPTION_OPTIONAL ? "[="
						      : " ",
			 t->arg ? t->arg : "");
		printf("  %-26s %s\n", left, t->help);
	}
}

static void help(const struct command_spec *spec, const struct option_spec *shared)
{
	printf("usage: fathom %s [OPTIONS] %s\n\n%s\n", spec->name, spec->args, spec->about);
	if (spec->own && spec->own[0].name) {
		puts("");
		help_options(spec->own, NULL);
	}
	if (shared) {
		puts("\nCommon options:\n");
		help_options(shared, spec->own);
	}
	if (spec->list) {
		char *list = spec->list();

		printf("\n%s", list ? list : "");
		free(list);
	}
	if (spec->more)
		printf("\n%s\n", spec->more);
}

static bool number(const char *text, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 0);
	return isdigit((unsigned char)text[0]) && !*end && !errno;
}

static bool percent(const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return end != text && !*end && *out >= 0;
}

static bool choose(struct option_choice *c, const char *word)
{
	size_t n;

	c->at = 0;
	for (const char *p = c->names; *p; p += n, p += strspn(p, ", ")) {
		n = strcspn(p, ", ");
		if (strlen(word) == n && !memcmp(p, word, n))
			return true;
		c->at += n != 2 || memcmp(p, "or", 2) != 0;
	}
	return false;
}

static int usage_error(const struct command_spec *spec, const char *what, const char *arg)
{
	diag_error("%s: %s%s", spec->name, what, arg);
	fprintf(stderr, "        usage: fathom %s [OPTIONS] %s; see --help\n", spec->name,
		spec->args);
	return EXIT_USAGE;
}

/* Several filters are one: an event must match any of its parts. */
static int join(char **to, const char *value)
{
	char *both;

	if (asprintf(&both, "%s%s%s", *to ? *to : "", *to ? "; " : "", value) < 0)
		return EXIT_FAIL;
	free(*to);
	*to = both;
	return OPTIONS_GO;
}

/* A command that reads one trace reads the trace.dat in the current folder if no file is named, as trace-cmd does. */
static int no_argument(const struct command_spec *spec, struct options *o)
{
	int rc;

	if (!o->nr_args && spec->min_args == 1 && spec->max_args == 1 &&
	    !access("trace.dat", R_OK)) {
		o->args[o->nr_args++] = "trace.dat";
		return OPTIONS_GO;
	}
	rc = usage_error(spec, "an argument is missing: ", spec->args);
	if (!o->nr_args && spec->min_args == 1 && spec->max_args == 1)
		fprintf(stderr, "        there is no trace.dat in this folder either\n");
	return rc;
}

static int add_to(const struct command_spec *spec, const struct option_spec *t, const char *value)
{
	struct option_list *l = t->to;

	if (*l->nr == l->most) {
		diag_error("%s: --%s '%s': it can be given at most %u times", spec->name, t->name,
			   value, l->most);
		return EXIT_USAGE;
	}
	l->values[(*l->nr)++] = value;
	return OPTIONS_GO;
}

static int take(const struct command_spec *spec, const struct option_spec *t, const char *value)
{
	if (t->given)
		*t->given = true;
	switch (t->kind) {
	case OPTION_FLAG: *(bool *)t->to = true; return OPTIONS_GO;
	case OPTION_CALL: return ((struct option_call *)t->to)->fn(value) ? OPTIONS_GO : EXIT_USAGE;
	case OPTION_LIST: return add_to(spec, t, value);
	case OPTION_JOINED: return join(t->to, value);
	case OPTION_STRING: *(const char **)t->to = value; return OPTIONS_GO;
	case OPTION_OPTIONAL: *(const char **)t->to = value ? value : ""; return OPTIONS_GO;
	case OPTION_NUMBER:
		if (number(value, t->to))
			return OPTIONS_GO;
		diag_error("%s: --%s wants a number, not '%s'", spec->name, t->name, value);
		return EXIT_USAGE;
	case OPTION_PERCENT:
		if (percent(value, t->to))
			return OPTIONS_GO;
		diag_error("%s: --%s wants a percentage, not '%s'", spec->name, t->name, value);
		return EXIT_USAGE;
	case OPTION_CHOICE:
		if (choose(t->to, value))
			return OPTIONS_GO;
		diag_error("%s: --%s takes %s, not '%s'", spec->name, t->name,
			   ((struct option_choice *)t->to)->names, value);
		return EXIT_USAGE;
	}
	return EXIT_USAGE;
}

static void suggest(const struct option_spec *t, const char *name, size_t n)
{
	for (; t && t->name; t++)
		if (guess_similar(name, n, t->name))
			fprintf(stderr, "        did you mean --%s?\n", t->name);
}

/* A misspelt option is answered with similar ones. */
static int unknown_option(const struct command_spec *spec, const struct option_spec *shared,
			  const char *a, size_t n)
{
	int rc = usage_error(spec, "no such option: ", a);

	if (n) {
		suggest(spec->own, a + 2, n);
		suggest(shared, a + 2, n);
	}
	return rc;
}

/* One argument that begins with a dash; *i moves past its value. */
static int one_option(const struct command_spec *spec, const struct option_spec *shared, int argc,
		      char **argv, int *i)
{
	const char *a = argv[*i], *value = NULL;
	const struct option_spec *t;
	bool is_long = a[1] == '-';
	size_t n = is_long ? strcspn(a + 2, "=") : 0;

	t = find(spec->own, a + 2, n, is_long ? 0 : a[1]);
	if (!t)
		t = find(shared, a + 2, n, is_long ? 0 : a[1]);
	if (!t)
		return unknown_option(spec, shared, a, n);
	if (is_long && a[2 + n] == '=')
		value = a + 3 + n;
	else if (!is_long && a[2])
		value = a + 2;
	if (t->kind == OPTION_FLAG && value)
		return usage_error(spec, "this option takes no value: ", a);
	if (t->kind != OPTION_FLAG && t->kind != OPTION_OPTIONAL && !value) {
		if (*i + 1 >= argc)
			return usage_error(spec, "this option wants a value: ", a);
		value = argv[++*i];
	}
	return take(spec, t, value);
}

static bool parse_cpus(const char *p, uint64_t *mask)
{
	while (*p) {
		char *end;
		unsigned long a = strtoul(p, &end, 10), b = a;

		if (end == p)
			return false;
		if (*end == '-') {
			p = end + 1;
			b = strtoul(p, &end, 10);
			if (end == p)
				return false;
		}
		if (a > b || b >= SCAN_CPUS || (*end && *end != ','))
			return false;
		for (; a <= b; a++)
			mask[a / 64] |= 1ull << (a % 64);
		p = *end ? end + 1 : end;
	}
	return true;
}

static bool time_is_wrong(const char *text, bool or_word)
{
	if (!text || (or_word && isalpha((unsigned char)*text)) || scan_time_is(text))
		return false;
	diag_error("'%s' is not a time: write seconds (12.345) or a unit (5ms, 300us, 7ns), after "
		   "a + from the start of the trace, after a - from its end",
		   text);
	return true;
}

static bool cpus_are_wrong(struct options *o)
{
	if (!o->cpu_list)
		return false;
	o->cpus = calloc(SCAN_CPUS / 64, sizeof(*o->cpus));
	if (o->cpus && parse_cpus(o->cpu_list, o->cpus))
		return false;
	diag_error("--cpu wants numbers such as 0,2-4, not '%s'", o->cpu_list);
	return true;
}

static bool filter_is_wrong(struct options *o)
{
	struct expr_error err;

	if (!o->filter_text)
		return false;
	o->filter = filter_new(o->filter_text, &err);
	if (o->filter)
		return false;
	diag_error("--filter: %s", err.what);
	fprintf(stderr, "        %s\n        %*s^\n", o->filter_text, (int)err.offset, "");
	return true;
}

/* Check what can be checked without the trace. */
static int check_values(const struct command_spec *spec, struct options *o)
{
	if (!cpus_are_wrong(o) && !time_is_wrong(o->from_text, false) &&
	    !time_is_wrong(o->to_text, spec->to_may_be_word) && !filter_is_wrong(o))
		return OPTIONS_GO;
	options_close(o);
	return EXIT_USAGE;
}

int options_parse(const struct command_spec *spec, int argc, char **argv, struct options *o)
{
	struct option_spec table[NR_SHARED];
	const struct option_spec *shared = spec->shared == OPTIONS_EVENTS   ? table
					   : spec->shared == OPTIONS_SOURCE ? table + NR_EVENTS
									    : NULL;
	bool only_args = false;

	memset(o, 0, sizeof(*o));
	o->choice = SCAN_ALL;
	shared_table(o, table);
	for (int i = 1; i < argc; i++) {
		const char *a = argv[i];

		if (!only_args && (!strcmp(a, "--help") || !strcmp(a, "-h"))) {
			help(spec, shared);
			return EXIT_OK;
		}
		if (!only_args && !strcmp(a, "--")) {
			only_args = true;
		} else if (!only_args && a[0] == '-' && a[1]) {
			int rc = one_option(spec, shared, argc, argv, &i);

			if (rc != OPTIONS_GO)
				return rc;
		} else if (spec->runs_command) {
			o->command = argv + i;
			break;
		} else if (o->nr_args == spec->max_args || o->nr_args == 8) {
			return usage_error(spec, "one argument too many: ", a);
		} else {
			o->args[o->nr_args++] = a;
		}
	}
	if (o->nr_args < spec->min_args) {
		int rc = no_argument(spec, o);

		if (rc != OPTIONS_GO)
			return rc;
	}
	return check_values(spec, o);
}

/* ---- what needs the trace ---- */

static void settle_cpus(const struct options *o, const struct source *s)
{
	bool any = false;

	for (size_t i = 0; i < s->nr_streams; i++)
		any |= scan_cpu(&o->choice, s->streams[i].cpu);
	if (!any && s->nr_streams)
		diag_warn("%s: no CPU of '%s' is in the trace", s->path, o->cpu_list);
}

static int settle_buffer(const struct options *o, const struct source *s)
{
	for (size_t i = 0; o->buffer && i < s->nr_buffers; i++)
		if (!strcmp(o->buffer, s->buffers[i].name))
			return 0;
	if (!o->buffer)
		return 0;
	diag_error("%s: no trace instance '%s'; there are:", s->path, o->buffer);
	for (size_t i = 0; i < s->nr_buffers; i++)
		fprintf(stderr, "        \"%s\"\n", s->buffers[i].name);
	return -ENOENT;
}

struct all_formats {
	struct source *source;
	size_t next;
};

static const struct format *next_format(void *arg)
{
	struct all_formats *a = arg;
	const struct format *f = NULL;

	while (!f && a->next < a->source->nr_schemas)
		f = source_format(a->source, a->source->schemas[a->next++].id);
	return f;
}

/* Names in the filter that do not occur in the trace are probably misspelt. */
static void doubt_filter(const struct options *o, struct source *s)
{
	struct all_formats all = {.source = s};
	struct expr_error doubt = {0};
	const char *guess;
	char *word;

	if (!s->nr_schemas || !filter_doubt(o->filter, next_format, &all, &doubt))
		return;
	diag_warn("--filter: %s", doubt.what);
	fprintf(stderr, "        %s\n        %*s^\n", o->filter_text, (int)doubt.offset, "");
	word = strndup(o->filter_text + doubt.offset,
		       strspn(o->filter_text + doubt.offset, NAME_LETTERS));
	guess = word ? scan_guess(s, word) : NULL;
	if (guess)
		fprintf(stderr, "        did you mean '%s'?\n", guess);
	free(word);
}

int options_settle(struct options *o, struct source *s)
{
	o->choice = (struct scan_choice){.cpus = o->cpus, .buffer = o->buffer, .filter = o->filter};
	if (o->cpu_list)
		settle_cpus(o, s);
	if (o->filter)
		doubt_filter(o, s);
	scan_window(s, o->from_text, o->to_text, &o->choice);
	return settle_buffer(o, s);
}

struct source *options_open(struct options *o)
{
	struct source *s;

	if (source_open(o->args[0], &o->source, &s))
		return NULL;
	if (options_settle(o, s)) {
		source_close(s);
		options_close(o);
		return NULL;
	}
	return s;
}

/* Gaps are shown where they are; what the trace counted beyond them is shown nowhere else. */
static void tell_losses(const struct source *s)
{
	struct account a;
	char text[512];

	if (!s->nr_stated || account_make(&a, s, NULL, 0, true, NULL, NULL))
		return;
	account_text(&a, text, sizeof(text));
	diag_warn("%s: lost during recording: %s", s->path, text);
	account_free(&a);
}

bool options_name_source(const struct options *o)
{
	return o->source.formats || o->source.symbols || o->source.cmdlines || o->source.meta ||
	       o->source.types;
}

void options_tell_missing(const struct source *s)
{
	if (s->damage_total)
		diag_warn("%s: some parts are damaged and were skipped; run `fathom verify` for "
			  "details",
			  s->path);
	tell_losses(s);
}

bool options_only_text(const struct source *s)
{
	if (!source_is_text(s))
		return false;
	diag_warn(
		"%s: it holds the text of a latency tracer, not events; `fathom report` prints it",
		s->path);
	return true;
}

bool options_choose(const struct options *o)
{
	return o->cpu_list || o->buffer || o->filter_text || o->from_text || o->to_text;
}

int options_work(const struct command_spec *spec, struct options *o,
		 int (*work)(struct source *s, struct options *o))
{
	struct source *s = options_open(o);
	int rc = EXIT_FAIL;

	if (s && (spec->text_too || !options_only_text(s))) {
		progress_start(&o->bar);
		rc = work(s, o);
		progress_end(&o->bar);
		fflush(stdout);
		if (!spec->says_missing)
			options_tell_missing(s);
		diag_flush();
	}
	source_close(s);
	options_close(o);
	return rc;
}

int options_run(const struct command_spec *spec, int argc, char **argv,
		bool (*wrong)(struct options *o), int (*work)(struct source *s, struct options *o))
{
	struct options o;
	int rc = options_parse(spec, argc, argv, &o);

	if (rc != OPTIONS_GO)
		return rc;
	if (!wrong || !wrong(&o))
		return options_work(spec, &o, work);
	options_close(&o);
	return EXIT_USAGE;
}

void options_close(struct options *o)
{
	free(o->cpus);
	free(o->filter_text);
	filter_free(o->filter);
	o->cpus = NULL;
	o->filter_text = NULL;
	o->filter = NULL;
}
