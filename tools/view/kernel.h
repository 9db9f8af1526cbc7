/* SPDX-License-Identifier: MIT */
/* kernel.h -- inside tools/view: the kernel's own `trace` text from a source. */
#ifndef VIEW_KERNEL_H
#define VIEW_KERNEL_H

#include "query/out.h"
#include "query/printfmt.h"
#include "view/args.h"
#include "view/lookup.h"
#include "view/report.h"
#include "wire/text_graph.h"

struct kernel_view;
struct kernel_event;

/* The text of one event after its columns, with the line's end. */
typedef void (*kernel_print_fn)(struct kernel_view *k, const struct kernel_event *t);

/* How the kernel prints one event type. */
struct kernel_event {
	const struct schema *schema;
	const struct format *format;
	struct printfmt *fmt;
	kernel_print_fn print;
	kernel_print_fn raw; /* option raw; NULL: `type: N` */
	enum {
		KERNEL_OTHER,
		KERNEL_FUNCTION,
		KERNEL_GRAPH_ENTRY,
		KERNEL_GRAPH_EXIT,
		KERNEL_STACK,
		KERNEL_PRINT, /* print, bprint, bputs: printk-msg-only leaves their text alone */
	} kind;
	const struct format_field *field[10];
	struct args_fields more; /* of functions, calls and returns */
};

struct kernel_view {
	struct source *source;
	const struct report_options *o;
	struct scan *scan;
	struct merge *merge; /* of the scan */
	struct lookup lookup;
	struct out out;
	struct fathom_text_view view;
	struct fathom_text_head head;
	struct fathom_text_banner banner;
	struct fathom_graph graph;
	bool draws_graph;
	uint32_t blk; /* type of the blk tracer's records */
	bool blk_classic;
	bool fields;		 /* option fields: no print fmt, every field by its name */
	uint64_t text, text_end; /* of the kernel, for addresses among these fields; 0: not known */
	const struct format_field *lazy_count; /* of PREEMPT_RT; NULL: none */
	bool message_only; /* the event being printed shows its message without the function */
	char *tracer;
	char *release;
	char *banner_text;	     /* what --banner said, cut into strings */
	struct kernel_event **types; /* by id */
	struct kernel_event *unknown;
	uint64_t irq_start, irq_end; /* of .irqentry.text */
	/* The event being printed: its record is copied, for what looks ahead. */
	struct event event;
	uint8_t *data;
	size_t data_cap;
	uint64_t index;
	struct args args; /* of the event that kernel_args() read last */
	struct out args_text, value_text;
	bool overrun;	  /* events were overwritten: `buffer started` lines are printed */
	uint8_t *started; /* per stream: an event of it was printed with the ordinary columns */
	uint8_t *seen;	  /* per stream: an event of it was printed */
	char scratch[EXPR_SCRATCH_MAX];
};

/* kernel_options.c: tracer, options, banner and header from what the source and the command say. False: said on stderr. */
bool kernel_settle(struct kernel_view *k);
/* The head of the text. */
void kernel_header(struct kernel_view *k);

/* kernel_events.c */
void kernel_choose(struct kernel_view *k, struct kernel_event *t);
/* What the record has of arguments, as text; k->args is what else it has of them. Valid until the next call. */
struct fathom_text_args kernel_args(struct kernel_view *k, const struct kernel_event *e,
				    uint64_t func);
uint64_t kernel_number(const struct kernel_view *k, const struct format_field *f);
/* kernel_linux.c: what Linux does not print by print fmt. */
void kernel_print_probe(struct kernel_view *k, const struct kernel_event *e);
void kernel_print_synthetic(struct kernel_view *k, const struct kernel_event *e);
void kernel_print_by_field(struct kernel_view *k, const struct kernel_event *e);
void kernel_print_syscall(struct kernel_view *k, const struct kernel_event *e);
bool kernel_is_blk(const struct kernel_view *k, uint32_t type, uint32_t size);
void kernel_print_blk(struct kernel_view *k);
void kernel_symbol(struct kernel_view *k, uint64_t addr);
struct fathom_text_symbol kernel_symbol_of(struct kernel_view *k, uint64_t addr);
struct expr_record kernel_record(struct kernel_view *k);
/* Text of the layouts in wire/, written straight into the output. */
struct fathom_text kernel_text(struct kernel_view *k, size_t room);
void kernel_text_end(struct kernel_view *k, const struct fathom_text *t);

#endif
