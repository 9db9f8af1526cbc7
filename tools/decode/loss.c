/* SPDX-License-Identifier: MIT */
/* loss.c -- the account of loss: what a trace lost, by cause, where, and how surely that is known. */
#include "decode/loss.h"
#include "base/vec.h"
#include "base/diag.h"
#include "base/json.h"
#include "decode/source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct losses {
	struct loss *list;
	size_t nr, cap;
};

struct losses *losses_new(void)
{
	return calloc(1, sizeof(struct losses));
}

void losses_free(struct losses *t)
{
	if (t)
		free(t->list);
	free(t);
}

static void join(struct losses *t, const struct loss *l)
{
	for (size_t i = t->nr; i-- > 0;) {
		struct loss *have = &t->list[i];

		if (have->stream != l->stream)
			continue;
		have->to = l->to;
		if (have->lost != UINT64_MAX)
			have->lost = l->lost == UINT64_MAX ? l->lost : have->lost + l->lost;
		return;
	}
}

void losses_add(struct losses *t, const struct loss *l)
{
	if (t->nr >= LOSSES_MAX || !VEC_MORE(t->list, t->nr)) {
		join(t, l);
		return;
	}
	t->list[t->nr++] = *l;
}

size_t losses_nr(const struct losses *t)
{
	return t->nr;
}

const struct loss *losses_at(const struct losses *t, size_t i)
{
	return i < t->nr ? &t->list[i] : NULL;
}

/* ---- the account ---- */

static const struct {
	const char *name, *stat; /* the word, and the line of `stats` that counts it */
} causes[LOSS_CAUSES] = {
	[LOSS_GAP] = {"cause not recorded", NULL},
	[LOSS_OVERWRITTEN] = {"overwritten", "overrun"},
	[LOSS_FULL] = {"refused: buffer full", "dropped events"},
	[LOSS_NESTED] = {"refused: nested too deeply", "commit overrun"},
	[LOSS_TOO_BIG] = {"refused: too big", "too big"},
	[LOSS_OMITTED] = {"not in the dump", "not dumped"},
	[LOSS_LINE] = {"damaged on the line", "damaged on the line"},
	[LOSS_CALLS] = {"calls not followed", "calls not followed"},
	[LOSS_TAKEN] = {"taken by another reader", "taken by another reader"},
	[LOSS_CLEARED] = {"cleared by the target", "cleared while recording"},
	[LOSS_DAMAGED] = {"damaged in memory", "damaged events"},
};

const char *loss_cause_name(enum loss_cause cause)
{
	return causes[cause].name;
}

static void sum_add(struct loss_sum *to, uint64_t n, bool more)
{
	to->n += n;
	to->more |= more;
}

/* What the statements say of one stream (or of LOSS_ALL), calls aside; adds it to the table by cause if there is one. */
static struct loss_sum stated(const struct source *s, uint32_t stream, struct loss_sum *by_cause)
{
	struct loss_sum all = {0};

	for (size_t i = 0; i < s->nr_stated; i++) {
		const struct loss *l = &s->stated[i];
		bool unknown = l->lost == UINT64_MAX;

		if (l->stream != stream)
			continue;
		if (by_cause)
			sum_add(&by_cause[l->cause], unknown ? 0 : l->lost,
				unknown || l->bound == LOSS_AT_LEAST);
		if (l->cause != LOSS_CALLS)
			sum_add(&all, unknown ? 0 : l->lost, unknown || l->bound == LOSS_AT_LEAST);
	}
	return all;
}

/*
 * Gaps are places of what the counters counted, so the larger number is the right one, and the difference is in gaps whose
 * number is not known or in no gap. In a window the counters say only that there was, or was not, anything to lose.
 */
static void settle_stream(struct account *a, const struct source *s, uint32_t i,
			  const struct loss_sum *gaps, bool whole)
{
	struct account_stream *t = &a->streams[i];
	struct loss_sum all = stated(s, i, whole ? a->by_cause : NULL);
	bool counted = s->streams[i].counted && !all.more;

	if (!whole) {
		t->lost = *gaps;
		t->lost.more |= !counted || all.n > gaps->n;
		sum_add(&a->by_cause[LOSS_GAP], gaps->n, gaps->more);
	} else if (all.n >= gaps->n) {
		t->lost.n = all.n;
		t->lost.more = !counted;
		t->unplaced = gaps->more ? 0 : all.n - gaps->n;
	} else {
		t->lost.n = gaps->n;
		t->lost.more = gaps->more || !counted;
		sum_add(&a->by_cause[LOSS_GAP], gaps->n - all.n, gaps->more);
	}
	if (whole && !s->streams[i].counted && gaps->more)
		a->by_cause[LOSS_GAP].more = true;
	sum_add(&a->lost, t->lost.n, t->lost.more);
	a->unplaced += t->unplaced;
	a->unplaced_unknown |= !counted;
}

