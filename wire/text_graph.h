/* SPDX-License-Identifier: MIT */
/* text_graph.h -- the drawing of function_graph: columns, indentation, marks, arrows, closing names. */
#ifndef WIRE_TEXT_GRAPH_H
#define WIRE_TEXT_GRAPH_H

#include "wire/text_line.h"

/* Depths whose open function is remembered, to know whether a closing brace needs its name; Linux's number. */
#define FATHOM_GRAPH_DEPTH 50

/* What the drawing remembers of one CPU. Made by fathom_graph_init(), used by the calls below only. */
struct fathom_graph_cpu {
	uint64_t open[FATHOM_GRAPH_DEPTH]; /* function open at each depth, 0: none */
	int32_t last_pid;
	int32_t depth;	   /* comments stand one deeper */
	int32_t irq_depth; /* hidden interrupt's entry depth, -1: none (option funcgraph-irqs off) */
};

struct fathom_graph {
	const struct fathom_text_view *view;
	struct fathom_graph_cpu *cpus; /* the caller's, one per CPU */
	uint32_t nr_cpus;
	/* Name of a task or NULL; asked for the line that shows a task change and for the proc column. */
	const char *(*comm)(void *arg, int32_t pid);
	void *arg;
};

/* One entry, exit or leaf. */
struct fathom_graph_call {
	uint64_t func;
	const char *name; /* NULL: the address is printed */
	int32_t depth;
	uint64_t duration_ns; /* exit and leaf; UINT64_MAX: not known, the column stays empty */
	uint32_t overrun;     /* exit */
	uint8_t is_irq;	      /* the function is an interrupt's entry: arrows are drawn */
	uint8_t has_retval; /* exit and leaf; shown if the options say so, as is the address it returns to */
	uint8_t word_bytes; /* of the kernel, for retval */
	uint64_t retval;
	const char *value; /* the text of retval, if its type is known; NULL: as a number */
	struct fathom_text_args args; /* entry and leaf */
	struct fathom_text_symbol
		from; /* entry and leaf: where it returns to; address 0: not known */
};

/*
 * A leaf is an entry whose exit is the very next record of its CPU, with the same pid and function: draw it with
 * fathom_graph_leaf() and skip the exit. Only the caller can look ahead.
 */
void fathom_graph_init(struct fathom_graph *g);
/* `# tracer:`, the latency banner if asked for, and the column heads. */
void fathom_graph_header(struct fathom_text *t, const struct fathom_text_view *view,
			 const struct fathom_text_head *head);
void fathom_graph_entry(struct fathom_text *t, struct fathom_graph *g,
			const struct fathom_text_entry *e, const struct fathom_graph_call *c);
void fathom_graph_leaf(struct fathom_text *t, struct fathom_graph *g,
		       const struct fathom_text_entry *e, const struct fathom_graph_call *c);
void fathom_graph_exit(struct fathom_text *t, struct fathom_graph *g,
		       const struct fathom_text_entry *e, const struct fathom_graph_call *c);
/* Any other event: open, append its text, close. Stacks and function records are not comments: print them as lines. */
void fathom_graph_comment(struct fathom_text *t, struct fathom_graph *g,
			  const struct fathom_text_entry *e);
void fathom_graph_comment_end(struct fathom_text *t);

/* `12.345 us ` padded to the column: at most 7 digits, as many of them after the point as fit. */
void fathom_graph_duration(struct fathom_text *t, uint64_t ns);

#endif
