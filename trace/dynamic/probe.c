/* SPDX-License-Identifier: MIT */
/* probe.c -- probes: `p:` and `r:` on entries and returns of functions, `e:` on other events; as they run. */
#include "wire/cold.h"
#include "arch/regs.h"
#include "control/str.h"
#include "control/trigger.h"
#include "dynamic/dynamic.h"
#include "fathom/inside/emit.h"
#include "functions/probes.h"
#include "functions/sites.h"
#include "functions/tracers.h"

/* In the order of the file. Handlers walk it inside fathom_pool_enter() and leave(). */
static struct dynamic_probe *probe_list;

struct dynamic_probe *fathom_dynamic_probes(void)
{
	return probe_list;
}

static struct dynamic_probe *probe_next(struct dynamic_probe *const *at)
{
	return __atomic_load_n(at, __ATOMIC_ACQUIRE); /* pairs with the release in probe_link() */
}

/* ---- running, in any context ---- */

static void probe_fire(struct dynamic_probe *p, const struct fetch_source *from, uintptr_t first,
		       uintptr_t second)
{
	struct dynamic_event *d = p->d;
	uint32_t bytes = fathom_fetch_bytes(d, from);
	struct fathom_emit e;
	uint8_t *record;

	__atomic_fetch_add(&p->hits, 1, __ATOMIC_RELAXED);
	record = fathom_emit_cold(&d->ev, bytes, &e);
	if (!record)
		return;
	if (d->kind != DYNAMIC_EVENT)
		fathom_put_word(record + sizeof(struct wire_common), first);
	if (d->kind == DYNAMIC_RETURN)
		fathom_put_word(record + sizeof(struct wire_common) + sizeof(first), second);
	fathom_fetch_fill(d, from, record, bytes);
	fathom_emit_cold_end(&d->ev, &e);
}

static void probe_enter(const struct fathom_call *call, uint32_t context)
{
	struct fetch_source from = {.slot = call->slot};
	uint32_t cpu = fathom_port_cpu();

	(void)context;
	fathom_pool_enter(cpu);
	for (struct dynamic_probe *p = probe_next(&probe_list); p; p = probe_next(&p->next))
		if (p->d->kind == DYNAMIC_ENTRY && p->site == call->site &&
		    __atomic_load_n(&p->armed, __ATOMIC_RELAXED))
			probe_fire(p, &from, call->ip, 0);
	fathom_pool_leave(cpu);
}

static void probe_leave(const struct fathom_left *left, uint32_t context)
{
	struct fetch_source from = {.slot = 0};
	uint32_t cpu = fathom_port_cpu();
	int site = fathom_site_find(left->func);

	(void)context;
	if (left->slot)
		from.has_retval = fathom_arch_retval(left->slot, left->replaced, &from.retval);
	fathom_pool_enter(cpu);
	for (struct dynamic_probe *p = probe_next(&probe_list); p; p = probe_next(&p->next))
		if (p->d->kind == DYNAMIC_RETURN && (int)p->site == site &&
		    __atomic_load_n(&p->armed, __ATOMIC_RELAXED))
			probe_fire(p, &from, left->func, left->ret);
	fathom_pool_leave(cpu);
}

/* `record` NULL: it was too large to be kept; it is counted as a miss of the profile. */
static void probe_event(void *data, const void *record, uint32_t bytes, uint32_t cpu, uint64_t time)
{
	struct dynamic_probe *p = data;
	struct fetch_source from = {.record = record, .bytes = bytes};

	(void)cpu, (void)time;
	if (record)
		probe_fire(p, &from, 0, 0);
	else
		__atomic_fetch_add(&p->missed, 1, __ATOMIC_RELAXED);
}

/* ---- on and off ---- */

static uint32_t probe_wants(uint32_t site)
{
	uint32_t users = 0;

	for (const struct dynamic_probe *p = probe_list; p; p = p->next)
		if (p->armed && p->d->kind != DYNAMIC_EVENT && p->site == site)
			users |= p->d->kind == DYNAMIC_ENTRY ? SITE_PROGRAM : SITE_PROGRAM_RETURN;
	return users;
}

static struct fathom_watch probe_watch = {.enter = probe_enter, .leave = probe_leave};

