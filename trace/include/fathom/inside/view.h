/* SPDX-License-Identifier: MIT */
/* view.h -- the records of all CPUs merged by time, as the lines that Linux's `trace` and `trace_pipe` show. */
#ifndef FATHOM_VIEW_H
#define FATHOM_VIEW_H

#include "fathom/inside/ring.h"
#include "fathom/trace.h"
#include "wire/text_graph.h"
#include "wire/text_line.h"

#define FATHOM_VIEW_RECORD_MAX WIRE_PAGE_BYTES

enum fathom_view_flags {
	FATHOM_VIEW_CONSUME = 1, /* trace_pipe: what is shown is gone */
};

struct fathom_view;

/* A layout of its own. There is one, fathom_view_graph: calls drawn as a tree. */
struct fathom_view_graph {
	size_t bytes_per_cpu;
	void (*start)(struct fathom_view *v, void *per_cpu);
	void (*header)(struct fathom_text *t, const struct fathom_text_view *view,
		       const struct fathom_text_head *head);
	void (*entry)(struct fathom_view *v, struct fathom_text *out,
		      const struct fathom_text_entry *e);
};
extern const struct fathom_view_graph fathom_view_graph;

/* How ring time is shown. Zero: as nanoseconds. */
enum fathom_clock_unit {
	FATHOM_CLOCK_NS,
	FATHOM_CLOCK_TICKS, /* as the ring has it */
	FATHOM_CLOCK_CENTS, /* hundredths of a second */
};
struct fathom_clock {
	uint32_t unit;
	uint64_t offset; /* added to nanoseconds */
};
uint64_t fathom_clock_time(const struct fathom_clock *c, uint64_t ticks);

/* What is to be shown. Members may be zero but for the rings. */
struct fathom_view_config {
	struct fathom_ring *const
		*rings; /* one per CPU: the live ones, a snapshot's, an instance's */
	uint32_t nr_cpus;
	int32_t cpu;			       /* this one only; -1: all */
	uint32_t flags;			       /* enum fathom_view_flags */
	uint32_t options;		       /* enum fathom_text_option */
	const struct fathom_view_graph *graph; /* &fathom_view_graph: the function_graph layout */
	const char *tracer;
	struct fathom_clock clock;
	uint64_t start; /* ring time of the last clear */
	uint64_t from;	/* records before this ring time are left out: what latency tracers kept */
	const struct fathom_text_banner *banner; /* for the latency form */
	/* Name of a task, NULL if unknown; 0: config.task_name of fathom_init(). buf may be used. */
	const char *(*comm)(int32_t pid, char buf[16]);
	int32_t (*tgid)(int32_t pid); /* 0: config.task_group */
};

struct fathom_view_cpu {
	struct fathom_ring_iter it;
	struct fathom_record rec; /* next of this CPU */
	uint64_t time;	  /* its time as shown: records are ordered by it, so ties go as in Linux */
	uint64_t skipped; /* records before config.from */
	uint8_t has;	  /* rec is valid */
	uint8_t started;  /* a line of this CPU was shown */
};

/* One reading. Large: lives in memory the caller gives, never on a stack. */
struct fathom_view {
	struct fathom_view_config config;
	struct fathom_text_view text;
	struct fathom_graph graph;
	char graph_comm[16];
	struct fathom_view_cpu *cpus;
	uint64_t shown; /* entries so far */
	uint32_t cpu;	/* the entry at hand */
	uint32_t bytes;
	uint64_t time, lost;
	uint8_t overrun; /* records were overwritten: annotate says where a CPU starts */
	char tmp[1024];	 /* of print helpers */
	uint64_t record[FATHOM_VIEW_RECORD_MAX / 8];
};

/* Bytes of memory that fathom_view_init() needs. */
size_t fathom_view_bytes(const struct fathom_view_config *config);
/* Starts at the oldest record. `mem` is 8-aligned. NULL if `bytes` is too small. Context: any. */
struct fathom_view *fathom_view_init(void *mem, size_t bytes,
				     const struct fathom_view_config *config);
/* The block above the first line; `trace_pipe` has none. */
void fathom_view_header(struct fathom_view *v, struct fathom_text *out);
/* The next entry's text, whole lines; 1, or 0 at the end (a consuming view may have more later). */
int fathom_view_next(struct fathom_view *v, struct fathom_text *out);

/* For layouts: a task's name (NULL: unknown), and on to the next record of a CPU. */
const char *fathom_view_comm(const struct fathom_view *v, int32_t pid, char buf[16]);
void fathom_view_advance(struct fathom_view *v, uint32_t cpu);

/* The words of the record from offset `at` on, to be put as numbers: here nobody knows what they mean. (text.c) */
void fathom_view_args(struct fathom_view *v, uint32_t at, struct fathom_text_args *args);

/* The event's own text as the options ask, with the line's end: what stands behind the columns. (text.c) */
void fathom_view_body(struct fathom_view *v, struct fathom_text *out);

#endif
