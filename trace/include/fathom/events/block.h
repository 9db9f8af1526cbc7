/* SPDX-License-Identifier: MIT */
/* block.h -- ready-made events of a block layer: Linux's names, fields and text. fathom_config.blk makes blktrace's records of them. */
/* clang-format off */
/* GNU's variadic macros and Linux's `;` behind TRACE_EVENT() are no business of a pedantic includer. */
#pragma GCC system_header
#undef TRACE_SYSTEM
#define TRACE_SYSTEM block

#if !defined(FATHOM_EVENTS_BLOCK_H) || defined(TRACE_HEADER_MULTI_READ)
#define FATHOM_EVENTS_BLOCK_H

#include "fathom/tracepoint.h"
#include "fathom/events/words.h"

#ifndef FATHOM_EVENTS_BLOCK_WORDS
#define FATHOM_EVENTS_BLOCK_WORDS

/* What is done, and how. */
enum fathom_block_op {
	FATHOM_BLOCK_READ = 0,
	FATHOM_BLOCK_WRITE = 1,
	FATHOM_BLOCK_DISCARD = 2,
	FATHOM_BLOCK_FLUSH = 3,
	FATHOM_BLOCK_OP = 0xff,
	FATHOM_BLOCK_PREFLUSH = 1 << 8,
	FATHOM_BLOCK_FUA = 1 << 9,
	FATHOM_BLOCK_AHEAD = 1 << 10,
	FATHOM_BLOCK_SYNC = 1 << 11,
	FATHOM_BLOCK_META = 1 << 12,
};

/* A piece of I/O, as every event of this header takes it; what an event has no field for may be 0. */
struct fathom_block_io {
	uint32_t dev;	 /* major << 20 | minor */
	uint32_t op;	 /* enum fathom_block_op */
	uint64_t sector; /* of 512 bytes */
	uint32_t bytes;
	int32_t error;	   /* 0 or -errno: of events that complete something */
	const char *comm;  /* the task that does it */
	uint64_t sector_2; /* split: where the second part begins; remap: where it was */
	uint32_t dev_2;	   /* remap: the device it was for */
	uint32_t nr;	   /* unplug: requests */
};

/* "R", "WS", "FWFSM": Linux's letters. */
static inline FATHOM_NOTRACE __attribute__((__unused__)) void fathom_block_letters(char to[8], const struct fathom_block_io *io)
{
	static const char ops[4] = {'R', 'W', 'D', 'F'};
	uint32_t op = io->op & FATHOM_BLOCK_OP, n = 0;

	__builtin_memset(to, 0, 8);
	if (io->op & FATHOM_BLOCK_PREFLUSH)
		to[n++] = 'F';
	to[n++] = op < sizeof(ops) ? ops[op] : 'N';
	if (io->op & FATHOM_BLOCK_FUA)
		to[n++] = 'F';
	if (io->op & FATHOM_BLOCK_AHEAD)
		to[n++] = 'A';
	if (io->op & FATHOM_BLOCK_SYNC)
		to[n++] = 'S';
	if (io->op & FATHOM_BLOCK_META)
		to[n++] = 'M';
}
#endif

#define fathom_block_major(dev) ((unsigned int) ((dev) >> 20))
#define fathom_block_minor(dev) ((unsigned int) ((dev) & ((1U << 20) - 1)))

DECLARE_EVENT_CLASS(fathom_block_bio,

	TP_PROTO(const struct fathom_block_io *io),

	TP_ARGS(io),

	TP_STRUCT__entry(
		__field_as(	uint32_t, "dev_t",	dev	)
		__field_as(	uint64_t, "sector_t",	sector	)
		__field(	unsigned int,	nr_sector	)
		__array(	char,		rwbs,	8	)
		__array(	char,		comm,	16	)
	),

	TP_fast_assign(
		__entry->dev = io->dev;
		__entry->sector = io->sector;
		__entry->nr_sector = io->bytes >> 9;
		fathom_block_letters(__entry->rwbs, io);
		fathom_assign_comm(__entry->comm, io->comm);
	),

	TP_printk("%d,%d %s %llu + %u [%s]",
		  fathom_block_major(__entry->dev), fathom_block_minor(__entry->dev), __entry->rwbs,
		  (unsigned long long)__entry->sector, __entry->nr_sector, __entry->comm)
);

DEFINE_EVENT(fathom_block_bio, block_bio_queue, TP_PROTO(const struct fathom_block_io *io), TP_ARGS(io));
#define trace_block_bio_queue(...) FATHOM_CALL(block_bio_queue, __VA_ARGS__)
DEFINE_EVENT(fathom_block_bio, block_bio_backmerge, TP_PROTO(const struct fathom_block_io *io), TP_ARGS(io));
#define trace_block_bio_backmerge(...) FATHOM_CALL(block_bio_backmerge, __VA_ARGS__)
DEFINE_EVENT(fathom_block_bio, block_bio_frontmerge, TP_PROTO(const struct fathom_block_io *io), TP_ARGS(io));
#define trace_block_bio_frontmerge(...) FATHOM_CALL(block_bio_frontmerge, __VA_ARGS__)
DEFINE_EVENT(fathom_block_bio, block_bio_bounce, TP_PROTO(const struct fathom_block_io *io), TP_ARGS(io));
#define trace_block_bio_bounce(...) FATHOM_CALL(block_bio_bounce, __VA_ARGS__)
DEFINE_EVENT(fathom_block_bio, block_getrq, TP_PROTO(const struct fathom_block_io *io), TP_ARGS(io));
#define trace_block_getrq(...) FATHOM_CALL(block_getrq, __VA_ARGS__)

