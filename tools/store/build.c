/* SPDX-License-Identifier: MIT */
/* build.c -- build the index in one parallel pass over the blocks. */
#include "store/store.h"
#include "base/vec.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MAX 8
/* Less than this per thread is not worth a thread. */
#define PART_BYTES  (4u << 20)

/* Parts per thread: one that is held up leaves its share to the others. */
#define PARTS_EACH 8u
#define PARTS_MAX  4096u

/* Steps of all streams are numbered through and cut into parts, which threads take one by one: so the parts, put one after
 * another, are in order without sorting. */
struct raw_step {
	uint64_t nr_events, first_time, max_time;
};

struct raw_posting {
	uint32_t type, stream, step, count;
};

struct build_part {
	uint64_t from, to; /* steps */
	struct raw_posting *postings;
	size_t nr, cap;
	struct losses *losses;
};

/* A thread, and what it counts over all parts it takes. */
struct worker {
	struct build *b;
	uint64_t *by_type, *seen; /* counts so far, and those before this step */
	uint32_t *active;
	uint32_t nr_active;
	struct pid_counts *pids;
	struct cursor *cursor; /* of the stream it is in */
	int err;
};

struct build {
	struct source *s;
	const struct store_options *o;
	struct raw_step *steps;
	struct store_stream *streams;
	uint64_t nr_steps;
	struct build_part *parts;
	unsigned nr_parts, next_part;
	struct worker *workers;
	unsigned nr_workers;
	uint64_t total;
};

static int post(struct build_part *p, uint32_t type, uint32_t stream, uint32_t step, uint64_t count)
{
	if (!VEC_ROOM(p->postings, p->nr, p->cap))
		return -ENOMEM;
	p->postings[p->nr++] = (struct raw_posting){type, stream, step, (uint32_t)count};
	return 0;
}

/* Types that occurred in the step: look at those seen before; only if they do not account for all, look at every one. */
static int post_types(struct worker *w, struct build_part *p, uint32_t step, uint64_t nr_events)
{
	uint32_t stream = w->cursor->stream;
	uint64_t found = 0;

	for (uint32_t i = 0; i < w->nr_active; i++) {
		uint32_t t = w->active[i];
		uint64_t n = w->by_type[t] - w->seen[t];

		if (!n)
			continue;
		found += n;
		w->seen[t] = w->by_type[t];
		if (post(p, t, stream, step, n))
			return -ENOMEM;
	}
	for (uint32_t t = 0; found < nr_events && t < SOURCE_ID_FAST; t++) {
		uint64_t n = w->by_type[t] - w->seen[t];

		if (!n)
			continue;
		found += n;
		w->active[w->nr_active++] = t;
		w->seen[t] = w->by_type[t];
		if (post(p, t, stream, step, n))
			return -ENOMEM;
	}
	return 0;
}

static int scan_step(struct worker *w, struct build_part *p, uint64_t step, struct tally *run)
{
	struct cursor *c = w->cursor;
	const struct store_stream *ss = &w->b->streams[c->stream];
	uint64_t local = step - ss->first_step, before = run->nr_events;
	uint64_t blocks = w->b->s->streams[c->stream].nr_blocks;
	struct raw_step *out = &w->b->steps[step];
	struct tally one = *run;

	/* Times are wanted of the step alone, the rest adds up over the run. */
	one.nr_events = 0;
	for (uint64_t k = local * STORE_STEP; k < (local + 1) * STORE_STEP && k < blocks; k++) {
		struct tally block = one;

		block.nr_events = before + one.nr_events; /* a loss knows the time before it */
		block.max_time = one.nr_events ? one.max_time : 0;
		block.want_first = !one.nr_events;
		cursor_tally(c, k, &block);
		if (block.nr_events == before + one.nr_events)
			continue;
		if (!one.nr_events)
			one.first_time = block.first_time;
		block.nr_events -= before;
		block.first_time = one.first_time;
		one = block;
	}
	*out = (struct raw_step){one.nr_events, one.first_time, one.max_time};
	run->nr_events += one.nr_events;
	if (one.nr_events)
		run->last_time = one.last_time;
	return post_types(w, p, (uint32_t)local, one.nr_events);
}

