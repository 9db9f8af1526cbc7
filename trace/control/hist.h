/* SPDX-License-Identifier: MIT */
/* hist.h -- histograms: counts and sums by key, in fixed memory, updated by any number of CPUs without a lock. */
#ifndef CONTROL_HIST_H
#define CONTROL_HIST_H

#include "control/control.h"

#define HIST_KEYS_MAX	3
#define HIST_VALUES_MAX 8 /* hitcount is the first */
#define HIST_SORTS_MAX	2
#define HIST_NAME_MAX	31
#define HIST_TEXT_MAX	64u /* bytes of a string key; longer ones are cut */
#define HIST_FRAMES	16u /* of a stacktrace key */
#define HIST_SIZE_MIN	128u
#define HIST_SIZE_MAX	131072u

enum hist_modifier {
	HIST_PLAIN,
	HIST_HEX,
	HIST_SYM,
	HIST_SYM_OFFSET,
	HIST_EXECNAME,
	HIST_SYSCALL,
	HIST_LOG2,
	HIST_BUCKETS,
	HIST_USECS,
	HIST_PERCENT,	 /* of a value: its share of all entries' */
	HIST_GRAPH,	 /* of a value: a bar, the largest entry's is full */
	HIST_STACKTRACE, /* the key `stacktrace` itself */
	HIST_TIMESTAMP,	 /* common_timestamp */
};

#define HIST_STEPS_MAX 8
#define HIST_VARS_MAX  4
#define HIST_REFS_MAX  6
#define HIST_MATCH_MAX 4 /* events that onmatch() names */

/*
 * An expression in postfix: `#` number, `.` field, `@` time, `$` variable of another histogram, `%` variable of this one, or
 * an operator.
 */
struct hist_step {
	uint8_t op;
	struct fathom_operand field;
	uint64_t value;
};

struct hist_expr {
	uint8_t nr;
	uint8_t negative;
	struct hist_step step[HIST_STEPS_MAX];
};

struct hist_field {
	struct fathom_operand op;
	uint8_t modifier;
	uint8_t hitcount; /* the value that counts events */
	uint8_t var;	  /* a value or a parameter: variable number + 1 */
	uint8_t ref;	  /* a parameter: reference number + 1 */
	uint16_t at;	  /* of a key: its offset in an entry's key */
	uint16_t size;
	uint64_t buckets;
	char name[32];
};

/* Kept with each entry, where histograms of other events find it: an expression, or a text (field.size is not 0). */
struct hist_var {
	char name[32];
	char text[64]; /* as it was written */
	struct hist_expr expr;
	struct hist_field field;
	uint32_t at; /* of its cell in an entry */
};

/* `$x` of another histogram, under the same key. */
struct hist_ref {
	struct ctl_hist *from; /* NULL: it is gone */
	uint8_t var;
	uint8_t once; /* reading it takes it away: so it is in expressions, as in Linux */
};

#define HIST_ACTIONS_MAX 4
#define HIST_SAVES_MAX	 8
#define HIST_ACTION_TEXT 128

enum hist_handler {
	HIST_ONMAX,
	HIST_ONCHANGE,
	HIST_ONMATCH,
};

struct hist_action {
	uint8_t handler;
	uint8_t snapshot; /* else it saves, or makes an event */
	uint8_t var;
	uint8_t nr_saves;
	uint32_t at;		     /* in an entry */
	uint32_t bytes;		     /* of it */
	struct fathom_event *synth;  /* made of save[], which are its parameters */
	char text[HIST_ACTION_TEXT]; /* of one that makes an event, as it was written */
	struct hist_field save[HIST_SAVES_MAX];
};

struct hist_sort {
	uint8_t is_key;
	uint8_t index;
	uint8_t descending;
};

/*
 * The table: `slots` holds hash and entry of each place, `entries` the keys and sums.
 *
 * H1  A slot's hash goes from 0 to its value once, by compare-and-exchange: who wins takes the next free entry.
 * H2  A slot's entry number is stored (release) after the key was written; a reader that finds it may read the key.
 * H3  Sums are pairs of 32-bit words, added with carry: exact once the writers are done, on targets without 64-bit
 *     atomics too.
 */
struct hist_slot {
	uint32_t hash;
	uint32_t entry; /* 0: not yet there; else number + 1 */
};

struct hist_sum {
	uint32_t low;
	uint32_t high;
};

struct ctl_hist {
	struct ctl_hist *next_named;
	uint32_t users; /* triggers that share it by name */
	uint32_t paused;
	uint32_t no_hitcount; /* the hits are counted, not shown */
	uint32_t helper;      /* made for a parameter `system.event.field` of another histogram */
	uint32_t nr_keys, nr_values, nr_sorts, nr_vars, nr_actions, nr_refs, nr_matches;
	uint32_t size; /* entries */
	uint32_t key_bytes;
	uint32_t entry_bytes; /* key, sums, and what actions keep */
	uint32_t used;	      /* entries taken, may run past size */
	struct hist_sum hits;
	struct hist_sum drops;
	struct hist_field key[HIST_KEYS_MAX];
	struct hist_field value[HIST_VALUES_MAX];
	struct hist_sort sort[HIST_SORTS_MAX];
	struct hist_var variable[HIST_VARS_MAX];
	struct hist_action action[HIST_ACTIONS_MAX];
	struct hist_ref ref[HIST_REFS_MAX];
	uint16_t match[HIST_MATCH_MAX]; /* events whose variables are looked at first */
	struct ctl_instance *tr;	/* whose snapshot an action takes */
	char name[HIST_NAME_MAX + 1];
	struct hist_slot *slots; /* 2 * size, a power of two */
	uint8_t *entries;
	uint32_t *order; /* entry numbers, sorted for the file */
	uint64_t total[HIST_VALUES_MAX], most[HIST_VALUES_MAX]; /* of the entries in `order` */
	void *table;						/* the memory of the three */
};