static int probe_refresh(void)
{
	int returns = 0, armed = 0, err;

	for (const struct dynamic_probe *p = probe_list; p; p = p->next) {
		armed += p->armed && p->d->kind != DYNAMIC_EVENT;
		returns += p->armed && p->d->kind == DYNAMIC_RETURN;
	}
	/* Calls that were open when returns were last off are still on the stacks. */
	if (returns && !fathom_watch_returns() && !fathom_tracer_wants.graph &&
	    !fathom_profile_is_on())
		fathom_graph_reset();
	if (armed) {
		probe_watch.wants = probe_wants;
		/* Pairs with the acquire in functions/. */
		__atomic_store_n(&fathom_watch[FATHOM_WATCH_DYNAMIC], &probe_watch,
				 __ATOMIC_RELEASE);
	}
	probe_watch.returns = returns != 0;
	fathom_want_switches();
	err = probe_watch.wants ? fathom_tracer_refresh() : 0;
	if (!armed)
		probe_watch.wants = 0;
	return err;
}

static int probe_is_of_place(const struct dynamic_probe *p)
{
	return p->event < fathom_ctl.nr_events && fathom_ctl.place[p->event].age == p->age;
}

static int probe_arm(struct dynamic_probe *p, uint32_t on)
{
	int err = 0;

	if (p->d->kind == DYNAMIC_EVENT && !probe_is_of_place(p))
		return on ? -FATHOM_ENODEV : 0; /* its event is gone */
	__atomic_store_n(&p->armed, on, __ATOMIC_RELAXED);
	if (p->d->kind == DYNAMIC_EVENT && on)
		err = fathom_trigger_call(p->event, probe_event, p);
	else if (p->d->kind == DYNAMIC_EVENT)
		fathom_trigger_uncall(p->event, p);
	if (err)
		p->armed = 0;
	return err;
}

int fathom_dynamic_probes_turned(struct dynamic_event *d)
{
	uint32_t on = d->ev.state != 0, changed = 0;
	int err = 0;

	for (struct dynamic_probe *p = probe_list; p; p = p->next)
		if (p->d == d && p->armed != on) {
			int one = probe_arm(p, on);

			err = err ? err : one;
			changed = 1;
		}
	if (changed && d->kind != DYNAMIC_EVENT && !err)
		err = probe_refresh();
	return err;
}

uint32_t fathom_dynamic_probes_remove(struct dynamic_event *d, const struct dynamic_probe *only)
{
	struct dynamic_probe **at = &probe_list;
	uint32_t left = 0;

	while (*at) {
		struct dynamic_probe *p = *at;

		if (p->d != d || (only && p != only)) {
			left += p->d == d;
			at = &p->next;
			continue;
		}
		__atomic_store_n(at, p->next, __ATOMIC_SEQ_CST);
		fathom_pool_retire(p);
	}
	return left;
}

void fathom_dynamic_probes_forget(void)
{
	probe_list = 0;
	probe_watch.wants = 0;
	probe_watch.returns = 0;
}

/* ---- text ---- */

static void probe_print(struct fathom_print *p)
{
	const struct dynamic_event *d = fathom_dynamic_of(p->record);
	const uint8_t *at = (const uint8_t *)p->record + sizeof(struct wire_common);
	uintptr_t first, second;

	if (!d || p->bytes < d->fixed)
		return;
	__builtin_memcpy(&first, at, sizeof(first));
	if (d->kind == DYNAMIC_RETURN) {
		__builtin_memcpy(&second, at + sizeof(first), sizeof(second));
		fathom_text_printf(p->out, "(%pS <- %ps)", (void *)second, (void *)first);
	} else if (d->kind == DYNAMIC_ENTRY) {
		fathom_text_printf(p->out, "(%pS)", (void *)first);
	} else {
		fathom_text_char(p->out, '(');
		fathom_text_str(p->out, d->place);
		fathom_text_char(p->out, ')');
	}
	fathom_fetch_print(d, p);
}

static const char *probe_print_fmt(struct dynamic_event *d)
{
	struct fathom_text *t = &d->words;
	size_t at = t->len;

	fathom_text_str(t, d->kind == DYNAMIC_ENTRY    ? "\"(%lx)"
			   : d->kind == DYNAMIC_RETURN ? "\"(%lx <- %lx)"
						       : "\"");
	fathom_fetch_formats(d);
	fathom_text_str(t, d->kind == DYNAMIC_ENTRY ? "\", REC->__probe_ip"
			   : d->kind == DYNAMIC_RETURN
				   ? "\", REC->__probe_func, REC->__probe_ret_ip"
				   : "\"");
	fathom_fetch_values(d);
	fathom_text_char(t, '\0');
	return d->text + at;
}

