/* SPDX-License-Identifier: MIT */
/* trace.h -- set-up and run-time switches of the tracer. */
#ifndef FATHOM_TRACE_H
#define FATHOM_TRACE_H

#include <stddef.h>
#include <stdint.h>
#include "fathom/ring.h"
#include "fathom/event.h"

typedef void (*fathom_write_fn)(void *arg, const char *text, size_t bytes);

/*
 * The cold half of a port. Every member may be zero unless it says required; zero means what is written.
 */
struct fathom_config {
	void *memory;	     /* required, 4096-aligned: all that tracing will ever use */
	size_t memory_bytes; /* required; -ENOMEM says so if it is too small */
	uint32_t nr_cpus;    /* required: 1 .. FATHOM_CPUS_MAX */
	uint32_t
		pages_per_cpu; /* ring pages per CPU; 0: as many as the memory gives, half kept for snapshot/instances */
	uint64_t clock_hz;   /* ticks of fathom_port_clock() per second; 0: it counts nanoseconds */
	const char *release; /* the kernel's name and version, for headers; 0: "fathom" */

	fathom_write_fn sink; /* console for fathom_dump(); 0: dumps go nowhere */
	void *sink_arg;

	int (*poke)(void *at, const void *code,
		    size_t bytes); /* write kernel text; 0: text cannot be written */
	void (*sync)(void);	   /* make all CPUs see new text; 0: one CPU */
	void (*stop_cpus)(void (*fn)(void *),
			  void *arg); /* run fn while all others stand; 0: not possible */

	/* Name of the function that holds `at`, with the offset into it and its size; NULL if unknown. 0: no symbols. */
	const char *(*symbol)(uintptr_t at, uintptr_t *offset, uintptr_t *size);
	uintptr_t (*lookup)(const char *name);
	/* Name of a task, at most 15 characters, into buf; 0: names come from sched events. */
	int (*task_name)(int32_t pid, char buf[16]);
	int32_t (*task_group)(int32_t pid); /* thread-group id; 0: unknown */
};

#define FATHOM_CPUS_MAX 64

/* 0, -EINVAL (a member out of range, memory unaligned), -ENOMEM, -EBUSY (initialised already). Context: init, one CPU. */
int fathom_init(const struct fathom_config *config);
/* Undo init: events off, probes unpatched; the memory is the caller's again. Context: task, no writer runs. */
void fathom_exit(void);

/* Switch recording: any context. */
void fathom_tracing_on(void);
void fathom_tracing_off(void);
int fathom_tracing_is_on(void);
#define tracing_on()  fathom_tracing_on()
#define tracing_off() fathom_tracing_off()

/* The most recent `count` events of every CPU (0: all), merged by time, to the sink; any context, panic included. */
void fathom_dump(uint32_t count);

/* The control tree by path: "events/sched/enable", "1". 0 or -errno. Context: task. (control/) */
int fathom_set(const char *path, const char *value);
int fathom_get(const char *path, char *buf, size_t bytes);

struct fathom_ring *fathom_ring_of(uint32_t cpu);

#endif
