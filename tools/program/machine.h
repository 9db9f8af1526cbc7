/* SPDX-License-Identifier: MIT */
/* machine.h -- a compiled program that runs over events: maps, the current event, the output. */
#ifndef PROGRAM_MACHINE_H
#define PROGRAM_MACHINE_H

#include <stdio.h>

#include "base/idmap.h"
#include "program/map.h"

#define RUN_BUDGET 10000000u /* instructions of one probe: more is a loop that does not end */

struct stack_trace {
	uint32_t nr;
	bool user;
	uint64_t frames[];
};

struct machine {
	struct bpf_machine m; /* first: helpers get its address */
	struct generator *c;
	struct source *source;
	struct map *maps;
	/* What the probe sees: */
	const struct probe *probe;
	const struct event *event; /* NULL: none */
	uint64_t now, started;
	uint32_t cpu;
	int32_t pid;
	char comm[COMM_BYTES];
	uint64_t comm_of;			       /* the task that it is the name of */
	const struct event *kernel_stack, *user_stack; /* records that follow the event */
	/* Stacks seen, by number from 1, each once. */
	struct stack_trace **stacks;
	size_t nr_stacks;
	struct idmap stack_ids; /* hash to number */
	/* Functions that `probe` was asked for, by number from 1. */
	struct {
		uint64_t function;
		uint32_t probe;
	} * names;
	size_t nr_names;
	struct idmap name_ids;
	FILE *out;
	bool live;	  /* it runs elsewhere: maps and stacks were fetched */
	bool done;	  /* exit() was called */
	uint64_t stopped; /* probes whose budget was used up */
};

bool machine_init(struct machine *m, struct generator *c, FILE *out);
void machine_free(struct machine *m);
void machine_run(struct machine *m, const struct probe *p);
/* Carry out what the program emitted: `data` has what the action takes. */
void machine_act(struct machine *m, uint32_t action, const uint8_t *data);
/* What was written to a ring of an object: the map's name and the bytes. */
void machine_ring(struct machine *m, uint32_t map, const uint8_t *data, uint32_t bytes);
/* Add the maps of a machine that ran over other events of the same program. */
void machine_merge(struct machine *to, struct machine *from);

/* show.c: text as bpftrace prints it. */
void show_printf(struct machine *m, const char *format, const struct type *args, uint32_t nr,
		 const uint8_t *data);
void show_value(struct machine *m, FILE *out, const struct type *t, const uint8_t *data,
		int indent);
void show_time(struct machine *m, FILE *out, const char *format, uint64_t ns);
/* show_map.c */
void show_map(struct machine *m, const struct map *map, int64_t top, int64_t div);
/* All maps that have a value, by name: what stands at the end of a program's output. */
void show_maps(struct machine *m);

#endif
