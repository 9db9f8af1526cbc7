/* SPDX-License-Identifier: MIT */
/* stacks.c -- stacks out of a file, be it folded text or a trace, into a flame tree. */
#include "view/stacks.h"
#include "decode/source.h"
#include "base/diag.h"
#include "base/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void stacks_add(struct flame *f, struct stack_frames *s, size_t group,
		const struct stacks_options *o, uint64_t weight, uint64_t calls, bool other)
{
	if (o->reverse) {
		for (size_t i = group, k = s->n; i + 1 < k; i++) {
			struct flame_frame t = s->v[i];

			s->v[i] = s->v[--k];
			s->v[k] = t;
		}
	}
	flame_add(f, s->v, s->n, weight, calls, other);
}

void stacks_release(struct stacks *s)
{
	if (s->release)
		s->release(s->walk);
	if (s->source)
		source_close(s->source);
	if (s->map)
		munmap((void *)s->map, s->map_bytes);
	account_free(&s->account);
	memset(s, 0, sizeof(*s));
}

/* ---- folded text ---- */

/* Text in which a first line has the form `a;b 12`; binary is never taken for it. */
static bool is_folded(const char *text, size_t bytes)
{
	size_t head = bytes < 4096 ? bytes : 4096;
	const char *nl = memchr(text, '\n', head), *blank;

	if (memchr(text, 0, head) || !(nl || bytes < 4096))
		return false;
	if (!nl)
		nl = text + bytes;
	blank = memrchr(text, ' ', (size_t)(nl - text));
	if (!blank || blank + 1 == nl || blank == text)
		return false;
	for (const char *p = blank + 1; p < nl; p++)
		if ((*p < '0' || *p > '9') && *p != '.' && *p != '\r')
			return false;
	return true;
}

static int read_folded(const char *path, struct stacks_options *o, struct flame *f, bool other,
		       struct stacks *out)
{
	uint64_t before = f->stacks;
	size_t bad;

	if (o->settle && o->settle(o, NULL)) {
		diag_error("%s: folded text has no times, CPUs or events to select by", path);
		return -EINVAL;
	}
	bad = flame_add_folded(f, out->map, out->map_bytes, path, o->reverse, other);
	diag_flush();
	if (bad)
		diag_warn("%s: %zu lines are not stacks and were skipped", path, bad);
	out->unit = "samples";
	out->stacks = f->stacks - before;
	return 0;
}

static int read_trace(const char *path, struct stacks_options *o, struct flame *f, bool other,
		      struct stacks *out)
{
	int err = source_open(path, &o->source, &out->source);

	if (err)
		return err;
	o->choice = SCAN_ALL;
	err = o->settle ? o->settle(o, out->source) : 0;
	return err ? err : stacks_from_source(out->source, o, f, other, out);
}

/* A format that is likely goes before text that only looks like stacks. */
#define LIKELY 50

static int read_file(const char *path, struct stacks_options *o, struct flame *f, bool other,
		     struct stacks *out)
{
	int err;

	out->map = file_map(path, &out->map_bytes);
	if (out->map && is_folded(out->map, out->map_bytes) &&
	    source_likely(path, &o->source) < LIKELY)
		err = read_folded(path, o, f, other, out);
	else
		err = read_trace(path, o, f, other, out);
	if (!err && f->failed) {
		diag_error("%s: out of memory after %" PRIu64 " stacks", path, f->stacks);
		err = -ENOMEM;
	}
	return err;
}

/* A stream is looked at more than once: it is kept in a nameless file, which is gone when the program ends. */
int stacks_read(const char *path, struct stacks_options *o, struct flame *f, bool other,
		struct stacks *out)
{
	int pipe = file_is_stream(path) ? file_open(path) : -1, kept;
	char *name;
	int err;

	memset(out, 0, sizeof(*out));
	if (pipe < 0)
		return read_file(strcmp(path, "-") ? path : "/dev/stdin", o, f, other, out);
	kept = file_spool(pipe);
	close(pipe);
	if (kept < 0 || asprintf(&name, "/proc/self/fd/%d", kept) < 0) {
		diag_error("%s: cannot keep the stream in $TMPDIR or /var/tmp: %s", path,
			   strerror(errno));
		return -EIO;
	}
	err = read_file(name, o, f, other, out);
	free(name);
	return err;
}
