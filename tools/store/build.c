/* SPDX-License-Identifier: MIT */
/* build.c -- build the index in one parallel pass over the blocks. */
#include "store/store.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MAX 8
/* Less than this per thread is not worth a thread. */
#define PART_BYTES  (4u << 20)

/* Steps of all streams are numbered through, and each thread takes a run of them: so the runs, put one behind another, are
 * in order without sorting. */
struct raw_step {
	uint64_t nr_events, first_time, max_time;
};

struct raw_posting {
	uint32_t type, stream, step, count;
};

struct part {
	struct build *b;
	uint64_t from, to;	  /* steps */
	uint64_t *by_type, *seen; /* counts so far, and those before this step */
	uint32_t *active;
	uint32_t nr_active;
	struct raw_posting *postings;
	size_t nr, cap;
	struct pid_counts *pids;
	struct losses *losses;
	uint64_t done; /* bytes; read by the first thread for progress */
	int err;
};

struct build {
	struct source *s;
	const struct store_options *o;
	struct raw_step *steps;
	struct store_stream *streams;
	uint64_t nr_steps;
	struct part *parts;
	unsigned nr_parts;
	uint64_t total;
};

static int post(struct part *p, uint32_t type, uint32_t stream, uint32_t step, uint64_t count)
{
	if (p->nr == p->cap) {
		size_t cap = p->cap ? p->cap * 2 : 1024;
		struct raw_posting *n = realloc(p->postings, cap * sizeof(*n));

		if (!n)
			return -ENOMEM;
		p->postings = n;
		p->cap = cap;
	}
	p->postings[p->nr++] = (struct raw_posting){type, stream, step, (uint32_t)count};
	return 0;
}

/* Types that occurred in the step: look at those seen before; only if they do not account for all, look at every one. */
static int post_types(struct part *p, uint32_t stream, uint32_t step, uint64_t nr_events)
{
	uint64_t found = 0;

	for (uint32_t i = 0; i < p->nr_active; i++) {
		uint32_t t = p->active[i];
		uint64_t n = p->by_type[t] - p->seen[t];

		if (!n)
			continue;
		found += n;
		p->seen[t] = p->by_type[t];
		if (post(p, t, stream, step, n))
			return -ENOMEM;
	}
	for (uint32_t t = 0; found < nr_events && t < SOURCE_ID_FAST; t++) {
		uint64_t n = p->by_type[t] - p->seen[t];

		if (!n)
			continue;
		found += n;
		p->active[p->nr_active++] = t;
		p->seen[t] = p->by_type[t];
		if (post(p, t, stream, step, n))
			return -ENOMEM;
	}
	return 0;
}

