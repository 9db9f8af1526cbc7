/* SPDX-License-Identifier: MIT */
/* model.c -- what happened: events to the parts that pair them, what was lost, and names. */
#include "model/parts.h"
#include "base/vec.h"
#include "decode/names/elf.h"
#include "store/scan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[SPAN_KINDS] = {
	[SPAN_RUNNING] = "running", [SPAN_READY] = "ready",	[SPAN_BLOCKED] = "blocked",
	[SPAN_LOST] = "lost",	    [SPAN_WAKEUP] = "wakeup",	[SPAN_IRQ] = "irq",
	[SPAN_SOFTIRQ] = "softirq", [SPAN_SYSCALL] = "syscall", [SPAN_FAULT] = "fault",
	[SPAN_IPC] = "ipc",	    [SPAN_CALL] = "function",	[SPAN_PAIR] = "pair",
	[SPAN_IRQSOFF] = "irqsoff",
};

const char *span_kind_name(enum span_kind kind)
{
	return kind_names[kind];
}

/* ---- names ---- */

uint32_t model_word(struct model *m, const char *text, size_t n)
{
	uint32_t i = strmap_add(&m->names, text, (uint32_t)n);

	m->failed |= i == STRMAP_NONE;
	return i == STRMAP_NONE ? 0 : i;
}

const char *model_name(const struct model *m, uint32_t name)
{
	return name < m->names.nr ? m->names.word[name].p : "?";
}

const char *model_function(struct model *m, uint64_t addr)
{
	void **at = idmap_at(&m->functions, addr);
	struct symbol sym;
	char hex[32], *readable = NULL;
	const char *text = hex;

	if (!at)
		return "?";
	if (!*at) {
		if (!addr)
			text = "[unknown]";
		else if (source_symbol(m->s, addr, &sym))
			text = (readable = elf_demangle(sym.name)) ? readable : sym.name;
		else
			snprintf(hex, sizeof(hex), "0x%" PRIx64, addr);
		*at = (void *)(uintptr_t)(1 + model_word(m, text, strlen(text)));
		free(readable);
	}
	return model_name(m, (uint32_t)(uintptr_t)*at - 1);
}

const char *model_comm(struct model *m, int32_t pid)
{
	const char *comm = source_comm(m->s, pid);
	bool old = m->s->map_room != 0; /* a table that was read before what is seen now */
	const struct task *t =
		old || !strcmp(comm, "<...>") ? idmap_find(&m->tasks, (uint32_t)pid) : NULL;

	return t && t->comm[0] ? t->comm : comm;
}

const char *model_span_name(struct model *m, const struct span *s)
{
	static const char *const states[] = {"S", "D", "T", "t", "X", "Z", "P", "I"};

	if (s->kind == SPAN_CALL)
		return model_function(m, s->key);
	if (s->kind != SPAN_BLOCKED)
		return model_name(m, s->name);
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (s->key >> i & 1)
			return states[i];
	return "?";
}

const char *model_text(const struct role *r, const struct row_field *f, const struct event *e,
		       uint32_t *n)
{
	struct row_value v;

	*n = 0;
	if (!f || f->kind != ROW_TEXT ||
	    !row_value(r->type, (uint32_t)(f - r->type->fields), e, &v))
		return "";
	*n = v.n;
	return (const char *)v.bytes;
}

/* ---- spans ---- */

void model_give(struct model *m, struct span *s)
{
	if (s->to < s->from || !m->show || !m->sink.span || !model_wants(m, s->kind))
		return;
	m->sink.span(m->sink.arg, s);
}

struct task *model_task(struct model *m, struct cpu *c, int32_t pid)
{
	struct task *t;
	void **at;

	if (!pid)
		return &c->idle;
	at = idmap_at(&m->tasks, (uint32_t)pid);
	if (at && !*at && (t = calloc(1, sizeof(*t)))) {
		t->pid = pid;
		t->prio = -1;
		t->home = c;
		*at = t;
	}
	m->failed |= !at || !*at;
	return at ? *at : NULL;
}

/* ---- loss ---- */

