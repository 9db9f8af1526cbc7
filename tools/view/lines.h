/* SPDX-License-Identifier: MIT */
/* lines.h -- inside tools/view: from events to the lines of trace-cmd report, in batches, on several threads. */
#ifndef VIEW_LINES_H
#define VIEW_LINES_H

#include "query/out.h"
#include "query/printfmt.h"
#include "view/args.h"
#include "view/lookup.h"
#include "view/report.h"
#include "base/idmap.h"

/*
 * The reader walks the merged events and settles everything that depends on order: the name of the task, the depth of a
 * function, whether an entry is a leaf. The threads take turns at it: each fills a batch of items that can be printed by
 * themselves, lets the next one read, and makes the text of its batch. Texts leave in the order of the batches.
 */

/* "            bash-131   [", made once per task. */
struct task_prefix {
	int32_t pid;
	uint8_t len;
	bool unknown;		   /* the name may be learned from a later event */
	char text[48];		   /* of a fixed size, so that copying it is a few moves */
	struct task_prefix *older; /* a name replaced by this one; items may still point to it */
};

struct item;
struct line_writer;

/* How the events of one type are printed. Built by the reader, read by all. */
struct printer {
	const struct schema *schema;
	const struct format *format; /* NULL: unknown */
	struct printfmt *fmt;	     /* NULL: not needed */
	void (*print)(struct line_writer *w, const struct printer *p, const struct item *i);
	/* What the reader must settle: see below. */
	enum {
		ITEM_PLAIN,
		ITEM_FUNCTION,
		ITEM_GRAPH_ENTRY,
		ITEM_GRAPH_EXIT,
		ITEM_SWITCH,
		ITEM_WAKEUP
	} kind;
	const struct format_field *field[8]; /* of the printer's own choice */
	const struct format_field *migrate;  /* common_migrate_disable, on PREEMPT_RT; else NULL */
	/* records of at least this many bytes have the fields that the reader needs in the machine's own form; 0: they do not */
	uint32_t plain;
	uint16_t at[4]; /* of field[0] to [3] then */
	struct args_fields
		more;	/* functions: records of more.need bytes have these, and are kept */
	char head[128]; /* "sched_switch:         " */
	uint8_t head_len;
};

struct item {
	uint64_t time;
	uint64_t lost;
	const struct task_prefix *task;
	const struct printer *printer;
	union {
		const char *name; /* ITEM_FUNCTION: of the function; NULL: not known */
		uint64_t func;	  /* ITEM_GRAPH_ENTRY: its address */
	};
	uint64_t
		value; /* ITEM_FUNCTION: its address; ITEM_GRAPH_EXIT, or ENTRY of a leaf: its duration */
	uint64_t
		returned; /* ITEM_GRAPH_ENTRY of a leaf, if it has_value: what the function returned */
	/* offset in the batch's data, if the record is kept: see item_complete() */
	uint32_t data;
	uint32_t size;
	uint32_t cpu;
	uint32_t stream;
	int32_t pid;
	uint32_t name_len;
	uint16_t depth; /* ITEM_FUNCTION, ITEM_GRAPH_* */
	bool leaf, has_value;
	uint8_t flags, preempt; /* of the record's common fields */
};

#define DEPTH_MAX 512 /* drawn: a record may claim any depth, a line is bounded */

#define BATCH_ITEMS 4096u
#define BATCH_BYTES (1u << 20)	 /* of records, or the one that goes beyond */
#define BATCH_TEXT  (512u << 10) /* for a start */

struct batch {
	struct item *items; /* [BATCH_ITEMS] */
	uint32_t nr;
	uint8_t *data; /* records */
	size_t cap;
	uint32_t used;
	uint64_t number;
	unsigned owner; /* the thread that uses it */
	struct out text;
	struct batch *next;
};

#define LINE_HEAD_MAX 128u

/* A thread that makes text. */
#define ITEM_NO_TIME UINT64_MAX /* a duration that is not known */

