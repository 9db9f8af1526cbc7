/* SPDX-License-Identifier: MIT */
/* disks.c -- block I/O summed up by device and by task: queued, merged, issued, completed, and the times in between. */
#include "view/disks.h"
#include "model/disks.h"
#include "view/amount.h"
#include "view/dist.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const stage_names[STAGES] = {"Q2Q", "Q2M", "Q2D", "I2D", "D2C", "Q2C"};

/* The distributions of a device: its `own`. */
static struct dist *stages_of(const struct disk *d)
{
	return d->own;
}

struct disks_view {
	struct disks disks;
	struct dist_budget budget; /* all distributions share it */
	bool failed;
};

static void add_stage(void *arg, struct disk *d, enum disk_stage stage, uint64_t time)
{
	struct disks_view *v = arg;
	size_t bytes = (STAGES * sizeof(struct dist) + 63) & ~(size_t)63;

	if (!d->own) {
		d->own = aligned_alloc(64, bytes);
		if (!d->own) {
			v->failed = true;
			return;
		}
		memset(d->own, 0, bytes);
	}
	dist_add(&stages_of(d)[stage], &v->budget, time);
	for (size_t i = 0; v->budget.full && i < v->disks.nr; i++)
		for (int n = 0; n < STAGES && v->disks.v[i]->own; n++)
			dist_thin(&stages_of(v->disks.v[i])[n], &v->budget);
	v->budget.full = false;
}

static void drop_stages(void *arg, struct disk *d)
{
	struct disks_view *v = arg;

	for (int n = 0; n < STAGES && d->own; n++) {
		v->budget.values -= stages_of(d)[n].nr_small + stages_of(d)[n].nr_big;
		dist_free(&stages_of(d)[n]);
	}
	free(d->own);
}

/* ---- text ---- */

static const char *const dir_names[] = {"reads", "writes", "discards", "flushes"};

static void print_counts(FILE *out, const char *what, const struct disk_count *c)
{
	fprintf(out, "  %-10s", what);
	for (int i = 0; i <= BLOCK_NONE; i++)
		if (c[i].nr || i < BLOCK_DISCARD)
			fprintf(out, "  %8" PRIu64 " %s %10" PRIu64 " KiB", c[i].nr, dir_names[i],
				c[i].bytes >> 10);
	fputc('\n', out);
}

static uint64_t bytes_of(const struct disk_count *c)
{
	return c[BLOCK_READ].bytes + c[BLOCK_WRITE].bytes;
}

static void print_disk(struct disks *t, struct disk *d, const struct disks_options *o, FILE *out)
{
	uint64_t time =
		d->completed_any && d->queued_any && d->last > d->first ? d->last - d->first : 0;

	fprintf(out, "%sdevice %u,%u%s\n", o->bold, d->device >> 20, d->device & 0xfffff, o->plain);
	print_counts(out, "queued", d->queued);
	print_counts(out, "issued", d->issued);
	print_counts(out, "completed", d->completed);
	fprintf(out,
		"  merged      %" PRIu64 " back, %" PRIu64 " front; split %" PRIu64
		", requeued %" PRIu64 ", errors %" PRIu64 "; plugs %" PRIu64,
		d->back, d->front, d->splits, d->requeues, d->errors, d->plugs);
	if (d->unplugs)
		fprintf(out, ", %.1f requests each", (double)d->unplugged / (double)d->unplugs);
	fputc('\n', out);
	if (time && t->s->unit == CLOCK_NS)
		fprintf(out, "  throughput  %.0f KiB/s over %s\n",
			(double)bytes_of(d->completed) / 1024 / ((double)time / 1e9),
			amount(t->s, time));
	if (disk_open(d))
		fprintf(out,
			"  open        %" PRIu64 " transfers were queued and not seen to end\n",
			disk_open(d));
	fprintf(out, "  %-6s %10s %12s %12s %12s %12s %12s\n", "", "count", "min", "mean", "median",
		"p99", "max");
	for (int n = 0; n < STAGES && d->own; n++) {
		struct dist *x = &stages_of(d)[n];

		if (!x->count)
			continue;
		dist_settle(x);
		fprintf(out, "  %-6s %10" PRIu64 " %12s %12s %12s %12s %12s\n", stage_names[n],
			x->count, amount(t->s, x->min), amount(t->s, x->total / x->count),
			amount(t->s, dist_percentile(x, 500)),
			amount(t->s, dist_percentile(x, 990)), amount(t->s, x->max));
	}
}

static int by_bytes(const void *a, const void *b)
{
	const struct disk_task *x = *(struct disk_task *const *)a,
			       *y = *(struct disk_task *const *)b;
	uint64_t m = bytes_of(x->queued), n = bytes_of(y->queued);

	return m != n ? (m < n ? 1 : -1) : x->pid < y->pid ? -1 : x->pid > y->pid;
}

static int by_device(const void *a, const void *b)
{
	uint32_t x = (*(struct disk *const *)a)->device, y = (*(struct disk *const *)b)->device;

	return x < y ? -1 : x > y;
}

/* Other tasks only ran when something completed. */
static bool did_something(const struct disk_task *k)
{
	uint64_t n = k->merges + k->issued;

	for (int i = 0; i <= BLOCK_NONE; i++)
		n += k->queued[i].nr;
	return n != 0;
}