static void add_gap(struct model *m, uint64_t from, uint64_t to)
{
	if (m->nr_gaps >= LOSSES_MAX || !VEC_ROOM(m->gaps, m->nr_gaps, m->cap_gaps)) {
		/* one long gap says less, but nothing wrong */
		m->failed |= !m->nr_gaps;
		if (m->nr_gaps)
			m->gaps[m->nr_gaps - 1].to = to;
		return;
	}
	m->gaps[m->nr_gaps++] = (struct gap){from, to};
}

bool model_lost(const struct model *m, uint64_t since, uint64_t until, uint64_t *from)
{
	size_t lo = 0, hi = m->nr_gaps;

	if (!hi || m->gaps[hi - 1].to <= since)
		return false;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->gaps[mid].to <= since)
			lo = mid + 1;
		else
			hi = mid;
	}
	*from = m->gaps[lo].from > since ? m->gaps[lo].from : since;
	return *from < until;
}

/* Events are missing right before this one on its stream: nothing of its CPU is known in between. */
static void gap(struct model *m, struct cpu *c, const struct event *e)
{
	uint64_t last = m->last[e->stream], from = last ? last - 1 : m->start;
	struct span s = {.kind = SPAN_LOST,
			 .from = from,
			 .to = e->time,
			 .pid = -1,
			 .cpu = c->id,
			 .prio = -1,
			 .key = e->lost,
			 .begin = MODEL_NO_EVENT,
			 .end = m->number};

	losses_add(
		m->losses,
		&(struct loss){.stream = e->stream, .from = from, .to = e->time, .lost = e->lost});
	if (!m->sched[e->stream] &&
	    c->switches) /* another buffer, which does not say which task runs */
		return;
	add_gap(m, from, e->time);
	pairs_gap(m, c, from);
	sched_gap(m, c, from, e);
	model_give(m, &s);
}

/* ---- events ---- */

static void begin_window(struct model *m, uint64_t time)
{
	m->any = true;
	m->start = time;
	for (uint32_t i = 0; i < m->nr_cpus; i++) {
		struct cpu *c = &m->cpus[i];

		if (!c->to) {
			c->from = time;
			c->to = UINT64_MAX;
		} else if (c->from < time) {
			c->from = time;
		}
	}
}

void model_event(struct model *m, const struct event *e, uint64_t number, bool show)
{
	struct cpu *c = &m->cpus[m->cpu_of[e->stream]];
	const struct role *r = m->roles[e->type < SOURCE_ID_FAST ? e->type : 0];

	m->number = number;
	m->show = show;
	if (!m->any)
		begin_window(m, e->time);
	if (e->lost)
		gap(m, c, e);
	if (!c->any || !c->switches)
		sched_seen(m, c, e);
	else if (!c->running)
		sched_resume(m, c, e);
	else if (e->pid == c->running->pid)
		c->left = e->pid; /* the previous task is gone */
	else if (c->same_pids && e->pid != c->left && !(r && r->renames))
		sched_missed(m, c, e);
	m->last[e->stream] = e->time + 1;
	c->any = true;
	if (!r) {
		if (show && m->sink.mark)
			m->sink.mark(m->sink.arg, e, number);
	} else {
		if (r->is_mark && show && m->sink.mark)
			m->sink.mark(m->sink.arg, e, number);
		for (; r; r = r->more)
			r->take(m, r, c, e);
	}
	if (e->time > c->last)
		c->last = e->time;
	if (e->time > m->finish)
		m->finish = e->time;
}

/* The intervals in which a CPU was not recorded, though others were. */
static void not_recorded(struct model *m)
{
	for (uint32_t i = 0; m->any && i < m->nr_cpus; i++) {
		const struct cpu *c = &m->cpus[i];
		struct span s = {.kind = SPAN_LOST,
				 .pid = -1,
				 .cpu = c->id,
				 .prio = -1,
				 .begin = MODEL_NO_EVENT,
				 .end = MODEL_NO_EVENT};

		s.from = m->start;
		s.to = c->from;
		s.flags = SPAN_NO_BEGIN;
		if (s.to > s.from)
			model_give(m, &s);
		s.from = c->to;
		s.to = m->finish;
		s.flags = SPAN_NO_END;
		if (c->to < m->finish)
			model_give(m, &s);
	}
}

void model_end(struct model *m)
{
	m->show = true;
	m->number = MODEL_NO_EVENT;
	pairs_end(m);
	calls_end(m);
	sched_end(m);
	not_recorded(m);
}

