/* SPDX-License-Identifier: MIT */
/* index.c -- fathom index: build the sparse index beside a trace. */
#include "base/diag.h"
#include "base/json.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "store/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

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
};

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void report(const struct store *st, const char *path, double took)
{
	uint64_t bytes = 0;
	struct stat sb;

	for (size_t i = 0; i < st->source->nr_streams; i++)
		bytes += st->source->streams[i].bytes;
	if (stat(path, &sb))
		memset(&sb, 0, sizeof(sb));
	if (as_json) {
		struct json j;

		json_init(&j, stdout, true);
		json_open(&j, NULL, '{');
		json_str(&j, "index", path);
		json_bool(&j, "built", !st->from_file);
		json_u64(&j, "events", st->nr_events);
		json_u64(&j, "bytes", bytes);
		json_u64(&j, "index_bytes", (uint64_t)sb.st_size);
		json_decimal(&j, "seconds", took, 6);
		json_close(&j, '}');
		json_end(&j);
		return;
	}
	printf("%s: %s, %" PRIu64 " events of %" PRIu64 " steps, %lld bytes", path,
	       st->from_file ? "is up to date" : "written", st->nr_events, st->nr_steps,
	       (long long)sb.st_size);
	if (!st->from_file)
		printf(", %.0f MB/s", (double)bytes / took / 1e6);
	puts("");
}

/* The format's own index instead of the general one. */
static int own_index(struct source *s, const char *path, double start)
{
	uint64_t events;
	bool written = false;
	int err = source_index(s)->write(s, path, force, &written);
	struct stat sb = {0};

	if (err) {
		diag_error("%s: %s", path, strerror(-err));
		return EXIT_FAIL;
	}
	events = source_index(s)->count(s, UINT32_MAX);
	stat(path, &sb);
	if (as_json) {
		struct json j;

		json_init(&j, stdout, true);
		json_open(&j, NULL, '{');
		json_str(&j, "index", path);
		json_bool(&j, "built", written);
		json_u64(&j, "events", events);
		json_u64(&j, "bytes", s->map_bytes);
		json_u64(&j, "index_bytes", (uint64_t)sb.st_size);
		json_decimal(&j, "seconds", seconds() - start, 6);
		json_close(&j, '}');
		json_end(&j);
		return EXIT_OK;
	}
	printf("%s: %s, %" PRIu64 " events, %lld bytes", path,
	       written ? "written" : "is up to date", events, (long long)sb.st_size);
	if (written)
		printf(", %.0f MB/s", (double)s->map_bytes / (seconds() - start) / 1e6);
	puts("");
	return EXIT_OK;
}

int cmd_index(int argc, char **argv)
{
	struct options o;
	struct progress bar;
	struct store_options so = {.always_save = true, .progress = progress_show, .arg = &bar};
	struct source *s;
	struct store *st;
	char path[4096];
	double start = seconds();
	int rc = options_parse(&spec, argc, argv, &o), err;

	if (rc != OPTIONS_GO)
		return rc;
	s = options_open(&o);
	if (!s)
		return EXIT_FAIL;
	if (!s->map || s->spool >= 0) {
		diag_error("%s: a %s has no index file", s->path,
			   s->map ? "stream" : "directory of pages");
		source_close(s);
		return EXIT_FAIL;
	}
	snprintf(path, sizeof(path), "%s%s", output ? output : s->path, output ? "" : ".fidx");
	if (source_index(s) && source_index(s)->write) {
		rc = own_index(s, path, start);
		source_close(s);
		options_close(&o);
		return rc;
	}
	so.path = path;
	so.rebuild = force;
	progress_start(&bar, "indexing", 1);
	err = store_open(s, &so, &st);
	if (!err)
		err = store_complete(st);
	progress_end(&bar);
	if (!err && !st->from_file && !st->written) {
		diag_error("%s: cannot be written; is the folder read-only?", path);
		err = -1;
	}
	if (!err)
		report(st, path, seconds() - start);
	store_close(st);
	source_close(s);
	options_close(&o);
	return err ? EXIT_FAIL : EXIT_OK;
}
