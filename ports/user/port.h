/* SPDX-License-Identifier: MIT */
/* port.h -- what the files of the user port share. */
#ifndef USER_PORT_H
#define USER_PORT_H

#include <stddef.h>
#include <stdint.h>

/* For what runs at the entry of a traced function, whose arguments may be in vector registers. */
#ifdef __x86_64__
#define USER_PLAIN __attribute__((target("general-regs-only")))
#else
#define USER_PLAIN
#endif

struct user_options {
	char events[1024];  /* patterns, each ended by NUL, an empty one at the end */
	char filter[1024];  /* functions to trace, in the same form; none: all of them */
	char options[1024]; /* of the trace, in the same form: NAME, or noNAME */
	char tracer[32];    /* "": none */
	char out[256];	    /* "": nothing is written */
	char rings[256];    /* the file that holds the rings; "": memory does */
	uint32_t buffer_kb;
	uint32_t cpus;
	uint32_t functions; /* room for those of libraries that come later */
	uint32_t library_events;
	uint32_t sample_us; /* look at the stacks that often; 0: never */
	uint32_t only_pid;  /* `fathom record` runs it: the process that is traced; 0: any */
	uint8_t dump;	    /* text to stderr at the end */
	uint8_t discard;    /* keep the oldest events, not the newest */
	uint8_t off;	    /* start with recording off */
	uint8_t quiet;	    /* no line about the file at the end */
	uint8_t serve;	    /* the control tree can be mounted: fathom_serve.h */
};

/* user.c */
struct fathom_object;
uint64_t user_now_ns(void); /* CLOCK_MONOTONIC */
int user_is_running(void);
extern int user_elsewhere; /* the program has a copy of the library of its own, which traces it */
extern uint32_t user_preload_functions; /* what preload.c found, which only libfathom.so has */
void user_exiting(void);		/* the process is about to end without exit() */
/* What the library calls as config.lock; held by a thread, it is let in again. Also before the library is there. */
void user_lock(void *unused);
void user_unlock(void *unused);
int user_events_join(struct fathom_object *o);
void user_say(const char *what, const char *more, const char *why); /* a line on stderr */

#define USER_WHY       192
/* options.c: 0, or -EINVAL and what is wrong in `why`. */
#define USER_SAMPLE_US 1000 /* what record= asks for */
int user_options_parse(const char *text, struct user_options *o, char why[USER_WHY]);

/* threads.c */
void user_threads_start(uint32_t nr_cpus);
int user_thread_name(int32_t pid, char buf[16]);
int32_t user_thread_group(int32_t pid);
/* Names that threads gave themselves since their first event are asked for. Async-signal-safe. */
void user_threads_look(void);
int user_thread_at(uint32_t index, int32_t *pid, const char **name);

/* rings.c */
void *user_rings_map(const char *path, size_t bytes, size_t rings, int *err);
int user_rings_describe(void);
void user_rings_in_child(void);
void user_rings_done(const char *path);

/* serve.c: after a fork */
void user_serve_in_child(void);

/* leaf.c: the return address of the function at `ip` if its frame does not tell it; 0: it does, or it cannot be known. */
typedef int (*user_read_fn)(uintptr_t at, uintptr_t out[2]);
uintptr_t user_leaf_caller(uintptr_t ip, uintptr_t sp, uintptr_t fp, user_read_fn read);

/* sample.c: 0 or -errno */
int user_sample_start(uint32_t us);
void user_sample_stop(void);

/* library.c: what came before tracing started gets its names now */
void user_libraries_start(void);

/* former.c: the events of libraries that go, and of ones that may be back. With user_lock(). */
void user_events_leave(struct fathom_object *o);
void user_formers_return(const struct fathom_object *o);

/* symbols.c: the symbol tables of the program and, if asked for, of its libraries. */
void user_symbols_load(int libraries);
/* Of libraries that were opened since. Not in a signal handler. */
void user_symbols_more(void);
/* A library that came, and it went. With user_lock(). */
struct user_text {
	const char *path; /* of the file */
	uintptr_t base;	  /* what its addresses count from */
	uintptr_t from, to;
};
struct dl_phdr_info;
struct user_text user_text_of(const struct dl_phdr_info *info); /* no code: .to is 0 */
void user_symbols_add(const struct user_text *text);
void user_symbols_gone(uintptr_t from);
const char *user_symbol(uintptr_t at, uintptr_t *offset, uintptr_t *size);
uintptr_t user_symbol_lookup(const char *name);
int user_symbol_at(uint32_t index, uintptr_t *at, const char **name);

/* poke.c: the library writes the program's text. */
void *user_text_map(void *at, size_t bytes);
void user_text_unmap(void *at, size_t bytes);
void user_sync(void);
/* Whether all threads can be made to see new text; installs the breakpoint handler. */
int user_poke_start(void);

#endif
