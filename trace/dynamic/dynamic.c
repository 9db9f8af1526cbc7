/* SPDX-License-Identifier: MIT */
/* dynamic.c -- dynamic events come and go: dynamic_events, synthetic_events, kprobe_events. */
#include "wire/cold.h"
#include "control/hist.h"
#include "control/str.h"
#include "dynamic/dynamic.h"
#include "events/registry.h"

static struct dynamic_event *dynamic_list;
static uint32_t dynamic_count;
static const struct fathom_object *dynamic_coming;
/* Ids of events that went. They outlive fathom_exit(), as all ids do. */
static uint16_t dynamic_ids[FATHOM_DYNAMIC_MAX];
static uint32_t dynamic_nr_ids;

struct dynamic_event *fathom_dynamic_first(void)
{
	return dynamic_list;
}

struct dynamic_event *fathom_dynamic_new(enum dynamic_kind kind)
{
	struct dynamic_event *d = fathom_pool_get(sizeof(*d));

	if (!d)
		return 0;
	d->kind = (uint8_t)kind;
	d->ev.fields = d->field;
	fathom_text_init(&d->words, d->text, sizeof(d->text) - 1);
	return d;
}

const char *fathom_dynamic_word(struct dynamic_event *d, const char *s, size_t n)
{
	size_t at = d->words.len;

	fathom_text_bytes(&d->words, s, n);
	fathom_text_char(&d->words, '\0');
	return d->words.cut ? "" : d->text + at;
}

/* Libraries leave room for all that may still be made. */
static uint32_t dynamic_kept(const struct fathom_object *o)
{
	return o == dynamic_coming ? 0 : FATHOM_DYNAMIC_MAX - dynamic_count;
}

int fathom_dynamic_add(struct dynamic_event *d)
{
	struct dynamic_event **at = &dynamic_list;
	int err = 0;

	if (d->words.cut)
		err = -FATHOM_E2BIG;
	else if (fathom_event_find(d->ev.system, d->ev.name))
		err = -FATHOM_EEXIST;
	else if (dynamic_count == FATHOM_DYNAMIC_MAX)
		err = -FATHOM_ENOSPC;
	if (err) {
		fathom_pool_put(d);
		return err;
	}
	if (dynamic_nr_ids)
		d->ev.id = dynamic_ids[--dynamic_nr_ids];
	d->list[0] = &d->ev;
	d->object.events = d->list;
	d->object.events_end = d->list + 1;
	dynamic_coming = &d->object;
	err = fathom_object_add_locked(&d->object);
	if (err) {
		fathom_object_remove_locked(&d->object);
		if (d->ev.id)
			dynamic_ids[dynamic_nr_ids++] = d->ev.id;
		fathom_pool_retire(d);
		return err;
	}
	while (*at)
		at = &(*at)->next;
	*at = d;
	dynamic_count++;
	return 0;
}

const struct dynamic_event *fathom_dynamic_of(const void *record)
{
	const struct wire_common *c = record;
	const struct dynamic_event *d = dynamic_list;

	while (d && d->ev.id != c->type)
		d = d->next;
	return d;
}

/* ---- removal ---- */

static uint32_t dynamic_place(const struct dynamic_event *d)
{
	return (uint32_t)((struct ctl_event *)d->ev.control - fathom_ctl.top.events);
}

/* Somebody has it on, hangs on it, or makes it. */
static int dynamic_is_busy(const struct dynamic_event *d)
{
	uint32_t at = dynamic_place(d);

	for (uint32_t i = 0; i <= FATHOM_INSTANCES_MAX; i++) {
		const struct ctl_instance *tr = fathom_ctl_instance_at(i);
		const struct ctl_event *e = tr ? &tr->events[at] : 0;

		if (e && (e->on || e->triggers || e->soft || e->probed))
			return 1;
	}
	return fathom_hist_makes(&d->ev);
}

static int dynamic_remove(struct dynamic_event **at)
{
	struct dynamic_event *d = *at;

	if (dynamic_is_busy(d))
		return -FATHOM_EBUSY;
	fathom_dynamic_probes_remove(d, 0);
	fathom_object_remove_locked(&d->object);
	for (uint32_t i = 0; i <= FATHOM_INSTANCES_MAX; i++) {
		struct ctl_instance *tr = fathom_ctl_instance_at(i);

		if (tr && d->seen_by >> i & 1)
			fathom_ctl_clear(tr, tr->ring, ~0u); /* D2 */
	}
	dynamic_ids[dynamic_nr_ids++] = d->ev.id;
	dynamic_count--;
	*at = d->next;
	fathom_pool_retire(d);
	return 0;
}

