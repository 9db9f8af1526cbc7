/* SPDX-License-Identifier: MIT */
/* block.c -- block I/O: transfers are split and merged into requests, wait in one queue, and a RAM disk does them. */
#include "block.h"
#include "kernel.h"
#include "lock.h"
#include "task.h"
#include "trace_points.h"

/*
 * submit -> (split) -> merged into a request of the task's plug, or a new one -> unplug -> queue, by sector -> the disk's task
 *
 * Q1. A request belongs to one plug, to the queue, or to the disk's task. Only a plug's own task changes it there.
 * Q2. The queue's lock guards the queue and the free list. Nobody sleeps with it.
 * Q3. A piece of a transfer is in one request. The transfer is done when its last piece is; who waits for it is woken then.
 */
#define REQUESTS 64
#define PIECES	 256

struct piece {
	struct bio *bio;
	uint8_t *data;
	uint32_t sectors;
	struct piece *next; /* in the order of sectors */
};

struct request {
	uint64_t sector;
	uint32_t sectors, op;
	struct piece *first, *last;
	struct request *next;
};

static struct {
	struct spinlock lock;
	struct request *first, *free;
	struct piece *free_pieces;
	struct task *disk;
	int disk_waits;
	struct request requests[REQUESTS];
	struct piece pieces[PIECES];
} queue;

static uint8_t *disk_pages[DISK_SECTORS * SECTOR_BYTES / PAGE_SIZE];

static struct {
	struct served *log;
	uint32_t room, nr;
} served;

/* ---- what the events say ---- */

static struct fathom_block_io io_of(uint32_t op, uint64_t sector, uint32_t sectors)
{
	return (struct fathom_block_io){
		.dev = DISK_DEV,
		.op = op,
		.sector = sector,
		.bytes = sectors * SECTOR_BYTES,
		.comm = current_task()->name,
	};
}

static struct fathom_block_io io_of_request(const struct request *r)
{
	return io_of(r->op, r->sector, r->sectors);
}

static void say_plug(void)
{
	struct fathom_block_io io = io_of(0, 0, 0);

	trace_block_plug(&io);
}

static void say_unplug(uint32_t nr)
{
	struct fathom_block_io io = io_of(0, 0, 0);

	io.nr = nr;
	trace_block_unplug(&io);
}

/* ---- requests and pieces ---- */

static struct request *request_take(void)
{
	uint64_t flags = lock(&queue.lock);
	struct request *r = queue.free;

	if (r)
		queue.free = r->next;
	unlock(&queue.lock, flags);
	return r;
}

static struct piece *piece_take(void)
{
	uint64_t flags = lock(&queue.lock);
	struct piece *p = queue.free_pieces;

	if (p)
		queue.free_pieces = p->next;
	unlock(&queue.lock, flags);
	return p;
}

static void request_give(struct request *r)
{
	uint64_t flags = lock(&queue.lock);

	r->last->next = queue.free_pieces;
	queue.free_pieces = r->first;
	r->next = queue.free;
	queue.free = r;
	unlock(&queue.lock, flags);
}

/* All are in use: what this task has gathered goes to the disk, which gives some back. */
static void wait_for_room(struct plug *plug)
{
	block_unplug(plug);
	sleep_until(clock_ns() + 100000);
}

/* ---- merging ---- */

static int merge_into(struct request *r, struct piece *p, uint64_t sector, uint32_t op)
{
	struct fathom_block_io io = io_of(op, sector, p->sectors);

	if (r->op != op || r->sectors + p->sectors > REQUEST_SECTORS)
		return 0;
	if (r->sector + r->sectors == sector) {
		r->last->next = p;
		r->last = p;
		trace_block_bio_backmerge(&io);
	} else if (sector + p->sectors == r->sector) {
		p->next = r->first;
		r->first = p;
		r->sector = sector;
		trace_block_bio_frontmerge(&io);
	} else {
		return 0;
	}
	r->sectors += p->sectors;
	return 1;
}

static void request_new(struct plug *plug, struct piece *p, uint64_t sector, uint32_t op)
{
	struct fathom_block_io io = io_of(op, sector, p->sectors);
	struct request *r, **at = &plug->first;

	while (!(r = request_take()))
		wait_for_room(plug);
	*r = (struct request){
		.sector = sector, .sectors = p->sectors, .op = op, .first = p, .last = p};
	trace_block_getrq(&io);
	if (!plug->nr++)
		say_plug();
	while (*at)
		at = &(*at)->next;
	*at = r;
}

static void piece_add(struct plug *plug, struct bio *bio, uint64_t sector, uint8_t *data,
		      uint32_t sectors)
{
	struct piece *p;

	while (!(p = piece_take()))
		wait_for_room(plug);
	*p = (struct piece){.bio = bio, .data = data, .sectors = sectors};
	for (struct request *r = plug->first; r; r = r->next)
		if (merge_into(r, p, sector, bio->op))
			return;
	request_new(plug, p, sector, bio->op);
	if (plug->nr == PLUG_REQUESTS)
		block_unplug(plug);
}

