/* SPDX-License-Identifier: MIT */
/* dynamic.h -- events that are made while the system runs: synthetic ones, and probes of functions and of other events. */
#ifndef DYNAMIC_DYNAMIC_H
#define DYNAMIC_DYNAMIC_H

#include "control/control.h"
#include "control/pool.h"
#include "control/tree.h"
#include "fathom/object.h"
#include "fathom/port_default.h"

/*
 * D1  A dynamic event is an object of its own (fathom/object.h) with one event, all of it in one block of control's pool. It is
 *     taken out of the registry first and retired then: who makes its records is inside fathom_pool_enter().
 * D2  Its id is used again by a later one. So what was recorded of it is cleared from the rings when it goes, as in Linux.
 * D3  The list and all that is not said to be "any context" is under the lock.
 */
#define DYNAMIC_FIELDS_MAX 16
#define DYNAMIC_ARGS_MAX   12
#define DYNAMIC_TEXT_BYTES 1536u /* names, types and the print format of one event */

enum dynamic_kind {
	DYNAMIC_SYNTH,
	DYNAMIC_ENTRY,	/* p: */
	DYNAMIC_RETURN, /* r: */
	DYNAMIC_EVENT,	/* e: */
};

/* Where a value comes from, and what is made of it: one argument of a probe. */
enum fetch_base {
	FETCH_REGISTER, /* `number`: words from the slot */
	FETCH_STACK,	/* the address of the stack */
	FETCH_RETVAL,
	FETCH_COMM,
	FETCH_NUMBER, /* itself */
	FETCH_TEXT,   /* a string of the command */
	FETCH_FIELD,  /* of the event that a probe hangs on */
};
#define FETCH_DEREFS_MAX 14
#define FETCH_ARRAY_MAX	 64u

struct dynamic_fetch {
	uint8_t base;
	uint8_t nr_derefs; /* memory is read so often, the innermost first */
	uint8_t size;	   /* of one number, or 4 of a string */
	uint8_t is_signed;
	uint8_t form;	     /* of the text: d, u, x, s (string), S (symbol) */
	uint8_t shift, bits; /* of a bit field; bits 0: none */
	uint8_t count;	     /* of an array; 0: none */
	uint16_t at;	     /* in the record */
	uint64_t number;
	int32_t deref[FETCH_DEREFS_MAX];
	struct fathom_operand field;
	const char *name, *text; /* as written; `text` is that of FETCH_TEXT too */
	const char *string;
};

/* Where one hangs: a function, or another event. Several probes may make one event. In a list that handlers walk. */
struct dynamic_probe {
	struct dynamic_probe *next;
	struct dynamic_event *d;
	uint32_t site;
	uint32_t event, age; /* of e: its place */
	uint32_t armed;
	unsigned long hits, missed;
	char place[FATHOM_NAME_MAX * 2 + 2]; /* as it is shown */
};

struct dynamic_event {
	struct fathom_event ev; /* first */
	struct fathom_event *list[1];
	struct fathom_object object;
	struct dynamic_event *next;
	uint8_t kind;
	uint32_t seen_by; /* instances that may hold records of it, a bit each */
	uint8_t nr_args;
	const char *place; /* of e: `system.event` */
	uint32_t fixed;	   /* bytes of a record without its strings */
	struct fathom_field field[DYNAMIC_FIELDS_MAX];
	struct dynamic_fetch arg[DYNAMIC_ARGS_MAX];
	struct fathom_text words; /* in text */
	char text[DYNAMIC_TEXT_BYTES];
};

/* ---- dynamic.c ---- */