void fathom_dynamic_probe_show(const struct dynamic_probe *p, struct fathom_text *t)
{
	const struct dynamic_event *d = p->d;

	fathom_text_char(t, "spre"[d->kind]);
	fathom_text_char(t, ':');
	fathom_text_str(t, d->ev.system);
	fathom_text_char(t, '/');
	fathom_text_str(t, d->ev.name);
	fathom_text_char(t, ' ');
	fathom_text_str(t, p->place);
	for (uint32_t i = 0; i < d->nr_args; i++) {
		fathom_text_char(t, ' ');
		fathom_text_str(t, d->arg[i].name);
		fathom_text_char(t, '=');
		fathom_text_str(t, d->arg[i].text);
	}
	fathom_text_char(t, '\n');
}

void fathom_dynamic_probe_profile(const struct dynamic_probe *p, struct fathom_text *t)
{
	size_t n = ctl_len(p->d->ev.name);

	fathom_text_str(t, "  ");
	fathom_text_str(t, p->d->ev.name);
	fathom_text_fill(t, ' ', n < 44 ? 44 - n : 0);
	fathom_text_char(t, ' ');
	fathom_text_u64(t, p->hits, 15, ' ');
	fathom_text_char(t, ' ');
	fathom_text_u64(t, p->missed, 15, ' ');
	fathom_text_char(t, '\n');
}

/* ---- the command ---- */

struct probe_parser {
	struct fetch_parser f; /* first */
	struct dynamic_probe *p;
	size_t name, name_len; /* `[group/][event]` */
	size_t place, place_len;
	int is_named;
	char made[FATHOM_NAME_MAX + 1]; /* the name, if none was given */
};

static int probe_fail(const struct probe_parser *q, const char *what, size_t at)
{
	return fathom_dynamic_fail(q->f.who, what, q->f.s, q->f.n, at);
}

/* `r[MAXACTIVE]`: the number is taken and means nothing here, for calls are followed to any depth that tasks have. */
static int probe_head(struct probe_parser *q, size_t n)
{
	const char *s = q->f.s;
	size_t colon = ctl_find(s, n, ':');
	uint64_t v;

	if (colon > 1 && !ctl_digit(s[1]))
		return probe_fail(q, "Event name is not specified", 1);
	if (colon > 1 && s[0] != 'r')
		return probe_fail(q, "Maxactive is not for kprobe", 1);
	if (colon > 1 && (fathom_ctl_number(s + 1, colon - 1, 0, &v) || !v))
		return probe_fail(q, "Invalid maxactive number", 1);
	if (colon > 1 && v > 4096)
		return probe_fail(q, "Maxactive is too big", 1);
	q->is_named = colon < n;
	q->name = colon + 1;
	q->name_len = colon < n ? n - colon - 1 : 0;
	return 0;
}

static int probe_names(struct probe_parser *q, const char *group)
{
	struct dynamic_event *d = q->f.d;
	const char *s = q->f.s + q->name;
	size_t n = q->name_len, slash = ctl_find(s, n, '/');

	if (slash == n)
		slash = ctl_find(s, n, '.');
	d->ev.system = group;
	d->ev.name = fathom_dynamic_word(d, q->made, ctl_len(q->made));
	if (!q->is_named)
		return 0;
	if (slash < n) {
		if (!slash)
			return probe_fail(q, "Group name is not specified", q->name);
		if (slash > FATHOM_NAME_MAX)
			return probe_fail(q, "Group name is too long", q->name);
		if (!fathom_dynamic_is_name(s, slash))
			return probe_fail(q,
					  "Group name must follow the same rules as C identifiers",
					  q->name);
		d->ev.system = fathom_dynamic_word(d, s, slash);
		s += slash + 1;
		n -= slash + 1;
		if (!n)
			return 0;
	}
	if (!n)
		return probe_fail(q, "Event name is not specified", q->name);
	if (n > FATHOM_NAME_MAX)
		return probe_fail(q, "Event name is too long", (size_t)(s - q->f.s));
	if (!fathom_dynamic_is_name(s, n))
		return probe_fail(q, "Event name must follow the same rules as C identifiers",
				  (size_t)(s - q->f.s));
	d->ev.name = fathom_dynamic_word(d, s, n);
	return 0;
}

/* The name of an event that was given none: kind, place, offset. */
static void probe_make_name(struct probe_parser *q, const char *s, size_t n, const char *tail)
{
	struct fathom_text t;

	fathom_text_init(&t, q->made, sizeof(q->made));
	fathom_text_char(&t, "spre"[q->f.d->kind]);
	fathom_text_char(&t, '_');
	fathom_text_bytes(&t, s, n);
	fathom_text_str(&t, tail);
	fathom_text_cstr(&t);
	for (char *c = q->made; *c; c++)
		*c = ctl_word(*c) ? *c : '_';
}

