/* SPDX-License-Identifier: MIT */
/* source.h -- the one interface of every trace format: schemas, streams of events, times, symbols, tasks. */
#ifndef DECODE_SOURCE_H
#define DECODE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decode/format.h"
#include "decode/loss.h"
#include "decode/names/names.h"
#include "decode/names/protos.h"

/*
 * A source is an opened trace. What it is made of:
 *
 *   source ─┬─ schemas    one per event type: the text of a Linux `format` file, parsed on first use
 *           ├─ buffers    trace instances; the first is the main one (name "")
 *           │    └─ streams    one per CPU (or thread, component ...) of a buffer, numbered over the whole source
 *           │         └─ blocks    pieces that can be decoded alone: a ring page, a run of lines, a dump block
 *           └─ names      symbols, tasks, printk formats, prototypes of functions
 *
 * No view knows a format: a view opens a source, looks events up by the *names* of schema and fields and walks streams,
 * alone (struct cursor) or in the order of time (struct merge). A format that is not Linux's makes up format texts for
 * its events, so that every view, filter and converter works on it; where the meaning is Linux's it uses Linux's names
 * and fields, because views look for them:
 *
 *   ftrace:function         ip, parent_ip                 a function was entered
 *   ftrace:funcgraph_entry  func, depth                   ... and its return will be reported
 *   ftrace:funcgraph_exit   func, calltime (0: not known), rettime, depth
 *   ftrace:kernel_stack     size, caller[]                the stack at the event before it on the CPU
 *   ftrace:print            ip, buf                       text
 *   sched:sched_switch      prev_comm, prev_pid, prev_state, next_comm, next_pid ...
 *
 * Records begin with Linux's common fields (u16 type, u8 flags, u8 preempt_count, s32 pid: wire/record.h) in the byte
 * order of the source; SOURCE_COMMON below is their text.
 *
 * Invariants:
 *   S1  After open a source is read-only but for tables built on first use, which are locked. Any number of cursors
 *       may be used by any number of threads, each cursor by one thread at a time.
 *   S2  An event's data stays valid until the next call on the same cursor (for a merge: until the stream that the
 *       event came from is advanced, that is, until the next merge_next()).
 *   S3  A cursor goes on after damage: it skips what it cannot read and notes it with source_damage().
 *   S4  Events of a stream come in the order they were written. Times may step back in damaged or odd traces; the order
 *       of a merge is then still defined: always the stream whose next event has the smallest time.
 *   S5  The blocks of a stream are numbered 0 .. nr_blocks-1 in stream order; seeking to a block is cheap.
 */

struct source;
struct cursor;

/* A place in a stream: the event number `skip` (from 0) of a block. Ordered by (block, skip). */
struct position {
	uint64_t block;
	uint64_t skip;
};

/* `lost` of an event when the number is not known. */
#define LOST_UNKNOWN UINT64_MAX

struct event {
	uint64_t time; /* in the unit of source.clock, after every correction the trace asks for */
	const uint8_t *data; /* the record, common fields first; see S2 */
	uint32_t size;	     /* of the record in bytes; may have padding after the last field */
	uint32_t stream;
	uint32_t cpu;
	int32_t pid;   /* common_pid */
	uint32_t type; /* schema id: common_type */
	/* events lost on this stream right before this one: 0, a number or LOST_UNKNOWN */
	uint64_t lost;
	/* of the record in the file; in a compressed part: of the compressed chunk */
	uint64_t offset;
	struct position at;
};

struct schema {
	uint32_t id;
	uint32_t order; /* in which they were added */
	char *system;
	char *name;
	const char *
		alias; /* what the format's own tools call it, for --type and --summary; NULL: nothing else */
	const char *text; /* the format file's text, not NUL-terminated */
	size_t text_bytes;
	bool owned;	       /* the text was allocated for this schema */
	bool broken;	       /* parsing failed, and the damage was noted */
	struct format *format; /* NULL until source_format() */
};

/* The common fields, to begin a made-up format text with: printf(name, id), then own fields at offset 8 and up. */
#define SOURCE_COMMON                                                                  \
	"name: %s\nID: %u\nformat:\n"                                                  \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

struct stream {
	uint32_t buffer; /* index into source.buffers */
	uint32_t cpu;
	uint64_t nr_blocks;
	uint64_t bytes;	 /* of event data, decompressed; for rates and progress */
	uint64_t offset; /* in the file */
	bool counted;	 /* the recorder counted all that this stream lost: decode/loss.h */
	/* When it was recorded, where that is not as long as the trace: of traces that were joined. to 0: not known. */
	uint64_t recorded_from, recorded_to;
};

