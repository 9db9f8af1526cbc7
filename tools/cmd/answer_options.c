/* SPDX-License-Identifier: MIT */
/* answer_options.c -- commands that answer from the model: the options they share, and how they run. */
#include "cmd/answer_options.h"
#include "base/colour.h"
#include "base/diag.h"
#include "base/guess.h"

#include <errno.h>
#include <string.h>

#define PAIRS_MAX 32

static struct model_pair pairs[PAIRS_MAX];
static size_t nr_pairs;

/* begin=end, or begin=end:key; the events may be system:name, which only the trace can distinguish from name:key. */
static bool add_pair(const char *text)
{
	char *end = strchr(text, '=');

	if (nr_pairs == PAIRS_MAX) {
		diag_error("--pair: at most %u, '%s' is one too many", PAIRS_MAX, text);
		return false;
	}
	if (!end || end == text || !end[1]) {
		diag_error("--pair takes BEGIN=END or BEGIN=END:KEY, not '%s'", text);
		return false;
	}
	*end++ = 0;
	pairs[nr_pairs++] = (struct model_pair){text, end, NULL};
	return true;
}

struct option_call answer_add_pair = {add_pair};

static const char *kind_name(int kind)
{
	return kind == SPAN_KINDS ? "off" : span_kind_name((enum span_kind)kind);
}

int answer_kind(const char *name, size_t bytes, uint32_t allowed)
{
	for (int k = 0; k <= SPAN_KINDS; k++)
		if (allowed >> k & 1 && strlen(kind_name(k)) == bytes &&
		    !memcmp(name, kind_name(k), bytes))
			return k;
	diag_error("'%.*s' is not a kind; kinds are:", (int)bytes, name);
	for (int k = 0; k <= SPAN_KINDS; k++)
		if (allowed >> k & 1)
			fprintf(stderr, "        %s%s\n", kind_name(k),
				guess_similar(name, bytes, kind_name(k))
					? "   <- did you mean this?"
					: "");
	return -1;
}

int answer_run(const struct command_spec *spec, int argc, char **argv,
	       int (*print)(struct source *s, struct answer *a), const char *nothing)
{
	bool colour = colour_wanted(STDOUT_FILENO);
	struct answer a = {.bold = colour ? COLOUR_BOLD : "", .plain = colour ? COLOUR_OFF : ""};
	struct progress bar;
	struct source *s;
	int rc = options_parse(spec, argc, argv, &a.o), err = -EINVAL;

	if (rc != OPTIONS_GO)
		return rc;
	s = options_open(&a.o);
	if (s) {
		a.walk = (struct model_walk){.choice = &a.o.choice,
					     .pairs = pairs,
					     .nr_pairs = nr_pairs,
					     .no_index = a.o.no_index,
					     .progress = progress_show,
					     .progress_arg = &bar};
		progress_start(&bar);
		err = print(s, &a);
		progress_end(&bar);
		if (err == -ENODATA)
			diag_error("%s: %s", s->path, nothing);
		else if (err < 0 && err != -EINVAL)
			diag_error("%s: %s", s->path, strerror(-err));
		source_close(s);
	}
	options_close(&a.o);
	return err < 0 ? EXIT_FAIL : err;
}
