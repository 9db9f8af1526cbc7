/* SPDX-License-Identifier: MIT */
/* disks.c -- block I/O paired: transfers with the requests that they were merged into or split over. */
#include "model/disks.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * A transfer is open from its Q to the C that completes its last sector; a request from its D to its C. They belong together by
 * device, direction and sectors: requests are made of transfers by merging and splitting, which the events do not number.
 *
 * K1  A time is counted only if both its ends are in the trace.
 * K2  A device has at most OPEN_MAX open transfers: of more, the oldest will not be completed any more, their end was lost. They
 *     are counted as open.
 */
#define OPEN_MAX 4096u

static void opens_forget(struct disk_opens *o, size_t i)
{
	memmove(&o->v[i], &o->v[i + 1], (--o->nr - i) * sizeof(*o->v));
}

static bool opens_add(struct disk *d, struct disk_opens *o, const struct block_act *a)
{
	if (o->nr == OPEN_MAX) { /* K2 */
		opens_forget(o, 0);
		d->forgotten += o == &d->transfers;
	}
	if (!VEC_ROOM(o->v, o->nr, o->cap))
		return false;
	o->v[o->nr++] = (struct disk_open){
		.sector = a->sector, .time = a->time, .sectors = a->bytes >> 9, .dir = a->dir};
	return true;
}

/* The newest open one of exactly this place; nr: none. */
static size_t opens_find(const struct disk_opens *o, const struct block_act *a)
{
	for (size_t i = o->nr; i--;)
		if (o->v[i].sector == a->sector && o->v[i].dir == a->dir)
			return i;
	return o->nr;
}

/* How many sectors of an open one an act is about. */
static uint32_t overlap(const struct disk_open *o, const struct block_act *a)
{
	uint64_t from = o->sector > a->sector ? o->sector : a->sector;
	uint64_t end_o = o->sector + o->sectors, end_a = a->sector + (a->bytes >> 9);
	uint64_t to = end_o < end_a ? end_o : end_a;

	return o->dir == a->dir && to > from ? (uint32_t)(to - from) : 0;
}

static void stage(struct disks *t, struct disk *d, enum disk_stage s, uint64_t from, uint64_t to)
{
	if (to >= from)
		t->stage(t->arg, d, s, to - from);
}

static struct disk *disk_of(struct disks *t, uint32_t device)
{
	void **at = idmap_at(&t->by_device, device);

	if (!at || *at)
		return at ? *at : NULL;
	if (!VEC_MORE(t->v, t->nr) || !(*at = calloc(1, sizeof(struct disk))))
		return NULL;
	t->v[t->nr++] = *at;
	t->v[t->nr - 1]->device = device;
	return *at;
}

static struct disk_task *task_of(struct disks *t, int32_t pid)
{
	void **at = idmap_at(&t->by_pid, (uint32_t)pid);

	if (!at || *at)
		return at ? *at : NULL;
	if (!VEC_MORE(t->tasks, t->nr_tasks) || !(*at = calloc(1, sizeof(struct disk_task))))
		return NULL;
	t->tasks[t->nr_tasks++] = *at;
	t->tasks[t->nr_tasks - 1]->pid = pid;
	return *at;
}

static void count(struct disk_count *c, const struct block_act *a)
{
	c[a->dir].nr++;
	c[a->dir].bytes += a->bytes;
}

static bool queue(struct disks *t, struct disk *d, struct disk_task *k, const struct block_act *a)
{
	if (d->queued_any)
		stage(t, d, STAGE_Q2Q, d->last_queue, a->time);
	else
		d->first = a->time;
	d->queued_any = true;
	d->last_queue = a->time;
	count(d->queued, a);
	count(k->queued, a);
	return !a->bytes || opens_add(d, &d->transfers, a);
}

static void merge(struct disks *t, struct disk *d, struct disk_task *k, const struct block_act *a)
{
	size_t i = opens_find(&d->transfers, a);

	k->merges++;
	*(a->what == WIRE_BLK_BACKMERGE ? &d->back : &d->front) += 1;
	if (i < d->transfers.nr)
		stage(t, d, STAGE_Q2M, d->transfers.v[i].time, a->time);
}

static bool issue(struct disks *t, struct disk *d, struct disk_task *k, const struct block_act *a)
{
	size_t i = opens_find(&d->inserted, a);

	count(d->issued, a);
	k->issued++;
	if (i < d->inserted.nr) {
		stage(t, d, STAGE_I2D, d->inserted.v[i].time, a->time);
		opens_forget(&d->inserted, i);
	}
	for (i = 0; i < d->transfers.nr; i++) {
		struct disk_open *o = &d->transfers.v[i];

		if (o->issued || !overlap(o, a))
			continue;
		o->issued = true;
		stage(t, d, STAGE_Q2D, o->time, a->time);
	}
	return !a->bytes || opens_add(d, &d->issued_open, a);
}

