/* SPDX-License-Identifier: MIT */
/* store.c -- the index of a trace: taken from the file beside it if that fits, else built and saved. */
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

static char *index_path(const struct store *st)
{
	char *path;

	if (st->options.path)
		return strdup(st->options.path);
	return asprintf(&path, "%s.fidx", st->source->path) < 0 ? NULL : path;
}

static uint64_t event_bytes(const struct source *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->nr_streams; i++)
		n += s->streams[i].bytes;
	return n;
}

/*
 * A directory of pages has no one file that an index could be checked against; beside a trace whose format has an index
 * of its own lies that one.
 */
static bool wants_file(const struct store *st)
{
	const struct source_index *own = source_index(st->source);

	return !st->options.no_file && st->source->map && !(own && own->write);
}

int store_complete(struct store *st)
{
	char *path;
	int err;

	if (st->complete)
		return 0;
	path = wants_file(st) ? index_path(st) : NULL;
	if (path && !st->options.rebuild && !store_load(st, path)) {
		st->from_file = st->complete = true;
		free(path);
		return 0;
	}
	if (st->options.existing) {
		free(path);
		return -ENOENT;
	}
	st->nr_events = 0;
	err = store_build(st->source, &st->options, st);
	st->complete = !err;
	/* Saving only helps the next command: a read-only folder or a full disk is not an error. */
	if (!err && path &&
	    (st->options.always_save || event_bytes(st->source) >= STORE_SAVE_BYTES))
		st->written = !store_save(st, path);
	free(path);
	return err;
}

int store_open(struct source *s, const struct store_options *o, struct store **out)
{
	struct store *st = calloc(1, sizeof(*st));
	int err = 0;

	*out = NULL;
	if (!st)
		return -ENOMEM;
	st->source = s;
	if (o)
		st->options = *o;
	if (source_index(s))
		st->nr_events = source_index(s)->count(s, UINT32_MAX);
	else
		err = store_complete(st);
	if (err) {
		store_close(st);
		return err;
	}
	*out = st;
	return 0;
}

void store_close(struct store *st)
{
	if (!st)
		return;
	if (st->map) {
		munmap(st->map, st->map_bytes);
	} else {
		free((void *)st->streams);
		free((void *)st->steps);
		free((void *)st->types);
		free((void *)st->postings);
		free((void *)st->pids);
		free((void *)st->losses);
	}
	free(st);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int index_tables(struct source *s, const struct store_options *o, struct indexed *out)
{
	struct store_options so = *o;
	struct store *st;
	int err;

	so.always_save = true;
	err = store_open(s, &so, &st);
	if (!err)
		err = store_complete(st);
	if (!err) {
		out->built = !st->from_file;
		out->events = st->nr_events;
		out->bytes = event_bytes(s);
		out->steps = st->nr_steps;
		err = st->from_file || st->written ? 0 : -EROFS;
	}
	store_close(st);
	return err;
}

int store_index(struct source *s, const struct store_options *o, struct indexed *out)
{
	const struct source_index *own = source_index(s);
	double start = now();
	struct stat sb = {0};
	int err;

	*out = (struct indexed){.bytes = s->map_bytes};
	if (!own || !own->write)
		err = index_tables(s, o, out);
	else if (!(err = own->write(s, o->path, o->rebuild, &out->built)))
		out->events = own->count(s, UINT32_MAX);
	if (!err && !stat(o->path, &sb))
		out->index_bytes = (uint64_t)sb.st_size;
	out->seconds = now() - start;
	return err;
}
