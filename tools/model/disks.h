/* SPDX-License-Identifier: MIT */
/* disks.h -- block I/O paired: what each device and each task did, and how long the stages of it took. */
#ifndef MODEL_DISKS_H
#define MODEL_DISKS_H

#include "base/idmap.h"
#include "model/block.h"
#include "model/walk.h"

enum disk_stage {
	STAGE_Q2Q, /* between transfers that arrive */
	STAGE_Q2M, /* to the merge into a request that is there */
	STAGE_Q2D, /* queued: to the issue of its first sector */
	STAGE_I2D, /* a request in the scheduler */
	STAGE_D2C, /* a request in the device */
	STAGE_Q2C, /* all of it */
	STAGES,
};

struct disk_open {
	uint64_t sector, time;
	uint32_t sectors, done;
	uint8_t dir;
	bool issued;
};

/* What is open, oldest first. */
struct disk_opens {
	struct disk_open *v;
	size_t nr, cap;
};

struct disk_count {
	uint64_t nr, bytes;
};

struct disk {
	uint32_t device;
	uint64_t first, last; /* time of the first Q, of the last C */
	uint64_t last_queue;
	bool queued_any, completed_any;
	struct disk_count queued[BLOCK_NONE + 1], issued[BLOCK_NONE + 1], completed[BLOCK_NONE + 1];
	uint64_t back, front, splits, requeues, errors, plugs, unplugs, unplugged, forgotten;
	struct disk_opens transfers, inserted, issued_open;
	void *own; /* the caller's */
};

struct disk_task {
	int32_t pid;
	struct disk_count queued[BLOCK_NONE + 1];
	uint64_t merges, issued;
};

struct disks {
	struct source *s;
	/* A stage ended. */
	void (*stage)(void *arg, struct disk *d, enum disk_stage stage, uint64_t time);
	/* The device's `own` is not needed any more. */
	void (*drop)(void *arg, struct disk *d);
	void *arg;
	struct idmap by_device, by_pid;
	struct disk **v;
	struct disk_task **tasks;
	size_t nr, nr_tasks;
	uint64_t lost;
	bool lost_unknown;
	bool records; /* of the blk tracer; events of the same I/O do not count then */
};

/* With s, stage, drop and arg set: 0, -ENOMEM, -ENODATA: there is no block I/O. */
int disks_gather(struct disks *t, const struct model_walk *walk);
void disks_free(struct disks *t);
/* Transfers that were queued and not seen to end. */
uint64_t disk_open(const struct disk *d);

#endif