struct trace_buffer {
	char *name;  /* "" is the main one */
	char *clock; /* "local", "mono", "x86-tsc" ...; "" if not known */
	uint32_t first_stream, nr_streams;
	uint32_t page_bytes; /* of a ring page, 0 if there are none */
	/* a latency trace that was saved as text: no streams, print it as it is */
	const char *text;
	size_t text_bytes;
};

enum clock_unit {
	CLOCK_NS,
	CLOCK_TICKS, /* of unknown length: printed as plain numbers */
};

/* What the trace says about itself. Strings are "" where it says nothing. */
struct source_info {
	char *uname;
	char *version; /* of the program that wrote it */
	char *ended;   /* how the recording ended: one line */
	char *cpustat; /* per_cpu/cpuN/stats, one after another */
	char *tracer;  /* "function_graph" ... */
	char *options; /* trace_options, one per line */
	uint32_t nr_cpus;
	int64_t date_offset; /* add to a time to get the time of day (option DATE) */
	bool has_date;
	uint64_t trace_id;
	uint32_t file_version; /* 6 or 7 for trace.dat, else 0 */
	char *compression;     /* "zstd", "zlib", "none" or "" */
};

enum source_text {
	SOURCE_KALLSYMS,
	SOURCE_PRINTK,
	SOURCE_CMDLINES,
	SOURCE_HEADER_PAGE,
	SOURCE_HEADER_EVENT,
	SOURCE_NR_TEXTS,
};

/* One piece of damage: where, how much is not readable because of it, what was expected. */
struct damage {
	uint64_t offset;
	uint64_t bytes;
	char what[120];
};

#define SOURCE_DAMAGE_MAX 1000 /* kept; more are counted */

struct source {
	const struct source_ops *ops;
	char *path; /* as given: for messages, and to find files beside it */
	char *file; /* to open it once more; of a pipe, what it gave is kept in a nameless file */
	int spool;  /* that file, or -1 */
	void *priv; /* of the format */
	bool big_endian;
	uint32_t long_bytes; /* of the traced kernel */
	enum clock_unit unit;
	bool cpu_stacks; /* the kernel has one stack per CPU: calls nest there, not in a task */
	struct source_info info;

	struct schema *schemas; /* sorted by id after open */
	size_t nr_schemas;
	struct trace_buffer *buffers;
	size_t nr_buffers;
	struct stream *streams;
	size_t nr_streams;

	struct symbols *symbols; /* decode/names/names.h; filled by source_want_names() */
	struct tasks *tasks;
	struct printks *printks;
	struct protos *protos; /* filled by source_proto() */
	bool have_names, have_symbols, have_texts, have_protos;
	struct {
		const char *text; /* NULL: make it from the tables */
		size_t bytes;
	} texts[SOURCE_NR_TEXTS];	    /* after source_want_texts() */
	bool given_symbols, given_cmdlines; /* by option, instead of the trace's own */

	struct damage *damage;
	size_t nr_damage;      /* kept */
	uint64_t damage_total; /* noted */
	uint64_t damage_bytes; /* not readable */

	struct source_extra *extras;
	size_t nr_extras;

	struct loss *stated; /* what the trace says it lost, without saying where */
	size_t nr_stated;

	const uint8_t *map; /* the file, when it is one regular file */
	uint64_t map_bytes;
	uint64_t map_room; /* of a file that grows: address space that is kept for it; else 0 */
	struct slim *slim; /* scheduler events without names: decode/slim.h; NULL: none */
	void *lock;	   /* of the tables built on first use */
	const struct schema **by_id; /* ids < SOURCE_ID_FAST */
};

#ifndef SOURCE_ID_FAST /* smaller where many sources are opened: fuzz targets */
#define SOURCE_ID_FAST 65536u
#endif