struct dynamic_event *fathom_dynamic_new(enum dynamic_kind kind); /* NULL: no memory */
/* A string that lives with the event; "" if there is no room: words.cut says so. */
const char *fathom_dynamic_word(struct dynamic_event *d, const char *s, size_t n);
/* Named and described: it is there from now on. 0, -EEXIST, -ENOSPC, -E2BIG; it is freed then. */
int fathom_dynamic_add(struct dynamic_event *d);
struct dynamic_event *fathom_dynamic_first(void);
/* By the id in a record; any context that may read records. */
const struct dynamic_event *fathom_dynamic_of(const void *record);

/* What is wrong with a command, and where: always -EINVAL. */
int fathom_dynamic_fail(const char *who, const char *what, const char *command, size_t n,
			size_t at);
int fathom_dynamic_is_name(const char *s, size_t n); /* as C has them */
/* The next word of a command: its length, 0 at the end; *at is moved to where it begins. */
size_t fathom_dynamic_next(const char *s, size_t n, size_t *at);

/* ---- match.c ---- */

struct ctl_hist;
struct hist_action;
struct hist_run;
int fathom_match_parse(struct ctl_hist *h, struct hist_action *a, const struct fathom_event *ev,
		       const char *s, size_t n, const char **what);
int fathom_match_make(const struct ctl_hist *h, const struct hist_action *a,
		      const struct hist_run *run); /* any context, gate held */

/* ---- synth.c ---- */

/* `[s:[synthetic/]]name type field; ...`, of which the name begins at `at`. */
int fathom_synth_create(const char *s, size_t n, int dynamic);
void fathom_synth_show(const struct dynamic_event *d, struct fathom_text *t);

/* ---- fetch.c, fetch_text.c ---- */

/* A number in a record, which is packed. */
static inline uint64_t fetch_get(const uint8_t *at, uint32_t size)
{
	uint64_t v = 0;

	for (uint32_t i = size; i--;)
		v = v << 8 | at[__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? i : size - 1 - i];
	return v;
}

static inline int64_t fetch_signed(uint64_t v, uint32_t size)
{
	return size == 1 ? (int8_t)v : size == 2 ? (int16_t)v : size == 4 ? (int32_t)v : (int64_t)v;
}

/* What a probe sees; what is not there is 0. Any context. */
struct fetch_source {
	const uintptr_t *slot; /* beside which registers are */
	const void *record;    /* of another event */
	uint32_t bytes;
	int has_retval;
	uintptr_t retval;
};

struct fetch_parser {
	const char *who; /* error_log's */
	const char *s;	 /* the command */
	size_t n;
	struct dynamic_event *d;
	const struct fathom_event *on; /* of e: */
	size_t word;		       /* where the argument begins */
};
/* `[name=]fetch[:type]`, the word at `at`: one more argument. 0 or an errno value, told to the error log. */
int fathom_fetch_parse(struct fetch_parser *p, size_t at, size_t n);
uint32_t fathom_fetch_bytes(const struct dynamic_event *d, const struct fetch_source *from);
void fathom_fetch_fill(const struct dynamic_event *d, const struct fetch_source *from,
		       uint8_t *record, uint32_t bytes);
void fathom_fetch_print(const struct dynamic_event *d, struct fathom_print *p);
/* Into words: ` name=FORMAT` of each argument, then `, REC->name`. */
void fathom_fetch_formats(struct dynamic_event *d);
void fathom_fetch_values(struct dynamic_event *d);

/* ---- probe.c ---- */

int fathom_probe_create(const char *s, size_t n);
void fathom_dynamic_probe_show(const struct dynamic_probe *p, struct fathom_text *t);
void fathom_dynamic_probe_profile(const struct dynamic_probe *p, struct fathom_text *t);
struct dynamic_probe *fathom_dynamic_probes(void);
/* An event of theirs was switched: sites and events follow. */
int fathom_dynamic_probes_turned(struct dynamic_event *d);
/* Take away those of the event, or the one at this place. How many are left. */
uint32_t fathom_dynamic_probes_remove(struct dynamic_event *d, const struct dynamic_probe *only);
void fathom_dynamic_probes_forget(void);

#endif
