/* SPDX-License-Identifier: MIT */
/* text_line.h -- the columns of a line of Linux's `trace`, and the header above them, under every option. */
#ifndef WIRE_TEXT_LINE_H
#define WIRE_TEXT_LINE_H

#include "wire/text.h"

/* Linux's trace_options that change the text. A set bit is the option's positive name. */
enum fathom_text_option {
	FATHOM_TEXT_PRINT_PARENT = 1u << 0,
	FATHOM_TEXT_SYM_OFFSET = 1u << 1,
	FATHOM_TEXT_SYM_ADDR = 1u << 2,
	FATHOM_TEXT_VERBOSE = 1u << 3,
	FATHOM_TEXT_RAW = 1u << 4,
	FATHOM_TEXT_HEX = 1u << 5,
	FATHOM_TEXT_BIN = 1u << 6,
	FATHOM_TEXT_ANNOTATE = 1u << 7,
	FATHOM_TEXT_SYM_USEROBJ = 1u << 8,
	FATHOM_TEXT_PRINTK_MSG_ONLY = 1u << 9,
	FATHOM_TEXT_CONTEXT_INFO = 1u << 10,
	FATHOM_TEXT_LATENCY = 1u << 11,
	FATHOM_TEXT_RECORD_TGID = 1u << 12,
	FATHOM_TEXT_IRQ_INFO = 1u << 13,
	FATHOM_TEXT_GRAPH_OVERRUN = 1u << 14,
	FATHOM_TEXT_GRAPH_CPU = 1u << 15,
	FATHOM_TEXT_GRAPH_OVERHEAD = 1u << 16,
	FATHOM_TEXT_GRAPH_PROC = 1u << 17,
	FATHOM_TEXT_GRAPH_DURATION = 1u << 18,
	FATHOM_TEXT_GRAPH_ABSTIME = 1u << 19,
	FATHOM_TEXT_GRAPH_RELTIME = 1u << 20, /* set by latency tracers that draw a graph */
	FATHOM_TEXT_GRAPH_IRQS = 1u << 21,
	FATHOM_TEXT_GRAPH_TAIL = 1u << 22,
	FATHOM_TEXT_GRAPH_RETVAL = 1u << 23,
	FATHOM_TEXT_GRAPH_RETVAL_HEX = 1u << 24,
	FATHOM_TEXT_GRAPH_RETADDR = 1u << 25,
};

#define FATHOM_TEXT_GRAPH_DEFAULT                                                          \
	(FATHOM_TEXT_GRAPH_CPU | FATHOM_TEXT_GRAPH_OVERHEAD | FATHOM_TEXT_GRAPH_DURATION | \
	 FATHOM_TEXT_GRAPH_IRQS)
/* What the latency tracers show instead when they draw a graph; the irqsoff family draws no marks and hides interrupts. */
#define FATHOM_TEXT_GRAPH_CRITICAL                                                    \
	(FATHOM_TEXT_GRAPH_CPU | FATHOM_TEXT_GRAPH_PROC | FATHOM_TEXT_GRAPH_RELTIME | \
	 FATHOM_TEXT_GRAPH_DURATION)
#define FATHOM_TEXT_GRAPH_WAKEUP \
	(FATHOM_TEXT_GRAPH_CRITICAL | FATHOM_TEXT_GRAPH_OVERHEAD | FATHOM_TEXT_GRAPH_IRQS)
#define FATHOM_TEXT_GRAPH_ALL                                                               \
	(FATHOM_TEXT_GRAPH_WAKEUP | FATHOM_TEXT_GRAPH_OVERRUN | FATHOM_TEXT_GRAPH_ABSTIME | \
	 FATHOM_TEXT_GRAPH_TAIL | FATHOM_TEXT_GRAPH_RETVAL | FATHOM_TEXT_GRAPH_RETVAL_HEX | \
	 FATHOM_TEXT_GRAPH_RETADDR)
#define FATHOM_TEXT_DEFAULT                                                           \
	(FATHOM_TEXT_PRINT_PARENT | FATHOM_TEXT_ANNOTATE | FATHOM_TEXT_CONTEXT_INFO | \
	 FATHOM_TEXT_IRQ_INFO | FATHOM_TEXT_GRAPH_DEFAULT)

/* What the flags column shows: the meaning of bit 0x02 has changed, and PREEMPT_RT has columns of its own. */
enum fathom_text_columns {
	FATHOM_TEXT_FLAGS,	/* Linux 6.1, Fathom: `dNh2.`, X without support of irq flags */
	FATHOM_TEXT_FLAGS_LAZY, /* since 6.13: the bit is NEED_RESCHED_LAZY */
	FATHOM_TEXT_FLAGS_RT,	/* PREEMPT_RT before that: `dN.h2..`, with lazy columns */
};