TRACE_EVENT(block_bio_complete,

	TP_PROTO(const struct fathom_block_io *io),

	TP_ARGS(io),

	TP_STRUCT__entry(
		__field_as(	uint32_t, "dev_t",	dev	)
		__field_as(	uint64_t, "sector_t",	sector	)
		__field_as(	unsigned int, "unsigned",	nr_sector	)
		__field(	int,		error		)
		__array(	char,		rwbs,	8	)
	),

	TP_fast_assign(
		__entry->dev = io->dev;
		__entry->sector = io->sector;
		__entry->nr_sector = io->bytes >> 9;
		__entry->error = io->error;
		fathom_block_letters(__entry->rwbs, io);
	),

	TP_printk("%d,%d %s %llu + %u [%d]",
		  fathom_block_major(__entry->dev), fathom_block_minor(__entry->dev), __entry->rwbs,
		  (unsigned long long)__entry->sector, __entry->nr_sector, __entry->error)
);
#define trace_block_bio_complete(...) FATHOM_CALL(block_bio_complete, __VA_ARGS__)

TRACE_EVENT(block_plug,

	TP_PROTO(const struct fathom_block_io *io),

	TP_ARGS(io),

	TP_STRUCT__entry(
		__array(	char,		comm,	16	)
	),

	TP_fast_assign(
		fathom_assign_comm(__entry->comm, io->comm);
	),

	TP_printk("[%s]", __entry->comm)
);
#define trace_block_plug(...) FATHOM_CALL(block_plug, __VA_ARGS__)

TRACE_EVENT(block_unplug,

	TP_PROTO(const struct fathom_block_io *io),

	TP_ARGS(io),

	TP_STRUCT__entry(
		__field(	int,		nr_rq		)
		__array(	char,		comm,	16	)
	),

	TP_fast_assign(
		__entry->nr_rq = (int)io->nr;
		fathom_assign_comm(__entry->comm, io->comm);
	),

	TP_printk("[%s] %d", __entry->comm, __entry->nr_rq)
);
#define trace_block_unplug(...) FATHOM_CALL(block_unplug, __VA_ARGS__)

TRACE_EVENT(block_split,

	TP_PROTO(const struct fathom_block_io *io),

	TP_ARGS(io),

	TP_STRUCT__entry(
		__field_as(	uint32_t, "dev_t",	dev		)
		__field_as(	uint64_t, "sector_t",	sector		)
		__field_as(	uint64_t, "sector_t",	new_sector	)
		__array(	char,		rwbs,	8	)
		__array(	char,		comm,	16	)
	),

	TP_fast_assign(
		__entry->dev = io->dev;
		__entry->sector = io->sector;
		__entry->new_sector = io->sector_2;
		fathom_block_letters(__entry->rwbs, io);
		fathom_assign_comm(__entry->comm, io->comm);
	),

	TP_printk("%d,%d %s %llu / %llu [%s]",
		  fathom_block_major(__entry->dev), fathom_block_minor(__entry->dev), __entry->rwbs,
		  (unsigned long long)__entry->sector, (unsigned long long)__entry->new_sector, __entry->comm)
);
#define trace_block_split(...) FATHOM_CALL(block_split, __VA_ARGS__)

TRACE_EVENT(block_bio_remap,

	TP_PROTO(const struct fathom_block_io *io),

	TP_ARGS(io),

	TP_STRUCT__entry(
		__field_as(	uint32_t, "dev_t",	dev		)
		__field_as(	uint64_t, "sector_t",	sector		)
		__field(	unsigned int,	nr_sector	)
		__field_as(	uint32_t, "dev_t",	old_dev		)
		__field_as(	uint64_t, "sector_t",	old_sector	)
		__array(	char,		rwbs,	8	)
	),

	TP_fast_assign(
		__entry->dev = io->dev;
		__entry->sector = io->sector;
		__entry->nr_sector = io->bytes >> 9;
		__entry->old_dev = io->dev_2;
		__entry->old_sector = io->sector_2;
		fathom_block_letters(__entry->rwbs, io);
	),

	TP_printk("%d,%d %s %llu + %u <- (%d,%d) %llu",
		  fathom_block_major(__entry->dev), fathom_block_minor(__entry->dev), __entry->rwbs,
		  (unsigned long long)__entry->sector, __entry->nr_sector, fathom_block_major(__entry->old_dev),
		  fathom_block_minor(__entry->old_dev), (unsigned long long)__entry->old_sector)
);
#define trace_block_bio_remap(...) FATHOM_CALL(block_bio_remap, __VA_ARGS__)

