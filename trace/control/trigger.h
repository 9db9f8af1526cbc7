/* SPDX-License-Identifier: MIT */
/* trigger.h -- what an event sets off: commands written to its `trigger` file, run in the event's context. */
#ifndef CONTROL_TRIGGER_H
#define CONTROL_TRIGGER_H

#include "control/control.h"

enum ctl_trigger_kind {
	CTL_TRIGGER_TRACEON,
	CTL_TRIGGER_TRACEOFF,
	CTL_TRIGGER_SNAPSHOT, /* this and the next run when the event is in the ring */
	CTL_TRIGGER_STACKTRACE,
	CTL_TRIGGER_ENABLE,
	CTL_TRIGGER_DISABLE,
	CTL_TRIGGER_HIST_ENABLE,
	CTL_TRIGGER_HIST_DISABLE,
	CTL_TRIGGER_HIST,
	CTL_TRIGGER_KINDS,
	CTL_TRIGGER_CALL = CTL_TRIGGER_KINDS, /* fathom_trigger_call(); not in the trigger file */
};

#define CTL_UNLIMITED 0xffffffffu

struct ctl_hist;

/* `record` NULL: it is gone already. `time` is that of the record, in ticks; 0: it has none yet. */
typedef void (*ctl_trigger_fn)(void *data, const void *record, uint32_t bytes, uint32_t cpu,
			       uint64_t time);

/* In a list that the event path walks inside pool_enter/leave; it changes only left, and what it points to. */
struct ctl_trigger {
	struct ctl_trigger *next;
	struct fathom_filter *filter;
	struct ctl_hist *hist;
	struct ctl_instance *tr;
	uint32_t event;	 /* it hangs on */
	uint32_t target; /* of enable_event, disable_event */
	uint32_t left;	 /* runs; CTL_UNLIMITED */
	uint8_t kind;
	ctl_trigger_fn call;
	void *data;
};

/*
 * Any context, gate held; `on`: the event may be recorded. FATHOM_GATE_AFTER if some have to run when the record is in the
 * ring, with FATHOM_GATE_CALL if functions are to be called then.
 */
uint32_t fathom_trigger_run(struct ctl_trigger *first, const void *record, uint32_t bytes,
			    uint32_t cpu, int on);
/* `record` NULL: it is gone already. `context` is that of its event. `time` 0: functions were called before. */
void fathom_trigger_run_after(struct ctl_trigger *first, const void *record, uint32_t bytes,
			      uint32_t cpu, uint32_t context, uint64_t time);
/*
 * Call a function of a later stage at each of the event's records, recorded or not, until it is uncalled; `data` is then
 * retired by its owner. 0 or an errno value. Context: task, lock held.
 */
int fathom_trigger_call(uint32_t event, ctl_trigger_fn call, void *data);
void fathom_trigger_uncall(uint32_t event, const void *data);

/* One line of the trigger file: 0 or an errno value. Context: task, lock held. */
int fathom_trigger_command(struct ctl_instance *tr, uint32_t event, const char *text, size_t len);
void fathom_trigger_show(const struct ctl_trigger *t, struct fathom_text *out);
void fathom_trigger_remove_all(struct ctl_instance *tr, uint32_t event);
void fathom_trigger_remove_aimed(struct ctl_instance *tr,
				 uint32_t target); /* those that would turn it */
void fathom_trigger_remove_hists(struct ctl_instance *tr, uint32_t event);
void fathom_trigger_reset(void); /* the pool is new: forget what was in the old one */
const char *fathom_trigger_name(uint32_t kind); /* NULL behind the last */

/* Count one run: 0 if none is left. Any context. */
static inline int ctl_trigger_take(struct ctl_trigger *t)
{
	uint32_t left = __atomic_load_n(&t->left, __ATOMIC_RELAXED);

	while (left != CTL_UNLIMITED) {
		if (!left)
			return 0;
		if (__atomic_compare_exchange_n(&t->left, &left, left - 1, 1, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return 1;
	}
	return 1;
}

#endif
