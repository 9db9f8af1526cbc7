/* SPDX-License-Identifier: MIT */
/* record.h -- recording sessions: a kernel under QEMU, a live target, and a kernel's memory after its end. */
#ifndef CAPTURE_RECORD_H
#define CAPTURE_RECORD_H

#include "capture/preload.h"
#include "capture/recording.h"

#define RECORD_LIST_MAX 256

/* Events to record, and what is set for them. */
struct record_event {
	const char *name; /* system:event, system, a pattern, "all" */
	const char *filter, *trigger;
	bool off; /* not these, of those before */
};

struct record_options {
	const char *output;
	const char *kernel;		  /* ELF file */
	const char *qemu;		  /* boot `kernel` */
	const char *image;		  /* a kernel's memory */
	uint64_t base;			  /* physical address of its first byte, if it is raw */
	const char *target;		  /* a live one, as in fathom mount, a directory, gdb:... */
	const char *tracer;		  /* for current_tracer; NULL: as it is */
	char *const *command;		  /* runs while a target is recorded; NULL: none */
	const char *append;		  /* kernel command line */
	const char *console;		  /* file that gets what the console said */
	const char *run[RECORD_LIST_MAX]; /* shell lines, in order */
	struct record_event events[RECORD_LIST_MAX]; /* none: all events */
	unsigned nr_run, nr_events;
	/* Of a live target, as trace-cmd has them. */
	const char *functions[RECORD_LIST_MAX], *not_functions[RECORD_LIST_MAX];
	const char *graph[RECORD_LIST_MAX], *options[RECORD_LIST_MAX], *pids[RECORD_LIST_MAX];
	unsigned nr_functions, nr_not_functions, nr_graph, nr_options, nr_pids;
	const char *clock, *instance, *buffer_kb;
	const struct preload *preload; /* the command is traced from inside; NULL: it is not */
	bool only_command;	       /* only the tasks of the command */
	bool stacks;
	bool last_boot; /* what a live target has of its last boot */
	unsigned smp, memory_mib;
	/* QEMU: give up after; a target: record this long, 0: until the command ends or SIGINT */
	unsigned seconds;
	bool json;
	bool no_program; /* not what the command records of itself */
	bool has_via;	 /* QEMU: the way is given */
	bool by_serial;	 /* QEMU: the trace line is the second serial port */
	bool by_memory;	 /* take the pages out of the guest's memory instead of over the line */
	struct record_live *live; /* the recording is watched live; NULL: it is not */
};

/*
 * A recording that is watched while it is made: pages are taken before they are full, and a target that goes away is waited for. The
 * recorder writes, others read; all of it at any time.
 */
struct record_live {
	uint64_t whole; /* bytes of the file */
	uint64_t *
		empty; /* by CPU: bytes of the file when its ring was last found empty; nr_cpus, once `whole` is not 0 */
	uint32_t nr_cpus;
	uint32_t cuts; /* how often the target went away */
	bool away;     /* it is away */
	bool over;     /* no more data will come */
	char file[32]; /* the file to open */
};

/* Add an event to those that are recorded. False, with a message: there are too many. */
bool record_add_event(struct record_options *o, const char *name, bool off);
/* Set the filter or the trigger, a member of struct record_event, of the event added last. False, with a message: there is none. */
bool record_of_event(struct record_options *o, const char *option, const char *value,
		     size_t member);
/* Is there exactly one way to record, and only what applies to it? If not, why. */
const char *record_is_wrong(const struct record_options *o);
/* Is the target's memory read through a stub of GDB's remote protocol? */
bool record_is_gdb(const struct record_options *o);
/*
 * Take a trace and write o->output, whatever happens on the way. *status is that of o->command if it ran. 0, or -1 with the
 * message; the file may be there all the same, and says how the recording ended.
 */
int record_run(const struct record_options *o, struct capture *c, int *status);

/* What a live target has: formats, names, symbols; nothing of it is changed. 0, or -1 with a message. */
struct tree;
int record_describe(const char *target, struct tree *t, struct capture *c);

/* The ways to record. Each fills *c, begins the recording as soon as it can, and says in c->ended how it ended. 0 or -1. */
int record_qemu(const struct record_options *o, struct capture *c, struct recording *r);
int record_tree(const struct record_options *o, struct capture *c, struct recording *r,
		int *status);
int record_gdb(const struct record_options *o, struct capture *c, struct recording *r);
int record_memory(const struct record_options *o, const char *image, struct capture *c,
		  struct recording *r);

#endif