static void add_gaps(struct account *a, const struct loss *gaps, size_t nr, struct loss_sum *sums)
{
	for (size_t i = 0; i < nr; i++) {
		const struct loss *l = &gaps[i];
		struct account_stream *t = &a->streams[l->stream];

		t->gaps++;
		t->gap_time += l->to > l->from ? l->to - l->from : 0;
		sum_add(&sums[l->stream], l->lost == UINT64_MAX ? 0 : l->lost,
			l->lost == UINT64_MAX);
	}
}

int account_make(struct account *a, const struct source *s, const struct loss *gaps, size_t nr,
		 bool whole, bool (*keep)(const struct source *s, uint32_t stream, void *arg),
		 void *arg)
{
	struct loss_sum *sums = calloc(s->nr_streams + 1, sizeof(*sums)), all;

	memset(a, 0, sizeof(*a));
	a->streams = calloc(s->nr_streams + 1, sizeof(*a->streams));
	if (!sums || !a->streams) {
		free(sums);
		free(a->streams);
		return -ENOMEM;
	}
	a->nr_streams = s->nr_streams;
	add_gaps(a, gaps, nr, sums);
	for (uint32_t i = 0; i < s->nr_streams; i++) {
		if (keep && !keep(s, i, arg))
			continue;
		settle_stream(a, s, i, &sums[i], whole);
		a->gaps += a->streams[i].gaps;
		a->gap_time += a->streams[i].gap_time;
	}
	all = stated(s, LOSS_ALL, whole ? a->by_cause : NULL);
	if (whole) {
		a->unplaced += all.n;
		sum_add(&a->lost, all.n, all.more);
	}
	a->lost.more |= all.more || (!whole && all.n);
	a->unplaced_unknown |= a->lost.more;
	free(sums);
	return 0;
}

/* A recorder that counts them counts the same ones, and those of tasks that were not traced again. */
void account_calls(struct account *a, uint64_t calls)
{
	if (calls > a->by_cause[LOSS_CALLS].n)
		a->by_cause[LOSS_CALLS].n = calls;
}

void account_free(struct account *a)
{
	free(a->streams);
	a->streams = NULL;
}

bool account_lost(const struct account *a)
{
	bool any = a->lost.n || a->gaps;

	for (int c = 0; c < LOSS_CAUSES; c++)
		any |= a->by_cause[c].n || a->by_cause[c].more;
	return any;
}

static const char *amount(const struct loss_sum *n)
{
	static char ring[8][64];
	static unsigned next;
	char *out = ring[next++ % 8];

	if (!n->n && n->more)
		snprintf(out, 64, "an unknown number");
	else
		snprintf(out, 64, "%s%s", n->more ? "at least " : "", thousands(n->n));
	return out;
}

void account_text(const struct account *a, char *out, size_t bytes)
{
	size_t n;
	const char *sep = ": ";

	if (!account_lost(a)) {
		snprintf(out, bytes, "%s",
			 a->lost.more ? "no gap seen; the trace does not count what was lost"
				      : "nothing");
		return;
	}
	n = (size_t)snprintf(out, bytes, "%s%s", amount(&a->lost),
			     !a->lost.n && a->lost.more ? " of events"
			     : a->lost.n == 1		? " event"
							: " events");
	for (int c = 0; c < LOSS_CAUSES; c++) {
		if ((!a->by_cause[c].n && !a->by_cause[c].more) || n >= bytes)
			continue;
		n += (size_t)snprintf(out + n, bytes - n, "%s%s %s", sep, amount(&a->by_cause[c]),
				      causes[c].name);
		sep = ", ";
	}
}

void account_json(const struct account *a, struct json *j)
{
	json_u64(j, "lost", a->lost.n);
	json_bool(j, "lost_is_exact", !a->lost.more);
	json_u64(j, "lost_unplaced", a->unplaced);
	json_open(j, "lost_by_cause", '[');
	for (int c = 0; c < LOSS_CAUSES; c++) {
		if (!a->by_cause[c].n && !a->by_cause[c].more)
			continue;
		json_open(j, NULL, '{');
		json_str(j, "cause", causes[c].name);
		json_u64(j, "count", a->by_cause[c].n);
		json_bool(j, "exact", !a->by_cause[c].more);
		json_close(j, '}');
	}
	json_close(j, ']');
}

/* ---- counters as text ---- */

/* The stream that a CPU of a buffer is; LOSS_ALL: the trace has none. */
static uint32_t stream_of(const struct source *s, const char *buffer, size_t n, uint32_t cpu)
{
	for (uint32_t i = 0; i < s->nr_streams; i++) {
		const char *name = s->buffers[s->streams[i].buffer].name;

		if (s->streams[i].cpu == cpu && strlen(name) == n && !memcmp(name, buffer, n))
			return i;
	}
	return LOSS_ALL;
}

struct stats_place {
	const char *buffer;
	size_t buffer_bytes;
	uint32_t stream;
	bool known;
};

