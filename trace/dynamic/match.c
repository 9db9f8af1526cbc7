/* SPDX-License-Identifier: MIT */
/* match.c -- actions of histograms that make synthetic events: trace(event,...) and event(...). */
#include "wire/cold.h"
#include "control/hist.h"
#include "control/str.h"
#include "control/trigger.h"
#include "dynamic/dynamic.h"
#include "fathom/inside/emit.h"
#include "wire/copy.h"

/* ---- parameters ---- */

/* A histogram of the event with the same keys as this one. */
static const struct ctl_trigger *match_like(const struct ctl_hist *h, uint32_t event)
{
	const struct ctl_trigger *t = h->tr->events[event].triggers;

	for (; t; t = t->next) {
		uint32_t same = 0;

		if (t->kind != CTL_TRIGGER_HIST || t->hist->nr_keys != h->nr_keys)
			continue;
		while (same < h->nr_keys && t->hist->key[same].size == h->key[same].size)
			same++;
		if (same == h->nr_keys)
			return t;
	}
	return 0;
}

/*
 * A field of another event: a histogram with its keys and the variable synthetic_FIELD is put there, as Linux does it, and
 * goes when nobody uses it any more.
 */
static int param_field_elsewhere(struct ctl_hist *h, uint32_t event, const char *field, size_t n,
				 const char **what)
{
	const struct ctl_trigger *like = match_like(h, event);
	char name[2 * FATHOM_NAME_MAX + 40], line[256];
	const char *filter = 0;
	struct fathom_text t, l;
	size_t bytes = 0;
	int ref;

	*what = "Matching event histogram not found";
	if (!like || n > FATHOM_NAME_MAX)
		return -1;
	fathom_text_init(&t, name, sizeof(name));
	fathom_text_str(&t, fathom_ctl_event(event)->system);
	fathom_text_char(&t, '.');
	fathom_text_str(&t, fathom_ctl_event(event)->name);
	fathom_text_str(&t, ".$synthetic_");
	fathom_text_bytes(&t, field, n);
	ref = t.cut ? -1 : fathom_hist_ref(h, name, t.len, 0, what);
	if (ref >= 0)
		return ref;
	*what = "Couldn't create histogram for field";
	fathom_text_init(&l, line, sizeof(line));
	fathom_text_str(&l, "hist:");
	fathom_hist_keys_spec(like->hist, &l);
	fathom_text_str(&l, ":synthetic_");
	fathom_text_bytes(&l, field, n);
	fathom_text_char(&l, '=');
	fathom_text_bytes(&l, field, n);
	if (like->filter) {
		filter = fathom_filter_text(like->filter, &bytes);
		fathom_text_str(&l, " if ");
		fathom_text_bytes(&l, filter, bytes);
	}
	if (l.cut || fathom_trigger_command(h->tr, event, line, l.len))
		return -1;
	ref = fathom_hist_ref(h, name, t.len, 0, what);
	if (ref >= 0)
		h->ref[ref].from->helper = 1;
	return ref;
}

/* `system.event.field` or, for onmatch(), a field of the event that it names. */
static int param_elsewhere(struct ctl_hist *h, const struct hist_action *a, const char *s, size_t n,
			   const char **what)
{
	size_t first = ctl_find(s, n, '.'), second;
	char name[2 * FATHOM_NAME_MAX + 2];
	uint32_t event;

	*what = "Couldn't find param";
	if (first == n)
		return a->handler == HIST_ONMATCH && h->nr_matches
			       ? param_field_elsewhere(h, h->match[h->nr_matches - 1], s, n, what)
			       : -1;
	second = first + 1 + ctl_find(s + first + 1, n - first - 1, '.');
	if (second >= n || second > sizeof(name))
		return -1;
	__builtin_memcpy(name, s, second);
	name[first] = ':';
	event = fathom_ctl_event_find(name, second);
	return event < fathom_ctl.nr_events
		       ? param_field_elsewhere(h, event, s + second + 1, n - second - 1, what)
		       : -1;
}

static int param_is_text(const struct ctl_hist *h, const struct hist_field *f)
{
	if (f->ref)
		return h->ref[f->ref - 1].from->variable[h->ref[f->ref - 1].var].field.size != 0;
	return !f->var && f->size > 8;
}