/* `[module:]symbol[+0][%return]` or an address: its site. */
static int probe_function(struct probe_parser *q)
{
	const char *s = q->f.s + q->place;
	size_t n = q->place_len, percent = ctl_find(s, n, '%'), plus, colon;
	struct function_match m;
	uint64_t v;
	int site, err = fathom_functions_check();

	if (err)
		return err;
	if (percent < n && !ctl_is(s + percent, n - percent, "%return"))
		return probe_fail(q, "Invalid probed address suffix", q->place + percent);
	if (percent < n)
		q->f.d->kind = DYNAMIC_RETURN;
	n = percent;
	q->p->place[n] = '\0';
	if (n && ctl_digit(*s) && !fathom_ctl_number(s, n, 0, &v)) {
		site = fathom_site_find((uintptr_t)v);
		if (site < 0)
			return probe_fail(q, "Invalid probed address or symbol", q->place);
		q->p->site = (uint32_t)site;
		probe_make_name(q, s, n, "");
		return 0;
	}
	plus = ctl_find(s, n, '+');
	colon = ctl_find(s, plus, ':');
	for (size_t i = 0; i < plus; i++)
		if (!ctl_word(s[i]) && s[i] != '.' && s[i] != '$' && s[i] != ':')
			return probe_fail(q, "Invalid probed address or symbol", q->place);
	if (plus < n && fathom_ctl_number(s + plus + 1, n - plus - 1, 0, &v))
		return probe_fail(q, "Invalid probed address or symbol", q->place);
	if (plus < n && v)
		return probe_fail(q,
				  q->f.d->kind == DYNAMIC_RETURN
					  ? "Retprobe address must be an function entry"
					  : "Probe point is not an instruction boundary",
				  q->place);
	fathom_match_init(&m, colon < plus ? s + colon + 1 : s,
			  colon < plus ? plus - colon - 1 : plus);
	if (colon < plus) {
		m.module = s;
		m.module_bytes = colon;
	}
	site = fathom_match_next(&m);
	if (site < 0) {
		probe_fail(q, "Invalid probed address or symbol", q->place);
		return -FATHOM_ENOENT;
	}
	if (fathom_match_next(&m) >= 0)
		return probe_fail(q, "The symbol is not unique", q->place);
	q->p->site = (uint32_t)site;
	q->p->place[plus] = '\0';
	probe_make_name(q, s, plus, "_0");
	return 0;
}

/* `system.event` or `system/event`. */
static int probe_target(struct probe_parser *q)
{
	const char *s = q->f.s + q->place;
	size_t n = q->place_len, cut = ctl_find(s, n, '/');
	char name[sizeof(q->p->place)];

	if (cut == n)
		cut = ctl_find(s, n, '.');
	if (cut + 1 >= n || !cut || n >= sizeof(name))
		return probe_fail(q, "This requires both group and event name to attach", q->place);
	__builtin_memcpy(name, s, n);
	name[cut] = ':';
	q->p->event = fathom_ctl_event_find(name, n);
	if (q->p->event == fathom_ctl.nr_events)
		return probe_fail(q, "Attached event does not exist", q->place);
	q->p->age = fathom_ctl.place[q->p->event].age;
	q->f.on = fathom_ctl_event(q->p->event);
	name[cut] = '.';
	q->f.d->place = fathom_dynamic_word(q->f.d, name, n);
	__builtin_memcpy(q->p->place, name, n);
	probe_make_name(q, name + cut + 1, n - cut - 1, "");
	return 0;
}

static void probe_word(struct dynamic_event *d, const char *name)
{
	d->field[d->ev.nr_fields++] = (struct fathom_field){.type = "unsigned long",
							    .name = name,
							    .offset = (uint16_t)d->fixed,
							    .size = sizeof(uintptr_t)};
	d->fixed += (uint32_t)sizeof(uintptr_t);
}

static int probe_arguments(struct probe_parser *q, size_t at)
{
	struct dynamic_event *d = q->f.d;
	size_t len;

	d->fixed = sizeof(struct wire_common);
	if (d->kind == DYNAMIC_ENTRY)
		probe_word(d, "__probe_ip");
	if (d->kind == DYNAMIC_RETURN) {
		probe_word(d, "__probe_func");
		probe_word(d, "__probe_ret_ip");
	}
	while ((len = fathom_dynamic_next(q->f.s, q->f.n, &at))) {
		int err;

		if (d->kind == DYNAMIC_EVENT && ctl_is(q->f.s + at, len, "if"))
			return probe_fail(q, "No filter rule after 'if'", at);
		err = fathom_fetch_parse(&q->f, at, len);
		if (err)
			return err;
		at += len;
	}
	d->ev.print = probe_print;
	d->ev.print_fmt = probe_print_fmt(d);
	return 0;
}

