/* SPDX-License-Identifier: MIT */
/* hist_action.c -- actions of a histogram: onmax() and onchange(), when a variable grows or changes under a key; onmatch(). */
#include "control/hist.h"
#include "control/str.h"
#include "control/tree.h"

/*
 * Behind the sums an entry has, for each action, the value seen last and the fields saved with it. Both change together,
 * so a word guards them. Another CPU has it for a moment, a context that was interrupted for longer: who does not get it
 * soon leaves the action out, and the event counts as dropped too.
 */
struct hist_track {
	uint32_t busy;
	uint32_t seen;
	uint64_t value;
};

static struct hist_track *hist_track(const struct ctl_hist *h, const struct hist_action *a,
				     uint32_t entry)
{
	return (struct hist_track *)(void *)(h->entries + (size_t)entry * h->entry_bytes + a->at);
}

#define TRACK_SPINS 256

/* Pairs with the release in fathom_hist_actions_run(). */
static int track_take(struct hist_track *track)
{
	for (uint32_t i = 0; i < TRACK_SPINS; i++)
		if (!__atomic_exchange_n(&track->busy, 1, __ATOMIC_ACQUIRE))
			return 1;
	return 0;
}

static const char *const action_names[] = {
	[HIST_ONMAX] = "onmax(",
	[HIST_ONCHANGE] = "onchange(",
	[HIST_ONMATCH] = "onmatch(",
};
#define ACTION_NAMES (sizeof(action_names) / sizeof(action_names[0]))

/* `field,field)` of save. */
static int action_saves(struct hist_action *a, const struct fathom_event *ev, const char *s,
			size_t n, const char **what)
{
	size_t done = 0;

	while (done < n) {
		size_t len = ctl_find(s + done, n - done, ',');
		struct hist_field *f = &a->save[a->nr_saves];

		*what = "Too many action params";
		if (a->nr_saves == HIST_SAVES_MAX || len >= sizeof(f->name))
			return -FATHOM_EINVAL;
		*what = "Couldn't find param";
		if (!len || fathom_operand_find(ev, s + done, len, &f->op) ||
		    f->op.kind == FATHOM_OPERAND_ARRAY)
			return -FATHOM_EINVAL;
		__builtin_memcpy(f->name, s + done, len);
		fathom_hist_key_size(f);
		f->at = (uint16_t)a->bytes;
		a->bytes += f->size;
		a->nr_saves++;
		done += len + 1;
	}
	*what = "No params found for save()";
	return a->nr_saves ? 0 : -FATHOM_EINVAL;
}

/* What stands behind the dot. */
static int action_what(struct ctl_hist *h, struct hist_action *a, const struct fathom_event *ev,
		       const char *s, size_t n, const char **what)
{
	size_t k = ctl_starts(s, n, "save(");
	int snapshot = ctl_is(s, n, "snapshot()");

	*what = "Handler doesn't support action";
	if (a->handler == HIST_ONMATCH && (k || snapshot))
		return -FATHOM_EINVAL;
	if (snapshot) {
		a->snapshot = 1;
		return 0;
	}
	*what = "No action found";
	if (!n || s[n - 1] != ')')
		return -FATHOM_EINVAL;
	if (!k && fathom_core.config.dynamic)
		return fathom_core.config.dynamic->action(h, a, ev, s, n, what);
	*what = "Couldn't find synthetic event";
	if (!k)
		return -FATHOM_EINVAL;
	for (uint32_t i = 0; i < h->nr_actions; i++)
		if (h->action[i].nr_saves && !h->action[i].synth) {
			*what = "Can't have more than one save() action per hist";
			return -FATHOM_EINVAL;
		}
	return action_saves(a, ev, s + k, n - k - 1, what);
}

int fathom_hist_action_parse(struct ctl_hist *h, const struct fathom_event *ev, const char *s,
			     size_t n, const char **what, size_t *where)
{
	struct hist_action *a = &h->action[h->nr_actions];
	size_t k = 0, close;
	int var = 0, err;

	if (h->nr_actions == HIST_ACTIONS_MAX)
		return -FATHOM_EINVAL;
	for (uint32_t i = 0; i < ACTION_NAMES && !k; i++) {
		k = ctl_starts(s, n, action_names[i]);
		a->handler = (uint8_t)i;
	}
	if (!k)
		return 0;
	close = k + ctl_find(s + k, n - k, ')');
	*what = "No closing paren found";
	if (close == n)
		return -FATHOM_EINVAL;
	*where = k;
	*what = "Couldn't find onmax or onchange variable";
	if (a->handler == HIST_ONMATCH)
		err = fathom_hist_match_parse(h, s + k, close - k, what);
	else
		err = var = fathom_hist_own(h, s + k, close - k);
	if (err < 0)
		return -FATHOM_EINVAL;
	a->var = (uint8_t)var;
	a->bytes = sizeof(struct hist_track);
	*where = close + 1;
	*what = "No action found";
	if (close + 1 >= n || s[close + 1] != '.')
		return -FATHOM_EINVAL;
	*where = close + 2;
	err = action_what(h, a, ev, s + close + 2, n - close - 2, what);
	if (err)
		return err;
	if (a->synth) {
		*what = "Too many action params";
		if (n >= sizeof(a->text))
			return -FATHOM_EINVAL;
		__builtin_memcpy(a->text, s, n);
	}
	h->nr_actions++;
	return 1;
}