static int scan_step(struct part *p, struct cursor *c, uint64_t step, struct scan *run)
{
	const struct store_stream *ss = &p->b->streams[c->stream];
	uint64_t local = step - ss->first_step, before = run->nr_events;
	uint64_t blocks = p->b->s->streams[c->stream].nr_blocks;
	struct raw_step *out = &p->b->steps[step];
	struct scan one = *run;

	/* Times are wanted of the step alone, the rest adds up over the run. */
	one.nr_events = 0;
	for (uint64_t k = local * STORE_STEP; k < (local + 1) * STORE_STEP && k < blocks; k++) {
		struct scan block = one;

		block.nr_events = before + one.nr_events; /* a loss knows the time before it */
		block.max_time = one.nr_events ? one.max_time : 0;
		cursor_scan(c, k, &block);
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
	return post_types(p, c->stream, (uint32_t)local, one.nr_events);
}

static void *scan_part(void *arg)
{
	struct part *p = arg;
	struct build *b = p->b;
	struct cursor *c = NULL;
	struct scan run = {.by_type = p->by_type, .pids = p->pids, .losses = p->losses};
	uint32_t stream = 0;

	for (uint64_t step = p->from; step < p->to && !p->err; step++) {
		while (step >= b->streams[stream].first_step + b->streams[stream].nr_steps)
			stream++;
		if (!c || c->stream != stream) {
			cursor_close(c);
			c = cursor_open(b->s, stream);
			run.nr_events = 0;
		}
		p->err = c ? scan_step(p, c, step, &run) : -ENOMEM;
		if (step % 64 == 0 && b->s->streams[stream].nr_blocks) {
			uint64_t bytes = b->total / (b->nr_steps ? b->nr_steps : 1);

			__atomic_store_n(&p->done, (step - p->from) * bytes, __ATOMIC_RELAXED);
			if (p == b->parts && b->o && b->o->progress) {
				uint64_t done = 0;

				for (unsigned i = 0; i < b->nr_parts; i++)
					done += __atomic_load_n(&b->parts[i].done,
								__ATOMIC_RELAXED);
				b->o->progress(b->o->arg, done, b->total);
			}
		}
	}
	cursor_close(c);
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
	for (unsigned i = 0; i < b->nr_parts; i++)
		pid_counts_each(b->parts[i].pids, add_pid, &sum);
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
			const struct raw_step *r = b->steps + ss->first_step;
			uint64_t before = 0;

			if (l.from == l.to && !k && ss->first_step < b->parts[i].from)
				for (uint64_t n = 0; ss->first_step + n < b->parts[i].from; n++)
					if (r[n].nr_events)
						before = r[n].max_time;
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

static unsigned threads_for(uint64_t bytes, uint64_t steps)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t n = bytes / PART_BYTES + 1;

	if (n > steps)
		n = steps;
	if (n > (uint64_t)(cores > 0 ? cores : 1))
		n = (uint64_t)(cores > 0 ? cores : 1);
	return n > THREADS_MAX ? THREADS_MAX : n ? (unsigned)n : 1;
}

static int make_parts(struct build *b)
{
	b->nr_parts = threads_for(b->total, b->nr_steps);
	b->parts = calloc(b->nr_parts, sizeof(*b->parts));
	for (unsigned i = 0; b->parts && i < b->nr_parts; i++) {
		struct part *p = &b->parts[i];

		p->b = b;
		p->from = b->nr_steps * i / b->nr_parts;
		p->to = b->nr_steps * (i + 1) / b->nr_parts;
		p->by_type = calloc(SOURCE_ID_FAST, sizeof(*p->by_type));
		p->seen = calloc(SOURCE_ID_FAST, sizeof(*p->seen));
		p->active = calloc(SOURCE_ID_FAST, sizeof(*p->active));
		p->pids = pid_counts_new();
		p->losses = losses_new();
		if (!p->by_type || !p->seen || !p->active || !p->pids || !p->losses)
			return -ENOMEM;
	}
	return b->parts ? 0 : -ENOMEM;
}

static int run_parts(struct build *b)
{
	pthread_t threads[THREADS_MAX];
	bool started[THREADS_MAX] = {false};
	int err = 0;

	for (unsigned i = 1; i < b->nr_parts; i++)
		started[i] = !pthread_create(&threads[i], NULL, scan_part, &b->parts[i]);
	scan_part(&b->parts[0]);
	for (unsigned i = 1; i < b->nr_parts; i++) {
		if (started[i])
			pthread_join(threads[i], NULL);
		else
			scan_part(&b->parts[i]);
	}
	for (unsigned i = 0; i < b->nr_parts; i++)
		err = err ? err : b->parts[i].err;
	return err;
}

static void free_build(struct build *b)
{
	for (unsigned i = 0; b->parts && i < b->nr_parts; i++) {
		struct part *p = &b->parts[i];

		free(p->by_type);
		free(p->seen);
		free(p->active);
		free(p->postings);
		if (p->pids)
			pid_counts_free(p->pids);
		if (p->losses)
			losses_free(p->losses);
	}
	free(b->parts);
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
	err = b.streams && b.steps ? make_parts(&b) : -ENOMEM;
	if (!err)
		err = run_parts(&b);
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
