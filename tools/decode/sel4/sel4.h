/* SPDX-License-Identifier: MIT */
/* sel4.h -- an opened seL4 trace: one stream per dump, each with its dictionary and index. */
#ifndef DECODE_SEL4_H
#define DECODE_SEL4_H

#include "base/spool.h"
#include "decode/sel4/dump.h"
#include "decode/sel4/index.h"
#include "decode/source.h"

struct sel4_thread {
	uint64_t tcb;
	int32_t pid;
};

struct sel4_trace {
	const uint16_t *words;
	uint64_t nr_words;
	struct sel4_input input;
	struct sel4_index *index;
	bool index_loaded; /* from the file beside the stream */
	struct sel4_dict *dict;
	struct sel4_meta meta;
	uint64_t *gaps;
	struct sel4_thread *threads; /* by TCB */
	size_t nr_threads;
	uint64_t clock_hz;   /* 0: ticks of unknown length, or no timestamps */
	bool task_stacks;    /* each thread has a kernel stack of its own */
	bool stamped;	     /* there are timestamps; else an event's time is its number */
	uint64_t first_time; /* of the events before the first timestamp */
};

struct sel4 {
	struct sel4_trace *traces;
	size_t nr;
	struct sel4_dump *dumps; /* of a console log */
	size_t nr_dumps;
	struct spool words; /* of fixed records */
	int32_t nr_threads; /* of all streams */
};

/* The path of FILE with its suffix, if it has one, replaced: "ftrace.bin" gives "ftrace.meta". The caller frees it. */
char *sel4_path(const char *path, const char *suffix);
/* Time of an event in the source's unit. */
uint64_t sel4_time(const struct sel4_trace *t, const struct sel4_state *st, uint64_t event);
int32_t sel4_pid(const struct sel4_trace *t, uint64_t tcb);

extern const struct source_ops source_sel4;
extern const struct source_ops source_sel4_log;
extern const struct source_ops source_sel4_fixed;

#define SEL4_CALLS_MAX	256u
#define SEL4_STACKS_MAX 256u

/* Open calls, innermost last. */
struct sel4_calls {
	uint64_t tcb;
	int64_t depth;
	uint32_t nr; /* those past SEL4_CALLS_MAX have no time */
	uint64_t time[SEL4_CALLS_MAX];
};

struct sel4_cursor {
	struct cursor c;
	struct sel4_trace *trace;
	struct sel4_state state;
	uint64_t word;
	uint64_t gap_word; /* the gap whose cut words were given already */
	uint64_t head_end,
		head_time; /* up to this word events have the time of the entry to come */
	bool head_known;
	int32_t pid;
	const struct sel4_posting *posting; /* the next event is this one of a list */
	uint32_t posting_type;
	uint32_t *at; /* for scanning */
	uint8_t record[64];
	struct sel4_calls calls;   /* of the kernel's one stack, or of the running thread's */
	struct sel4_calls *stacks; /* of the others, where threads have their own */
	size_t nr_stacks;
};

int sel4_cursor_init(struct cursor *c);
void sel4_cursor_fini(struct cursor *c);
void sel4_cursor_seek(struct cursor *c, uint64_t block);
bool sel4_cursor_next(struct cursor *c, struct event *e);
void sel4_cursor_tally(struct cursor *c, uint64_t block, struct tally *out);
uint64_t sel4_block_time(struct source *s, uint32_t stream, uint64_t block);
int sel4_seek_number(struct source *s, struct cursor **cursors, uint64_t n);
int sel4_seek_type(struct source *s, struct cursor **cursors, uint32_t type, uint64_t n);

#endif
