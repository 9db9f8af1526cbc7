/* SPDX-License-Identifier: MIT */
/* latency.c -- fathom latency: how long things took, and the worst of them. */
#include "base/colour.h"
#include "base/diag.h"
#include "base/guess.h"
#include "cmd/answer_options.h"
#include "view/latency.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct answer_options args;
static const char *by, *kinds;
static uint64_t worst = 3, top = 10;
static bool as_json, histogram;

static const struct option_spec own[] = {
	{"by", 0, "WHAT", "groups by name, task, cpu or prio", OPTION_STRING, &by, NULL},
	{"kind", 'k', "LIST", "only these kinds: wakeup,irq", OPTION_STRING, &kinds, NULL},
	{"worst", 'w', "N", "the N longest of each kind, 3 if not given", OPTION_NUMBER, &worst,
	 NULL},
	{"top", 'n', "N", "groups of each kind, 10 if not given; 0: all", OPTION_NUMBER, &top,
	 NULL},
	{"histogram", 0, NULL, "how often how long, as bars", OPTION_FLAG, &histogram, NULL},
	ANSWER_OPTIONS(args),
	{"json", 'j', NULL, "print JSON", OPTION_FLAG, &as_json, NULL},
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

static bool parse_by(enum latency_by *out)
{
	static const char *const names[] = {"kind", "name", "task", "cpu", "prio"};

	*out = LATENCY_BY_KIND;
	for (size_t i = 0; by && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(by, names[i])) {
			*out = (enum latency_by)i;
			return true;
		}
	if (by)
		diag_error("latency: --by takes name, task, cpu or prio, not '%s'", by);
	return !by;
}

static bool parse_kinds(uint32_t *out)
{
	const char *p = kinds;

	*out = kinds ? 0 : LATENCY_KINDS;
	while (p && *p) {
		size_t n = strcspn(p, ",");
		uint32_t before = *out;

		for (int k = 0; k < SPAN_KINDS; k++)
			if (k != SPAN_LOST && strlen(span_kind_name((enum span_kind)k)) == n &&
			    !memcmp(p, span_kind_name((enum span_kind)k), n))
				*out |= 1u << k;
		if (*out == before) {
			diag_error("latency: '%.*s' is not a kind; kinds are:", (int)n, p);
			for (int k = 0; k < SPAN_KINDS; k++)
				if (k != SPAN_LOST)
					fprintf(stderr, "        %s%s\n",
						span_kind_name((enum span_kind)k),
						guess_similar(p, n,
							      span_kind_name((enum span_kind)k))
							? "   <- did you mean this?"
							: "");
			return false;
		}
		p += n + (p[n] == ',');
	}
	return true;
}

int cmd_latency(int argc, char **argv)
{
	struct latency_options o = {.bold = "", .plain = ""};
	struct progress bar;
	struct source *s;
	int rc = options_parse(&spec, argc, argv, &args.o), err;

	if (rc != OPTIONS_GO)
		return rc;
	if (!parse_by(&o.by) || !parse_kinds(&o.kinds) || !answer_pairs(&args)) {
		answer_close(&args);
		return EXIT_USAGE;
	}
	s = options_open(&args.o);
	if (!s) {
		answer_close(&args);
		return EXIT_FAIL;
	}
	answer_walk(&args, &o.walk, &bar);
	o.walk.without = ~o.kinds;
	o.walk.numbered = worst > 0;
	o.worst = worst < 1000000 ? (uint32_t)worst : 1000000;
	o.top = top;
	o.histogram = histogram;
	o.json = as_json;
	if (colour_wanted(STDOUT_FILENO)) {
		o.bold = COLOUR_BOLD;
		o.plain = COLOUR_OFF;
	}
	progress_start(&bar, "", 1);
	err = latency_print(s, &o, stdout);
	progress_end(&bar);
	if (err == -ENODATA)
		diag_error("%s: nothing in it begins and ends: no switches, interrupts, system "
			   "calls or "
			   "calls; --pair names others",
			   s->path);
	else if (err && err != -EINVAL)
		diag_error("%s: %s", s->path, strerror(-err));
	source_close(s);
	answer_close(&args);
	return err ? EXIT_FAIL : EXIT_OK;
}
