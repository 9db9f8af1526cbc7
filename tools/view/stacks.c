/* SPDX-License-Identifier: MIT */
/* stacks.c -- stacks out of folded text and backtracer captures, into a flame tree. */
#include "view/stacks.h"
#include "decode/btb/load.h"
#include "decode/source.h"
#include "base/diag.h"
#include "base/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
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
		s->release(s->keep);
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

static int read_folded(struct btb_file *b, struct stacks_options *o, struct flame *f, bool other,
		       struct stacks *out)
{
	uint64_t before = f->stacks;
	size_t bad;

	if (o->settle && o->settle(o, NULL)) {
		diag_error("%s: folded text has no times, CPUs or events to choose by", b->path);
		return -EINVAL;
	}
	bad = flame_add_folded(f, (const char *)b->map, b->map_bytes, b->path, o->reverse, other);
	diag_flush();
	if (bad)
		diag_warn("%s: %zu lines are not stacks and were left out", b->path, bad);
	out->unit = "samples";
	out->stacks = f->stacks - before;
	return 0;
}

/* ---- backtracer captures ---- */

static enum flame_kind kind_of(const struct btb_label *l)
{
	return l->kernel ? FLAME_KERNEL : FLAME_AUTO;
}

/* A label with inlined functions is several frames, the outer first. */
static void push_label(struct stack_frames *s, const struct btb_label *l)
{
	const char *p = l->text, *end = p + l->bytes;

	for (bool first = true; p <= end && s->n < STACK_FRAMES_MAX; first = false) {
		const char *semi = memchr(p, ';', (size_t)(end - p));
		const char *stop = semi ? semi : end;

		s->v[s->n++] = (struct flame_frame){p, (uint32_t)(stop - p),
						    first ? kind_of(l) : FLAME_INLINED};
		p = stop + 1;
	}
}

/* Names of groups, made once for each CPU or task. */
struct group {
	uint64_t key;
	struct btb_label label;
	char text[64];
};

struct groups {
	struct group **v;
	size_t n;
};

static const struct btb_label *group_label(struct groups *g, struct btb_names *names,
					   enum stacks_by by, uint64_t key)
{
	struct group **v, *k;
	const char *program = by == STACKS_BY_TASK ? btb_names_program(names, key) : NULL;

	for (size_t i = 0; i < g->n; i++)
		if (g->v[i]->key == key)
			return &g->v[i]->label;
	v = realloc(g->v, (g->n + 1) * sizeof(*v));
	k = calloc(1, sizeof(*k));
	if (!v || !k) {
		free(k);
		return NULL;
	}
	g->v = v;
	if (by == STACKS_BY_CPU)
		snprintf(k->text, sizeof(k->text), "cpu_%" PRIu64, key);
	else
		snprintf(k->text, sizeof(k->text), "%.40s-%" PRIx64, program ? program : "task",
			 key);
	k->key = key;
	k->label = (struct btb_label){k->text, (uint32_t)strlen(k->text), false};
	v[g->n++] = k;
	return &k->label;
}

struct capture {
	struct btb_file file;
	struct groups groups;
};

static void release_capture(void *keep[2])
{
	struct capture *c = keep[0];

	for (size_t i = 0; i < c->groups.n; i++)
		free(c->groups.v[i]);
	free(c->groups.v);
	btb_names_close(keep[1]);
	btb_close(&c->file);
	free(c);
}

/*
 * A sample stands for the time since its CPU was last looked at: the end of the former entry of the same CPU, or for the
 * first one of a CPU the end of what started the run.
 */
struct clocks {
	uint64_t ended[256];
	uint64_t start;
};

static uint64_t sample_time(struct clocks *c, const uint64_t *w, uint64_t cpu)
{
	uint64_t from = c->ended[cpu & 255] ? c->ended[cpu & 255] : c->start;

	c->ended[cpu & 255] = w[2] + w[3];
	return !from ? 1 : w[2] > from ? w[2] - from : 0;
}

static void add_stack(struct capture *c, struct btb_names *names, const struct btb_entry *e,
		      const struct stacks_options *o, struct flame *f, uint64_t weight, bool other,
		      struct stack_frames *s)
{
	const struct btb *b = &c->file.btb;
	const uint64_t *w = btb_entry_words(b, e);
	uint64_t task = b->layout.task < 0 ? 0 : w[b->layout.task];
	size_t group = 0;

