/* SPDX-License-Identifier: MIT */
/* run.h -- a compiled program over the events of a trace. */
#ifndef PROGRAM_RUN_H
#define PROGRAM_RUN_H

#include "program/machine.h"
#include "program/program.h"

/* Which probes an event type has. */
struct dispatch {
	const struct probe **probes;
	uint32_t nr;
};

struct tick {
	const struct probe *probe;
	uint64_t next;
};

struct runner {
	struct generator *c;
	struct source *source;
	const struct program_options *o;
	struct machine machine;
	struct dispatch *by_type; /* [SOURCE_ID_FAST] */
	struct tick *ticks;
	uint32_t nr_ticks;
	int32_t *running; /* per CPU of the source: the pid seen last, -1: not known */
	uint32_t nr_running;
	struct idmap *matched;	 /* per probe: function to (void *)1, no, or 2, yes */
	uint32_t stack_types[2]; /* ids of kernel_stack and user_stack, 0: none */
	uint64_t cut;		 /* records too short for the program */
	uint32_t *types;	 /* ids that the program has probes for */
	size_t nr_types;
	struct scan_choice choice;
	bool uses_stack;
};

int runner_init(struct runner *r, struct generator *c, const struct program_options *o, FILE *out);
void runner_free(struct runner *r);
int runner_run(struct runner *r);
/* One event: every probe that it has. */
void runner_event(struct runner *r, const struct event *e);
/* run_parallel.c: events in any order, by several threads. */
bool parallel_is_possible(const struct runner *r);
int parallel_run(struct runner *r);

/* program.c: what was asked for, compiled and proved. False: errors were printed. */
struct ast program_ast(const struct program_options *o);
bool program_compile(struct generator *c);
/* How many probes bpftrace would say that it attaches. */
uint32_t program_attached(const struct generator *c);

/* listing.c: the instructions of each probe, for people. */
void listing_print(const struct generator *c, FILE *out);

#endif