int block_submit(struct plug *plug, struct bio *bio)
{
	uint64_t sector = bio->sector;
	uint32_t left = bio->sectors;
	uint8_t *data = bio->data;
	struct fathom_block_io io = io_of(bio->op, sector, left);

	if (!left || sector >= DISK_SECTORS || left > DISK_SECTORS - sector)
		return -EINVAL;
	bio->error = 0;
	bio->waiter = NULL;
	bio->left = (left + REQUEST_SECTORS - 1) / REQUEST_SECTORS;
	trace_block_bio_queue(&io);
	for (; left > REQUEST_SECTORS; left -= REQUEST_SECTORS) {
		io = io_of(bio->op, sector, left);
		io.sector_2 = sector + REQUEST_SECTORS;
		trace_block_split(&io);
		piece_add(plug, bio, sector, data, REQUEST_SECTORS);
		sector += REQUEST_SECTORS;
		data += REQUEST_SECTORS * SECTOR_BYTES;
	}
	piece_add(plug, bio, sector, data, left);
	return 0;
}

/* The elevator: one way, by sector. Equal ones keep their order. */
static void queue_insert(struct request *r)
{
	struct fathom_block_io io = io_of_request(r);
	struct request **at = &queue.first;
	struct task *disk = NULL;

	trace_block_rq_insert(&io);
	uint64_t flags = lock(&queue.lock);

	while (*at && (*at)->sector <= r->sector)
		at = &(*at)->next;
	r->next = *at;
	*at = r;
	if (queue.disk_waits) {
		queue.disk_waits = 0;
		disk = queue.disk;
	}
	unlock(&queue.lock, flags);
	if (disk)
		wakeup(disk);
}

void block_unplug(struct plug *plug)
{
	struct request *r = plug->first, *next;

	if (!plug->nr)
		return;
	say_unplug(plug->nr);
	plug->first = NULL;
	plug->nr = 0;
	for (; r; r = next) {
		next = r->next;
		queue_insert(r);
	}
}

int block_wait(struct bio *bio)
{
	uint64_t flags = lock(&queue.lock);

	while (bio->left) {
		bio->waiter = current_task();
		current_task()->state = TASK_BLOCKED;
		raw_unlock(&queue.lock);
		schedule();
		raw_lock(&queue.lock);
	}
	unlock(&queue.lock, flags);
	return bio->error;
}

/* ---- the disk ---- */

static void bio_piece_done(struct bio *bio, int error)
{
	uint64_t flags = lock(&queue.lock);
	struct task *waiter = NULL;

	if (error)
		bio->error = error;
	if (!--bio->left)
		waiter = bio->waiter;
	unlock(&queue.lock, flags);
	if (waiter)
		wakeup(waiter);
}

static void disk_copy(const struct request *r)
{
	uint64_t at = r->sector * SECTOR_BYTES;

	for (const struct piece *p = r->first; p; p = p->next)
		for (uint32_t i = 0; i < p->sectors; i++, at += SECTOR_BYTES) {
			uint8_t *there = disk_pages[at / PAGE_SIZE] + at % PAGE_SIZE;
			uint8_t *here = p->data + i * SECTOR_BYTES;

			if (r->op & FATHOM_BLOCK_WRITE)
				memcpy(there, here, SECTOR_BYTES);
			else
				memcpy(here, there, SECTOR_BYTES);
		}
}

static void disk_serve(struct request *r)
{
	struct fathom_block_io io = io_of_request(r);

	trace_block_rq_issue(&io);
	if (served.log) {
		if (served.nr < served.room)
			served.log[served.nr] = (struct served){r->sector, r->sectors, r->op};
		served.nr++;
	}
	disk_copy(r);
	trace_block_rq_complete(&io);
	for (struct piece *p = r->first, *next; p; p = next) {
		next = p->next;
		bio_piece_done(p->bio, 0);
	}
	request_give(r);
}

static void disk_task(void *arg)
{
	(void)arg;
	for (;;) {
		uint64_t flags = lock(&queue.lock);
		struct request *r = queue.first;

		if (r) {
			queue.first = r->next;
			r->next = NULL;
			unlock(&queue.lock, flags);
			disk_serve(r);
			continue;
		}
		queue.disk = current_task();
		queue.disk_waits = 1;
		current_task()->state = TASK_BLOCKED;
		raw_unlock(&queue.lock);
		schedule();
		irq_restore(flags);
	}
}

void disk_log_start(struct served *log, uint32_t room)
{
	served.log = log;
	served.room = room;
	served.nr = 0;
}

uint32_t disk_log_end(void)
{
	served.log = NULL;
	return served.nr;
}

void block_init(void)
{
	struct spawn s = {.name = "ramdisk", .fn = disk_task, .detached = 1};

	for (uint32_t i = 0; i < REQUESTS; i++) {
		queue.requests[i].next = queue.free;
		queue.free = &queue.requests[i];
	}
	for (uint32_t i = 0; i < PIECES; i++) {
		queue.pieces[i].next = queue.free_pieces;
		queue.free_pieces = &queue.pieces[i];
	}
	for (uint32_t i = 0; i < sizeof(disk_pages) / sizeof(disk_pages[0]); i++) {
		uint64_t frame = frame_alloc();

		if (!frame)
			panic("no memory for the disk");
		disk_pages[i] = phys_to_virt(frame);
		memset(disk_pages[i], 0, PAGE_SIZE);
	}
	task_spawn(&s);
}
