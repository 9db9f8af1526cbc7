/* SPDX-License-Identifier: MIT */
/* file_filter.c -- events/S/E/filter and events/S/filter. */
#include "control/control.h"
#include "control/files.h"
#include "control/pool.h"
#include "control/str.h"

static const char filter_where[] = "event filter parse error";

static int event_filter_show(struct fathom_file *f, struct fathom_text *t)
{
	const struct ctl_event *e = &fathom_ctl_instance(&f->node)->events[f->node.at];
	const char *text = "none";
	size_t n = 4;

	if (e->filter)
		text = fathom_filter_text(e->filter, &n);
	fathom_text_bytes(t, text, n);
	fathom_text_char(t, '\n');
	return 0;
}

/* All events that have one, a piece each. */
static int event_filters_show(struct fathom_file *f, struct fathom_text *t)
{
	const struct ctl_event *e = &fathom_ctl_instance(&f->node)->events[f->piece];
	const char *text;
	size_t n;

	if (f->piece >= fathom_ctl.nr_events)
		return 0;
	if (e->filter) {
		text = fathom_filter_text(e->filter, &n);
		fathom_ctl_event_column(t, f->piece);
		fathom_text_bytes(t, text, n);
		fathom_text_char(t, '\n');
	}
	return 1;
}

const struct ctl_file_ops fathom_ctl_event_filters = {.show = event_filters_show};

/* Replace what is there; the event path sees the old or the new one. */
static int filter_swap(struct ctl_instance *tr, uint32_t event, struct fathom_filter *now)
{
	struct ctl_event *e = &tr->events[event];
	struct fathom_filter *was = e->filter;

	__atomic_store_n(&e->filter, now, __ATOMIC_SEQ_CST);
	fathom_pool_retire(was);
	return fathom_ctl_event_update(event);
}

/* Linux keeps a text that does not compile in place of the filter, with what is wrong; the event is not filtered. */
static int filter_set(struct ctl_instance *tr, uint32_t event, const char *s, size_t n)
{
	struct fathom_filter_error err;
	struct fathom_filter *f = 0;
	int ret = 0;

	if (!ctl_is(s, n, "0")) {
		ret = fathom_filter_compile(fathom_ctl_event(event), s, n, &f, &err);
		if (ret == -FATHOM_ENOMEM)
			return ret;
		if (ret) {
			fathom_ctl_error(tr, filter_where, err.what, s, n, err.at);
			f = fathom_filter_broken(s, n, &err);
		}
	}
	filter_swap(tr, event, f);
	return ret;
}

/* Both files take an expression, without the blanks around it. */
static int filter_write(struct fathom_file *f, const char *buf, size_t bytes,
			int (*set)(struct ctl_instance *tr, uint32_t at, const char *s, size_t n))
{
	const char *s = buf;
	size_t n = bytes;
	int ret;

	if (bytes > FATHOM_FILTER_TEXT_MAX)
		return -FATHOM_EINVAL;
	ctl_trim(&s, &n);
	ret = set(fathom_ctl_instance(&f->node), f->node.at, s, n);
	return ret ? ret : (int)bytes;
}

static int event_filter_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	return filter_write(f, buf, bytes, filter_set);
}

const struct ctl_file_ops fathom_ctl_event_filter = {.show = event_filter_show,
						     .write = event_filter_write};

static int system_filter_show(struct fathom_file *f, struct fathom_text *t)
{
	const struct ctl_event *e = &fathom_ctl_instance(&f->node)->events[f->node.at];
	const char *text;
	size_t n;

	if (!e->note) {
		fathom_text_str(
			t,
			"### global filter ###\n"
			"# Use this to set filters for multiple events.\n"
			"# Only events with the given fields will be affected.\n"
			"# If no events are modified, an error message will be displayed here\n");
		return 0;
	}
	text = fathom_filter_text(e->note, &n);
	fathom_text_bytes(t, text, n);
	fathom_text_char(t, '\n');
	return 0;
}

/* Every event of the system whose fields it names gets the filter; if none does, that is said here, without an error. */
static int system_filter_set(struct ctl_instance *tr, uint32_t system, const char *s, size_t n)
{
	struct fathom_filter_error err = {0, 0};
	struct ctl_event *first = &tr->events[system];
	int hits = 0, ret = 0;

	fathom_pool_put(first->note);
	first->note = 0;
	for (uint32_t i = 0; i < fathom_ctl.nr_events; i++) {
		struct fathom_filter *f = 0;

		if (fathom_ctl.place[i].system != system ||
		    fathom_event_is_internal(fathom_ctl_event(i)))
			continue;
		if (!ctl_is(s, n, "0")) {
			ret = fathom_filter_compile(fathom_ctl_event(i), s, n, &f, &err);
			if (ret == -FATHOM_ENOMEM)
				return ret;
			if (ret)
				continue;
		}
		filter_swap(tr, i, f);
		hits++;
	}
	if (!hits) {
		err.what = "Couldn't find or set field in one of a subsystem's events";
		err.at = 0;
		fathom_ctl_error(tr, filter_where, err.what, s, n, err.at);
		first->note = fathom_filter_broken(s, n, &err);
	}
	return 0;
}

static int system_filter_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	return filter_write(f, buf, bytes, system_filter_set);
}

const struct ctl_file_ops fathom_ctl_system_filter = {.show = system_filter_show,
						      .write = system_filter_write};
