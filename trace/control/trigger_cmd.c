/* SPDX-License-Identifier: MIT */
/* trigger_cmd.c -- the trigger file's commands: parsed, added, removed, shown. */
#include "control/hist.h"
#include "control/pool.h"
#include "control/str.h"
#include "control/trigger.h"

static const char *const trigger_names[CTL_TRIGGER_KINDS + 1] = {
	"traceon",	 "traceoff",	"snapshot",	"stacktrace", "enable_event",
	"disable_event", "enable_hist", "disable_hist", "hist",	      0};

const char *fathom_trigger_name(uint32_t kind)
{
	return trigger_names[kind];
}

/* A command taken apart: `!`, name, what follows the colon, and the filter behind ` if `. */
struct trigger_text {
	const char *s;
	size_t n;
	int remove;
	uint32_t kind;
	size_t arg, arg_len; /* arg_len 0: none; has_arg tells `traceoff:` from `traceoff` */
	size_t filter, filter_len;
	int has_filter;
};

static struct ctl_hist *trigger_named; /* named histograms, shared by triggers */

void fathom_trigger_reset(void)
{
	trigger_named = 0;
}

/* The filter begins behind the first ` if ` or `\tif `; without anything behind it the command is wrong. */
static int trigger_split_filter(struct trigger_text *c)
{
	for (size_t i = 0; i + 3 <= c->n; i++) {
		if (!ctl_space(c->s[i]) || !ctl_starts(c->s + i + 1, c->n - i - 1, "if"))
			continue;
		if (i + 3 < c->n && !ctl_space(c->s[i + 3]))
			continue;
		c->filter = i + 3;
		while (c->filter < c->n && ctl_space(c->s[c->filter]))
			c->filter++;
		c->filter_len = c->n - c->filter;
		c->has_filter = 1;
		c->n = i;
		while (c->n && ctl_space(c->s[c->n - 1]))
			c->n--;
		return c->filter_len ? 0 : -FATHOM_EINVAL;
	}
	return 0;
}

static int trigger_split(struct trigger_text *c, const char *s, size_t n)
{
	size_t start = 0, end;
	int err;

	*c = (struct trigger_text){.s = s, .n = n};
	if (n && s[0] == '!') {
		c->remove = 1;
		start = 1;
	}
	err = trigger_split_filter(c);
	if (err)
		return err;
	end = start + ctl_find(s + start, c->n - start, ':');
	for (c->kind = 0; trigger_names[c->kind]; c->kind++)
		if (ctl_is(s + start, end - start, trigger_names[c->kind]))
			break;
	if (!trigger_names[c->kind])
		return -FATHOM_EINVAL;
	if (end < c->n) {
		c->arg = end + 1;
		c->arg_len = c->n - c->arg;
	}
	return 0;
}

/* `sys:event` at the front of the argument; what follows its colon is left. */
static int trigger_target(struct trigger_text *c, uint32_t *target)
{
	const char *s = c->s + c->arg;
	size_t colon = ctl_find(s, c->arg_len, ':'), end;

	if (colon == c->arg_len)
		return -FATHOM_EINVAL;
	end = colon + 1 + ctl_find(s + colon + 1, c->arg_len - colon - 1, ':');
	*target = fathom_ctl_event_find(s, end);
	if (*target == fathom_ctl.nr_events)
		return -FATHOM_EINVAL;
	c->arg += end + (end < c->arg_len);
	c->arg_len -= end + (end < c->arg_len);
	return 0;
}

static int trigger_count(const struct trigger_text *c, uint32_t *left)
{
	uint64_t v;

	*left = CTL_UNLIMITED;
	if (!c->arg_len)
		return 0;
	if (ctl_is(c->s + c->arg, c->arg_len, "unlimited"))
		return 0;
	/* What the file shows can be written back. */
	if (ctl_starts(c->s + c->arg, c->arg_len, "count=")) {
		if (fathom_ctl_number(c->s + c->arg + 6, c->arg_len - 6, 0, &v))
			return -FATHOM_EINVAL;
	} else if (fathom_ctl_number(c->s + c->arg, c->arg_len, 0, &v)) {
		return -FATHOM_EINVAL;
	}
	*left = v < CTL_UNLIMITED ? (uint32_t)v : CTL_UNLIMITED - 1;
	return 0;
}

