/* SPDX-License-Identifier: MIT */
/* lanes_live.c -- lanes of a recording while it is recorded: the same as of a file, and they grow. */
#include "view/page/lanes_live.h"
#include "base/file.h"
#include "base/vec.h"
#include "view/page/lanes_build.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#define SCALE	   50u /* of 2^50 ns, 13 days */
#define ROOM	   (1ull << 40)
#define DROP_BYTES (8u << 20)
#define KEEP_TASKS 1024u /* that are over */
#define STEP_TURNS \
	100000u /* events in one step: neither those that look nor a signal is kept waiting */

struct lanes_live {
	struct lanes lanes; /* as it is shown */
	struct lanes_build b;
	struct follow *f;
	pthread_rwlock_t lock;
	struct lane *lane;
	size_t cap_lane, cap_chunks;
	uint64_t dropped; /* bytes of lanes.map */
};

/* Everything that the build has, where it is looked for. */
static int show(struct lanes_live *l)
{
	struct lanes_fill *f = &l->b.fill;

	lanes_build_tasks(&l->b, KEEP_TASKS);
	lanes_build_now(&l->b); /* of a task that is new it makes a lane */
	if (!VEC_ROOM(l->lane, f->nr, l->cap_lane) ||
	    !VEC_ROOM(l->lanes.chunks_of, f->nr, l->cap_chunks))
		return -ENOMEM;
	for (size_t i = 0; i < f->nr && !f->err; i++) {
		struct lane_fill *k = f->v[i].k;

		l->lane[i] = (struct lane){.kind = LANE_KINDS};
		if (k)
			lanes_fill_show(f, k, &l->lane[i]);
		l->lanes.chunks_of[i] = k ? k->chunks : NULL;
	}
	l->lanes.lane = l->lane;
	l->lanes.nr_lanes = f->nr;
	l->lanes.start = l->b.start;
	l->lanes.span = lanes_build_span(&l->b);
	l->lanes.nr_events = l->b.events;
	return f->err;
}

/* What was looked at stays in the file: this process need not hold it. */
static void drop_pages(struct lanes_live *l)
{
	if (l->b.fill.at - l->dropped < DROP_BYTES)
		return;
	l->dropped = l->b.fill.at;
	madvise((void *)(uintptr_t)l->lanes.map, l->dropped, MADV_DONTNEED);
}

int lanes_live_step(struct lanes_live *l)
{
	const struct event *e = NULL;
	int err;

	pthread_rwlock_wrlock(&l->lock);
	l->b.fill.turn++;
	err = follow_grow(l->f);
	for (uint32_t i = 0; !err && i < STEP_TURNS && (e = follow_next(l->f)); i++)
		lanes_build_event(&l->b, e, true);
	if (!err && l->b.started)
		err = show(l);
	if (!err && model_failed(l->b.model))
		err = -ENOMEM;
	drop_pages(l);
	pthread_rwlock_unlock(&l->lock);
	return err ? err : e != NULL;
}

void lanes_live_share(struct lanes_live *l)
{
	pthread_rwlock_rdlock(&l->lock);
}

void lanes_live_done(struct lanes_live *l)
{
	pthread_rwlock_unlock(&l->lock);
}

const struct lanes *lanes_live_lanes(const struct lanes_live *l)
{
	return &l->lanes;
}

void lanes_live_names(const struct lanes_live *l, uint32_t first_name, uint32_t turn, FILE *out)
{
	/* What was lost is counted with an account of its own: the build stays as it is. */
	struct lanes_build *b = (struct lanes_build *)(uintptr_t)&l->b;
	char lost[512];

	if (lanes_build_lost(b, lost))
		lost[0] = 0;
	lanes_build_meta(b, lost, first_name, turn, out);
}

static void put_meta(const struct lanes *l, FILE *out)
{
	lanes_live_names((const struct lanes_live *)(const void *)l, 0, 0, out);
}

bool lanes_live_is_new(const struct lanes_live *l, uint64_t lane, uint32_t turn)
{
	return l->b.fill.v[lane].changed > turn;
}

bool lanes_live_changed(const struct lanes_live *l, uint64_t lane, uint64_t since)
{
	const struct lane *k = &l->lane[lane];

	return k->nr_chunks && l->lanes.chunks_of[lane][k->nr_chunks - 1].to > since;
}

/* A thread that waits to write goes first: many that read must not stop the picture. */
static int init_lock(pthread_rwlock_t *lock)
{
	pthread_rwlockattr_t attr;
	int err = -pthread_rwlockattr_init(&attr);

	if (err)
		return err;
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	err = -pthread_rwlock_init(lock, &attr);
	pthread_rwlockattr_destroy(&attr);
	return err;
}

static int open_file(struct lanes_live *l)
{
	int fd = file_nameless();
	void *map;

	if (fd < 0 || !(l->b.fill.out = fdopen(fd, "w+")))
		return -errno;
	map = mmap(NULL, ROOM, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	l->lanes.map = map;
	l->lanes.map_bytes = ROOM;
	l->b.fill.at = 8; /* 0 is no place */
	return 0;
}

int lanes_live_open(struct follow *f, const struct scan_choice *choice, struct lanes_live **out)
{
	struct lanes_live *l = calloc(1, sizeof(*l));
	int err = l ? init_lock(&l->lock) : -ENOMEM;

	if (err) {
		free(l);
		return err;
	}
	l->f = f;
	l->lanes.scale = SCALE;
	l->lanes.put_meta = put_meta;
	l->b.s = follow_source(f);
	l->b.choice = choice;
	l->b.fill.shown = true;
	err = open_file(l);
	if (!err)
		err = lanes_build_begin(&l->b, NULL);
	if (err)
		lanes_live_close(l);
	else
		*out = l;
	return err;
}

void lanes_live_close(struct lanes_live *l)
{
	if (!l)
		return;
	lanes_build_free(&l->b);
	if (l->lanes.map)
		munmap((void *)(uintptr_t)l->lanes.map, ROOM);
	if (l->b.fill.out)
		fclose(l->b.fill.out);
	pthread_rwlock_destroy(&l->lock);
	free(l->lanes.chunks_of);
	free(l->lane);
	free(l);
}
