/* SPDX-License-Identifier: MIT */
/* control.h -- what the files of the control stage share: instances, per-event state, options, the error log. */
#ifndef CONTROL_CONTROL_H
#define CONTROL_CONTROL_H

#include "fathom/inside/errno.h"
#include "functions/pids.h"
#include "fathom/fs.h"
#include "fathom/trace.h"
#include "fathom/inside/view.h"
#include "control/filter.h"
#include "functions/listeners.h"

/*
 * Who may touch what:
 *
 * L1  The tree's lock (fathom_lock) serialises all that files do. Every function here is called with it, but for those
 *     marked "any context". It is never taken in an event, so an event never waits for a user of the tree.
 * L2  The event path reads instance[], events[], pids[] and what they point to, with acquire, inside fathom_pool_enter() and
 *     leave(). Who holds the lock unlinks first and then retires (pool.h): memory is used again once no event can see it.
 * L3  Switches that events turn themselves (ctl_event.on, off, wanted, a trigger's runs left, sums of histograms) are atomic
 *     words; the last one to write wins.
 * L4  Rings have one reader at a time. Under the lock that is the tree: exchanges of rings that events ask for are held off
 *     (fathom_ctl_snapshots_hold) and made up for when the lock is let go.
 * L5  Writers are kept out of a ring by HELD (fathom_ring_hold), never by the lock.
 */

struct ctl_errors;
struct ctl_trigger;

/*
 * One event in one instance. Written under the lock, but for `on`, which triggers turn in the event's context; read by
 * the event path inside pool_enter/leave.
 */
struct ctl_event {
	struct fathom_filter *filter;
	struct ctl_trigger *triggers;
	struct fathom_filter
		*note;	 /* first event of a system: what was wrong with events/S/filter */
	uint32_t on;	 /* what `enable` shows */
	uint32_t probed; /* function probes may turn it: bit 0; bit 1 is function_cmd.c's own */
	uint32_t soft;	 /* triggers and probes that may turn it, or hang on it: it shows a `*` */
};

enum ctl_pid_list {
	CTL_EVENT_PIDS,
	CTL_EVENT_NOTRACE_PIDS,
	CTL_PID_LISTS
};

struct ctl_instance {
	char name[FATHOM_NAME_MAX + 1];
	uint16_t serial;
	uint8_t index;
	uint8_t survives;  /* its rings lie in config.last_boot_memory ... */
	uint8_t last_boot; /* ... and hold what the last boot left there; they are held (`paused`) */
	uint32_t snapshot; /* of an instance: the spare rings are in use */
	uint32_t off;	   /* of an instance: tracing_on is 0; the top's is fathom_core.off */
	uint32_t open_files;
	uint32_t raw_open;	/* trace_pipe_raw handles: the tracer may not change */
	uint32_t pipe_open;	/* trace_pipe handles */
	uint64_t cpu_pipe_open; /* a bit per CPU */
	uint32_t all_pipe_open;
	uint32_t trace_open; /* `trace` handles: the size may not change */
	uint32_t options;    /* bits in the order of the option table; the event path reads them */
	uint64_t cpu_mask;
	uint64_t start;		 /* when it was last cleared */
	uint64_t max_latency;	 /* in ns, while no latency tracer runs here: file_main.c */
	uint32_t options_before; /* options.c: what a latency tracer found */
	uint32_t was_latency;
	uint32_t buffer_percent;
	uint32_t clock_at;	   /* which of clock.c's table, and ... */
	struct fathom_clock clock; /* ... how it shows ring time */
	uint32_t swap;		   /* of an instance: enum fathom_swap_state */
	uint32_t wanted;	   /* a trigger asked for a snapshot while the lock was held */
	uint32_t
		paused; /* what stops recording: readers with pause-on-trace, a last boot's trace */
	struct ctl_errors *errors;	   /* error_log.c's */
	struct fathom_listener *functions; /* of an instance; NULL where none can be traced */
	/* replaced as a whole; forks and exits change them */
	struct fathom_pids *pids[CTL_PID_LISTS];
	struct ctl_event *events;
	struct fathom_ring **ring;  /* of an instance; the top's are fathom_hot.ring */
	struct fathom_ring **spare; /* the snapshot's */
	void *rings;		    /* memory of the instance's own rings */
	void *spares;
};

