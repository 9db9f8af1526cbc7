/* SPDX-License-Identifier: MIT */
/* file_event.c -- events/: enable on three levels, format, id, headers of the page; set_event, available_events. */
#include "control/control.h"
#include "control/files.h"
#include "control/pool.h"
#include "control/str.h"
#include "wire/tracedat_write.h"

static int event_in(const struct fathom_file *f, uint32_t event)
{
	if (fathom_event_is_internal(fathom_ctl_event(event)))
		return 0;
	switch (f->node.entry->arg) {
	case CTL_SCOPE_ALL: return 1;
	case CTL_SCOPE_SYSTEM: return fathom_ctl.place[event].system == f->node.at;
	default: return event == f->node.at;
	}
}

/* 0, 1, X for both, ? for none; a single event also shows `*` while triggers or probes may turn it. */
static int event_on_show(struct fathom_file *f, struct fathom_text *t)
{
	const struct ctl_instance *tr = fathom_ctl_instance(&f->node);
	uint32_t seen = 0;

	for (uint32_t i = 0; i < fathom_ctl.nr_events; i++)
		if (event_in(f, i))
			seen |= tr->events[i].on ? 2 : 1;
	fathom_text_char(t, "?01X"[seen]);
	if (f->node.entry->arg == CTL_SCOPE_EVENT) {
		const struct ctl_event *e = &tr->events[f->node.at];

		if (e->soft || e->triggers || e->probed)
			fathom_text_char(t, '*');
	}
	fathom_text_char(t, '\n');
	return 0;
}

static int event_in_scope(const struct ctl_events *m, uint32_t event)
{
	return event_in(m->arg, event);
}

static int event_on_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	struct ctl_events these = {fathom_ctl_instance(&f->node), event_in_scope, f, 0};
	uint64_t v;
	int err = fathom_ctl_write_number(buf, bytes, &v);

	if (!err)
		err = v > 1 ? -FATHOM_EINVAL : fathom_ctl_events_enable(&these, (int)v);
	return err ? err : (int)bytes;
}

const struct ctl_file_ops fathom_ctl_event_on = {.show = event_on_show, .write = event_on_write};

static int event_format_show(struct fathom_file *f, struct fathom_text *t)
{
	fathom_event_format(fathom_ctl_event(f->node.at), t);
	return 0;
}

const struct ctl_file_ops fathom_ctl_event_format = {.show = event_format_show};

static int event_id_show(struct fathom_file *f, struct fathom_text *t)
{
	fathom_text_u64(t, fathom_ctl_event(f->node.at)->id, 0, ' ');
	fathom_text_char(t, '\n');
	return 0;
}

const struct ctl_file_ops fathom_ctl_event_id = {.show = event_id_show};

static int header_page_show(struct fathom_file *f, struct fathom_text *t)
{
	(void)f;
	fathom_dat_header_page(t, WIRE_PAGE_BYTES);
	return 0;
}

static int header_event_show(struct fathom_file *f, struct fathom_text *t)
{
	(void)f;
	fathom_text_str(t, fathom_dat_header_event);
	return 0;
}

const struct ctl_file_ops fathom_ctl_header_page = {.show = header_page_show};
const struct ctl_file_ops fathom_ctl_header_event = {.show = header_event_show};

#define EVENT_COLUMN 32 /* where show_event_filters and show_event_triggers begin, as in Linux */

/* A piece per event. `all`: not only those that are on. */
static int event_list(struct fathom_file *f, struct fathom_text *t, int all)
{
	const struct ctl_instance *tr = fathom_ctl_instance(&f->node);
	const struct fathom_event *ev;

	if (f->piece >= fathom_ctl.nr_events)
		return 0;
	ev = fathom_ctl_event(f->piece);
	if (!fathom_event_is_internal(ev) && (all || tr->events[f->piece].on)) {
		fathom_text_str(t, ev->system);
		fathom_text_char(t, ':');
		fathom_text_str(t, ev->name);
		fathom_text_char(t, '\n');
	}
	return f->piece + 1 < fathom_ctl.nr_events;
}

static int available_events_show(struct fathom_file *f, struct fathom_text *t)
{
	return event_list(f, t, 1);
}

static int set_event_show(struct fathom_file *f, struct fathom_text *t)
{
	return event_list(f, t, 0);
}

void fathom_ctl_event_column(struct fathom_text *t, uint32_t event)
{
	const struct fathom_event *ev = fathom_ctl_event(event);
	size_t n = ctl_len(ev->system) + 1 + ctl_len(ev->name);

	fathom_text_str(t, ev->system);
	fathom_text_char(t, ':');
	fathom_text_str(t, ev->name);
	fathom_text_fill(t, ' ', n < EVENT_COLUMN ? EVENT_COLUMN - n : 1);
}

const struct ctl_file_ops fathom_ctl_available_events = {.show = available_events_show};

static int set_event_any(const struct ctl_events *m, uint32_t event)
{
	(void)m;
	return !fathom_event_is_internal(fathom_ctl_event(event));
}

static int set_event_open(struct fathom_file *f)
{
	struct ctl_events all = {fathom_ctl_instance(&f->node), set_event_any, 0, 0};

	if (fathom_ctl_truncates(f))
		fathom_ctl_events_enable(&all, 0);
	return 0;
}

/* Part of a pattern against a name: an empty part and `*` are any; Linux takes no other wildcard here. */
static int set_event_part(const char *part, size_t n, const char *name)
{
	return !n || ctl_is(part, n, "*") || ctl_is(part, n, name);
}

/* `sys:event`, or one word that is the name of either. */
static int set_event_matches(const char *s, size_t n, const struct fathom_event *ev)
{
	size_t colon = ctl_find(s, n, ':');

	if (colon == n)
		return ctl_is(s, n, ev->system) || ctl_is(s, n, ev->name) || ctl_is(s, n, "*");
	return set_event_part(s, colon, ev->system) &&
	       set_event_part(s + colon + 1, n - colon - 1, ev->name);
}

static int set_event_in(const struct ctl_events *m, uint32_t event)
{
	const struct fathom_event *ev = fathom_ctl_event(event);

	return !fathom_event_is_internal(ev) && set_event_matches(m->arg, m->bytes, ev);
}

static int set_event_word(struct ctl_instance *tr, const char *s, size_t n)
{
	int on = !n || *s != '!', hits = 0;
	struct ctl_events these = {tr, set_event_in, on ? s : s + 1, on ? n : n - 1};

	for (uint32_t i = 0; i < fathom_ctl.nr_events && !hits; i++)
		hits = set_event_in(&these, i);
	return hits ? fathom_ctl_events_enable(&these, on) : -FATHOM_EINVAL;
}

/* A word ends with the write, as in Linux: its error is the write's. */
static int set_event_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	size_t used;
	int ret = fathom_ctl_write_word(f, f->token, sizeof(f->token), buf, bytes, &used);

	if (ret >= 0 && f->used)
		ret = set_event_word(fathom_ctl_instance(&f->node), f->token, f->used);
	f->used = 0;
	return ret < 0 ? ret : (int)used;
}

const struct ctl_file_ops fathom_ctl_set_event = {
	.open = set_event_open, .show = set_event_show, .write = set_event_write, .words = 1};