DECLARE_EVENT_CLASS(fathom_block_rq,

	TP_PROTO(const struct fathom_block_io *io),

	TP_ARGS(io),

	TP_STRUCT__entry(
		__field_as(	uint32_t, "dev_t",	dev	)
		__field_as(	uint64_t, "sector_t",	sector	)
		__field(	unsigned int,	nr_sector	)
		__field(	unsigned int,	bytes		)
		__array(	char,		rwbs,	8	)
		__array(	char,		comm,	16	)
		__dynamic_array(	char,	cmd,	1	)
	),

	TP_fast_assign(
		__entry->dev = io->dev;
		__entry->sector = io->sector;
		__entry->nr_sector = io->bytes >> 9;
		__entry->bytes = io->bytes;
		fathom_block_letters(__entry->rwbs, io);
		__get_str(cmd)[0] = '\0';
		fathom_assign_comm(__entry->comm, io->comm);
	),

	TP_printk("%d,%d %s %u (%s) %llu + %u [%s]",
		  fathom_block_major(__entry->dev), fathom_block_minor(__entry->dev), __entry->rwbs, __entry->bytes,
		  __get_str(cmd), (unsigned long long)__entry->sector, __entry->nr_sector, __entry->comm)
);

DEFINE_EVENT(fathom_block_rq, block_rq_insert, TP_PROTO(const struct fathom_block_io *io), TP_ARGS(io));
#define trace_block_rq_insert(...) FATHOM_CALL(block_rq_insert, __VA_ARGS__)
DEFINE_EVENT(fathom_block_rq, block_rq_issue, TP_PROTO(const struct fathom_block_io *io), TP_ARGS(io));
#define trace_block_rq_issue(...) FATHOM_CALL(block_rq_issue, __VA_ARGS__)
DEFINE_EVENT(fathom_block_rq, block_rq_merge, TP_PROTO(const struct fathom_block_io *io), TP_ARGS(io));
#define trace_block_rq_merge(...) FATHOM_CALL(block_rq_merge, __VA_ARGS__)

DECLARE_EVENT_CLASS(fathom_block_rq_completion,

	TP_PROTO(const struct fathom_block_io *io),

	TP_ARGS(io),

	TP_STRUCT__entry(
		__field_as(	uint32_t, "dev_t",	dev	)
		__field_as(	uint64_t, "sector_t",	sector	)
		__field(	unsigned int,	nr_sector	)
		__field(	int,		error		)
		__array(	char,		rwbs,	8	)
		__dynamic_array(	char,	cmd,	1	)
	),

	TP_fast_assign(
		__entry->dev = io->dev;
		__entry->sector = io->sector;
		__entry->nr_sector = io->bytes >> 9;
		__entry->error = io->error;
		fathom_block_letters(__entry->rwbs, io);
		__get_str(cmd)[0] = '\0';
	),

	TP_printk("%d,%d %s (%s) %llu + %u [%d]",
		  fathom_block_major(__entry->dev), fathom_block_minor(__entry->dev), __entry->rwbs, __get_str(cmd),
		  (unsigned long long)__entry->sector, __entry->nr_sector, __entry->error)
);

DEFINE_EVENT(fathom_block_rq_completion, block_rq_complete, TP_PROTO(const struct fathom_block_io *io), TP_ARGS(io));
#define trace_block_rq_complete(...) FATHOM_CALL(block_rq_complete, __VA_ARGS__)
DEFINE_EVENT(fathom_block_rq_completion, block_rq_error, TP_PROTO(const struct fathom_block_io *io), TP_ARGS(io));
#define trace_block_rq_error(...) FATHOM_CALL(block_rq_error, __VA_ARGS__)

TRACE_EVENT(block_rq_requeue,

	TP_PROTO(const struct fathom_block_io *io),

	TP_ARGS(io),

	TP_STRUCT__entry(
		__field_as(	uint32_t, "dev_t",	dev	)
		__field_as(	uint64_t, "sector_t",	sector	)
		__field(	unsigned int,	nr_sector	)
		__array(	char,		rwbs,	8	)
		__dynamic_array(	char,	cmd,	1	)
	),

	TP_fast_assign(
		__entry->dev = io->dev;
		__entry->sector = io->sector;
		__entry->nr_sector = io->bytes >> 9;
		fathom_block_letters(__entry->rwbs, io);
		__get_str(cmd)[0] = '\0';
	),

	TP_printk("%d,%d %s (%s) %llu + %u [%d]",
		  fathom_block_major(__entry->dev), fathom_block_minor(__entry->dev), __entry->rwbs, __get_str(cmd),
		  (unsigned long long)__entry->sector, __entry->nr_sector, 0)
);
#define trace_block_rq_requeue(...) FATHOM_CALL(block_rq_requeue, __VA_ARGS__)

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH fathom/events
#include "fathom/define_trace.h"