static void complete(struct disks *t, struct disk *d, const struct block_act *a)
{
	size_t i = opens_find(&d->issued_open, a);

	count(d->completed, a);
	d->errors += a->error != 0;
	d->last = a->time;
	d->completed_any = true;
	if (i < d->issued_open.nr) {
		stage(t, d, STAGE_D2C, d->issued_open.v[i].time, a->time);
		opens_forget(&d->issued_open, i);
	}
	for (i = 0; i < d->transfers.nr;) {
		struct disk_open *o = &d->transfers.v[i];

		o->done += overlap(o, a);
		if (o->done < o->sectors) {
			i++;
			continue;
		}
		stage(t, d, STAGE_Q2C, o->time, a->time);
		opens_forget(&d->transfers, i);
	}
}

/* Back to the queue: it will be issued again. */
static void requeue(struct disk *d, const struct block_act *a)
{
	size_t i = opens_find(&d->issued_open, a);

	d->requeues++;
	if (i < d->issued_open.nr)
		opens_forget(&d->issued_open, i);
}

static bool note(struct disks *t, const struct block_act *a)
{
	bool plug = a->what == WIRE_BLK_PLUG || a->what == WIRE_BLK_UNPLUG;
	/* Plugs of Linux's events name no device. */
	struct disk *d = plug && !a->device ? (t->nr == 1 ? t->v[0] : NULL) : disk_of(t, a->device);
	struct disk_task *k = task_of(t, a->pid);

	if (!k || (!d && !plug))
		return false;
	switch ((int)a->what) {
	case WIRE_BLK_QUEUE: return queue(t, d, k, a);
	case WIRE_BLK_BACKMERGE:
	case WIRE_BLK_FRONTMERGE: merge(t, d, k, a); break;
	case WIRE_BLK_INSERT: return opens_add(d, &d->inserted, a);
	case WIRE_BLK_ISSUE: return issue(t, d, k, a);
	case WIRE_BLK_COMPLETE: complete(t, d, a); break;
	case WIRE_BLK_REQUEUE: requeue(d, a); break;
	case WIRE_BLK_SPLIT: d->splits++; break;
	case WIRE_BLK_PLUG:
		if (d)
			d->plugs++;
		break;
	case WIRE_BLK_UNPLUG:
		if (d) {
			d->unplugs++;
			d->unplugged += a->nr;
		}
		break;
	default: break;
	}
	return true;
}

void disks_free(struct disks *t)
{
	for (size_t i = 0; i < t->nr; i++) {
		t->drop(t->arg, t->v[i]);
		free(t->v[i]->transfers.v);
		free(t->v[i]->inserted.v);
		free(t->v[i]->issued_open.v);
		free(t->v[i]);
	}
	for (size_t i = 0; i < t->nr_tasks; i++)
		free(t->tasks[i]);
	free(t->v);
	free(t->tasks);
	idmap_free(&t->by_device);
	idmap_free(&t->by_pid);
	t->v = NULL;
	t->tasks = NULL;
	t->nr = t->nr_tasks = 0;
	t->by_device = t->by_pid = (struct idmap){0};
}

/* A trace may have the same I/O twice, as events and as records of the tracer: then the records count. */
int disks_gather(struct disks *t, const struct model_walk *walk)
{
	struct scan *sc = scan_open(t->s, walk->choice,
				    &(struct scan_options){.no_index = walk->no_index,
							   .progress = walk->progress,
							   .arg = walk->progress_arg});
	struct block_reader *r = block_reader_new(t->s);
	const struct event *e;
	struct block_act a;
	int err = sc && r ? 0 : -ENOMEM;

	while (!err && (e = scan_next(sc))) {
		t->lost_unknown |= e->lost == LOST_UNKNOWN;
		t->lost += e->lost == LOST_UNKNOWN ? 0 : e->lost;
		if (!block_read(r, e, &a))
			continue;
		if (a.record && !t->records) {
			disks_free(t);
			t->records = true;
		}
		if (a.record == t->records && !note(t, &a))
			err = -ENOMEM;
	}
	block_reader_free(r);
	scan_close(sc);
	return err ? err : t->nr ? 0 : -ENODATA;
}

uint64_t disk_open(const struct disk *d)
{
	return d->transfers.nr + d->forgotten;
}