uint32_t fathom_hist_actions_place(struct ctl_hist *h, uint32_t at)
{
	for (uint32_t i = 0; i < h->nr_actions; i++) {
		h->action[i].at = at;
		at += h->action[i].bytes;
	}
	return at;
}

static int action_due(const struct hist_action *a, const struct hist_track *track, uint64_t v)
{
	return a->handler == HIST_ONMAX ? v > track->value : v != track->value;
}

/* onmax() and onchange(): 1 if it is due, with what it saves kept; -1 if the entry was in use. */
static int action_track(const struct ctl_hist *h, const struct hist_action *a, uint32_t entry,
			const struct hist_run *run)
{
	struct hist_track *track = hist_track(h, a, entry);
	uint64_t v = run->var[a->var];
	int due;

	if (!track_take(track))
		return -1;
	due = action_due(a, track, v);
	if (due) {
		track->value = v;
		track->seen = 1;
		for (uint32_t k = 0; k < a->nr_saves && !a->synth; k++)
			fathom_hist_take(&a->save[k], run->record, run->bytes, run->cpu,
					 (uint8_t *)track + a->save[k].at);
	}
	__atomic_store_n(&track->busy, 0, __ATOMIC_RELEASE); /* pairs with track_take() */
	return due;
}

int fathom_hist_actions_run(struct ctl_hist *h, uint32_t entry, const struct hist_run *run)
{
	int missed = 0;

	for (uint32_t i = 0; i < h->nr_actions; i++) {
		const struct hist_action *a = &h->action[i];
		int due = a->handler == HIST_ONMATCH ? 1 : action_track(h, a, entry, run);

		missed |= due < 0;
		if (due > 0 && a->snapshot)
			fathom_ctl_snapshot_ask(h->tr);
		if (due > 0 && a->synth)
			missed |= fathom_core.config.dynamic->make(h, a, run);
	}
	return missed;
}

int fathom_hist_actions_snapshot(const struct ctl_hist *h)
{
	for (uint32_t i = 0; i < h->nr_actions; i++)
		if (h->action[i].snapshot)
			return 1;
	return 0;
}

int fathom_hist_actions_same(const struct ctl_hist *a, const struct ctl_hist *b)
{
	if (a->nr_actions != b->nr_actions)
		return 0;
	for (uint32_t i = 0; i < a->nr_actions; i++) {
		const struct hist_action *x = &a->action[i], *y = &b->action[i];

		if (x->handler != y->handler || x->snapshot != y->snapshot || x->var != y->var ||
		    x->nr_saves != y->nr_saves || x->synth != y->synth ||
		    !ctl_same(x->text, y->text))
			return 0;
		for (uint32_t k = 0; k < x->nr_saves; k++)
			if (!ctl_same(x->save[k].name, y->save[k].name) ||
			    x->save[k].op.offset != y->save[k].op.offset ||
			    x->save[k].size != y->save[k].size)
				return 0;
	}
	return 1;
}

void fathom_hist_actions_spec(const struct ctl_hist *h, struct fathom_text *t)
{
	for (uint32_t i = 0; i < h->nr_actions; i++) {
		const struct hist_action *a = &h->action[i];

		fathom_text_char(t, ':');
		if (a->synth) {
			fathom_text_str(t, a->text);
			continue;
		}
		fathom_text_str(t, action_names[a->handler]);
		fathom_text_char(t, '$');
		fathom_text_str(t, h->variable[a->var].name);
		fathom_text_str(t, a->snapshot ? ").snapshot(" : ").save(");
		for (uint32_t k = 0; k < a->nr_saves; k++) {
			if (k)
				fathom_text_char(t, ',');
			fathom_text_str(t, a->save[k].name);
		}
		fathom_text_char(t, ')');
	}
}

static void action_save_text(const struct hist_field *f, const uint8_t *at, struct fathom_text *t)
{
	uint64_t v;

	fathom_text_str(t, "  ");
	fathom_text_str(t, f->name);
	fathom_text_str(t, ": ");
	if (f->size > 8) {
		size_t n = 0;

		while (n < f->size && at[n])
			n++;
		fathom_text_bytes(t, (const char *)at, n);
		if (n < 32)
			fathom_text_fill(t, ' ', 32 - n);
		return;
	}
	__builtin_memcpy(&v, at, 8);
	fathom_text_u64(t, v, 10, ' ');
}

void fathom_hist_actions_text(const struct ctl_hist *h, uint32_t entry, struct fathom_text *t)
{
	for (uint32_t i = 0; i < h->nr_actions; i++) {
		const struct hist_action *a = &h->action[i];
		const struct hist_track *track = hist_track(h, a, entry);

		if (a->handler == HIST_ONMATCH || !track->seen)
			continue;
		fathom_text_str(t, a->handler == HIST_ONMAX ? "\n\tmax: " : "\n\tchanged: ");
		fathom_text_u64(t, track->value, 10, ' ');
		for (uint32_t k = 0; k < a->nr_saves && !a->synth; k++)
			action_save_text(&a->save[k], (const uint8_t *)track + a->save[k].at, t);
	}
}