/* What a command may pass to a format; a NULL member was not given. Every format ignores what it does not need. */
struct source_options {
	const char *as; /* name of the format: do not probe */
	const char *
		formats; /* directory of format files: events/SYSTEM/EVENT/format or SYSTEM-EVENT.format; or a .tar.gz of it */
	const char *symbols;  /* kallsyms, System.map, an ELF file or a directory of symbol files */
	const char *cmdlines; /* saved_cmdlines */
	const char *types;    /* ELF file with DWARF, or BTF: arguments of functions */
	const char *
		meta; /* the file that describes the trace, where it is not beside it under its usual name */
	uint32_t run;	     /* of a log with several: 1 + its number; 0 is all of them */
	bool inlines, lines; /* frames: functions that were inlined; file:line after each name */
	bool quiet; /* no message when the file cannot be opened: the return value says why */
	uint64_t
		grows; /* it is still being recorded, and this many bytes of it are complete; 0: it is not */
};

/* What probe() sees: the first bytes of a file, or only a path if it is a directory. */
struct source_probe {
	const char *path;
	const uint8_t *head; /* NULL for a directory */
	size_t head_bytes;   /* up to 64 KiB */
	uint64_t bytes;	     /* of the file */
	bool directory;
};

/* Names after the path's last dot, without it; "" if there is none. */
const char *source_suffix(const char *path);

/*
 * What a run of blocks of one stream holds. Zero it, give it tables, scan block after block: each adds. A loss before the
 * first event of the run has from == to, as the time of the event before it is not known here.
 */
struct tally {
	uint64_t nr_events;
	uint64_t first_time, last_time, max_time;
	bool want_first; /* set first_time to the time of the next event, although it is not the first */
	uint64_t *by_type;	 /* [SOURCE_ID_FAST]; types beyond are counted in [0] */
	struct pid_counts *pids; /* NULL: not wanted */
	struct losses *losses;
};

/* Before the events of a block are added: the time of the first of them. */
static inline void tally_first(struct tally *out, uint64_t time)
{
	if (out->nr_events && !out->want_first)
		return;
	out->first_time = time;
	out->want_first = false;
}

/* What ops.names() loads: */
enum source_names {
	SOURCE_TASKS,	/* into s->tasks and s->printks; s->symbols too if they are few */
	SOURCE_SYMBOLS, /* into s->symbols */
	SOURCE_TEXTS,	/* into s->texts: to be written into another trace */
	SOURCE_PROTOS,	/* into s->protos: what types the trace carries */
};

/*
 * A format's own index: a back end of the store, which alone calls it.
 */
struct source_index {
	/* Stand all cursors of the merge before the event number n of all, or the n-th of a type. 0, -ENOENT (there are not so
	 * many) or -ENOTSUP (the type has no list). */
	int (*seek_number)(struct source *s, struct cursor **cursors, uint64_t n);
	int (*seek_type)(struct source *s, struct cursor **cursors, uint32_t type, uint64_t n);
	/* The number of events, of a type (or UINT32_MAX: all), without reading them. */
	uint64_t (*count)(struct source *s, uint32_t type);
	/* Write it to `path`, rebuilt if `force`; *written says whether it was needed. 0 or a negative errno. NULL: it is
	 * not kept in a file. */
	int (*write)(struct source *s, const char *path, bool force, bool *written);
	/* The line this format's own tools would print for the event, with its number; bytes written, or -1: it has none. */
	int (*print)(struct source *s, const struct event *e, char *buf, size_t size);
};

/* The name of a stack's frame, where an address alone does not say whose it is. Inlined functions follow, each after a ';'. */
struct source_label {
	const char *text;
	uint32_t bytes;
	bool kernel;
};

struct source_writing {
	const char *in, *out;
	const struct source_options *options;
	bool fresh;   /* files that exist already are an error */
	bool per_cpu; /* also a file for each CPU, where the form has such files */
};

/* A form that a format can write its own traces in. `fathom convert` offers it beside those that every trace has. */
struct source_form {
	const char *name; /* also the suffix */
	const char *what; /* for help */
	bool only_file;	  /* it needs a file, not the standard output */
	bool from_file; /* write() reads the file itself: it may be too damaged to be opened; `s` is NULL */
	/* 0, or a negative errno with a message. */
	int (*write)(struct source *s, const struct source_form *form,
		     const struct source_writing *w);
};

/* What only some formats offer. Every member may be NULL. */
struct source_own {
	const struct source_index *index; /* the store uses it instead of building one */
	const struct source_form *forms;  /* the last has no name */
	/* Of a stack record (ftrace:kernel_stack): the time in ns that it stands for. */
	uint64_t (*stack_time)(struct source *s, const struct event *e);
	/* ... and the label of a frame in it. Valid until close. Any thread. */
	const struct source_label *(*stack_label)(struct source *s, const struct event *e,
						  uint64_t addr);
	/* Write the symbols of every program in the trace into a folder. How many files, or a negative errno. */
	int (*save_symbols)(struct source *s, const char *dir);
};

