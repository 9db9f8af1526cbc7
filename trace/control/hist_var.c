/* SPDX-License-Identifier: MIT */
/* hist_var.c -- variables across events: `$x` of one histogram, read by that of another event under the same key. */
#include "control/hist.h"
#include "control/str.h"
#include "control/trigger.h"
#include "wire/copy.h"

/*
 * Each entry has a cell for each variable. Its state is taken by exchange and given back: another CPU has it for a moment, a
 * context that was interrupted for longer. Who does not get it soon does without, and the event counts as dropped (a writer)
 * or finds no variable (a reader).
 */
enum cell_state {
	CELL_UNSET,
	CELL_SET,
	CELL_BUSY
};

struct hist_cell {
	uint32_t state;
	uint32_t unused;
	uint64_t value; /* or the first bytes of a text */
};
#define CELL_HEAD  8u
#define CELL_SPINS 256

static struct hist_cell *hist_cell(const struct ctl_hist *h, uint32_t var, uint32_t entry)
{
	return (struct hist_cell *)(void *)(h->entries + (size_t)entry * h->entry_bytes +
					    h->variable[var].at);
}

/* The state it had. Pairs with the release in cell_give(). */
static uint32_t cell_take(struct hist_cell *c)
{
	uint32_t was = CELL_BUSY;

	for (uint32_t i = 0; i < CELL_SPINS && was == CELL_BUSY; i++)
		was = __atomic_exchange_n(&c->state, CELL_BUSY, __ATOMIC_ACQUIRE);
	return was;
}

static void cell_give(struct hist_cell *c, uint32_t state)
{
	__atomic_store_n(&c->state, state, __ATOMIC_RELEASE);
}

uint32_t fathom_hist_cells_place(struct ctl_hist *h, uint32_t at)
{
	for (uint32_t i = 0; i < h->nr_vars; i++) {
		h->variable[i].at = at;
		at += CELL_HEAD + (h->variable[i].field.size ? h->variable[i].field.size : 8);
	}
	return at;
}

int fathom_hist_vars_keep(const struct ctl_hist *h, uint32_t entry, struct hist_run *run)
{
	int missed = 0;

	for (uint32_t i = 0; i < h->nr_vars; i++) {
		const struct hist_var *v = &h->variable[i];
		struct hist_cell *c = hist_cell(h, i, entry);

		if (!v->field.size)
			run->var[i] = fathom_hist_expr(&v->expr, run);
		if (cell_take(c) == CELL_BUSY) {
			missed = 1;
			continue;
		}
		if (v->field.size)
			fathom_hist_take(&v->field, run->record, run->bytes, run->cpu,
					 (uint8_t *)&c->value);
		else
			c->value = run->var[i];
		cell_give(c, CELL_SET);
	}
	return missed;
}

/* The keys of the other are the first of this one: as in Linux a histogram by pid and more finds one by pid. */
static int ref_keys_fit(const struct ctl_hist *h, const struct ctl_hist *from)
{
	if (from->nr_keys > h->nr_keys)
		return 0;
	for (uint32_t i = 0; i < from->nr_keys; i++)
		if (from->key[i].size != h->key[i].size)
			return 0;
	return 1;
}

static int ref_read(const struct ctl_hist *h, const struct hist_ref *ref, const uint8_t *key,
		    uint64_t *out)
{
	/* Pairs with the store in fathom_hist_unrefer(). */
	const struct ctl_hist *from = __atomic_load_n(&ref->from, __ATOMIC_ACQUIRE);
	struct hist_cell *c;
	int32_t entry;
	uint32_t was;

	if (!from || !ref_keys_fit(h, from))
		return 0;
	entry = fathom_hist_seek(from, key);
	if (entry < 0)
		return 0;
	c = hist_cell(from, ref->var, (uint32_t)entry);
	was = cell_take(c);
	if (was == CELL_BUSY)
		return 0;
	*out = from->variable[ref->var].field.size ? (uintptr_t)&c->value : c->value;
	cell_give(c, ref->once ? CELL_UNSET : was);
	return was == CELL_SET;
}

int fathom_hist_refs_read(const struct ctl_hist *h, const uint8_t *key, struct hist_run *run)
{
	for (uint32_t i = 0; i < h->nr_refs; i++)
		if (!ref_read(h, &h->ref[i], key, &run->ref[i]))
			return 0;
	return 1;
}

/* ---- names ---- */

int fathom_hist_own(const struct ctl_hist *h, const char *s, size_t n)
{
	for (uint32_t i = 0; i < h->nr_vars; i++)
		if (n > 1 && *s == '$' && ctl_is(s + 1, n - 1, h->variable[i].name))
			return (int)i;
	return -1;
}

/* The histogram of the event that has the variable, and its number there. */
static struct ctl_hist *ref_of_event(const struct ctl_instance *tr, uint32_t event,
				     const char *name, size_t n, uint8_t *var)
{
	for (const struct ctl_trigger *t = tr->events[event].triggers; t; t = t->next)
		for (uint32_t i = 0; t->kind == CTL_TRIGGER_HIST && i < t->hist->nr_vars; i++)
			if (ctl_is(name, n, t->hist->variable[i].name)) {
				*var = (uint8_t)i;
				return t->hist;
			}
	return 0;
}