static int trigger_has_target(uint32_t kind)
{
	return kind >= CTL_TRIGGER_ENABLE && kind <= CTL_TRIGGER_HIST_DISABLE;
}

/* The one trigger that a new one would repeat, or that a removal means. */
static struct ctl_trigger **trigger_find(struct ctl_event *e, uint32_t kind, uint32_t target,
					 const struct ctl_hist *spec)
{
	struct ctl_trigger **at = &e->triggers;

	for (; *at; at = &(*at)->next) {
		struct ctl_trigger *t = *at;
		int opposite = trigger_has_target(kind) && trigger_has_target(t->kind) &&
			       (kind | 1) == (t->kind | 1);

		if (t->kind != kind && !opposite)
			continue;
		if (trigger_has_target(kind) && (t->target != target || t->kind != kind))
			continue;
		if (kind == CTL_TRIGGER_HIST && !fathom_hist_same(t->hist, spec))
			continue;
		return at;
	}
	return 0;
}

static void trigger_free(struct ctl_trigger *t)
{
	struct ctl_hist *h = t->hist, **at = &trigger_named;

	if (trigger_has_target(t->kind) && t->kind <= CTL_TRIGGER_DISABLE &&
	    t->tr->events[t->target].soft)
		t->tr->events[t->target].soft--;
	if (h && !--h->users) {
		fathom_hist_unrefer(h);
		while (*at && *at != h)
			at = &(*at)->next_named;
		if (*at)
			*at = h->next_named;
		fathom_pool_retire(h->table);
		fathom_pool_retire(h);
	}
	fathom_pool_retire(t->filter);
	fathom_pool_retire(t);
}

static void trigger_unlink(uint32_t event, struct ctl_trigger **at);

/* Histograms that were made for fields of their event and that nobody uses any more. */
static void trigger_sweep(struct ctl_instance *tr)
{
	for (uint32_t i = 0; i < fathom_ctl.nr_events; i++) {
		struct ctl_trigger **at = &tr->events[i].triggers;

		while (*at)
			if ((*at)->kind == CTL_TRIGGER_HIST && (*at)->hist->helper &&
			    !fathom_hist_is_used((*at)->hist))
				trigger_unlink(i, at);
			else
				at = &(*at)->next;
	}
}

static void trigger_unlink(uint32_t event, struct ctl_trigger **at)
{
	struct ctl_trigger *t = *at;
	uint32_t target = t->target;
	int turned = trigger_has_target(t->kind);
	int sweep = t->kind == CTL_TRIGGER_HIST && t->hist->nr_refs;
	struct ctl_instance *tr = t->tr;

	__atomic_store_n(at, t->next, __ATOMIC_SEQ_CST);
	trigger_free(t);
	fathom_ctl_event_update(event);
	if (turned)
		fathom_ctl_event_update(target);
	if (sweep)
		trigger_sweep(tr);
}

static int trigger_link(struct ctl_instance *tr, uint32_t event, struct ctl_trigger *t)
{
	struct ctl_event *e = &tr->events[event];
	int err;

	t->next = e->triggers;
	if (trigger_has_target(t->kind) && t->kind <= CTL_TRIGGER_DISABLE) {
		tr->events[t->target].soft++;
		fathom_ctl_event_update(t->target);
	}
	__atomic_store_n(&e->triggers, t, __ATOMIC_RELEASE);
	err = fathom_ctl_event_update(event);
	if (err)
		trigger_unlink(event, &e->triggers);
	return err;
}

void fathom_trigger_remove_all(struct ctl_instance *tr, uint32_t event)
{
	while (tr->events[event].triggers)
		trigger_unlink(event, &tr->events[event].triggers);
}

int fathom_trigger_call(uint32_t event, ctl_trigger_fn call, void *data)
{
	struct ctl_trigger *t = fathom_pool_get(sizeof(*t));

	if (!t)
		return -FATHOM_ENOMEM;
	*t = (struct ctl_trigger){.tr = &fathom_ctl.top,
				  .event = event,
				  .left = CTL_UNLIMITED,
				  .kind = CTL_TRIGGER_CALL,
				  .call = call,
				  .data = data};
	return trigger_link(&fathom_ctl.top, event, t);
}