static void print_text(struct disks *t, const struct disks_options *o, FILE *out)
{
	for (size_t i = 0; i < t->nr; i++)
		print_disk(t, t->v[i], o, out);
	fprintf(out, "%s%-24s %10s %12s %10s %12s %8s %8s%s\n", o->bold, "task", "reads", "KiB",
		"writes", "KiB", "merges", "issued", o->plain);
	for (size_t i = 0; i < t->nr_tasks; i++) {
		const struct disk_task *k = t->tasks[i];
		char name[48];

		if (!did_something(k))
			continue;
		snprintf(name, sizeof(name), "%s-%d", tasks_comm(t->s->tasks, k->pid) ?: "<...>",
			 k->pid);
		fprintf(out,
			"%-24s %10" PRIu64 " %12" PRIu64 " %10" PRIu64 " %12" PRIu64 " %8" PRIu64
			" %8" PRIu64 "\n",
			name, k->queued[BLOCK_READ].nr, k->queued[BLOCK_READ].bytes >> 10,
			k->queued[BLOCK_WRITE].nr, k->queued[BLOCK_WRITE].bytes >> 10, k->merges,
			k->issued);
	}
	if (t->lost_unknown)
		fprintf(out,
			"an unknown number of events were lost: all counts are at least so many\n");
	else if (t->lost)
		fprintf(out, "%" PRIu64 " events were lost: all counts are at least so many\n",
			t->lost);
}

/* ---- JSON ---- */

static void json_counts(struct json *j, const char *key, const struct disk_count *c)
{
	char name[24];

	json_open(j, key, '{');
	for (int i = 0; i <= BLOCK_NONE; i++) {
		json_u64(j, dir_names[i], c[i].nr);
		snprintf(name, sizeof(name), "%s_bytes", dir_names[i]);
		json_u64(j, name, c[i].bytes);
	}
	json_close(j, '}');
}

static void json_disk(struct json *j, struct disks *t, struct disk *d)
{
	json_open(j, NULL, '{');
	json_u64(j, "major", d->device >> 20);
	json_u64(j, "minor", d->device & 0xfffff);
	json_counts(j, "queued", d->queued);
	json_counts(j, "issued", d->issued);
	json_counts(j, "completed", d->completed);
	json_u64(j, "back_merges", d->back);
	json_u64(j, "front_merges", d->front);
	json_u64(j, "splits", d->splits);
	json_u64(j, "requeues", d->requeues);
	json_u64(j, "errors", d->errors);
	json_u64(j, "plugs", d->plugs);
	json_u64(j, "unplugged_requests", d->unplugged);
	json_u64(j, "open", disk_open(d));
	if (d->queued_any && d->completed_any && d->last > d->first)
		amount_json(j, t->s, "busy", d->last - d->first);
	json_open(j, "stages", '[');
	for (int n = 0; n < STAGES && d->own; n++) {
		struct dist *x = &stages_of(d)[n];

		if (!x->count)
			continue;
		dist_settle(x);
		json_open(j, NULL, '{');
		json_str(j, "stage", stage_names[n]);
		json_u64(j, "count", x->count);
		amount_json(j, t->s, "total", x->total);
		amount_json(j, t->s, "min", x->min);
		amount_json(j, t->s, "p50", dist_percentile(x, 500));
		amount_json(j, t->s, "p99", dist_percentile(x, 990));
		amount_json(j, t->s, "max", x->max);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
}

static void print_json(struct disks *t, FILE *out)
{
	struct json j;

	json_init(&j, out, true);
	json_open(&j, NULL, '{');
	if (t->lost_unknown)
		json_null(&j, "lost");
	else
		json_u64(&j, "lost", t->lost);
	json_open(&j, "devices", '[');
	for (size_t i = 0; i < t->nr; i++)
		json_disk(&j, t, t->v[i]);
	json_close(&j, ']');
	json_open(&j, "tasks", '[');
	for (size_t i = 0; i < t->nr_tasks; i++) {
		const struct disk_task *k = t->tasks[i];

		if (!did_something(k))
			continue;
		json_open(&j, NULL, '{');
		json_s64(&j, "pid", k->pid);
		json_str(&j, "comm", tasks_comm(t->s->tasks, k->pid) ?: "<...>");
		json_counts(&j, "queued", k->queued);
		json_u64(&j, "merges", k->merges);
		json_u64(&j, "issued", k->issued);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	json_end(&j);
}

int disks_print(struct source *s, const struct disks_options *o, FILE *out)
{
	struct disks_view view = {
		.disks = {.s = s, .stage = add_stage, .drop = drop_stages, .arg = &view}};
	struct disks *t = &view.disks;
	int err;

	source_want_names(s);
	err = disks_gather(t, &o->walk);
	if (!err && view.failed)
		err = -ENOMEM;
	if (!err) {
		qsort(t->v, t->nr, sizeof(*t->v), by_device);
		qsort(t->tasks, t->nr_tasks, sizeof(*t->tasks), by_bytes);
		if (o->json)
			print_json(t, out);
		else
			print_text(t, o, out);
	}
	disks_free(t);
	return err;
}