/* `name`: of an event that onmatch() names, or of the only event that has one. */
static struct ctl_hist *ref_of_any(const struct ctl_hist *h, const char *name, size_t n,
				   uint8_t *var, const char **what)
{
	struct ctl_hist *found = 0;

	for (uint32_t i = 0; i < h->nr_matches && !found; i++)
		found = ref_of_event(h->tr, h->match[i], name, n, var);
	if (found)
		return found;
	for (uint32_t i = 0; i < fathom_ctl.nr_events; i++) {
		struct ctl_hist *one = ref_of_event(h->tr, i, name, n, var);

		if (one && found) {
			*what = "Variable name not unique, need to use fully qualified name "
				"(subsys.event.var) for variable";
			return 0;
		}
		found = one ? one : found;
	}
	if (found) /* the last look was at another event */
		for (uint32_t i = 0; i < found->nr_vars; i++)
			if (ctl_is(name, n, found->variable[i].name))
				*var = (uint8_t)i;
	return found;
}

int fathom_hist_ref(struct ctl_hist *h, const char *s, size_t n, int once, const char **what)
{
	size_t dollar = ctl_find(s, n, '$'), dot = ctl_find(s, n, '.');
	struct ctl_hist *from = 0;
	uint8_t var = 0;

	*what = "Couldn't find variable";
	if (dollar + 1 >= n)
		return -1;
	if (!dollar) {
		from = ref_of_any(h, s + 1, n - 1, &var, what);
	} else if (dot < dollar && s[dollar - 1] == '.' && dot < dollar - 1) {
		char event[2 * FATHOM_NAME_MAX + 2];
		uint32_t at;

		if (dollar > sizeof(event))
			return -1;
		__builtin_memcpy(event, s, dollar - 1);
		event[dot] = ':';
		at = fathom_ctl_event_find(event, dollar - 1);
		if (at < fathom_ctl.nr_events)
			from = ref_of_event(h->tr, at, s + dollar + 1, n - dollar - 1, &var);
	}
	if (!from)
		return -1;
	for (uint32_t i = 0; i < h->nr_refs; i++)
		if (h->ref[i].from == from && h->ref[i].var == var) {
			h->ref[i].once |= (uint8_t)once;
			return (int)i;
		}
	*what = "Too many variables defined";
	if (h->nr_refs == HIST_REFS_MAX)
		return -1;
	h->ref[h->nr_refs] = (struct hist_ref){from, var, (uint8_t)once};
	return (int)h->nr_refs++;
}

/* `system.event` between the parentheses. */
int fathom_hist_match_parse(struct ctl_hist *h, const char *s, size_t n, const char **what)
{
	char name[2 * FATHOM_NAME_MAX + 2];
	size_t dot = ctl_find(s, n, '.');
	uint32_t event;

	*what = "Missing subsystem";
	if (dot == n || n > sizeof(name))
		return -FATHOM_EINVAL;
	__builtin_memcpy(name, s, n);
	name[dot] = ':';
	event = fathom_ctl_event_find(name, n);
	*what = "Invalid subsystem or event name";
	if (event == fathom_ctl.nr_events)
		return -FATHOM_EINVAL;
	for (uint32_t i = 0; i < h->nr_matches; i++)
		if (h->match[i] == event)
			return 0;
	*what = "Too many action params";
	if (h->nr_matches == HIST_MATCH_MAX)
		return -FATHOM_EINVAL;
	h->match[h->nr_matches++] = (uint16_t)event;
	return 0;
}

/* ---- who uses what ---- */

/* Each histogram there is, of all instances. */
static void hists_each(void (*fn)(struct ctl_hist *h, void *arg), void *arg)
{
	for (uint32_t k = 0; k <= FATHOM_INSTANCES_MAX; k++) {
		const struct ctl_instance *tr = fathom_ctl_instance_at(k);

		for (uint32_t i = 0; tr && i < fathom_ctl.nr_events; i++)
			for (const struct ctl_trigger *t = tr->events[i].triggers; t; t = t->next)
				if (t->kind == CTL_TRIGGER_HIST)
					fn(t->hist, arg);
	}
}

struct hist_question {
	const void *of;
	int yes;
};

static void hist_asks_refs(struct ctl_hist *h, void *arg)
{
	struct hist_question *q = arg;

	for (uint32_t i = 0; i < h->nr_refs; i++)
		q->yes |= h->ref[i].from == q->of && h != q->of;
}

int fathom_hist_is_used(const struct ctl_hist *h)
{
	struct hist_question q = {h, 0};

	if (h->nr_vars)
		hists_each(hist_asks_refs, &q);
	return q.yes;
}

static void hist_asks_event(struct ctl_hist *h, void *arg)
{
	struct hist_question *q = arg;

	for (uint32_t i = 0; i < h->nr_actions; i++)
		q->yes |= h->action[i].synth == q->of;
}

int fathom_hist_makes(const struct fathom_event *ev)
{
	struct hist_question q = {ev, 0};

	hists_each(hist_asks_event, &q);
	return q.yes;
}

static void hist_unrefers(struct ctl_hist *h, void *arg)
{
	for (uint32_t i = 0; i < h->nr_refs; i++)
		if (h->ref[i].from == arg)
			__atomic_store_n(&h->ref[i].from, (struct ctl_hist *)0, __ATOMIC_SEQ_CST);
}

void fathom_hist_unrefer(const struct ctl_hist *h)
{
	if (h->nr_vars)
		hists_each(hist_unrefers, (void *)(uintptr_t)h);
}