/* NAME: 123, NAME: >123 (at least) or NAME: ? (not known). */
static void stats_line(struct source *s, struct stats_place *at, const char *p, size_t n)
{
	const char *colon = memchr(p, ':', n), *v = colon ? colon + 1 : NULL;

	if (!colon)
		return;
	while (v < p + n && (*v == ' ' || *v == '\t'))
		v++;
	if (n > 8 && !memcmp(p, "Buffer: ", 8)) {
		at->buffer = v;
		at->buffer_bytes = (size_t)(p + n - v);
		return;
	}
	if (colon - p == 3 && !memcmp(p, "CPU", 3)) {
		bool all = *v == '*';

		at->stream = all ? LOSS_ALL
				 : stream_of(s, at->buffer, at->buffer_bytes,
					     (uint32_t)strtoul(v, NULL, 10));
		at->known = all || at->stream != LOSS_ALL;
		return;
	}
	if (at->known && at->stream != LOSS_ALL) {
		struct stream *st = &s->streams[at->stream];

		if (colon - p == 13 && !memcmp(p, "recorded from", 13))
			st->recorded_from = strtoull(v, NULL, 10);
		if (colon - p == 11 && !memcmp(p, "recorded to", 11))
			st->recorded_to = strtoull(v, NULL, 10);
	}
	for (int c = 0; at->known && c < LOSS_CAUSES; c++) {
		bool more = *v == '>';
		uint64_t count;

		if (!causes[c].stat || strlen(causes[c].stat) != (size_t)(colon - p) ||
		    memcmp(p, causes[c].stat, (size_t)(colon - p)))
			continue;
		count = *v == '?' ? UINT64_MAX : strtoull(v + more, NULL, 10);
		source_state_loss(s, at->stream, (enum loss_cause)c, count,
				  more ? LOSS_AT_LEAST : LOSS_EXACT);
		if (c == LOSS_FULL && at->stream != LOSS_ALL) /* the last that Linux counts */
			s->streams[at->stream].counted = true;
	}
}

void loss_read_stats(struct source *s, const char *text)
{
	struct stats_place at = {.buffer = ""};

	while (*text) {
		size_t n = strcspn(text, "\n");

		stats_line(s, &at, text, n);
		text += n + (text[n] == '\n');
	}
}

static void put_stat(FILE *f, const struct source *s, uint32_t stream, int cause)
{
	struct loss_sum sum = {0};

	for (size_t i = 0; i < s->nr_stated; i++) {
		const struct loss *l = &s->stated[i];

		if (l->stream == stream && l->cause == cause)
			sum_add(&sum, l->lost == UINT64_MAX ? 0 : l->lost,
				l->lost == UINT64_MAX || l->bound == LOSS_AT_LEAST);
	}
	if (sum.more && !sum.n)
		fprintf(f, "%s: ?\n", causes[cause].stat);
	else if (sum.n || cause == LOSS_OVERWRITTEN || cause == LOSS_FULL || cause == LOSS_NESTED)
		fprintf(f, "%s: %s%" PRIu64 "\n", causes[cause].stat, sum.more ? ">" : "", sum.n);
}

char *loss_write_stats(const struct source *s, const uint32_t *cpus)
{
	static const int order[] = {LOSS_OVERWRITTEN, LOSS_NESTED, LOSS_TOO_BIG, LOSS_OMITTED,
				    LOSS_LINE,	      LOSS_CALLS,  LOSS_TAKEN,	 LOSS_CLEARED,
				    LOSS_DAMAGED,     LOSS_FULL};
	size_t bytes = 0, nr = sizeof(order) / sizeof(order[0]);
	char *text = NULL;
	FILE *f = open_memstream(&text, &bytes);

	for (uint32_t i = 0; f && i < s->nr_streams; i++) {
		const struct stream *st = &s->streams[i];

		if (i == s->buffers[st->buffer].first_stream && s->buffers[st->buffer].name[0])
			fprintf(f, "Buffer: %s\n", s->buffers[st->buffer].name);
		fprintf(f, "CPU: %u\n", cpus[i]);
		if (st->recorded_to)
			fprintf(f, "recorded from: %" PRIu64 "\nrecorded to: %" PRIu64 "\n",
				st->recorded_from, st->recorded_to);
		/* Without the line that is read as "all was counted", where it was not. */
		for (size_t k = 0; k < nr; k++)
			if (order[k] != LOSS_FULL || st->counted)
				put_stat(f, s, i, order[k]);
	}
	if (f)
		fputs("CPU: *\n", f);
	for (size_t k = 0; f && k < nr; k++)
		put_stat(f, s, LOSS_ALL, order[k]);
	if (!f || fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

void loss_read_head(struct source *s, const char *text, size_t bytes)
{
	static const char key[] = "# entries-in-buffer/entries-written: ";
	const char *at = memmem(text, bytes < 4096 ? bytes : 4096, key, sizeof(key) - 1);
	unsigned long long here, written;
	char line[64] = "";

	if (!at)
		return;
	at += sizeof(key) - 1;
	memcpy(line, at, (size_t)(text + bytes - at) < 63 ? (size_t)(text + bytes - at) : 63);
	if (sscanf(line, "%llu/%llu", &here, &written) == 2 && written > here)
		source_state_loss(s, LOSS_ALL, LOSS_OVERWRITTEN, written - here, LOSS_EXACT);
}