/* What a trace.dat says beside its events; other formats may add what they know, in trace.dat's numbers and layout. */
struct source_extra {
	uint16_t id; /* option */
	uint32_t bytes;
	const uint8_t *data; /* in the map or in memory that lives as long as the source */
};

/* Which files beside the trace a format can use. */
enum {
	SOURCE_TAKES_SYMBOLS = 1,  /* its events have addresses */
	SOURCE_TAKES_TABLES = 2,   /* a folder of symbol tables, which it reads itself */
	SOURCE_TAKES_CMDLINES = 4, /* its events have pids but no names */
	SOURCE_TAKES_FORMATS = 8,
	SOURCE_TAKES_META = 16,
};

struct source_ops {
	const char *name; /* "trace.dat": for --as and messages */
	const char *what; /* "Linux trace.dat, versions 6 and 7": for help */
	unsigned takes;	  /* SOURCE_TAKES_... */
	/* 0 not mine, 1..49 perhaps (by suffix), 50..99 likely, 100 sure (magic number). Must not trust the file. */
	int (*probe)(const struct source_probe *p);
	/*
	 * s->path, map and map_bytes are set. Fills schemas (source_add_schema), buffers, streams, clock, info. Returns
	 * 0 or a negative errno; the message, with the place, is the format's duty (diag_at). Must be cheap: read headers,
	 * not events. On error close() is called.
	 */
	int (*open)(struct source *s, const struct source_options *o);
	void (*close)(struct source *s); /* frees priv; the rest is freed by source_close() */

	/* A cursor of `cursor_bytes` (struct cursor first) stands at block 0 after init. */
	size_t cursor_bytes;
	int (*cursor_init)(struct cursor *c);
	void (*cursor_fini)(struct cursor *c); /* may be NULL */
	/* Stand before the first event of the block; nr_blocks is the end. */
	void (*seek)(struct cursor *c, uint64_t block);
	/* False at the end of the stream. Fills every member of *e. */
	bool (*next)(struct cursor *c, struct event *e);
	/* A time not later than the first event of the block, and cheap. */
	uint64_t (*block_time)(struct source *s, uint32_t stream, uint64_t block);

	/* All below may be NULL. */

	/* The next events, up to `max`, as if next() were called for each; but the data of all stays valid until the next call.
	 * 0 only at the end of the stream. */
	uint32_t (*next_run)(struct cursor *c, struct event *e, uint32_t max);
	/* Load what the trace carries of one kind; called once for each kind, when it is first needed, under the source's lock. */
	void (*names)(struct source *s, enum source_names what);
	/* Add the events of a block to a tally, faster than next() does. */
	void (*tally)(struct cursor *c, uint64_t block, struct tally *out);
	/*
	 * Work that next() would do can be done before it by others, in portions. With `expect`, which is called once and
	 * by one thread: make ready for distances up to this one. Afterwards any thread may call it while one walks: it does
	 * the portion that is needed `distance` (1 ...) portions later than the one in use. False: it is done, or there is
	 * none.
	 */
	bool (*ahead)(struct cursor *c, unsigned distance, bool expect);
	/* Take in what the file has beyond what was read of it; map_bytes is the new size. 0 or -ENOMEM. */
	int (*grow)(struct source *s);
	/* A block as the ring page it is, to be copied as it is; NULL: there is none. Valid until the next call on the cursor. */
	const uint8_t *(*page)(struct cursor *c, uint64_t block, uint32_t *bytes);
	const struct source_own *own;
};

/* The index of a format that has one; NULL: the store builds one. */
static inline const struct source_index *source_index(const struct source *s)
{
	return s->ops->own ? s->ops->own->index : NULL;
}

/* What a format's cursor begins with. The format keeps `next` up to date: the position of the event to come. */
struct cursor {
	struct source *source;
	uint32_t stream;
	uint32_t cpu;
	struct position next;
};

/* ---- opening ---- */

/* 0, or a negative errno with a message printed: missing, a directory, empty, unknown format. `o` may be NULL. */
int source_open(const char *path, const struct source_options *o, struct source **out);
/*
 * Of a source that was opened with `grows`: the file is whole up to `bytes` by now. Streams get more blocks; cursors that were at
 * their end go on. No other thread may use the source meanwhile. 0 or a negative errno.
 */
