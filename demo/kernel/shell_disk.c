/* SPDX-License-Identifier: MIT */
/* shell_disk.c -- the shell's disk: transfers, and a workload that says what it did, for a trace to be compared with. */
#include "block.h"
#include "kernel.h"
#include "shell.h"
#include "trace_points.h"

#define BIOS	    8  /* in flight at a time */
#define BIO_SECTORS 48 /* more than the disk does at once */
#define LOG	    512

static uint8_t data[BIOS][BIO_SECTORS * SECTOR_BYTES];
static struct bio bios[BIOS];
static struct served log[LOG];
static uint8_t written[DISK_SECTORS]; /* what each sector is filled with */
static uint32_t seed;

static uint32_t dice(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

/* How the transfers of a burst lie. */
enum shape {
	FORWARDS,  /* each after the last: back merges */
	BACKWARDS, /* each before it: front merges */
	APART,
	LARGE, /* split */
	SHAPES
};

static void place(uint32_t i, enum shape shape, uint64_t from, uint32_t sectors)
{
	uint64_t at = from;

	if (shape == FORWARDS)
		at += i * sectors;
	else if (shape == BACKWARDS)
		at += (BIOS - 1 - i) * sectors;
	else
		at += i * (BIO_SECTORS + 1);
	bios[i] = (struct bio){.sector = at, .sectors = sectors, .data = data[i]};
}

static void fill(struct bio *b, uint8_t with)
{
	for (uint32_t s = 0; s < b->sectors; s++) {
		memset(b->data + s * SECTOR_BYTES, with + (uint8_t)s, SECTOR_BYTES);
		written[b->sector + s] = with + (uint8_t)s;
	}
}

/* Sectors that do not hold what was written last. */
static uint32_t wrong(const struct bio *b)
{
	uint32_t n = 0;

	for (uint32_t s = 0; s < b->sectors; s++)
		n += b->data[s * SECTOR_BYTES] != written[b->sector + s] ||
		     b->data[s * SECTOR_BYTES + SECTOR_BYTES - 1] != written[b->sector + s];
	return n;
}

/* One to eight transfers, plugged together, and waited for. Returns sectors that were read wrong. */
static uint32_t burst(void)
{
	enum shape shape = dice(SHAPES);
	uint32_t nr = 1 + dice(BIOS), sectors = shape == LARGE ? BIO_SECTORS : 1 + dice(8), bad = 0;
	uint64_t from = dice(DISK_SECTORS - BIOS * (BIO_SECTORS + 1));
	uint32_t op = dice(2) ? FATHOM_BLOCK_WRITE | FATHOM_BLOCK_SYNC : FATHOM_BLOCK_READ;
	struct plug plug = {0};

	for (uint32_t i = 0; i < nr; i++) {
		place(i, shape, from, sectors);
		bios[i].op = op;
		if (op)
			fill(&bios[i], (uint8_t)dice(256));
		kprintf("disk bio %s %lu + %u\n", op ? "WS" : "R", bios[i].sector, sectors);
		block_submit(&plug, &bios[i]);
	}
	block_unplug(&plug);
	for (uint32_t i = 0; i < nr; i++) {
		block_wait(&bios[i]);
		bad += op ? 0 : wrong(&bios[i]);
	}
	return bad;
}

static int work(uint32_t bursts)
{
	uint32_t bad = 0, nr;

	disk_log_start(log, LOG);
	for (uint32_t i = 0; i < bursts; i++)
		bad += burst();
	nr = disk_log_end();
	for (uint32_t i = 0; i < nr && i < LOG; i++)
		kprintf("disk did %s %lu + %u\n", log[i].op ? "WS" : "R", log[i].sector,
			log[i].sectors);
	kprintf("disk: %u requests, %u sectors wrong\n", nr, bad);
	return bad ? -EINVAL : 0;
}

/* disk read|write SECTOR COUNT [BYTE], disk work SEED [BURSTS] */
int cmd_disk(int argc, char **argv)
{
	uint32_t n = argc > 3 ? (uint32_t)parse_u64(argv[3]) : 1;
	int write = argc > 2 && !strcmp(argv[1], "write");
	struct plug plug = {0};
	int err;

	if (argc > 2 && !strcmp(argv[1], "work")) {
		seed = (uint32_t)parse_u64(argv[2]);
		return work(argc > 3 ? n : 10);
	}
	if (argc < 3 || (!write && strcmp(argv[1], "read")) || n > BIO_SECTORS) {
		kprintf("disk read|write SECTOR [COUNT [BYTE]], COUNT at most %u; disk work SEED "
			"[BURSTS]\n",
			BIO_SECTORS);
		return -EINVAL;
	}
	bios[0] = (struct bio){.sector = parse_u64(argv[2]), .sectors = n, .data = data[0]};
	bios[0].op = write ? FATHOM_BLOCK_WRITE | FATHOM_BLOCK_SYNC : FATHOM_BLOCK_READ;
	if (write && bios[0].sector + n <= DISK_SECTORS)
		fill(&bios[0], argc > 4 ? (uint8_t)parse_u64(argv[4]) : 0);
	err = block_submit(&plug, &bios[0]);
	block_unplug(&plug);
	if (!err)
		err = block_wait(&bios[0]);
	if (err)
		kprintf("disk: error %d\n", -err);
	else if (!write)
		kprintf("disk: first byte %u, %u sectors wrong\n", data[0][0], wrong(&bios[0]));
	return err;
}