void model_peek(struct model *m)
{
	m->show = true;
	m->number = MODEL_NO_EVENT;
	pairs_peek(m);
	calls_peek(m);
	sched_peek(m);
}

/* ---- making it ---- */

struct role *model_add_role(struct model *m, uint32_t type)
{
	struct role **at = &m->roles[type < SOURCE_ID_FAST ? type : 0], *r = calloc(1, sizeof(*r));

	if (!r) {
		m->failed = true;
		return NULL;
	}
	r->type = row_type_new(m->s, type);
	r->chain = m->all;
	m->all = r;
	while (*at)
		at = &(*at)->more;
	*at = r;
	return r;
}

/* CPUs of one recording are one machine's: streams of the same number in other buffers are the same CPU. */
static int place_streams(struct model *m)
{
	const struct source *s = m->s;

	m->cpus = calloc(s->nr_streams + 1, sizeof(*m->cpus));
	m->cpu_of = calloc(s->nr_streams + 1, sizeof(*m->cpu_of));
	m->last = calloc(s->nr_streams + 1, sizeof(*m->last));
	m->sched = calloc(s->nr_streams + 1, sizeof(*m->sched));
	if (!m->cpus || !m->cpu_of || !m->last || !m->sched)
		return -1;
	for (uint32_t i = 0; i < s->nr_streams; i++) {
		const struct stream *st = &s->streams[i];
		uint32_t k = 0;

		while (k < m->nr_cpus &&
		       (m->cpus[k].id != st->cpu || m->cpus[k].from != st->recorded_from ||
			m->cpus[k].to != st->recorded_to))
			k++;
		m->cpu_of[i] = k;
		if (k < m->nr_cpus)
			continue;
		m->nr_cpus++;
		m->cpus[k] = (struct cpu){
			.id = st->cpu, .from = st->recorded_from, .to = st->recorded_to};
		m->cpus[k].idle.prio = -1;
		m->cpus[k].idle.home = &m->cpus[k];
	}
	return 0;
}

/* Which streams say which task runs; a CPU that never switched has switches if others of its recording have. If nobody knows what will come,
 * the first switch says: sched_begin(). */
static void place_switches(struct model *m, const struct model_counts *n)
{
	for (uint32_t i = 0; i < m->s->nr_streams && !n; i++)
		m->sched[i] = true;
	m->wakeups = !n;
	for (uint32_t i = 0; i < m->s->nr_streams && n; i++) {
		const struct cpu *c = &m->cpus[m->cpu_of[i]];

		m->sched[i] = n->has[i] & MODEL_HAS_SCHED;
		m->wakeups |= n->has[i] & MODEL_HAS_WAKEUP;
		for (uint32_t k = 0; n->has[i] & MODEL_HAS_SWITCH && k < m->nr_cpus; k++)
			if (m->cpus[k].from == c->from && m->cpus[k].to == c->to)
				m->cpus[k].switches = true;
	}
}

struct model *model_new(struct source *s, const struct model_options *o,
			const struct model_sink *sink)
{
	struct model *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->s = s;
	m->o = *o;
	m->sink = *sink;
	m->names.copies = true;
	model_word(m, "", 0);
	m->roles = calloc(SOURCE_ID_FAST, sizeof(*m->roles));
	m->losses = losses_new();
	m->pairs = calloc(o->nr_pairs + 1, sizeof(*m->pairs));
	if (!m->roles || !m->losses || !m->pairs || place_streams(m)) {
		model_free(m);
		return NULL;
	}
	place_switches(m, o->counts);
	for (size_t i = 0; i < s->nr_schemas; i++) {
		if (o->counts &&
		    !o->counts->by_type[s->schemas[i].id < SOURCE_ID_FAST ? s->schemas[i].id : 0])
			continue;
		sched_roles(m, &s->schemas[i]);
		pairs_roles(m, &s->schemas[i]);
		calls_roles(m, &s->schemas[i]);
	}
	if (!pairs_named(m)) {
		model_free(m);
		return NULL;
	}
	return m;
}

static void free_task(struct task *t)
{
	free(t->syscalls.v);
	calls_free(t->calls);
}

void model_free_task(struct task *t)
{
	free_task(t);
	free(t);
}