static int dynamic_is_in(const struct dynamic_event *d, uint32_t file)
{
	switch (file) {
	case CTL_DYNAMIC_SYNTH: return d->kind == DYNAMIC_SYNTH;
	case CTL_DYNAMIC_PROFILE:
	case CTL_DYNAMIC_KPROBE: return d->kind == DYNAMIC_ENTRY || d->kind == DYNAMIC_RETURN;
	default: return 1;
	}
}

/* All, or none if one of them is in use. */
static int dynamic_remove_all(uint32_t file)
{
	struct dynamic_event **at = &dynamic_list;

	for (const struct dynamic_event *d = dynamic_list; d; d = d->next)
		if (dynamic_is_in(d, file) && dynamic_is_busy(d))
			return -FATHOM_EBUSY;
	while (*at)
		if (dynamic_is_in(*at, file))
			dynamic_remove(at);
		else
			at = &(*at)->next;
	return 0;
}

/* The rest of a command after the name: empty, or the place, or the place and the arguments of the probe. */
static int release_matches(const struct dynamic_probe *p, const char *s, size_t n)
{
	const struct dynamic_event *d = p->d;
	size_t at = 0, len = fathom_dynamic_next(s, n, &at);
	char place[sizeof(p->place)];
	uint32_t i = 0;

	if (!len)
		return 1;
	if (len >= sizeof(place))
		return 0;
	__builtin_memcpy(place, s + at, len);
	place[len] = '\0';
	if (d->kind == DYNAMIC_EVENT && ctl_find(place, len, '/') < len)
		place[ctl_find(place, len, '/')] = '.';
	if (!ctl_same(place, p->place))
		return 0;
	for (at += len; (len = fathom_dynamic_next(s, n, &at)); at += len, i++) {
		const char *arg = s + at;
		size_t equals = ctl_find(arg, len, '='), skip = equals < len ? equals + 1 : 0;

		if (i == d->nr_args || !ctl_is(arg + skip, len - skip, d->arg[i].text) ||
		    (skip && !ctl_is(arg, equals, d->arg[i].name)))
			return 0;
	}
	return !i || i == d->nr_args;
}

/* Probes of the event that the rest of the command names; the event goes with the last. 0 or -EBUSY; 1: none was meant. */
static int release_probes(struct dynamic_event **at, const char *s, size_t n)
{
	struct dynamic_probe *p = fathom_dynamic_probes(), *next;
	struct dynamic_event *d = *at;
	uint32_t left = 1;
	int none = 1;

	for (; p; p = next) {
		next = p->next;
		if (p->d != d || !release_matches(p, s, n))
			continue;
		if (dynamic_is_busy(d))
			return -FATHOM_EBUSY;
		left = fathom_dynamic_probes_remove(d, p);
		none = 0;
	}
	return none ? 1 : left ? 0 : dynamic_remove(at);
}

/* `[group/][event]`, and for probes the rest of the command if there is one. */
static int dynamic_release(uint32_t file, const char *s, size_t n)
{
	struct dynamic_event **at = &dynamic_list;
	size_t end = 0, slash;
	int ret = -FATHOM_ENOENT;

	while (end < n && !ctl_space(s[end]))
		end++;
	slash = ctl_find(s, end, '/');
	if (!end)
		return -FATHOM_EINVAL;
	while (*at) {
		struct dynamic_event *d = *at;
		const char *name = slash < end ? s + slash + 1 : s;
		size_t bytes = slash < end ? end - slash - 1 : end;
		int err = 1;

		if (dynamic_is_in(d, file) && (slash == end || ctl_is(s, slash, d->ev.system)) &&
		    (!bytes || ctl_is(name, bytes, d->ev.name)))
			err = d->kind == DYNAMIC_SYNTH ? dynamic_remove(at)
						       : release_probes(at, s + end, n - end);
		if (err < 0)
			return err;
		if (!err)
			ret = 0;
		if (*at == d)
			at = &d->next;
	}
	return ret;
}

/* ---- commands ---- */

int fathom_dynamic_fail(const char *who, const char *what, const char *command, size_t n, size_t at)
{
	fathom_ctl_error(&fathom_ctl.top, who, what, command, n, (uint32_t)at);
	return -FATHOM_EINVAL;
}

int fathom_dynamic_is_name(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!ctl_word(s[i]))
			return 0;
	return n && !ctl_digit(s[0]);
}

size_t fathom_dynamic_next(const char *s, size_t n, size_t *at)
{
	size_t len = 0;

	while (*at < n && ctl_space(s[*at]))
		++*at;
	while (*at + len < n && !ctl_space(s[*at + len]))
		len++;
	return len;
}