/*
 * Where an event is in the tree, as long as its object is there; the index of a place is what the control stage calls an
 * event. A place that was left is used again, with another age.
 */
struct ctl_place {
	struct fathom_event *event; /* never NULL: see fathom_ctl_is_gone() */
	uint16_t system;	    /* the place that stands for its system; CTL_NO_SYSTEM: gone */
	uint16_t age;
};
#define CTL_NO_SYSTEM 0xffffu

struct ctl_state {
	uint32_t nr_events; /* places that are or were in use */
	uint32_t room_events;
	struct ctl_place *place;
	struct ctl_instance *instance[FATHOM_INSTANCES_MAX + 1];
	struct ctl_instance top;
	char *scratch;
	uint32_t saved_cmdlines_size;
	uint8_t ready;
	uint8_t printk; /* events of the top go to the sink too: tracepoint_printk */
	uint64_t boot;	/* fathom_core.boot of the init it belongs to */
};
extern struct ctl_state fathom_ctl;

/* Takes its memory at the first call. 0, -ENODEV before fathom_init(), -ENOMEM. */
int fathom_ctl_ready(void);
/* An empty text over the shared scratch: for one piece of a file. */
void fathom_ctl_scratch(struct fathom_text *t);

/* -ENOENT if the node's instance was removed, or its event or system is gone. */
int fathom_ctl_alive(const struct fathom_node *node);
struct ctl_instance *fathom_ctl_instance(const struct fathom_node *node);
struct ctl_instance *fathom_ctl_instance_at(uint32_t index); /* NULL if there is none */
struct fathom_ring *fathom_ctl_ring(const struct ctl_instance *tr, uint32_t cpu);
/* Does what the entry's flags ask for exist here? */
int fathom_ctl_feature(uint32_t flags);

int fathom_ctl_printk(int on); /* gate.c: 0 or an errno, -ENODEV without a sink */

/* options.c: `at` of a node in options/. */
uint32_t fathom_ctl_option_nth(uint32_t instance, uint32_t index); /* ~0 behind the last */
const char *fathom_ctl_option_name(uint32_t option);
uint32_t fathom_ctl_text_options(const struct ctl_instance *tr);
struct fathom_tracer;
int fathom_ctl_draws_graph(const struct fathom_tracer *t);
/* The tracer of the top, or an instance's. */
const struct fathom_tracer *fathom_ctl_tracer(const struct ctl_instance *tr);
int fathom_ctl_is_latency(const struct ctl_instance *tr); /* it is a latency tracer */
void fathom_ctl_options_follow(struct ctl_instance *tr);  /* its tracer may have changed */
int fathom_ctl_tracer_is_here(const struct ctl_instance *tr, const struct fathom_tracer *t);
enum ctl_option {
	CTL_OPT_PRINT_PARENT,
	CTL_OPT_SYM_OFFSET,
	CTL_OPT_SYM_ADDR,
	CTL_OPT_VERBOSE,
	CTL_OPT_RAW,
	CTL_OPT_HEX,
	CTL_OPT_BIN,
	CTL_OPT_BLOCK,
	CTL_OPT_TRACE_PRINTK,
	CTL_OPT_ANNOTATE,
	CTL_OPT_USERSTACKTRACE,
	CTL_OPT_SYM_USEROBJ,
	CTL_OPT_PRINTK_MSG_ONLY,
	CTL_OPT_CONTEXT_INFO,
	CTL_OPT_LATENCY_FORMAT,
	CTL_OPT_RECORD_CMD,
	CTL_OPT_RECORD_TGID,
	CTL_OPT_OVERWRITE,
	CTL_OPT_DISABLE_ON_FREE,
	CTL_OPT_IRQ_INFO,
	CTL_OPT_MARKERS,
	CTL_OPT_EVENT_FORK,
	CTL_OPT_PAUSE_ON_TRACE,
	CTL_OPT_HASH_PTR,
	CTL_OPT_FUNCTION_TRACE,
	CTL_OPT_FUNCTION_FORK,
	CTL_OPT_DISPLAY_GRAPH,
	CTL_OPT_STACKTRACE,
	CTL_OPT_TEST_ACCEPT,
	CTL_OPT_TEST_REFUSE,
	CTL_OPT_NR,
};
int fathom_ctl_option(const struct ctl_instance *tr, enum ctl_option option);
uint32_t fathom_ctl_option_defaults(void);