/* Any context, gate held. */
void fathom_hist_update(struct ctl_hist *h, const void *record, uint32_t bytes, uint32_t cpu);

/* Lock held. */
int fathom_hist_alloc(struct ctl_hist *h); /* sizes are set: takes the table */
void fathom_hist_clear(struct ctl_hist *h);
void fathom_hist_sort(struct ctl_hist *h, uint32_t *nr);
void fathom_hist_spec(const struct ctl_hist *h, struct fathom_text *t);
void fathom_hist_keys_spec(const struct ctl_hist *h, struct fathom_text *t);
/* The line of entry number `at` of the order. */
void fathom_hist_line(const struct ctl_hist *h, uint32_t at, struct fathom_text *t);
uint64_t fathom_hist_sum(const struct hist_sum *s);
static inline struct hist_sum *hist_sums(const struct ctl_hist *h, uint32_t entry)
{
	return (struct hist_sum *)(void *)(h->entries + (size_t)entry * h->entry_bytes +
					   h->key_bytes);
}
static inline uint8_t *hist_key(const struct ctl_hist *h, uint32_t entry)
{
	return h->entries + (size_t)entry * h->entry_bytes;
}

/*
 * The text behind `hist:`. 0 and a histogram without its table (a spec), or an errno value, told to the error log.
 * *what is set to clear, pause or cont if the text says so.
 */
enum hist_order {
	HIST_SET,
	HIST_CLEAR,
	HIST_PAUSE,
	HIST_CONTINUE
};
int fathom_hist_parse(struct ctl_instance *tr, const struct fathom_event *ev, const char *command,
		      size_t at, size_t len, struct ctl_hist *out, enum hist_order *order);
void fathom_hist_error(struct ctl_instance *tr, const struct fathom_event *ev, const char *what,
		       const char *command, size_t len, size_t at);
/* What one event brings: its record, and the values of variables. */
struct hist_run {
	const void *record;
	uint32_t bytes;
	uint32_t cpu;
	uint64_t var[HIST_VARS_MAX]; /* numbers */
	uint64_t ref[HIST_REFS_MAX]; /* numbers, or addresses of texts in entries */
};

/* hist_expr.c: 0, or -EINVAL with what is wrong, and where in the command. */
int fathom_hist_expr_parse(struct ctl_hist *h, const struct fathom_event *ev, const char *command,
			   size_t at, size_t len, struct hist_expr *out, const char **what,
			   size_t *where);
uint64_t fathom_hist_expr(const struct hist_expr *e, const struct hist_run *run); /* any context */
void fathom_hist_expr_show(const struct hist_var *v, struct fathom_text *t);
/* hist_parse.c, hist.c: the place of a field in an entry, and putting it there. */
void fathom_hist_key_size(struct hist_field *f);
void fathom_hist_take(const struct hist_field *f, const void *record, uint32_t bytes, uint32_t cpu,
		      uint8_t *to);

/*
 * hist_action.c: `onmax($x).save(a,b)`, `onchange($x).snapshot()`. 1 if the text is one, 0 if it is something else, or
 * -EINVAL with what is wrong, and where in the text.
 */
int fathom_hist_action_parse(struct ctl_hist *h, const struct fathom_event *ev, const char *s,
			     size_t n, const char **what, size_t *where);
uint32_t fathom_hist_actions_place(struct ctl_hist *h, uint32_t at); /* behind `at`: the new end */
/* Any context, gate held. 1 if one was left out because its entry was in use. */
int fathom_hist_actions_run(struct ctl_hist *h, uint32_t entry, const struct hist_run *run);
int fathom_hist_actions_snapshot(const struct ctl_hist *h); /* does one need a snapshot? */
int fathom_hist_actions_same(const struct ctl_hist *a, const struct ctl_hist *b);
void fathom_hist_actions_spec(const struct ctl_hist *h, struct fathom_text *t);
void fathom_hist_actions_text(const struct ctl_hist *h, uint32_t entry, struct fathom_text *t);

/*
 * hist_var.c: variables across events. The number of the variable `$x` of this histogram, or -1; of the reference to `$x` or
 * `system.event.$x` of another one, or -1 with what is wrong.
 */
int fathom_hist_own(const struct ctl_hist *h, const char *s, size_t n);
int fathom_hist_ref(struct ctl_hist *h, const char *s, size_t n, int once, const char **what);
uint32_t fathom_hist_cells_place(struct ctl_hist *h, uint32_t at); /* behind `at`: the new end */
/* Any context, gate held. 0: a variable is not there under this key. */
int fathom_hist_refs_read(const struct ctl_hist *h, const uint8_t *key, struct hist_run *run);
/* Work out the variables and keep them: 1 if a cell was in use. */
int fathom_hist_vars_keep(const struct ctl_hist *h, uint32_t entry, struct hist_run *run);
int32_t fathom_hist_seek(const struct ctl_hist *h, const uint8_t *key); /* -1: not there */
/* Lock held. Does another histogram use variables of this one, or one of any the event? */
int fathom_hist_is_used(const struct ctl_hist *h);
int fathom_hist_makes(const struct fathom_event *ev);
void fathom_hist_unrefer(const struct ctl_hist *h); /* it is about to go */

/* `system.event` of onmatch(): 0, or -EINVAL with what is wrong. */
int fathom_hist_match_parse(struct ctl_hist *h, const char *s, size_t n, const char **what);

/* Do two specs make the same histogram? */
int fathom_hist_same(const struct ctl_hist *a, const struct ctl_hist *b);

#endif