int source_grow(struct source *s, uint64_t bytes);
void source_close(struct source *s);
/* How sure the most likely format is of the file, 0 to 100, as probe() says. 0 for streams, which are not read for this. */
int source_likely(const char *path, const struct source_options *o);
/* The form that the format of an opened trace can be written in; NULL: there is none of that name. */
const struct source_form *source_form(const struct source *s, const char *name);
/* The same for a file that is not open, if the form is written from the file itself. */
const struct source_form *source_file_form(const char *path, const struct source_options *o,
					   const char *name);
/* The forms of all formats, one by one; NULL at the end. */
const struct source_form *source_form_at(size_t i);
/* Is it the text of a latency tracer, without events? */
bool source_is_text(const struct source *s);

/* A source that is made of others instead of a file: fill it as open() would, then finish it. NULL: out of memory. */
struct source *source_new(const char *path, const struct source_ops *ops);
int source_finish(struct source *s);

/* ---- for formats, while opening ---- */

/* The text is kept by reference (it lies in the map) unless `copy`. Name and id are read from the text. 0 or -EINVAL. */
int source_add_schema(struct source *s, const char *system, const char *text, size_t bytes,
		      bool copy);
struct trace_buffer *source_add_buffer(struct source *s, const char *name, const char *clock);
/* Adds to the buffer added last. */
struct stream *source_add_stream(struct source *s, uint32_t cpu);
/* Remember an option for writers; `data` is kept by reference. */
void source_add_extra(struct source *s, uint16_t id, const uint8_t *data, uint32_t bytes);
/* Note damage at a place of the file: any thread, any time. Equal notes at the same offset count once. */
void source_damage(struct source *s, uint64_t offset, uint64_t bytes, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * The trace says that `count` events (LOSS_CALLS: calls) of a stream, or of LOSS_ALL, were lost; UINT64_MAX: not known how
 * many. If it counts every way of losing one, set stream.counted too.
 */
void source_state_loss(struct source *s, uint32_t stream, enum loss_cause cause, uint64_t count,
		       enum loss_bound bound);

/* ---- looking things up: any thread ---- */

const struct schema *source_schema(const struct source *s, uint32_t id);
/* The parsed format of a type; NULL if the id is unknown or its text is broken. */
const struct format *source_format(struct source *s, uint32_t id);
/* By "name" or "system:name" ("system/name" too); NULL if there is none. */
const struct schema *source_schema_named(const struct source *s, const char *name);
/* "sched_switch", or "" for an unknown id. */
const char *source_event_name(const struct source *s, uint32_t id);
/* sidefiles.c: what the options name is there and of use; load what every format loads alike. 0 or a negative errno. */
int sidefiles_check(const struct source *s, const struct source_options *o);
int sidefiles_load(struct source *s, const struct source_options *o);
/* Load all names now (else the first lookup of a kind does); needed before s->symbols ... are used directly. */
void source_want_names(struct source *s);
/* Load s->texts. */
void source_want_texts(struct source *s);
bool source_symbol(struct source *s, uint64_t addr, struct symbol *out);
/* The version of the Linux that was traced: 6017 for 6.17; 0 if it is not Linux or not known. */
uint32_t source_kernel(const struct source *s);
/* "<idle>" for 0, "<...>" if not known: never NULL. */
const char *source_comm(struct source *s, int32_t pid);
/* The thread group; -1 if not known. */
int32_t source_tgid(struct source *s, int32_t pid);
/* What the function that begins at the address takes and gives; NULL: not known. */
const struct proto *source_proto(struct source *s, const char *name, uint64_t addr);
/* Text at an address of the traced program, as its file has it; NULL: none is known there. */
const char *source_program_text(struct source *s, uint64_t addr, size_t max, size_t *len);
/* A field that is a number of 1, 2, 4 or 8 bytes, by name. False: the event has none such, or its record is cut. */
bool source_field(struct source *s, const struct event *e, const char *name, uint64_t *out);
/* The text of a trace_printk() format or string that lies at the address; NULL if not known. */
const char *source_printk(struct source *s, uint64_t addr);

/* ---- walking one stream ---- */

struct cursor *cursor_open(struct source *s, uint32_t stream);
void cursor_close(struct cursor *c);

static inline bool cursor_next(struct cursor *c, struct event *e)
{
	return c->source->ops->next(c, e);
}

void cursor_seek(struct cursor *c, struct position at);
/* So that the next event is the first whose time is >= t (of the events after a block that is known to be earlier). */
void cursor_seek_time(struct cursor *c, uint64_t t);
/* Add one event to a tally: for ops.tally of formats that have no faster way. */
void tally_add(struct cursor *c, const struct event *e, struct tally *out);
/* Add the events of a block to a tally; the cursor's place is lost. */
void cursor_tally(struct cursor *c, uint64_t block, struct tally *out);

/* ---- walking in the order of time ---- */

/*
 * The k-way merge of streams: smallest time first, ties to the lowest stream, as trace-cmd does. Give the streams of one
 * buffer or of all. `number` counts from where the merge began, or from what a seek by number set.
 */
struct merge {
	struct source *source;
	struct cursor **cursors;
	struct merge_run *runs; /* per slot: events read from its cursor, up to the next to give */
	struct merge_run
		*run;	 /* of the event given last, which is run->at; else one without events */
	uint32_t *heap;	 /* stream slots, the next one to give first */
	uint64_t *keys;	 /* time of each slot's next event; not kept up for the one given last */
	uint64_t bound;	 /* events of `run` before this time come before those of all other slots */
	uint64_t number; /* of the event that merge_next() gives next */
	uint32_t nr_heap;
	uint32_t nr;
	/* slot of the event given last: advanced by the next call, so that its data stays valid */
	uint32_t given;
	uint32_t peeked; /* slot of the event merge_peek() returned */
	uint32_t ahead;	 /* portions that merge_help() may do per cursor */
	uint32_t turn;	 /* about this many of them are one thread's turn */
	/* The next block to read of a stream, from this one on; NULL: all are read */
	uint64_t (*skip)(void *arg, uint32_t stream, uint64_t block);
	void *skip_arg;
};

#define MERGE_RUN  16u
#define MERGE_NONE UINT32_MAX

struct merge_run {
	const struct event *at, *end;
	struct event events[MERGE_RUN];
};

/* keep(stream) says which streams take part; NULL: all. NULL when out of memory. */
struct merge *merge_open(struct source *s,
			 bool (*keep)(const struct source *s, uint32_t stream, void *arg),
			 void *arg);
void merge_close(struct merge *m);
const struct event *merge_next_slow(struct merge *m);

/* The event that merge_next() gives next, if it comes from the stream of the last and has been read already. NULL says
 * nothing. */
static inline const struct event *merge_near(const struct merge *m)
{
	const struct event *e = m->run->at + 1;

	return e < m->run->end && e->time < m->bound ? e : NULL;
}

/* The next event, or NULL at the end. Most come from the stream of the event before. */
static inline const struct event *merge_next(struct merge *m)
{
	const struct event *e = merge_near(m);

	if (!e)
		return merge_next_slow(m);
	m->run->at = e;
	m->number++;
	return e;
}

/* Take the last event back: the next call gives it again. Only right after a merge_next() that gave one. */
void merge_unget(struct merge *m);
/*
 * Look ahead: the event that follows the one given last on the same stream, NULL if it was the last. It is given in its
 * turn unless merge_drop() takes it away. The data of the event given last is gone; merge_unget() is not possible.
 */
const struct event *merge_peek(struct merge *m);
/* The same over all streams of the buffer that the event given last came from: the next of them by time. */
const struct event *merge_peek_buffer(struct merge *m);
void merge_drop(struct merge *m);
/*
 * Several threads walk in turns, and those that wait can help: after merge_share(), merge_help() does some of the work of
 * calls to come, the next first; any thread, while another is in merge_next(). merge_prepare() is for what the thread itself
 * will probably read in its next turn: it costs to read what another CPU wrote. False: nothing to do for now.
 */
void merge_share(struct merge *m, uint32_t threads);
bool merge_help(struct merge *m);
bool merge_prepare(struct merge *m);
/* The cursors were moved (cursor_seek ...): read the heads again. */
void merge_restart(struct merge *m);
/* The source has grown: streams that were at their end may have more. */
void merge_resume(struct merge *m);
/* Read only blocks that `skip` names: it gives the next one to read of a stream that is not before `block`. Seek afterwards. */
void merge_skip(struct merge *m, uint64_t (*skip)(void *arg, uint32_t stream, uint64_t block),
		void *arg);
void merge_seek_time(struct merge *m, uint64_t t);
void merge_seek_start(struct merge *m);

#endif