void fathom_trigger_uncall(uint32_t event, const void *data)
{
	struct ctl_trigger **at = &fathom_ctl.top.events[event].triggers;

	while (*at && ((*at)->kind != CTL_TRIGGER_CALL || (*at)->data != data))
		at = &(*at)->next;
	if (*at)
		trigger_unlink(event, at);
}

static void trigger_remove_aimed(struct ctl_instance *tr, uint32_t event, uint32_t target)
{
	struct ctl_trigger **at = &tr->events[event].triggers;

	while (*at) {
		if (trigger_has_target((*at)->kind) && (*at)->target == target)
			trigger_unlink(event, at);
		else
			at = &(*at)->next;
	}
}

void fathom_trigger_remove_aimed(struct ctl_instance *tr, uint32_t target)
{
	for (uint32_t i = 0; i < fathom_ctl.nr_events; i++)
		trigger_remove_aimed(tr, i, target);
}

void fathom_trigger_remove_hists(struct ctl_instance *tr, uint32_t event)
{
	struct ctl_trigger **at = &tr->events[event].triggers;

	while (*at) {
		if ((*at)->kind == CTL_TRIGGER_HIST && !fathom_hist_is_used((*at)->hist))
			trigger_unlink(event, at);
		else
			at = &(*at)->next;
	}
}

/* The histogram of a hist trigger: its own, or that of the same name. */
static int trigger_take_hist(struct ctl_trigger *t, const struct ctl_hist *spec,
			     const struct trigger_text *c)
{
	struct ctl_hist *h = trigger_named;
	int err;

	while (spec->name[0] && h && !ctl_same(h->name, spec->name))
		h = h->next_named;
	if (spec->name[0] && h) {
		if (!fathom_hist_same(h, spec)) {
			fathom_hist_error(t->tr, fathom_ctl_event(t->event),
					  "Named hist trigger doesn't match existing named trigger "
					  "(includes variables)",
					  c->s, c->n, 0);
			return -FATHOM_EINVAL;
		}
		h->users++;
		t->hist = h;
		return 0;
	}
	h = fathom_pool_get(sizeof(*h));
	if (!h)
		return -FATHOM_ENOMEM;
	*h = *spec;
	err = fathom_hist_alloc(h);
	if (err) {
		fathom_pool_put(h);
		return err;
	}
	h->users = 1;
	h->tr = t->tr;
	if (h->name[0]) {
		h->next_named = trigger_named;
		trigger_named = h;
	}
	t->hist = h;
	return 0;
}

static void trigger_order(struct ctl_hist *h, enum hist_order order)
{
	if (order == HIST_CLEAR)
		fathom_hist_clear(h);
	else
		__atomic_store_n(&h->paused, order == HIST_PAUSE, __ATOMIC_RELAXED);
}

static int trigger_filter(struct ctl_instance *tr, uint32_t event, const struct trigger_text *c,
			  struct ctl_trigger *t)
{
	struct fathom_filter_error err;
	int ret;

	if (!c->has_filter)
		return 0;
	ret = fathom_filter_compile(fathom_ctl_event(event), c->s + c->filter, c->filter_len,
				    &t->filter, &err);
	if (!ret || ret == -FATHOM_ENOMEM)
		return ret;
	fathom_ctl_error(tr, "event filter parse error", err.what, c->s + c->filter, c->filter_len,
			 err.at);
	return -FATHOM_EINVAL;
}

static int trigger_new(struct ctl_instance *tr, uint32_t event, const struct trigger_text *c,
		       struct ctl_trigger like, const struct ctl_hist *spec, enum hist_order order)
{
	struct ctl_trigger *t = fathom_pool_get(sizeof(*t));
	int err;

	if (!t)
		return -FATHOM_ENOMEM;
	*t = like;
	err = trigger_filter(tr, event, c, t);
	if (!err && (t->kind == CTL_TRIGGER_SNAPSHOT ||
		     (t->kind == CTL_TRIGGER_HIST && fathom_hist_actions_snapshot(spec))))
		err = fathom_ctl_snapshot_alloc(tr);
	if (!err && t->kind == CTL_TRIGGER_HIST)
		err = trigger_take_hist(t, spec, c);
	if (err) {
		fathom_pool_put(t->filter);
		fathom_pool_put(t);
		return err;
	}
	if (t->kind == CTL_TRIGGER_HIST && order == HIST_PAUSE)
		t->hist->paused = 1;
	return trigger_link(tr, event, t);
}

