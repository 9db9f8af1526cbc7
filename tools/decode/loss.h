/* SPDX-License-Identifier: MIT */
/* loss.h -- the account of loss: what a trace lost, by cause, where, and how surely that is known. */
#ifndef DECODE_LOSS_H
#define DECODE_LOSS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A trace reports loss in two ways, and the account is made of both:
 *
 *   gaps        an event says that others are missing right before it (event.lost). The place is known, the number mostly,
 *               the cause not.
 *   statements  counters that the recorder kept: so many were overwritten, refused ... The number and the cause are known,
 *               the place not. A format makes them when it is opened (source_state_loss); source.stated keeps them.
 *
 * A counter that is zero is knowledge too: stream.counted says that the recorder counted all that the stream lost. Without
 * it nobody may say "lost nothing", and no number is exact.
 */
enum loss_cause {
	LOSS_GAP, /* events are missing; the trace does not say why */
	LOSS_OVERWRITTEN,
	LOSS_FULL,    /* refused: the buffer was full */
	LOSS_NESTED,  /* refused: the writer was interrupted too deeply */
	LOSS_TOO_BIG, /* refused: larger than a page */
	LOSS_OMITTED, /* recorded, but not part of this dump */
	LOSS_LINE,    /* sent, but damaged on the line */
	LOSS_CALLS, /* calls that function_graph did not follow, its stack of returns being full; not events */
	LOSS_TAKEN,   /* recorded, but read by a program other than the recorder */
	LOSS_CLEARED, /* recorded, but lost before it was read: the target emptied its buffer */
	LOSS_DAMAGED, /* recorded, but in a page of the last boot's ring that was damaged */
	LOSS_CAUSES,
};

enum loss_bound {
	LOSS_EXACT,
	LOSS_AT_LEAST,
};

#define LOSS_ALL UINT32_MAX /* as a stream: the trace, and it is not known which part of it */

struct loss {
	uint32_t stream;
	uint16_t cause; /* enum loss_cause */
	uint16_t bound; /* enum loss_bound */
	/* time of the last event before it; the first time of the trace if there is none */
	uint64_t from;
	uint64_t to;   /* time of the first event after it */
	uint64_t lost; /* the number of events; UINT64_MAX: not known */
};

#define LOSSES_MAX 1000000u /* kept; more are joined with the last one of their stream */

struct losses *losses_new(void);
void losses_free(struct losses *t);
void losses_add(struct losses *t, const struct loss *l);
size_t losses_nr(const struct losses *t);
const struct loss *losses_at(const struct losses *t, size_t i);

/* A number that may be a lower bound. */
struct loss_sum {
	uint64_t n;
	bool more; /* there may be more */
};

struct account_stream {
	struct loss_sum lost;
	uint64_t unplaced; /* of them, where is not known: in no gap */
	uint64_t gaps, gap_time;
};

struct account {
	struct loss_sum lost; /* events, of all causes but LOSS_CALLS */
	struct loss_sum by_cause[LOSS_CAUSES];
	uint64_t unplaced;		/* events lost in no gap */
	bool unplaced_unknown;		/* ... and there may be more of those */
	uint64_t gaps, gap_time;	/* streams added up */
	struct account_stream *streams; /* source.nr_streams */
	size_t nr_streams;
};

struct source;
struct json;

/*
 * Put the gaps, which are all that a walk met, and the source's statements together. `whole`: the walk was of the whole
 * stream; else it was of a window, and what the statements say may lie outside. Streams that keep() refuses do not count
 * (NULL: all do). 0 or -ENOMEM. Free with account_free().
 */
int account_make(struct account *a, const struct source *s, const struct loss *gaps, size_t nr,
		 bool whole, bool (*keep)(const struct source *s, uint32_t stream, void *arg),
		 void *arg);
void account_free(struct account *a);
/* Calls that the trace's own records say were not followed. */
void account_calls(struct account *a, uint64_t calls);

/* The cause as a word for tables and JSON: "overwritten". */
const char *loss_cause_name(enum loss_cause cause);
/*
 * A sentence about all of it, without a full stop: "nothing", "4,904 events: 4,904 overwritten",
 * "at least 4,020 events, cause not recorded", "no gap; the trace does not count what was lost".
 */
void account_text(const struct account *a, char *out, size_t bytes);
/* Whether events or calls are missing, which a reader of any figure must know. */
bool account_lost(const struct account *a);
/* "lost", "lost_is_exact", "lost_unplaced", "lost_by_cause" into the object that is open. */
void account_json(const struct account *a, struct json *j);

/*
 * The text of per_cpu/cpuN/stats, one CPU after another, each begun by "CPU: N", instances by "Buffer: NAME": what Linux
 * writes, what trace-cmd keeps in a trace.dat, and with a few lines more what Fathom does. Becomes statements.
 */
void loss_read_stats(struct source *s, const char *text);
/* The statements of a source as such a text, which another file carries; `cpus` are the numbers that its streams have there.
 * NULL: out of memory. The caller frees it. */
char *loss_write_stats(const struct source *s, const uint32_t *cpus);
/* The head of a `trace` file: how many entries were written and how many are left in the buffer. */
void loss_read_head(struct source *s, const char *text, size_t bytes);

#endif
