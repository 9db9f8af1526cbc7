/* SPDX-License-Identifier: MIT */
/* file_trigger.c -- events/S/E/trigger and events/S/E/hist. */
#include "control/control.h"
#include "control/files.h"
#include "control/hist.h"
#include "control/str.h"
#include "control/trigger.h"

#define TRIGGER_TEXT_MAX 4095

static struct ctl_trigger *trigger_nth(struct fathom_file *f, uint32_t n)
{
	struct ctl_trigger *t = fathom_ctl_instance(&f->node)->events[f->node.at].triggers;

	/* Programs that hang on the event have files of their own. */
	while (t && (t->kind == CTL_TRIGGER_CALL || n--))
		t = t->next;
	return t;
}

static int event_trigger_show(struct fathom_file *f, struct fathom_text *t)
{
	struct ctl_trigger *trigger = trigger_nth(f, f->piece);

	if (!trigger && !f->piece) {
		fathom_text_str(t, "# Available triggers:\n#");
		for (uint32_t k = 0; fathom_trigger_name(k); k++) {
			fathom_text_char(t, ' ');
			fathom_text_str(t, fathom_trigger_name(k));
		}
		fathom_text_char(t, '\n');
	}
	if (!trigger)
		return 0;
	fathom_trigger_show(trigger, t);
	fathom_text_char(t, '\n');
	return trigger_nth(f, f->piece + 1) != 0;
}

/* All events that have some, a piece each: the newest first, as in their own file. */
static int event_triggers_show(struct fathom_file *f, struct fathom_text *t)
{
	const struct ctl_event *e = &fathom_ctl_instance(&f->node)->events[f->piece];

	if (f->piece >= fathom_ctl.nr_events)
		return 0;
	for (struct ctl_trigger *trigger = e->triggers; trigger; trigger = trigger->next) {
		if (trigger->kind == CTL_TRIGGER_CALL)
			continue;
		fathom_ctl_event_column(t, f->piece);
		fathom_trigger_show(trigger, t);
		fathom_text_char(t, '\n');
	}
	return 1;
}

const struct ctl_file_ops fathom_ctl_event_triggers = {.show = event_triggers_show};

/* O_TRUNC takes the histograms away, and only them, as in Linux. */
static int event_trigger_open(struct fathom_file *f)
{
	if (fathom_ctl_truncates(f))
		fathom_trigger_remove_hists(fathom_ctl_instance(&f->node), f->node.at);
	return 0;
}

static int event_trigger_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	const char *s = buf;
	size_t n = bytes;
	int err;

	if (bytes > TRIGGER_TEXT_MAX)
		return -FATHOM_EINVAL;
	ctl_trim(&s, &n);
	if (!n)
		return -FATHOM_EINVAL;
	err = fathom_trigger_command(fathom_ctl_instance(&f->node), f->node.at, s, n);
	return err ? err : (int)bytes;
}

const struct ctl_file_ops fathom_ctl_event_trigger = {
	.open = event_trigger_open, .show = event_trigger_show, .write = event_trigger_write};

/* Histogram number n of the event, counted from the oldest; NULL behind the last. */
static struct ctl_trigger *hist_nth(struct fathom_file *f, uint32_t n)
{
	struct ctl_trigger *t;
	uint32_t count = 0;

	for (uint32_t i = 0; (t = trigger_nth(f, i)); i++)
		count += t->kind == CTL_TRIGGER_HIST;
	if (n >= count)
		return 0;
	n = count - 1 - n;
	for (uint32_t i = 0; (t = trigger_nth(f, i)); i++)
		if (t->kind == CTL_TRIGGER_HIST && !n--)
			return t;
	return 0;
}

static void hist_total(struct fathom_text *t, const char *name, uint64_t v)
{
	fathom_text_str(t, name);
	fathom_text_u64(t, v, 0, ' ');
	fathom_text_char(t, '\n');
}

static void hist_head(struct fathom_file *f, struct ctl_trigger *trigger, struct fathom_text *t)
{
	uint32_t nr;

	fathom_hist_sort(trigger->hist, &nr);
	f->u[2] = nr;
	if (f->u[0])
		fathom_text_char(t, '\n');
	fathom_text_str(t, "# event histogram\n#\n# trigger info: ");
	fathom_trigger_show(trigger, t);
	fathom_text_str(t, "\n#\n\n");
}

/*
 * Per histogram: the head, a piece per entry, the totals. u[0] is the histogram the handle is in, u[1] its first piece,
 * u[2] its number of entries, set when the head is made.
 */
static int event_hist_show(struct fathom_file *f, struct fathom_text *t)
{
	struct ctl_trigger *trigger;
	uint32_t at;

	if (!f->piece)
		f->u[0] = f->u[1] = 0;
	at = f->piece - (uint32_t)f->u[1];
	if (at > f->u[2] + 1) {
		f->u[0]++;
		f->u[1] = f->piece;
		at = 0;
	}
	trigger = hist_nth(f, (uint32_t)f->u[0]);
	if (!trigger)
		return 0;
	if (!at) {
		hist_head(f, trigger, t);
		return 1;
	}
	if (at <= f->u[2]) {
		if (at - 1 < trigger->hist->size)
			fathom_hist_line(trigger->hist, at - 1, t);
		return 1;
	}
	fathom_text_str(t, "\nTotals:\n");
	hist_total(t, "    Hits: ", fathom_hist_sum(&trigger->hist->hits));
	hist_total(t, "    Entries: ", f->u[2]);
	hist_total(t, "    Dropped: ", fathom_hist_sum(&trigger->hist->drops));
	return hist_nth(f, (uint32_t)f->u[0] + 1) != 0;
}

const struct ctl_file_ops fathom_ctl_event_hist = {.show = event_hist_show};
