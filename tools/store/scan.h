/* SPDX-License-Identifier: MIT */
/* scan.h -- the one way to ask for events: which ones, in what order, from where on. */
#ifndef STORE_SCAN_H
#define STORE_SCAN_H

#include "decode/source.h"
#include "query/filter.h"
#include "store/store.h"

/*
 * A choice says which events are wanted; a scan gives them one by one. How it finds them is its own business, decided once in
 * scan_open():
 *
 *   seek   the index (store.h, or a format's own) says where event N, the n-th of a type or a time is
 *   list   the index says in which blocks the wanted types occur: all others are skipped
 *   walk   everything from the beginning of the window to its end is read
 *
 *	struct scan_choice c = SCAN_ALL;
 *	struct scan *sc = scan_open(source, &c, NULL);
 *	const struct event *e;
 *
 *	while ((e = scan_next(sc)))
 *		...
 *	scan_close(sc);
 *
 * Invariants:
 *   N1  The plan changes how long a scan takes, never which events it gives or their order.
 *   N2  An event stays valid until the next call on the scan (S2 of source.h).
 *   N3  A choice is read-only while a scan uses it; several scans, in several threads, may use the same one.
 */

#define SCAN_CPUS 65536u

struct scan_choice {
	const uint64_t *cpus;  /* bit mask of SCAN_CPUS; NULL: all */
	const char *buffer;    /* name of the trace instance; NULL: all */
	uint64_t from, to;     /* first and last time, both included */
	const uint32_t *types; /* schema ids; NULL: all */
	size_t nr_types;
	const struct filter *filter; /* NULL: none */
	bool (*stop)(
		void); /* asked at each page: true ends the scan, as if nothing came after it; NULL: never */
};

#define SCAN_ALL ((struct scan_choice){.to = UINT64_MAX})

enum scan_order {
	SCAN_BY_TIME,
	SCAN_BY_STREAM, /* one stream after another, each in the order written */
};

struct scan_options {
	enum scan_order order;
	bool numbered; /* the events' numbers are wanted, where they can be known */
	bool stacks; /* a stack goes with the event before it on its stream, whatever the filter says */
	bool no_index;	  /* neither read nor write FILE.fidx */
	bool only_stream; /* with SCAN_BY_STREAM: this one only */
	uint32_t stream;
	uint32_t threads; /* of scan_each(), at most; 0: one per CPU */
	/* Called by one thread now and then, with what is done of all; may be NULL. */
	void (*progress)(void *arg, const char *what, uint64_t done, uint64_t total);
	void *arg;
};

struct scan;

/* NULL: out of memory. The choice must outlive the scan. Options may be NULL. */
struct scan *scan_open(struct source *s, const struct scan_choice *c, const struct scan_options *o);
void scan_close(struct scan *sc);
/* The next event of the choice, or NULL at the end. */
const struct event *scan_next(struct scan *sc);
/* The next event in the window and streams of the choice, whether or not types and filter want it. */
const struct event *scan_next_any(struct scan *sc, bool *wanted);
/* Of all events of the trace, the number of the one given last; UINT64_MAX: not known. */
uint64_t scan_number(const struct scan *sc);
/* Continue before event number n of all: 0, or -ENOENT and the number there are in *nr. Only if the choice takes every stream. */
int scan_seek(struct scan *sc, uint64_t n, uint64_t *nr);
/* Skip the next n events of the choice, before the first scan_next(). */
void scan_skip(struct scan *sc, uint64_t n);
/* Begin again. */
void scan_rewind(struct scan *sc);
/* Whether types and filter accept an event that was found otherwise. One thread per scan. */
bool scan_match(struct scan *sc, const struct event *e);
/* For views that look ahead (merge_peek() ...): the merge of a SCAN_BY_TIME scan, at the beginning of the window. */
struct merge *scan_merge(struct scan *sc);

/* How many events the choice has: from the index, or counted by several threads. False: out of memory. */
bool scan_count(struct source *s, const struct scan_choice *c, const struct scan_options *o,
		uint64_t *out);

/*
 * Where order does not matter: call `fn` once for each stream of the choice, from several threads, with a scan of that stream
 * alone. The first error (negative) ends it and is returned.
 */
int scan_each(struct source *s, const struct scan_choice *c, const struct scan_options *o,
	      int (*fn)(void *arg, struct scan *sc, uint32_t stream), void *arg);

/* ---- choices ---- */

bool scan_cpu(const struct scan_choice *c, uint32_t cpu);
/* Does the stream take part? */
bool scan_stream(const struct scan_choice *c, const struct source *s, uint32_t stream);
/* The same for merge_open() and others that take a callback; `choice` is the choice. */
bool scan_keep(const struct source *s, uint32_t stream, void *choice);
/* Does the window reach from the beginning to the end? */
bool scan_is_whole(const struct scan_choice *c);
/* Does it exclude any events? */
bool scan_is_choosy(const struct scan_choice *c);

static inline bool scan_time(const struct scan_choice *c, uint64_t t)
{
	return t >= c->from && t <= c->to;
}

/* A type by name, by what the format's own tools call it, or by either in another case. NULL: there is none. */
const struct schema *scan_type(const struct source *s, const char *name);

/* For messages: the event or field whose name is most similar to the beginning of the text; NULL: none is similar. */
const char *scan_guess(struct source *s, const char *word);

/* ---- times as people write them (window.c) ---- */

/* "12.345678" (seconds, as traces show them), "5ms", "1200ns", "3us", "2s"; a plain number if the clock counts ticks. */
bool scan_time_parse(const char *text, enum clock_unit unit, uint64_t *out);
/* Is it one of these, or "+5ms" from the first event of the trace, or "-1s" from the last? */
bool scan_time_is(const char *text);
/* The window between two such texts, either may be NULL. A time copied from a line, where it was rounded, includes the line. */
void scan_window(struct source *s, const char *from, const char *to, struct scan_choice *c);
/* The times of the first and the last event. False: there are none. */
bool scan_span(struct source *s, uint64_t *first, uint64_t *last);

#endif