static int field_is_text(const struct fathom_field *f)
{
	enum fathom_field_kind k = fathom_field_kind(f);

	return k == FATHOM_FIELD_STRING || k == FATHOM_FIELD_DYN_STRING;
}

/* One parameter, for the field of the event that it becomes. */
static int param_parse(struct ctl_hist *h, struct hist_action *a, const struct fathom_event *ev,
		       const char *s, size_t n, const struct fathom_field *to, const char **what)
{
	struct hist_field *f = &a->save[a->nr_saves];
	int own = fathom_hist_own(h, s, n), ref = -1;

	__builtin_memset(f, 0, sizeof(*f));
	if (own >= 0 && h->variable[own].field.size)
		*f = h->variable[own].field;
	else if (own >= 0)
		f->var = (uint8_t)(own + 1);
	else if (ctl_find(s, n, '$') < n)
		ref = fathom_hist_ref(h, s, n, 0, what);
	else if (n && n < sizeof(f->name) && !fathom_operand_find(ev, s, n, &f->op) &&
		 f->op.kind != FATHOM_OPERAND_ARRAY) {
		__builtin_memcpy(f->name, s, n);
		fathom_hist_key_size(f);
	} else if (n)
		ref = param_elsewhere(h, a, s, n, what);
	if (ref >= 0)
		f->ref = (uint8_t)(ref + 1);
	else if (!f->var && !f->size)
		return -FATHOM_EINVAL;
	*what = "Param type doesn't match synthetic event field type";
	if (param_is_text(h, f) != field_is_text(to))
		return -FATHOM_EINVAL;
	a->nr_saves++;
	return 0;
}

int fathom_match_parse(struct ctl_hist *h, struct hist_action *a, const struct fathom_event *ev,
		       const char *s, size_t n, const char **what)
{
	char name[FATHOM_NAME_MAX + 16] = "synthetic:";
	size_t open = ctl_find(s, n, '('), at = open + 1, end = n - 1, len;
	uint32_t event;

	*what = "No action found";
	if (open >= n || s[end] != ')')
		return -FATHOM_EINVAL;
	len = open;
	if (ctl_is(s, open, "trace")) {
		s += at;
		end -= at;
		len = ctl_find(s, end, ',');
		at = len + 1;
	}
	*what = "Couldn't find synthetic event";
	if (!len || len > FATHOM_NAME_MAX)
		return -FATHOM_EINVAL;
	__builtin_memcpy(name + 10, s, len);
	event = fathom_ctl_event_find(name, 10 + len);
	if (event == fathom_ctl.nr_events)
		return -FATHOM_EINVAL;
	a->synth = fathom_ctl_event(event);
	while (at < end) {
		len = ctl_find(s + at, end - at, ',');
		*what = "Too many action params";
		if (a->nr_saves == HIST_SAVES_MAX)
			return -FATHOM_EINVAL;
		*what = "Param count doesn't match synthetic event field count";
		if (a->nr_saves == a->synth->nr_fields)
			return -FATHOM_EINVAL;
		*what = "Couldn't find param";
		if (param_parse(h, a, ev, s + at, len, &a->synth->fields[a->nr_saves], what))
			return -FATHOM_EINVAL;
		at += len + 1;
	}
	*what = "Param count doesn't match synthetic event field count";
	return a->nr_saves == a->synth->nr_fields ? 0 : -FATHOM_EINVAL;
}

/* ---- making the event ---- */

#define TRACE_NESTING 3 /* events that events make, on one CPU's stack */

static uint8_t trace_depth[FATHOM_CPUS_MAX];

/* The text of a parameter. */
static const char *param_text(const struct ctl_hist *h, const struct hist_field *f,
			      const struct hist_run *run, char comm[16], uint32_t *n)
{
	const char *s;

	*n = 0;
	if (f->ref) {
		const struct hist_ref *r = &h->ref[f->ref - 1];
		const struct ctl_hist *from = __atomic_load_n(&r->from, __ATOMIC_ACQUIRE);

		s = (const char *)(uintptr_t)run->ref[f->ref - 1];
		while (from && *n < from->variable[r->var].field.size && s[*n])
			++*n;
		return s;
	}
	if (f->op.kind == FATHOM_OPERAND_COMM) {
		struct wire_common c;

		__builtin_memcpy(&c, run->record, sizeof(c));
		fathom_ctl_comm(c.pid, comm);
		*n = (uint32_t)ctl_len(comm);
		return comm;
	}
	s = fathom_operand_text(&f->op, run->record, run->bytes, n);
	return s;
}

