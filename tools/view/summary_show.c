/* SPDX-License-Identifier: MIT */
/* summary_show.c -- what is in a trace, for people, for scripts, and as JSON. */
#include "base/colour.h"
#include "base/diag.h"
#include "base/json.h"
#include "decode/blk.h"
#include "view/summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint64_t top; /* lines per table; 0: all */

/* Rounded, as lines of report are. */
static const char *when(const struct source *s, uint64_t t)
{
	static char ring[8][40];
	static unsigned next;
	char *out = ring[next++ % 8];
	uint64_t us = t / 1000 + (t % 1000 >= 500);

	if (s->unit == CLOCK_NS)
		snprintf(out, 40, "%" PRIu64 ".%06" PRIu64, us / 1000000, us % 1000000);
	else
		snprintf(out, 40, "%" PRIu64, t);
	return out;
}

static const char *bold = "", *red = "", *plain = ""; /* on a terminal */

static double per_second(const struct source *s, const struct summary *m, uint64_t n)
{
	uint64_t span = m->last - m->first;

	return span && s->unit == CLOCK_NS ? (double)n * 1e9 / (double)span : 0;
}

static uint64_t shown(uint64_t n)
{
	return top && n > top ? top : n;
}

static void more(uint64_t n)
{
	if (shown(n) < n)
		printf("%11s and %s more (--top 0 shows all)\n", "", thousands(n - shown(n)));
}

/* What was lost, by cause, and how much of the window was watched: never more than is known. */
static void print_loss(const struct summary *m)
{
	const struct account *a = &m->account;
	char text[512];

	account_text(a, text, sizeof(text));
	printf("lost         %s%s%s", account_lost(a) ? red : "", text,
	       account_lost(a) ? plain : "");
	if (account_lost(a)) {
		if (a->gaps)
			printf("; %s gap%s", thousands(a->gaps), a->gaps == 1 ? "" : "s");
		if (a->unplaced)
			printf("; of %s it is not known when", thousands(a->unplaced));
		if (m->observed_less && m->observed >= 1)
			printf("; how much of the window was observed is not known");
		else
			printf("; %s%.1f %% of the window observed",
			       m->observed_less ? "at most " : "", m->observed * 100);
	}
	puts("");
}

static void print_head(const struct source *s, const struct summary *m)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < s->nr_streams; i++)
		bytes += s->streams[i].bytes;
	printf("%s: %s", s->path, s->ops->name);
	if (s->info.file_version)
		printf(" version %u", s->info.file_version);
	if (s->info.compression[0] && strcmp(s->info.compression, "none") != 0)
		printf(", %s", s->info.compression);
	printf("\n");
	if (s->info.uname[0])
		printf("recorded on  %s\n", s->info.uname);
	if (s->info.ended[0])
		printf("ended        %s\n", s->info.ended);
	printf("events       %s in %s bytes", thousands(m->nr_events), thousands(bytes));
	if (per_second(s, m, m->nr_events) > 0)
		printf(", %.0f per second", per_second(s, m, m->nr_events));
	printf("\nspan         %s .. %s", when(s, m->first), when(s, m->last));
	if (s->unit == CLOCK_NS)
		printf(" (%s s)", when(s, m->last - m->first));
	printf(", clock %s\n", s->nr_buffers && s->buffers[0].clock[0] ? s->buffers[0].clock : "?");
	print_loss(m);
	if (s->damage_total)
		printf("damage       %s%s place%s%s; run `fathom verify` for details\n", red,
		       thousands(s->damage_total), s->damage_total == 1 ? "" : "s", plain);
}

/* The form that scripts of the seL4 tools read: types by the name those tools use. */
void summary_short(struct source *s, const struct summary *m)
{
	printf("Records: %s\n", thousands(m->nr_events));
	for (uint64_t i = 0; i < m->nr_types; i++) {
		const struct schema *k = source_schema(s, m->types[i].id);
		const char *own = k ? k->alias : NULL;

		printf("%s: %s\n", own ? own : source_event_name(s, m->types[i].id),
		       thousands(m->types[i].count));
	}
}

static void print_types(struct source *s, const struct summary *m)
{
	printf("\n%s%11s  %6s  %11s  event%s\n", bold, "count", "%", "per second", plain);
	for (uint64_t i = 0; i < shown(m->nr_types); i++) {
		const struct schema *k = source_schema(s, m->types[i].id);

		printf("%11s  %6.2f  %11.1f  ", thousands(m->types[i].count),
		       (double)m->types[i].count * 100 / (double)m->nr_events,
		       per_second(s, m, m->types[i].count));
		if (k && k->system[0])
			printf("%s:%s\n", k->system, k->name);
		else if (k)
			printf("%s\n", k->name);
		else
			printf(m->types[i].id == blk_type(s) ? "blk\n" : "unknown type %u\n",
			       m->types[i].id);
	}
	more(m->nr_types);
}

/* A process has as many CPUs as it may have threads: idle ones are counted, not listed. */
static bool is_silent(const struct summary *m, const struct summary_stream *t)
{
	const struct account_stream *a = &m->account.streams[t->stream];

	return top && !t->count && !a->lost.n && !a->gaps;
}