/* How a whole trace is shown. */
struct fathom_text_view {
	uint32_t options; /* enum fathom_text_option */
	uint32_t nr_cpus;
	uint8_t columns;     /* enum fathom_text_columns */
	uint8_t plain_clock; /* the clock does not count nanoseconds: counter, uptime, x86-tsc */
	uint64_t start;	     /* when the buffer was last cleared: latency columns count from here */
};

/* What the columns of one line show. */
struct fathom_text_entry {
	const char *comm; /* NULL: not known */
	int32_t pid;
	int32_t tgid; /* 0: not known */
	uint32_t cpu;
	uint8_t flags;	       /* enum wire_flags */
	uint8_t preempt_count; /* as in struct wire_common */
	uint8_t lazy_count;    /* FATHOM_TEXT_FLAGS_RT: common_preempt_lazy_count */
	uint64_t time;
	uint64_t next_time; /* of the entry printed next; `time` if there is none */
	uint64_t index;	    /* of the entry, from 0: verbose shows it */
};

/* The name Linux shows for a task: `<idle>`, `<XXX>`, `<...>` or comm itself. */
const char *fathom_text_comm(int32_t pid, const char *comm);
/* The characters `dNh2.` of the flags column, as view->columns says. */
void fathom_text_flags(struct fathom_text *t, const struct fathom_text_view *view,
		       const struct fathom_text_entry *e);
/* Nanoseconds as `%5lu.%06lu`, rounded to microseconds as Linux's lines do. */
void fathom_text_time(struct fathom_text *t, uint64_t ns);
/* The mark of a duration in ns: `$ @ * # ! +` or blank. */
char fathom_text_mark(uint64_t ns);
/* All that stands before the event's own text, in the form the options ask for; nothing without context-info. */
void fathom_text_prefix(struct fathom_text *t, const struct fathom_text_view *view,
			const struct fathom_text_entry *e);

/* A symbol as sym-offset and sym-addr ask; name NULL prints the address. */
struct fathom_text_symbol {
	const char *name;
	uint64_t address;
	uint64_t offset; /* of address into the symbol */
	uint64_t size;
	const char *module; /* shown with the offset; NULL or "": of the kernel itself */
};
/* What fathom_text_lookup (format.h) knows of an address. */
void fathom_text_symbol_at(struct fathom_text_symbol *sym, uintptr_t at);
void fathom_text_symbol(struct fathom_text *t, uint32_t options,
			const struct fathom_text_symbol *sym);
/* One frame of a stack: ` => symbol` and the line's end. */
void fathom_text_frame(struct fathom_text *t, uint32_t options,
		       const struct fathom_text_symbol *sym);
/* `func <-parent`, as print-parent asks, without the line's end. */
/* What a function was called with, as far as it was recorded: put between parentheses. `put` NULL: it was not. */
struct fathom_text_args {
	void (*put)(struct fathom_text *t, const struct fathom_text_args *args);
	const void *data; /* for put() */
	uint32_t nr;
};
void fathom_text_args(struct fathom_text *t, const struct fathom_text_args *args);
void fathom_text_function(struct fathom_text *t, uint32_t options,
			  const struct fathom_text_symbol *func,
			  const struct fathom_text_args *args, /* NULL: none */
			  const struct fathom_text_symbol *parent);

/* A context switch (arrow "==>") or wakeup (arrow "  +") of the wakeup tracers, without the line's end. */
struct fathom_text_switch {
	int32_t prev_pid, next_pid;
	uint32_t next_cpu;
	uint8_t prev_prio, prev_state, next_prio, next_state;
	const char *next_comm;
};
void fathom_text_switch(struct fathom_text *t, const char *arrow,
			const struct fathom_text_switch *s);

/* The latency banner's values; members that are zero print as Linux prints them for nop. */
struct fathom_text_banner {
	const char *release; /* of the kernel */
	const char *model;   /* server, desktop, preempt, preempt_rt */
	uint64_t latency_us;
	uint32_t cpu;
	const char *comm; /* NULL: none */
	int32_t pid;
	uint32_t uid;
	int32_t nice, policy, rt_prio;
	const char *start_at, *end_at; /* symbols of the critical section, NULL: none */
};

struct fathom_text_head {
	const char *tracer;
	uint64_t entries;			 /* in the buffer */
	uint64_t written;			 /* entries and overwritten */
	const struct fathom_text_banner *banner; /* needed for the latency form */
};

/* `# tracer:` and what follows for every tracer whose lines are of the normal or latency form. */
void fathom_text_header(struct fathom_text *t, const struct fathom_text_view *view,
			const struct fathom_text_head *head);
/* Its parts, for tracers that have their own columns. */
void fathom_text_header_tracer(struct fathom_text *t, const char *tracer);
void fathom_text_header_banner(struct fathom_text *t, const struct fathom_text_view *view,
			       const struct fathom_text_head *head);

#endif