/* buffer.c: rings of an instance. */
void fathom_ctl_recording(struct ctl_instance *tr, int on); /* any context */
int fathom_ctl_is_recording(const struct ctl_instance *tr); /* any context */
void fathom_ctl_last_boot_end(struct ctl_instance *tr);	    /* this boot needs its rings now */
/* Hold the rings of CPUs that the mask or a pause excludes, let the others go. */
void fathom_ctl_hold_update(struct ctl_instance *tr);
/* Snapshots that events ask for wait while the lock is held, so that rings have one reader at a time. */
void fathom_ctl_snapshots_hold(void);
void fathom_ctl_snapshots_release(void);
void fathom_ctl_clear(struct ctl_instance *tr, struct fathom_ring **rings,
		      uint32_t cpu); /* cpu ~0: all */
int fathom_ctl_snapshot_alloc(struct ctl_instance *tr);
void fathom_ctl_snapshot_free(struct ctl_instance *tr);
int fathom_ctl_snapshot_take(struct ctl_instance *tr, uint32_t cpu); /* lock held; cpu ~0: all */
void fathom_ctl_snapshot_ask(struct ctl_instance *tr);		     /* any context */
int fathom_ctl_has_snapshot(const struct ctl_instance *tr);
int fathom_ctl_keep(struct fathom_listener *l, uint32_t cpu); /* struct fathom_listener's keep */
struct fathom_ring **fathom_ctl_spares(const struct ctl_instance *tr);
int fathom_ctl_rings_new(struct fathom_ring ***rings, void **memory, uint32_t pages);

/* events.c: the places of events. */
int fathom_ctl_places_init(void);
void fathom_ctl_events_init(void);
static inline struct fathom_event *fathom_ctl_event(uint32_t event)
{
	return fathom_ctl.place[event].event;
}
/* Its object left. What stands there then counts as internal: it can be neither listed nor switched. */
static inline int fathom_ctl_is_gone(uint32_t event)
{
	return fathom_ctl.place[event].system == CTL_NO_SYSTEM;
}
uint32_t fathom_ctl_event_find(const char *s, size_t bytes); /* `sys:event`; nr_events: none */

/* gate.c: the event path's question, and the state that leads to it. */
void fathom_ctl_gate_init(void);
/* Bring the event's state bits in line with all instances. 0, or what the event refused with. */
int fathom_ctl_event_update(uint32_t event);
int fathom_ctl_event_enable(struct ctl_instance *tr, uint32_t event, int on);
/* Many of them: in() says which, and never an internal one. */
struct ctl_events {
	struct ctl_instance *tr;
	int (*in)(const struct ctl_events *m, uint32_t event);
	const void *arg; /* in()'s own */
	size_t bytes;
};
/* Each is tried, their sites all at once; the last refusal is the answer. */
int fathom_ctl_events_enable(const struct ctl_events *m, int on);
/* event-fork was turned, in some instance. */
void fathom_ctl_event_fork_changed(void);
void fathom_ctl_event_clear(struct ctl_instance *tr,
			    uint32_t event);	       /* off, filter and triggers gone */
void fathom_ctl_events_clear(struct ctl_instance *tr); /* all of them, and the pids */

/* error_log.c */
void fathom_ctl_error(struct ctl_instance *tr, const char *where, const char *what,
		      const char *command, size_t len, uint32_t at);
void fathom_ctl_error_forget(struct ctl_instance *tr);

/* file_tasks.c: tasks seen in the trace. */
void fathom_ctl_note_pid(int32_t pid);
const char *fathom_ctl_saved_comm(int32_t pid, char buf[16]); /* NULL: unknown */
int32_t fathom_ctl_saved_tgid(int32_t pid);

/* function_cmd.c: what control/ adds to the commands of function probes. */
void fathom_ctl_function_commands(void);
void fathom_ctl_function_events(struct ctl_instance *tr); /* after its set_ftrace_filter changed */

/* The name of a task as the tracer knows it; "<...>" if it does not. buf has 16 bytes. */
void fathom_ctl_comm(int32_t pid, char *buf);

#endif