static int stand_in(struct worker *w, uint32_t stream)
{
	if (w->cursor && w->cursor->stream == stream)
		return 0;
	cursor_close(w->cursor);
	w->cursor = cursor_open(w->b->s, stream);
	return w->cursor ? 0 : -ENOMEM;
}

static int scan_part(struct worker *w, struct build_part *p)
{
	struct build *b = w->b;
	struct tally run = {.by_type = w->by_type, .pids = w->pids, .losses = p->losses};
	uint32_t stream = 0;
	int err = 0;

	for (uint64_t step = p->from; step < p->to && !err; step++) {
		while (step >= b->streams[stream].first_step + b->streams[stream].nr_steps) {
			stream++;
			run.nr_events = 0;
		}
		err = stand_in(w, stream);
		if (!err)
			err = scan_step(w, p, step, &run);
	}
	return err;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct build *b = w->b;
	unsigned i;

	while (!w->err &&
	       (i = __atomic_fetch_add(&b->next_part, 1, __ATOMIC_RELAXED)) < b->nr_parts) {
		w->err = scan_part(w, &b->parts[i]);
		if (w == b->workers && b->o && b->o->progress)
			b->o->progress(b->o->arg, "indexing", b->total / b->nr_parts * i, b->total);
	}
	cursor_close(w->cursor);
	w->cursor = NULL;
	return NULL;
}

/* ---- putting the parts together ---- */