static int dynamic_command(uint32_t file, const char *s, size_t n)
{
	size_t colon = ctl_find(s, n, ':');

	if (file == CTL_DYNAMIC_SYNTH && s[0] == '!')
		return dynamic_release(file, s + 1, n - 1);
	if (file == CTL_DYNAMIC_SYNTH)
		return fathom_synth_create(s, n, 0);
	if (s[0] == '-' && (n < 2 || s[1] != ':'))
		return -FATHOM_EINVAL;
	if (s[0] == '-' || s[0] == '!')
		return colon == n ? -FATHOM_EINVAL
				  : dynamic_release(file, s + colon + 1, n - colon - 1);
	if (file == CTL_DYNAMIC_ALL && ctl_starts(s, n, "s:"))
		return fathom_synth_create(s, n, 1);
	if (s[0] == 'p' || s[0] == 'r' || (s[0] == 'e' && file == CTL_DYNAMIC_ALL))
		return fathom_probe_create(s, n);
	return -FATHOM_EINVAL;
}

/* Line by line; what follows a `#` is not looked at. */
static int dynamic_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	if (f->node.entry->arg == CTL_DYNAMIC_PROFILE)
		return -FATHOM_EINVAL;
	for (size_t at = 0; at < bytes;) {
		size_t line = ctl_find(buf + at, bytes - at, '\n');
		const char *s = buf + at;
		size_t n = ctl_find(s, line, '#');
		int err;

		ctl_trim(&s, &n);
		err = n ? dynamic_command(f->node.entry->arg, s, n) : 0;
		if (err)
			return err;
		at += line + 1;
	}
	return (int)bytes;
}

static int dynamic_open(struct fathom_file *f)
{
	int truncates =
		(f->flags & FATHOM_O_ACCMODE) != FATHOM_O_RDONLY && f->flags & FATHOM_O_TRUNC;

	return truncates && f->node.entry->arg != CTL_DYNAMIC_PROFILE
		       ? dynamic_remove_all(f->node.entry->arg)
		       : 0;
}

/* One line of probe number `nr` of the event: 0 behind the last. */
static int dynamic_show_probe(const struct dynamic_event *d, uint32_t nr, uint32_t file,
			      struct fathom_text *t)
{
	const struct dynamic_probe *p = fathom_dynamic_probes();

	while (p && (p->d != d || nr--))
		p = p->next;
	if (p && file == CTL_DYNAMIC_PROFILE)
		fathom_dynamic_probe_profile(p, t);
	else if (p)
		fathom_dynamic_probe_show(p, t);
	return p != 0;
}

/* A piece for each event. */
static int dynamic_show(struct fathom_file *f, struct fathom_text *t)
{
	const struct dynamic_event *d = dynamic_list;
	uint32_t left = f->piece, file = f->node.entry->arg;

	while (d && (!dynamic_is_in(d, file) || left--))
		d = d->next;
	if (!d)
		return 0;
	if (d->kind == DYNAMIC_SYNTH) {
		if (file == CTL_DYNAMIC_ALL)
			fathom_text_str(t, "s:synthetic/");
		fathom_synth_show(d, t);
	}
	for (uint32_t i = 0; dynamic_show_probe(d, i, file, t); i++)
		;
	return 1;
}

/* ---- what control/ asks ---- */

static int dynamic_turned(struct fathom_event *ev)
{
	struct dynamic_event *d = dynamic_list;

	while (d && &d->ev != ev)
		d = d->next;
	for (uint32_t i = 0; d && i <= FATHOM_INSTANCES_MAX; i++) {
		const struct ctl_instance *tr = fathom_ctl_instance_at(i);
		const struct ctl_event *e = tr ? &tr->events[dynamic_place(d)] : 0;

		if (e && (e->on || e->soft || e->probed))
			d->seen_by |= 1u << i;
	}
	return d && d->kind != DYNAMIC_SYNTH ? fathom_dynamic_probes_turned(d) : 0;
}

/* The pool goes: nobody may find what was in it. */
static void dynamic_forget(void)
{
	for (; dynamic_list; dynamic_list = dynamic_list->next) {
		fathom_object_remove_locked(&dynamic_list->object);
		dynamic_ids[dynamic_nr_ids++] = dynamic_list->ev.id;
	}
	dynamic_count = 0;
	fathom_dynamic_probes_forget();
}

static const struct ctl_file_ops dynamic_files = {
	.open = dynamic_open, .show = dynamic_show, .write = dynamic_write};

const struct fathom_dynamic fathom_dynamic = {.files = &dynamic_files,
					      .turned = dynamic_turned,
					      .action = fathom_match_parse,
					      .make = fathom_match_make,
					      .kept = dynamic_kept,
					      .forget = dynamic_forget};