void model_free(struct model *m)
{
	if (!m)
		return;
	while (m->all) {
		struct role *r = m->all;

		m->all = r->chain;
		free(r->type);
		free(r);
	}
	for (size_t i = 0; i < m->tasks.cap; i++)
		if (m->tasks.slots[i].value)
			model_free_task(m->tasks.slots[i].value);
	for (uint32_t i = 0; m->cpus && i < m->nr_cpus; i++) {
		free_task(&m->cpus[i].idle);
		free(m->cpus[i].irqs.v);
		calls_free(m->cpus[i].calls);
	}
	for (size_t i = 0; m->pairs && i <= m->o.nr_pairs; i++) {
		for (size_t k = 0; k < m->pairs[i].cap; k++)
			free(m->pairs[i].slots[k].value);
		idmap_free(&m->pairs[i]);
	}
	idmap_free(&m->tasks);
	idmap_free(&m->functions);
	strmap_free(&m->names);
	if (m->losses)
		losses_free(m->losses);
	free(m->roles);
	free(m->cpus);
	free(m->cpu_of);
	free(m->last);
	free(m->sched);
	free(m->gaps);
	free(m->pairs);
	free(m);
}

const struct losses *model_losses(const struct model *m, uint64_t *calls)
{
	*calls = m->calls_lost;
	return m->losses;
}

uint64_t model_missed(const struct model *m)
{
	return m->missed;
}

uint64_t model_single_faults(const struct model *m)
{
	return m->faults;
}

uint64_t model_start(const struct model *m)
{
	return m->start;
}

uint64_t model_finish(const struct model *m)
{
	return m->finish;
}

bool model_failed(const struct model *m)
{
	return m->failed;
}

struct model_stack *model_stack(struct model *m)
{
	return m->stack;
}

/* ---- counting ---- */

static uint8_t has(const struct source *s, const uint64_t *by_type)
{
	static const struct {
		const char *name;
		uint8_t has;
	} known[] = {{"sched:sched_switch", MODEL_HAS_SWITCH | MODEL_HAS_SCHED},
		     {"veridian:sched_switch_in", MODEL_HAS_SWITCH | MODEL_HAS_SCHED},
		     {"sched:sched_wakeup", MODEL_HAS_WAKEUP | MODEL_HAS_SCHED},
		     {"sched:sched_wakeup_new", MODEL_HAS_WAKEUP | MODEL_HAS_SCHED}};
	uint8_t out = 0;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const struct schema *k = source_schema_named(s, known[i].name);

		if (!k) /* text has no systems */
			k = source_schema_named(s, strchr(known[i].name, ':') + 1);
		if (k && k->id < SOURCE_ID_FAST && by_type[k->id])
			out |= known[i].has;
	}
	return out;
}

struct counting {
	struct source *s;
	struct model_counts *n;
};

/* One stream, in its own thread; all threads share `by_type`. */
static int count_stream(void *arg, struct scan *sc, uint32_t i)
{
	struct counting *all = arg;
	struct source *s = all->s;
	struct tally scan = {.by_type = calloc(SOURCE_ID_FAST, sizeof(uint64_t)),
			     .losses = losses_new()};
	struct cursor *c = s->streams[i].nr_blocks ? cursor_open(s, i) : NULL;
	int err = scan.by_type && scan.losses ? 0 : -ENOMEM;

	(void)sc;
	for (uint64_t b = 0; !err && c && b < s->streams[i].nr_blocks; b++)
		cursor_tally(c, b, &scan);
	cursor_close(c);
	if (!err) {
		all->n->has[i] = has(s, scan.by_type);
		for (uint32_t t = 0; t < SOURCE_ID_FAST; t++)
			if (scan.by_type[t])
				__atomic_fetch_add(&all->n->by_type[t], scan.by_type[t],
						   __ATOMIC_RELAXED);
	}
	free(scan.by_type);
	if (scan.losses)
		losses_free(scan.losses);
	return err;
}

struct model_counts *model_count(struct source *s)
{
	struct scan_choice c = SCAN_ALL;
	struct counting all = {s, calloc(1, sizeof(*all.n) + s->nr_streams)};

	if (all.n && scan_each(s, &c, NULL, count_stream, &all)) {
		free(all.n);
		return NULL;
	}
	return all.n;
}