/* At the end of the list; pairs with the acquire in probe_next(). */
static void probe_link(struct dynamic_probe *p)
{
	struct dynamic_probe **at = &probe_list;

	while (*at)
		at = &(*at)->next;
	__atomic_store_n(at, p, __ATOMIC_RELEASE);
}

/* Where the argument stands that is another one, or the end of the shorter list; 0: they are the same. */
static size_t probe_other_arg(const struct probe_parser *q, const struct dynamic_event *there)
{
	const struct dynamic_event *d = q->f.d;
	size_t at = q->place + q->place_len;
	uint32_t i = 0;

	while (i < d->nr_args && i < there->nr_args &&
	       ctl_same(d->arg[i].name, there->arg[i].name) &&
	       ctl_same(d->arg[i].text, there->arg[i].text))
		i++;
	if (i == d->nr_args && i == there->nr_args)
		return 0;
	for (uint32_t k = 0; k <= i; k++) {
		size_t len = fathom_dynamic_next(q->f.s, q->f.n, &at);

		at += k < i ? len : 0;
	}
	return at < q->f.n ? at : q->place;
}

/* One more probe of an event that is there. */
static int probe_append(struct probe_parser *q, struct dynamic_event *there)
{
	const char *what = 0;
	size_t at = 0;

	if (there->kind == DYNAMIC_SYNTH || there->kind == DYNAMIC_EVENT || q->f.on)
		what = "Given group/event name is already used by another event";
	else if (there->kind != q->f.d->kind)
		what = "Probe type is different from existing probe";
	else if ((at = probe_other_arg(q, there)))
		what = "Argument type or name is different from existing probe";
	for (const struct dynamic_probe *p = probe_list; p && !what; p = p->next)
		if (p->d == there && p->site == q->p->site)
			what = "There is already the exact same probe event";
	if (what) {
		probe_fail(q, what, at);
		return -FATHOM_EEXIST;
	}
	q->p->d = there;
	fathom_pool_put(q->f.d);
	q->f.d = 0;
	probe_link(q->p);
	return fathom_dynamic_probes_turned(there);
}

static int probe_make(struct probe_parser *q)
{
	struct dynamic_event *d = q->f.d, *there = fathom_dynamic_first();
	int err;

	while (there &&
	       (!ctl_same(there->ev.system, d->ev.system) || !ctl_same(there->ev.name, d->ev.name)))
		there = there->next;
	if (there)
		return probe_append(q, there);
	if (fathom_event_find(d->ev.system, d->ev.name)) {
		probe_fail(q, "Given group/event name is already used by another event", 0);
		return -FATHOM_EEXIST;
	}
	q->f.d = 0; /* from here on it is not ours */
	err = fathom_dynamic_add(d);
	if (!err)
		probe_link(q->p);
	return err;
}

static int probe_parse(struct probe_parser *q)
{
	int err;

	err = q->f.s[0] == 'e' ? probe_target(q) : probe_function(q);
	if (!err)
		err = probe_names(q, q->f.s[0] == 'e' ? "eprobes" : "kprobes");
	if (!err)
		err = probe_arguments(q, q->place + q->place_len);
	return err ? err : probe_make(q);
}

int fathom_probe_create(const char *s, size_t n)
{
	struct probe_parser q = {
		.f = {.who = s[0] == 'e' ? "event_probe" : "trace_kprobe", .s = s, .n = n}};
	size_t at = 0, head = fathom_dynamic_next(s, n, &at);
	int err;

	q.place = head;
	q.place_len = fathom_dynamic_next(s, n, &q.place);
	if (!q.place_len)
		return -FATHOM_EINVAL;
	err = probe_head(&q, head);
	if (err)
		return err;
	q.f.d = fathom_dynamic_new(s[0] == 'p'	 ? DYNAMIC_ENTRY
				   : s[0] == 'r' ? DYNAMIC_RETURN
						 : DYNAMIC_EVENT);
	q.p = fathom_pool_get(sizeof(*q.p));
	err = -FATHOM_ENOMEM;
	if (q.f.d && q.p) {
		size_t bytes = q.place_len < sizeof(q.p->place) ? q.place_len : 0;

		__builtin_memcpy(q.p->place, s + q.place, bytes);
		q.p->d = q.f.d;
		err = bytes ? probe_parse(&q) : -FATHOM_E2BIG;
	}
	if (err) {
		fathom_pool_put(q.f.d);
		fathom_pool_put(q.p);
	}
	return err;
}
