/* SPDX-License-Identifier: MIT */
/* block.h -- block I/O: what is asked for, the queue in which it is merged, and the disk that does it. */
#ifndef DEMO_BLOCK_H
#define DEMO_BLOCK_H

#include <stdint.h>

#define SECTOR_BYTES	512
#define DISK_SECTORS	4096
#define DISK_DEV	(1u << 20) /* 1,0: Linux's number of its first RAM disk */
#define REQUEST_SECTORS 32	   /* the most that the disk does at once; more is split */
#define PLUG_REQUESTS	16

struct task;

/* A transfer that somebody waits for. The caller's memory until block_wait() returns. */
struct bio {
	uint64_t sector;
	uint32_t sectors;
	uint32_t op; /* enum fathom_block_op */
	uint8_t *data;
	volatile int32_t error;
	volatile uint32_t left; /* pieces of it that are not done */
	struct task *volatile waiter;
};

/* What one task submits together is merged before the disk sees it. */
struct plug {
	struct request *first;
	uint32_t nr;
};

void block_init(void);
/* Task context, interrupts on. What does not lie on the disk is refused: -EINVAL. */
int block_submit(struct plug *plug, struct bio *bio);
void block_unplug(struct plug *plug); /* all of it goes to the disk */
int block_wait(struct bio *bio);      /* 0 or -errno */

/* What the disk did, in its order: kept by the disk itself, for a test to compare a trace with. */
struct served {
	uint64_t sector;
	uint32_t sectors, op;
};
void disk_log_start(struct served *log, uint32_t room);
uint32_t disk_log_end(void); /* how many requests there were, of which `room` were kept */

#endif
