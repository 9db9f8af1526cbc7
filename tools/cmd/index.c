/* SPDX-License-Identifier: MIT */
/* index.c -- fathom index: build the sparse index beside a trace. */
#include "base/diag.h"
#include "base/json.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "store/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool as_json, force;
static const char *output;

static const struct option_spec own[] = {
	{"json", 'j', NULL, "print JSON", OPTION_FLAG, &as_json, NULL},
	{"force", 'f', NULL, "build it even if a valid one exists", OPTION_FLAG, &force, NULL},
	{"output", 'o', "FILE", "write it here instead of beside the trace", OPTION_STRING, &output,
	 NULL},
	{0},
};

static const struct command_spec spec = {
	.name = "index",
	.args = "FILE",
	.about = "Build the sparse index FILE.fidx, with which any event of a trace is found in\n"
		 "microseconds. Other commands build it when they need it; this one does it ahead.",
	.own = own,
	.shared = OPTIONS_SOURCE,
	.min_args = 1,
	.max_args = 1,
	.text_too = true,
	.says_missing = true,
};

static void report(const struct indexed *x, const char *path)
{
	struct json j;

	if (!as_json) {
		printf("%s: %s, %" PRIu64 " events", path, x->built ? "written" : "is up to date",
		       x->events);
		if (x->steps)
			printf(" of %" PRIu64 " steps", x->steps);
		printf(", %" PRIu64 " bytes", x->index_bytes);
		if (x->built)
			printf(", %.0f MB/s", (double)x->bytes / x->seconds / 1e6);
		puts("");
		return;
	}
	json_init(&j, stdout, true);
	json_open(&j, NULL, '{');
	json_str(&j, "index", path);
	json_bool(&j, "built", x->built);
	json_u64(&j, "events", x->events);
	json_u64(&j, "bytes", x->bytes);
	json_u64(&j, "index_bytes", x->index_bytes);
	json_decimal(&j, "seconds", x->seconds, 6);
	json_close(&j, '}');
	json_end(&j);
}

static int index_trace(struct source *s, struct options *o)
{
	struct store_options so = {.rebuild = force, .progress = progress_show, .arg = &o->bar};
	char path[4096];
	struct indexed x;
	int err;

	if (!s->map || s->spool >= 0) {
		diag_error("%s: a %s has no index file", s->path,
			   s->map ? "stream" : "directory of pages");
		return EXIT_FAIL;
	}
	snprintf(path, sizeof(path), "%s%s", output ? output : s->path, output ? "" : ".fidx");
	so.path = path;
	err = store_index(s, &so, &x);
	progress_end(&o->bar);
	if (err)
		diag_error("%s: %s", path,
			   err == -EROFS ? "cannot be written; is the folder read-only?"
					 : strerror(-err));
	else
		report(&x, path);
	return err ? EXIT_FAIL : EXIT_OK;
}

int cmd_index(int argc, char **argv)
{
	return options_run(&spec, argc, argv, NULL, index_trace);
}