/* What it means that such a trigger is there, or is not: 0 if a new one is to be made, 1 if all is done. */
static int trigger_meets(struct ctl_instance *tr, uint32_t event, const struct trigger_text *c,
			 struct ctl_trigger **there, enum hist_order order)
{
	const char *what = 0;

	if (c->remove) {
		if (there && c->kind == CTL_TRIGGER_HIST && fathom_hist_is_used((*there)->hist))
			return -FATHOM_EBUSY;
		if (there)
			trigger_unlink(event, there);
		return 1;
	}
	if (there && c->kind == CTL_TRIGGER_HIST && order != HIST_SET) {
		trigger_order((*there)->hist, order);
		return 1;
	}
	if (there && c->kind == CTL_TRIGGER_HIST)
		what = "Hist trigger already exists";
	else if (order == HIST_CLEAR || order == HIST_CONTINUE)
		what = "Can't clear or continue a nonexistent hist trigger";
	if (what)
		fathom_hist_error(tr, fathom_ctl_event(event), what, c->s, c->n, 0);
	if (there)
		return -FATHOM_EEXIST;
	return what ? -FATHOM_ENOENT : 0;
}

/* `spec` is for a histogram. */
static int trigger_command(struct ctl_instance *tr, uint32_t event, const char *text, size_t len,
			   struct ctl_hist *spec)
{
	struct ctl_trigger like = {.tr = tr, .event = event, .left = CTL_UNLIMITED};
	struct trigger_text c;
	enum hist_order order = HIST_SET;
	struct ctl_trigger **there;
	int err = trigger_split(&c, text, len);

	if (err)
		return err;
	like.kind = (uint8_t)c.kind;
	if (trigger_has_target(c.kind))
		err = trigger_target(&c, &like.target);
	if (!err && c.kind == CTL_TRIGGER_HIST)
		err = c.arg_len ? fathom_hist_parse(tr, fathom_ctl_event(event), text, c.arg,
						    c.arg_len, spec, &order)
				: -FATHOM_EINVAL;
	else if (!err)
		err = trigger_count(&c, &like.left);
	if (err)
		return err;
	there = trigger_find(&tr->events[event], c.kind, like.target, spec);
	err = trigger_meets(tr, event, &c, there, order);
	if (err)
		return err < 0 ? err : 0;
	return trigger_new(tr, event, &c, like, spec, order);
}

int fathom_trigger_command(struct ctl_instance *tr, uint32_t event, const char *text, size_t len)
{
	/* Too large for a stack. Not static: a histogram may need another one, of another event, while it is parsed. */
	static uint32_t nested;
	struct ctl_hist *spec = fathom_pool_get(sizeof(*spec));
	int err = -FATHOM_ENOMEM;

	nested++;
	if (spec)
		err = trigger_command(tr, event, text, len, spec);
	fathom_pool_put(spec);
	if (!--nested)
		trigger_sweep(tr); /* some may have been made for one that failed */
	return err;
}

void fathom_trigger_show(const struct ctl_trigger *t, struct fathom_text *out)
{
	size_t n;

	if (t->kind == CTL_TRIGGER_HIST) {
		fathom_hist_spec(t->hist, out);
	} else {
		fathom_text_str(out, trigger_names[t->kind]);
		if (trigger_has_target(t->kind)) {
			fathom_text_char(out, ':');
			fathom_text_str(out, fathom_ctl_event(t->target)->system);
			fathom_text_char(out, ':');
			fathom_text_str(out, fathom_ctl_event(t->target)->name);
		}
		if (t->left == CTL_UNLIMITED) {
			fathom_text_str(out, ":unlimited");
		} else {
			fathom_text_str(out, ":count=");
			fathom_text_u64(out, t->left, 0, ' ');
		}
	}
	if (t->filter) {
		const char *filter = fathom_filter_text(t->filter, &n);

		fathom_text_str(out, " if ");
		fathom_text_bytes(out, filter, n);
	}
	if (t->kind == CTL_TRIGGER_HIST)
		fathom_text_str(out, t->hist->paused ? " [paused]" : " [active]");
}