static int by_pid(const void *a, const void *b)
{
	const struct store_pid *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

struct pid_sum {
	struct pid_counts *all;
	struct store_pid *list;
	uint64_t nr;
};

static void add_pid(int32_t pid, uint64_t n, void *arg)
{
	pid_counts_add(((struct pid_sum *)arg)->all, pid, n);
}

static void list_pid(int32_t pid, uint64_t n, void *arg)
{
	struct pid_sum *sum = arg;

	sum->list[sum->nr++] = (struct store_pid){.pid = pid, .count = n};
}

static struct store_pid *join_pids(struct build *b, uint64_t *nr)
{
	struct pid_sum sum = {.all = pid_counts_new()};

	if (!sum.all)
		return NULL;
	for (unsigned i = 0; i < b->nr_workers; i++)
		pid_counts_each(b->workers[i].pids, add_pid, &sum);
	sum.list = calloc(pid_counts_nr(sum.all) + 1, sizeof(*sum.list));
	if (sum.list) {
		pid_counts_each(sum.all, list_pid, &sum);
		qsort(sum.list, sum.nr, sizeof(*sum.list), by_pid);
	}
	*nr = sum.nr;
	pid_counts_free(sum.all);
	return sum.list;
}

/* X1 and X2: reached times and numbers. */
static struct store_step *join_steps(struct build *b)
{
	struct store_step *out = calloc(b->nr_steps + 1, sizeof(*out));

	for (size_t k = 0; out && k < b->s->nr_streams; k++) {
		struct store_stream *ss = &b->streams[k];
		uint64_t reached = 0, events = 0;

		for (uint64_t i = ss->first_step; i < ss->first_step + ss->nr_steps; i++) {
			const struct raw_step *r = &b->steps[i];

			if (r->nr_events && !events)
				ss->first_time = r->first_time;
			if (r->nr_events && r->first_time > reached)
				reached = r->first_time;
			out[i] = (struct store_step){reached, events};
			events += r->nr_events;
			if (r->nr_events && r->max_time > reached)
				reached = r->max_time;
		}
		ss->nr_events = events;
		ss->last_time = reached;
	}
	return out;
}

/* A loss at the start of a part has no time before it: take the largest that the stream had reached. */
static struct loss *join_losses(struct build *b, uint64_t *nr)
{
	struct loss *out;
	size_t total = 0;

	for (unsigned i = 0; i < b->nr_parts; i++)
		total += losses_nr(b->parts[i].losses);
	out = calloc(total + 1, sizeof(*out));
	*nr = 0;
	for (unsigned i = 0; out && i < b->nr_parts; i++) {
		for (size_t k = 0; k < losses_nr(b->parts[i].losses); k++) {
			struct loss l = *losses_at(b->parts[i].losses, k);
			const struct store_stream *ss = &b->streams[l.stream];
			uint64_t before = 0;

			if (l.from == l.to && !k)
				for (uint64_t n = b->parts[i].from;
				     n-- > ss->first_step && !before;)
					before = b->steps[n].nr_events ? b->steps[n].max_time : 0;
			if (before)
				l.from = before < l.to ? before : l.to;
			out[(*nr)++] = l;
		}
	}
	return out;
}

/* A counting sort by type of postings that are in order otherwise; X3. */
static int join_postings(struct build *b, struct store *st)
{
	uint64_t *start = calloc(SOURCE_ID_FAST + 1, sizeof(*start)), nr = 0, types = 0, at = 0;
	uint64_t *count = calloc(SOURCE_ID_FAST, sizeof(*count));
	struct store_posting *out = NULL;
	struct store_type *list = NULL;

	for (unsigned i = 0; i < b->nr_parts; i++)
		nr += b->parts[i].nr;
	out = calloc(nr + 1, sizeof(*out));
	if (!start || !count || !out)
		goto fail;
	for (unsigned i = 0; i < b->nr_parts; i++)
		for (size_t k = 0; k < b->parts[i].nr; k++)
			types += !start[b->parts[i].postings[k].type]++;
	list = calloc(types + 1, sizeof(*list));
	if (!list)
		goto fail;
	for (uint32_t t = 0, n = 0; t < SOURCE_ID_FAST; t++) {
		uint64_t here = start[t];

		if (here)
			list[n++] = (struct store_type){
				.id = t, .first_posting = at, .nr_postings = here};
		start[t] = at;
		at += here;
	}
	for (unsigned i = 0; i < b->nr_parts; i++)
		for (size_t k = 0; k < b->parts[i].nr; k++) {
			const struct raw_posting *p = &b->parts[i].postings[k];
			struct store_posting *o = &out[start[p->type]++];

			*o = (struct store_posting){
				.stream = p->stream, .step = p->step, .count = p->count};
		}
	for (uint64_t t = 0; t < types; t++) {
		struct store_posting *o = &out[list[t].first_posting];

		for (uint64_t k = 0; k < list[t].nr_postings; k++) {
			if (k && o[k].stream == o[k - 1].stream)
				o[k].before = o[k - 1].before + o[k - 1].count;
			list[t].count += o[k].count;
		}
	}
	free(start);
	free(count);
	st->types = list;
	st->nr_types = types;
	st->postings = out;
	st->nr_postings = nr;
	return 0;
fail:
	free(start);
	free(count);
	free(out);
	return -ENOMEM;
}

/* ---- the pass ---- */

static unsigned threads_for(const struct store_options *o, uint64_t bytes, uint64_t steps)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t n = bytes / PART_BYTES + 1;

	if (o && o->threads)
		return o->threads > THREADS_MAX ? THREADS_MAX : o->threads;
	if (n > steps)
		n = steps;
	if (n > (uint64_t)(cores > 0 ? cores : 1))
		n = (uint64_t)(cores > 0 ? cores : 1);
	return n > THREADS_MAX ? THREADS_MAX : n ? (unsigned)n : 1;
}

static int make_parts(struct build *b)
{
	uint64_t nr =
		b->nr_workers > 1 || (b->o && b->o->progress) ? b->nr_workers * PARTS_EACH : 1;

	/* Long work is cut finer, for its progress to be seen. */
	if (nr > 1 && b->total / nr > 16 * PART_BYTES)
		nr = b->total / (16 * PART_BYTES);
	nr = nr > b->nr_steps ? b->nr_steps : nr;
	b->nr_parts = nr > PARTS_MAX ? PARTS_MAX : nr ? (unsigned)nr : 1;
	b->parts = calloc(b->nr_parts, sizeof(*b->parts));
	for (unsigned i = 0; b->parts && i < b->nr_parts; i++) {
		b->parts[i].from = b->nr_steps * i / b->nr_parts;
		b->parts[i].to = b->nr_steps * (i + 1) / b->nr_parts;
		b->parts[i].losses = losses_new();
		if (!b->parts[i].losses)
			return -ENOMEM;
	}
	return b->parts ? 0 : -ENOMEM;
}