static uint64_t param_number(const struct hist_field *f, const struct hist_run *run)
{
	if (f->var)
		return run->var[f->var - 1];
	if (f->ref)
		return run->ref[f->ref - 1];
	if (f->op.kind == FATHOM_OPERAND_CPU)
		return run->cpu;
	return fathom_operand_number(&f->op, run->record, run->bytes);
}

static int field_is_dynamic(const struct fathom_field *f)
{
	return fathom_field_kind(f) == FATHOM_FIELD_DYN_STRING;
}

/* Where the fields end, and dynamic texts begin. Fields have places of 8 bytes, or of their text. */
static uint32_t trace_fixed_bytes(const struct fathom_event *ev)
{
	const struct fathom_field *last = &ev->fields[ev->nr_fields - 1];
	uint32_t size = last->size > 8 ? (last->size + 7u) & ~7u : 8;

	return last->offset + size;
}

static void trace_put(const struct fathom_field *f, uint64_t v, uint8_t *record)
{
	uint8_t *to = record + f->offset;

	switch (f->size) {
	case 1: *to = (uint8_t)v; break;
	case 2: {
		uint16_t half = (uint16_t)v;

		__builtin_memcpy(to, &half, 2);
		break;
	}
	case 4: {
		uint32_t word = (uint32_t)v;

		__builtin_memcpy(to, &word, 4);
		break;
	}
	default: __builtin_memcpy(to, &v, 8);
	}
}

static void trace_fill(const struct ctl_hist *h, const struct hist_action *a,
		       const struct hist_run *run, uint8_t *record, uint32_t bytes)
{
	uint32_t end = trace_fixed_bytes(a->synth);
	char comm[16];

	wire_fill(record + sizeof(struct wire_common), 0, bytes - sizeof(struct wire_common));
	for (uint32_t i = 0; i < a->nr_saves; i++) {
		const struct fathom_field *f = &a->synth->fields[i];
		const char *s;
		uint32_t n;

		if (!field_is_text(f)) {
			trace_put(f, param_number(&a->save[i], run), record);
			continue;
		}
		s = param_text(h, &a->save[i], run, comm, &n);
		if (!field_is_dynamic(f)) {
			wire_copy(record + f->offset, s, n < f->size ? n : f->size - 1u);
			continue;
		}
		if (n + 1 > bytes - end) /* it grew since it was measured */
			n = bytes > end ? bytes - end - 1 : 0;
		trace_put(f, end | (uint64_t)(n + 1) << 16, record);
		wire_copy(record + end, s, n);
		end += n + 1;
	}
}

/*
 * Any context, gate held. An event that makes itself again, by however many others, ends after TRACE_NESTING of them, and
 * counts as dropped; what interrupts takes away what it adds.
 */
int fathom_match_make(const struct ctl_hist *h, const struct hist_action *a,
		      const struct hist_run *run)
{
	uint32_t bytes = trace_fixed_bytes(a->synth);
	struct fathom_emit e;
	char comm[16];
	uint8_t *record;

	if (trace_depth[run->cpu] == TRACE_NESTING)
		return 1;
	for (uint32_t i = 0; i < a->nr_saves; i++)
		if (field_is_dynamic(&a->synth->fields[i])) {
			uint32_t n;

			param_text(h, &a->save[i], run, comm, &n);
			bytes += n + 1;
		}
	trace_depth[run->cpu]++;
	fathom_local_barrier();
	record = fathom_emit_cold(a->synth, bytes, &e);
	if (record) {
		trace_fill(h, a, run, record, bytes);
		fathom_emit_cold_end(a->synth, &e);
	}
	fathom_local_barrier();
	trace_depth[run->cpu]--;
	return 0;
}