static void print_streams(const struct source *s, const struct summary *m)
{
	uint64_t silent = 0;

	printf("\n%s%11s  %4s  %16s  %16s  %10s  observed%s\n", bold, "count", "cpu", "first",
	       "last", "lost", plain);
	for (size_t i = 0; i < m->nr_streams; i++) {
		const struct summary_stream *t = &m->streams[i];
		const struct account_stream *a = &m->account.streams[t->stream];
		const struct stream *st = &s->streams[t->stream];
		uint64_t span = m->last - m->first;
		bool less = a->unplaced || a->lost.more;
		char lost[40];

		if (is_silent(m, t)) {
			silent++;
			continue;
		}
		snprintf(lost, sizeof(lost), "%s%s",
			 !a->lost.more ? ""
			 : a->lost.n   ? ">"
				       : "",
			 a->lost.more && !a->lost.n ? "?" : thousands(a->lost.n));
		printf("%11s  %4u  %16s  %16s  %10s  ", thousands(t->count), st->cpu,
		       t->count ? when(s, t->first) : "-", t->count ? when(s, t->last) : "-", lost);
		if (t->count && span && a->gap_time <= span)
			printf("%s%5.1f %%", less ? "<" : " ",
			       100 - (double)a->gap_time * 100 / (double)span);
		else
			printf("%8s", "-");
		if (s->buffers[st->buffer].name[0])
			printf("  %s", s->buffers[st->buffer].name);
		puts("");
	}
	if (silent)
		printf("%11s and %s without events (--top 0 shows all)\n", "", thousands(silent));
}

static void print_rest(struct source *s, const struct summary *m)
{
	printf("\n%s%11s  %6s  task%s\n", bold, "count", "%", plain);
	for (uint64_t i = 0; i < shown(m->nr_pids); i++)
		printf("%11s  %6.2f  %s-%d\n", thousands(m->pids[i].count),
		       (double)m->pids[i].count * 100 / (double)m->nr_events,
		       source_comm(s, m->pids[i].pid), m->pids[i].pid);
	more(m->nr_pids);
	if (!m->nr_losses)
		return;
	printf("\n%s%11s  %4s  %16s  %16s  gap%s\n", bold, "lost", "cpu", "from", "to", plain);
	for (uint64_t i = 0; i < shown(m->nr_losses); i++) {
		const struct loss *l = &m->losses[i];

		printf("%11s  %4u  %16s  %16s  %s\n",
		       l->lost == LOST_UNKNOWN ? "?" : thousands(l->lost),
		       s->streams[l->stream].cpu, when(s, l->from), when(s, l->to),
		       when(s, l->to - l->from));
	}
	more(m->nr_losses);
}

void summary_text(struct source *s, const struct summary *m, uint64_t lines)
{
	top = lines;
	if (colour_wanted(STDOUT_FILENO)) {
		bold = COLOUR_BOLD;
		red = COLOUR_RED;
		plain = COLOUR_OFF;
	}
	print_head(s, m);
	if (!m->nr_events)
		return;
	print_types(s, m);
	print_streams(s, m);
	print_rest(s, m);
}

static void json_tables(struct source *s, const struct summary *m, struct json *j)
{
	json_open(j, "types", '[');
	for (size_t i = 0; i < m->nr_types; i++) {
		const struct schema *k = source_schema(s, m->types[i].id);

		json_open(j, NULL, '{');
		json_u64(j, "id", m->types[i].id);
		json_str(j, "system", k ? k->system : "");
		json_str(j, "name", k ? k->name : "");
		json_u64(j, "count", m->types[i].count);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_open(j, "cpus", '[');
	for (size_t i = 0; i < m->nr_streams; i++) {
		const struct summary_stream *t = &m->streams[i];
		const struct stream *st = &s->streams[t->stream];
		const struct account_stream *a = &m->account.streams[t->stream];

		json_open(j, NULL, '{');
		json_u64(j, "cpu", st->cpu);
		json_str(j, "buffer", s->buffers[st->buffer].name);
		json_u64(j, "count", t->count);
		json_u64(j, "first", t->first);
		json_u64(j, "last", t->last);
		json_u64(j, "lost", a->lost.n);
		json_bool(j, "lost_is_exact", !a->lost.more);
		json_u64(j, "lost_unplaced", a->unplaced);
		json_u64(j, "gaps", a->gaps);
		json_u64(j, "gap_time", a->gap_time);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_open(j, "tasks", '[');
	for (size_t i = 0; i < m->nr_pids; i++) {
		json_open(j, NULL, '{');
		json_s64(j, "pid", m->pids[i].pid);
		json_str(j, "comm", source_comm(s, m->pids[i].pid));
		json_u64(j, "count", m->pids[i].count);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_open(j, "losses", '[');
	for (size_t i = 0; i < m->nr_losses; i++) {
		const struct loss *l = &m->losses[i];

		json_open(j, NULL, '{');
		json_u64(j, "cpu", s->streams[l->stream].cpu);
		json_u64(j, "from", l->from);
		json_u64(j, "to", l->to);
		if (l->lost == LOST_UNKNOWN)
			json_null(j, "lost");
		else
			json_u64(j, "lost", l->lost);
		json_close(j, '}');
	}
	json_close(j, ']');
}

void summary_json(struct source *s, const struct summary *m)
{
	struct json j;

	json_init(&j, stdout, true);
	json_open(&j, NULL, '{');
	json_str(&j, "file", s->path);
	json_str(&j, "format", s->ops->name);
	json_u64(&j, "version", s->info.file_version);
	json_str(&j, "uname", s->info.uname);
	json_str(&j, "ended", s->info.ended);
	json_str(&j, "clock", s->nr_buffers ? s->buffers[0].clock : "");
	json_str(&j, "unit", s->unit == CLOCK_NS ? "ns" : "ticks");
	json_u64(&j, "events", m->nr_events);
	json_u64(&j, "first", m->first);
	json_u64(&j, "last", m->last);
	json_decimal(&j, "per_second", per_second(s, m, m->nr_events), 3);
	account_json(&m->account, &j);
	json_decimal(&j, "observed", m->observed, 6);
	json_bool(&j, "observed_is_exact", !m->observed_less);
	json_u64(&j, "damage", s->damage_total);
	json_tables(s, m, &j);
	json_close(&j, '}');
	json_end(&j);
}