struct line_writer {
	const struct report_options *o;
	struct source *source;
	struct lookup lookup;
	struct out *out;
	const uint8_t *data; /* of the item being printed */
	struct line_head { /* "            bash-131   [001]  1234.", as it was in the line before */
		const struct task_prefix *task;
		uint32_t cpu;
		uint32_t len;
		uint64_t second;      /* the first time that is rounded to it, in ns */
		char second_text[24]; /* "  1234." */
		uint32_t second_len;
		char text
			[LINE_HEAD_MAX]; /* up to the flags, or with the second if there are none */
	} head;
	uint32_t blk;	       /* type of the blk tracer's records */
	bool usual;	       /* the columns are those of put_usual() */
	bool flags;	       /* ... with the flags, which trace-cmd shows since 3.4 */
	char letters[256][4];  /* "dNh" of each value of the flags */
	uint32_t buffer_width; /* of the column of buffer names; 0: there is one buffer */
	char scratch[EXPR_SCRATCH_MAX];
	char thousand[1000][4]; /* "000" ... "999" */
};

bool writer_init(struct line_writer *w, struct source *s, const struct report_options *o);
void writer_free(struct line_writer *w);
/* The text of a batch into b->text. */
void writer_run(struct line_writer *w, struct batch *b);
/* Only what the first event says of itself, without the newlines at its end. */
void writer_text(struct line_writer *w, struct batch *b);
struct expr_record writer_record(struct line_writer *w, const struct item *i);

/* `%03u` to a place with room for 20 bytes; how many. */
static inline unsigned writer_cpu(const struct line_writer *w, char *to, uint64_t cpu)
{
	if (cpu >= 1000)
		return out_digits(to, cpu);
	memcpy(to, w->thousand[cpu], 4);
	return 3;
}

/* The reader. */
struct line_reader;
/* `single`: it does not walk, but is given events by reader_one(). */
struct line_reader *reader_new(struct source *s, const struct report_options *o, bool single);
void reader_free(struct line_reader *r);
/* Fill the batch with one event; a call is not joined with its end. False: no memory. */
bool reader_one(struct line_reader *r, struct batch *b, const struct event *e);
/* Fill the batch; false when there is nothing more. */
bool reader_fill(struct line_reader *r, struct batch *b);
/*
 * Several threads take turns at reader_fill(); the others may help with what it will need, or prepare what they will need
 * themselves. See merge_help() and merge_prepare().
 */
void reader_share(struct line_reader *r, uint32_t threads);
/* How far it is, in blocks of all streams that take part. */
void reader_place(const struct line_reader *r, uint64_t *done, uint64_t *total);
bool reader_help(struct line_reader *r);
bool reader_prepare(struct line_reader *r);

/* tasks.c: prefixes by pid. */
struct task_table;
struct task_table *task_table_new(struct source *s);
void task_table_free(struct task_table *t);
const struct task_prefix *task_find_slow(struct task_table *t, int32_t pid);
struct task_table {
	struct source *source;
	struct idmap by_pid;
	const struct task_prefix *last; /* most events come from the task of the event before */
};

static inline const struct task_prefix *task_find(struct task_table *t, int32_t pid)
{
	return t->last && t->last->pid == pid ? t->last : task_find_slow(t, pid);
}

/* An event names a task: kept if the trace does not name it elsewhere. */
void task_learn(struct task_table *t, int32_t pid, const char *comm, size_t bytes);

/* plugins.c: choose how the events of a type are printed. */
void printer_choose(struct printer *p, const struct report_options *o, const struct expr_env *env);
/* A field of the record as a number; 0 if it is not there. */
static inline uint64_t item_number(const struct line_writer *w, const struct item *i,
				   const struct format_field *f)
{
	return expr_field(w->data, i->size, f, w->lookup.env.swap);
}

/* Does the record have arguments, where it returns to, or a value? */
static inline bool item_has_more(const struct printer *p, const struct item *i)
{
	return i->size >= p->more.need;
}

void print_graph_entry(struct line_writer *w, const struct printer *p, const struct item *i);
void print_graph_exit(struct line_writer *w, const struct printer *p, const struct item *i);
/* The event's print fmt. */
void print_format(struct line_writer *w, const struct printer *p, const struct item *i);
/* plugins_more.c */
void print_futex(struct line_writer *w, const struct printer *p, const struct item *i);
void print_tlb_flush(struct line_writer *w, const struct printer *p, const struct item *i);
void print_kvm_exit(struct line_writer *w, const struct printer *p, const struct item *i);
void print_kvm_inject(struct line_writer *w, const struct printer *p, const struct item *i);
void print_kvm_insn(struct line_writer *w, const struct printer *p, const struct item *i);
/* fields.c: what -R and broken print fmts show. */
void print_fields(struct line_writer *w, const struct printer *p, const struct item *i);
void print_broken(struct line_writer *w, const struct printer *p, const struct item *i);

#endif