	s->n = 0;
	if (o->by != STACKS_BY_NONE) {
		const struct btb_label *l =
			group_label(&c->groups, names, o->by,
				    o->by == STACKS_BY_CPU ? btb_entry_cpu(b, e) : task);

		if (l)
			s->v[s->n++] = (struct flame_frame){l->text, l->bytes, FLAME_GROUP};
		group = s->n;
	}
	for (size_t i = btb_stack_frames(b, e); i-- > 0 && s->n < STACK_FRAMES_MAX;) {
		const struct btb_label *l =
			btb_names_label(names, task, btb_stack_frame(b, e, i), w[2]);

		if ((o->only == STACKS_KERNEL && !l->kernel) ||
		    (o->only == STACKS_USER && l->kernel))
			continue;
		push_label(s, l);
	}
	if (s->n > group)
		stacks_add(f, s, group, o, weight, 1, other);
}

static bool in_window(const struct stacks_options *o, uint64_t cpu, uint64_t time)
{
	return !o->settle || (scan_time(&o->choice, time) &&
			      scan_cpu(&o->choice, cpu < UINT32_MAX ? (uint32_t)cpu : UINT32_MAX));
}

static int read_capture(struct capture *c, struct stacks_options *o, struct flame *f, bool other,
			struct stacks *out)
{
	struct source shown = {.path = c->file.path, .unit = CLOCK_NS};
	struct btb *b = &c->file.btb;
	struct stack_frames *s;
	struct clocks clocks = {0};
	size_t walked = 0;
	int err = btb_load(&c->file, o->run);

	btb_loss_report(&c->file.loss, c->file.path);
	diag_flush();
	if (!err && o->settle)
		err = o->settle(o, &shown);
	if (err)
		return err;
	out->keep[1] = btb_names_open(b, c->file.path, &o->names);
	s = malloc(sizeof(*s));
	if (!out->keep[1] || !s) {
		free(s);
		return -ENOMEM;
	}
	for (size_t i = 0; i < b->nr_entries; i++) {
		const struct btb_entry *e = &b->entries[i];
		const uint64_t *w = btb_entry_words(b, e);
		uint64_t time;

		if (w[0] != WIRE_BTB_STACK) {
			clocks.start = w[2] + w[3];
			continue;
		}
		time = sample_time(&clocks, w, btb_entry_cpu(b, e));
		btb_walked(b, e->at, &walked);
		if (!in_window(o, btb_entry_cpu(b, e), w[2]))
			continue;
		add_stack(c, out->keep[1], e, o, f, o->samples ? 1 : time, other, s);
		out->stacks++;
	}
	free(s);
	out->unit = o->samples ? "samples" : "ns";
	if (c->file.loss.lost_words) {
		out->account.lost.more = true;
		out->account.by_cause[LOSS_LINE].more = true;
	}
	return 0;
}

/* ---- any file ---- */

static void release_source(void *keep[2])
{
	source_close(keep[0]);
}

static int read_file(const char *path, struct stacks_options *o, struct flame *f, bool other,
		     struct stacks *out)
{
	struct capture *c = calloc(1, sizeof(*c));
	struct source *s;
	int err;

	if (!c)
		return -ENOMEM;
	err = btb_open(&c->file, path);
	if (err) {
		free(c);
		return err;
	}
	out->keep[0] = c;
	out->release = release_capture;
	if (c->file.stage != BTB_NONE)
		err = read_capture(c, o, f, other, out);
	else if (is_folded((const char *)c->file.map, c->file.map_bytes))
		err = read_folded(&c->file, o, f, other, out);
	else {
		stacks_release(out);
		err = source_open(path, &o->source, &s);
		if (err)
			return err;
		out->keep[0] = s;
		out->release = release_source;
		o->choice = SCAN_ALL;
		err = o->settle ? o->settle(o, s) : 0;
		if (!err)
			err = stacks_from_source(s, o, f, other, out);
	}
	if (!err && f->failed) {
		diag_error("%s: out of memory after %" PRIu64 " stacks", path, f->stacks);
		err = -ENOMEM;
	}
	return err;
}

/* A stream is looked at more than once: what it gave is read from where it is kept, which goes with the program. */
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