static int make_workers(struct build *b)
{
	b->nr_workers = threads_for(b->o, b->total, b->nr_steps);
	b->workers = calloc(b->nr_workers, sizeof(*b->workers));
	for (unsigned i = 0; b->workers && i < b->nr_workers; i++) {
		struct worker *w = &b->workers[i];

		w->b = b;
		w->by_type = calloc(SOURCE_ID_FAST, sizeof(*w->by_type));
		w->seen = calloc(SOURCE_ID_FAST, sizeof(*w->seen));
		w->active = calloc(SOURCE_ID_FAST, sizeof(*w->active));
		w->pids = pid_counts_new();
		if (!w->by_type || !w->seen || !w->active || !w->pids)
			return -ENOMEM;
	}
	return b->workers ? 0 : -ENOMEM;
}

static int run_workers(struct build *b)
{
	pthread_t threads[THREADS_MAX];
	unsigned nr = 1;
	int err;

	while (nr < b->nr_workers && !pthread_create(&threads[nr], NULL, work, &b->workers[nr]))
		nr++;
	work(&b->workers[0]);
	err = b->workers[0].err;
	while (--nr) {
		pthread_join(threads[nr], NULL);
		err = err ? err : b->workers[nr].err;
	}
	return err;
}

static void free_build(struct build *b)
{
	for (unsigned i = 0; b->parts && i < b->nr_parts; i++) {
		free(b->parts[i].postings);
		if (b->parts[i].losses)
			losses_free(b->parts[i].losses);
	}
	for (unsigned i = 0; b->workers && i < b->nr_workers; i++) {
		free(b->workers[i].by_type);
		free(b->workers[i].seen);
		free(b->workers[i].active);
		if (b->workers[i].pids)
			pid_counts_free(b->workers[i].pids);
	}
	free(b->parts);
	free(b->workers);
	free(b->steps);
}

static void totals(struct store *st)
{
	bool any = false;

	for (uint32_t i = 0; i < st->nr_streams; i++) {
		const struct store_stream *ss = &st->streams[i];

		st->nr_events += ss->nr_events;
		if (!ss->nr_events)
			continue;
		if (!any || ss->first_time < st->first_time)
			st->first_time = ss->first_time;
		if (!any || ss->last_time > st->last_time)
			st->last_time = ss->last_time;
		any = true;
	}
}

int store_build(struct source *s, const struct store_options *o, struct store *st)
{
	struct build b = {.s = s, .o = o};
	int err;

	b.streams = calloc(s->nr_streams + 1, sizeof(*b.streams));
	for (size_t i = 0; b.streams && i < s->nr_streams; i++) {
		b.streams[i].first_step = b.nr_steps;
		b.streams[i].nr_steps = (s->streams[i].nr_blocks + STORE_STEP - 1) / STORE_STEP;
		b.nr_steps += b.streams[i].nr_steps;
		b.total += s->streams[i].bytes;
	}
	b.steps = calloc(b.nr_steps + 1, sizeof(*b.steps));
	err = b.streams && b.steps ? make_workers(&b) : -ENOMEM;
	if (!err)
		err = make_parts(&b);
	if (!err)
		err = run_workers(&b);
	if (!err) {
		st->nr_streams = (uint32_t)s->nr_streams;
		st->streams = b.streams;
		st->nr_steps = b.nr_steps;
		st->steps = join_steps(&b);
		st->pids = join_pids(&b, &st->nr_pids);
		st->losses = join_losses(&b, &st->nr_losses);
		err = join_postings(&b, st);
		if (!st->steps || !st->pids || !st->losses)
			err = -ENOMEM;
		totals(st);
	} else {
		free(b.streams);
	}
	free_build(&b);
	return err;
}
