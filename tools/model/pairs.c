/* SPDX-License-Identifier: MIT */
/* pairs.c -- events that begin and events that end: interrupts, system calls, kernel entries, IPC, what the user names. */
#include "model/parts.h"
#include "base/vec.h"
#include "base/diag.h"
#include "model/syscalls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEST_MAX 1024u
#define KEYS_MAX (1u << 20) /* spans of a pair; then those that have ended are forgotten */

/* ---- spans that nest ---- */

static void push(struct model *m, struct nest *n, const struct open_span *s)
{
	if (n->nr >= NEST_MAX)
		return;
	if (!VEC_ROOM(n->v, n->nr, n->cap)) {
		m->failed = true;
		return;
	}
	n->v[n->nr++] = *s;
}

static void pop(struct model *m, struct nest *n, int32_t pid, uint32_t cpu, uint64_t now,
		uint32_t flags)
{
	const struct open_span *o = &n->v[--n->nr];
	struct span s = {.kind = o->kind,
			 .from = o->from,
			 .to = now,
			 .pid = pid,
			 .cpu = cpu,
			 .prio = -1,
			 .depth = n->nr,
			 .key = o->key & UINT32_MAX,
			 .name = o->name,
			 .flags = o->flags | flags,
			 .begin = o->event,
			 .end = flags & (SPAN_CUT | SPAN_NO_END) ? MODEL_NO_EVENT : m->number};
	uint64_t cut;

	if (pid >= 0 && model_lost(m, o->from, now, &cut))
		s.flags |= SPAN_UNSURE;
	model_give(m, &s);
}

/* End the innermost span of the key; the ends of those inside it were not seen. */
static void pop_key(struct model *m, struct nest *n, uint64_t key, int32_t pid, uint32_t cpu,
		    uint64_t now)
{
	uint32_t k = n->nr;

	while (k && n->v[k - 1].key != key)
		k--;
	while (k && n->nr > k)
		pop(m, n, pid, cpu, now, SPAN_CUT);
	if (k)
		pop(m, n, pid, cpu, now, 0);
}

/* ---- interrupts: of a CPU ---- */

static uint32_t irq_name(struct model *m, const struct role *r, uint64_t number,
			 const struct event *e)
{
	static const char *const soft[] = {"HI",       "TIMER",	  "NET_TX", "NET_RX",  "BLOCK",
					   "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU"};
	char text[64];
	uint32_t n;
	const char *name = model_text(r, r->text, e, &n);

	if (n)
		return model_word(m, name, n);
	if (!r->a.size)
		return r->name;
	if (r->kind == SPAN_SOFTIRQ && number < sizeof(soft) / sizeof(soft[0]))
		return model_word(m, soft[number], strlen(soft[number]));
	n = (uint32_t)snprintf(text, sizeof(text), "%s %llu", model_name(m, r->name),
			       (unsigned long long)number);
	return model_word(m, text, n);
}

static void irq_entry(struct model *m, const struct role *r, struct cpu *c, const struct event *e)
{
	uint64_t number = row_get(&r->a, e);
	struct open_span s = {r->kind,
			      (uint64_t)r->class << 32 | (uint32_t)number,
			      e->time,
			      m->number,
			      irq_name(m, r, number, e),
			      0};

	push(m, &c->irqs, &s);
}

static void irq_exit(struct model *m, const struct role *r, struct cpu *c, const struct event *e)
{
	pop_key(m, &c->irqs, (uint64_t)r->class << 32 | (uint32_t)row_get(&r->a, e), -1, c->id,
		e->time);
}

/* ---- interrupts off: of a CPU ---- */

static void give_off(struct model *m, struct cpu *c, uint64_t now, uint32_t flags)
{
	struct span s = {.kind = SPAN_IRQSOFF,
			 .from = c->off.from,
			 .to = now,
			 .pid = c->off_pid,
			 .cpu = c->id,
			 .prio = -1,
			 .flags = flags,
			 .begin = c->off.event,
			 .end = flags & (SPAN_CUT | SPAN_NO_END) ? MODEL_NO_EVENT : m->number};

	if (c->is_off)
		model_give(m, &s);
	c->is_off = false;
}

static void irqs_off(struct model *m, const struct role *r, struct cpu *c, const struct event *e)
{
	(void)r;
	give_off(m, c, e->time, SPAN_CUT); /* that they went on was not seen */
	c->is_off = true;
	c->off_pid = e->pid;
	c->off = (struct open_span){.from = e->time, .event = m->number};
}

static void irqs_on(struct model *m, const struct role *r, struct cpu *c, const struct event *e)
{
	(void)r;
	give_off(m, c, e->time, 0);
}

/* ---- entries of a microkernel: seL4's, by path ---- */

static void kernel_entry(struct model *m, const struct role *r, struct cpu *c,
			 const struct event *e)
{
	static const char *const paths[] = {"Unknown",	 "Interrupt",  "UnknownSyscall",
					    "UserFault", "DebugFault", "VMFault",
					    "Syscall",	 "VCPUFault"};
	static const enum span_kind kinds[] = {SPAN_SYSCALL, SPAN_IRQ,	 SPAN_SYSCALL, SPAN_FAULT,
					       SPAN_FAULT,   SPAN_FAULT, SPAN_SYSCALL, SPAN_FAULT};
	uint64_t path = row_get(&r->a, e) & 7;
	char text[48];
	int n = snprintf(text, sizeof(text), "%s", paths[path]);

	if (path == 6)
		n = snprintf(text, sizeof(text), "Syscall %llu",
			     (unsigned long long)row_get(&r->b, e));
	while (c->irqs.nr) /* the kernel is entered from outside: what was open has ended unseen */
		pop(m, &c->irqs, e->pid, c->id, e->time, SPAN_CUT);
	push(m, &c->irqs,
	     &(struct open_span){kinds[path], r->class, e->time, m->number,
				 model_word(m, text, (size_t)n), 0});
}

static void kernel_exit(struct model *m, const struct role *r, struct cpu *c, const struct event *e)
{
	pop_key(m, &c->irqs, r->class, e->pid, c->id, e->time);
}

/* ---- system calls: of a task ---- */

static uint32_t syscall_word(struct model *m, const struct role *r, uint64_t nr)
{
	uint32_t word = nr < 512 ? m->syscall_names[nr] : 0;
	const char *name;
	size_t length;
	char text[32];

	if (word)
		return word;
	name = r->is_linux ? syscall_name(m->s->info.uname, nr, &length) : NULL;
	if (!name) {
		length = (size_t)snprintf(text, sizeof(text), "NR %lld", (long long)nr);
		name = text;
	}
	word = model_word(m, name, length);
	if (nr < 512)
		m->syscall_names[nr] = word;
	return word;
}

static void syscall_enter(struct model *m, const struct role *r, struct cpu *c,
			  const struct event *e)
{
	struct task *t = model_task(m, c, e->pid);
	uint64_t nr = row_get(&r->a, e);

	if (!t)
		return;
	if (t->syscalls.nr) /* its exit was lost */
		pop(m, &t->syscalls, t->pid, c->id, e->time, SPAN_CUT);
	push(m, &t->syscalls,
	     &(struct open_span){SPAN_SYSCALL, (uint64_t)r->class << 32 | (uint32_t)nr, e->time,
				 m->number, r->name ? r->name : syscall_word(m, r, nr), 0});
}

static void syscall_exit(struct model *m, const struct role *r, struct cpu *c,
			 const struct event *e)
{
	struct task *t = model_task(m, c, e->pid);
	uint64_t key = (uint64_t)r->class << 32 | (uint32_t)row_get(&r->a, e);

	if (!t)
		return;
	if (t->syscalls.nr &&
	    t->syscalls.v[t->syscalls.nr - 1].key != key) /* another's: exec, signals, or loss */
		pop(m, &t->syscalls, t->pid, c->id, e->time, SPAN_CUT);
	else
		pop_key(m, &t->syscalls, key, t->pid, c->id, e->time);
}

/* ---- page faults of Linux: one event each ---- */

static void single_fault(struct model *m, const struct role *r, struct cpu *c,
			 const struct event *e)
{
	(void)r;
	(void)c;
	(void)e;
	m->faults += m->show;
}

/* ---- pairs by a key, over all CPUs ---- */

static void forget_over(struct model *m, struct idmap *map)
{
	struct idmap kept = {0};

	for (size_t i = 0; i < map->cap; i++) {
		struct pair_open *p = map->slots[i].value;
		void **at = p && p->is_open ? idmap_at(&kept, map->slots[i].key) : NULL;

		if (at)
			*at = p;
		else
			free(p);
	}
	m->failed |= kept.nr >= KEYS_MAX; /* this many at once: something is wrong with the key */
	idmap_free(map);
	*map = kept;
}

static void pair_begin(struct model *m, const struct role *r, struct cpu *c, const struct event *e)
{
	uint64_t key = r->a.size ? row_get(&r->a, e) : (uint32_t)e->pid;
	struct idmap *map = &m->pairs[r->pair];
	void **at;

	if (r->b.size)
		key = (uint64_t)(uint32_t)key << 32 | (uint32_t)row_get(&r->b, e);
	if (map->nr >= KEYS_MAX)
		forget_over(m, map);
	at = m->failed ? NULL : idmap_at(map, key);
	if (at && !*at)
		*at = calloc(1, sizeof(struct pair_open));
	if (at && *at)
		*(struct pair_open *)*at =
			(struct pair_open){e->time, m->number, c->id, e->pid, true};
}

static void pair_end(struct model *m, const struct role *r, struct cpu *c, const struct event *e)
{
	uint64_t key = r->a.size ? row_get(&r->a, e) : (uint32_t)e->pid, cut;
	struct pair_open *p;

	if (r->b.size)
		key = (uint64_t)(uint32_t)row_get(&r->b, e) << 32 | (uint32_t)key;
	p = idmap_find(&m->pairs[r->pair], key);
	if (!p || !p->is_open)
		return;
	p->is_open = false;
	model_give(m,
		   &(struct span){.kind = r->kind,
				  .from = p->from,
				  .to = e->time,
				  .pid = e->pid,
				  .cpu = c->id,
				  .prio = -1,
				  .key = key,
				  .name = r->name,
				  .flags = model_lost(m, p->from, e->time, &cut) ? SPAN_UNSURE : 0,
				  .begin = p->event,
				  .end = m->number});
	if (r->kind == SPAN_IPC && m->show && m->sink.edge)
		m->sink.edge(m->sink.arg, &(struct edge){EDGE_IPC, p->pid, e->pid, p->cpu, c->id,
							 p->from, e->time, p->event, m->number});
}

/* ---- roles ---- */

/* "softirq_entry" is an entry of "softirq"; the length of that, 0 if it does not end so. */
static size_t stem(const char *name, const char *end)
{
	size_t n = strlen(name), k = strlen(end);

	return n > k && !strcmp(name + n - k, end) ? n - k : 0;
}

static uint32_t class_of(const char *name, size_t n)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (uint8_t)name[i]) * 16777619u;
	return h;
}

static struct role *add(struct model *m, const struct schema *k,
			void (*take)(struct model *, const struct role *, struct cpu *,
				     const struct event *),
			enum span_kind kind, const char *number)
{
	struct role *r = model_add_role(m, k->id);

	if (!r)
		return NULL;
	r->take = take;
	r->kind = kind;
	r->a = row_number_of(m->s, k->id, number);
	return r;
}

static bool irq_roles(struct model *m, const struct schema *k)
{
	static const struct {
		const char *name, *number;
		enum span_kind kind;
	} known[] = {{"irq_handler", "irq", SPAN_IRQ},
		     {"softirq", "vec", SPAN_SOFTIRQ},
		     {"tasklet", "", SPAN_SOFTIRQ},
		     {"tasklet_hi", "", SPAN_SOFTIRQ}};
	size_t entry = stem(k->name, "_entry"), exit = stem(k->name, "_exit"),
	       n = entry ? entry : exit;
	bool vector = !strcmp(k->system, "irq_vectors");
	struct role *r;

	for (size_t i = 0; n && i < sizeof(known) / sizeof(known[0]); i++) {
		bool is = strlen(known[i].name) == n && !memcmp(known[i].name, k->name, n);

		if (!is && !(vector && i == 0))
			continue;
		r = add(m, k, entry ? irq_entry : irq_exit, vector ? SPAN_IRQ : known[i].kind,
			vector ? "" : known[i].number);
		if (!r)
			return true;
		r->class = class_of(k->name, n);
		r->name = model_word(m, k->name, n);
		if (is && i == 0 && r->type && row_index(r->type, "name") >= 0)
			r->text = &r->type->fields[row_index(r->type, "name")];
		return true;
	}
	return false;
}

static void syscall_roles(struct model *m, const struct schema *k)
{
	bool raw = !strcmp(k->name, "sys_enter") || !strcmp(k->name, "sys_exit");
	bool own = !strncmp(k->name, "sys_enter_", 10) || !strncmp(k->name, "sys_exit_", 9);
	const struct schema *other = source_schema_named(m->s, "raw_syscalls:sys_enter");
	bool enter = !strncmp(k->name, "sys_enter", 9);
	const char *name = own ? k->name + (enter ? 10 : 9) : "";
	struct role *r;

	/* The same call is not reported twice. */
	if (!raw && (!own || (other && other->id < SOURCE_ID_FAST &&
			      (!m->o.counts || m->o.counts->by_type[other->id]))))
		return;
	r = add(m, k, enter ? syscall_enter : syscall_exit, SPAN_SYSCALL, raw ? "id" : "");
	if (!r)
		return;
	r->class = class_of(name, strlen(name));
	r->name = own ? model_word(m, name, strlen(name)) : 0;
	r->is_linux = raw;
	r->is_mark = true;
}

void pairs_roles(struct model *m, const struct schema *k)
{
	bool entry = !strcmp(k->name, "kernel_entry"), exit = !strcmp(k->name, "kernel_exit");
	bool send = !strcmp(k->name, "fast_send") || !strcmp(k->name, "ipc_fast_send");
	bool recv = !strcmp(k->name, "fast_recv") || !strcmp(k->name, "ipc_fast_recv");
	bool veridian = !strcmp(k->system, "veridian");
	struct role *r = NULL;

	if (!strcmp(k->name, "page_fault_user") || !strcmp(k->name, "page_fault_kernel"))
		r = add(m, k, single_fault, SPAN_FAULT, "");
	if (!strcmp(k->name, "irq_disable") || !strcmp(k->name, "irq_enable"))
		r = add(m, k, k->name[4] == 'd' ? irqs_off : irqs_on, SPAN_IRQSOFF, "");
	if (r)
		r->is_mark = true;
	if (r || irq_roles(m, k))
		return;
	if (!strcmp(k->system, "sel4") && (entry || exit)) {
		r = add(m, k, entry ? kernel_entry : kernel_exit, SPAN_SYSCALL, "path");
		if (r)
			r->b = row_number_of(m->s, k->id, "syscall");
		if (r)
			r->class = 1;
	} else if (veridian &&
		   (!strcmp(k->name, "syscall_entry") || !strcmp(k->name, "syscall_exit"))) {
		add(m, k, !strcmp(k->name, "syscall_entry") ? syscall_enter : syscall_exit,
		    SPAN_SYSCALL, "nr");
	} else if (send || recv) {
		r = add(m, k, send ? pair_begin : pair_end, SPAN_IPC,
			veridian ? "cap"
			: send	 ? "from"
				 : "by");
		if (r && !veridian)
			r->b = row_number_of(m->s, k->id, send ? "to" : "from");
		if (r) {
			r->pair = m->o.nr_pairs;
			r->name = model_word(m, "ipc", 3);
		}
	} else {
		syscall_roles(m, k);
		return;
	}
	if (r)
		r->is_mark = true;
}

static bool pair_role(struct model *m, size_t i, const struct model_pair *p, bool begin)
{
	const char *event = begin ? p->begin : p->end;
	const struct schema *k = source_schema_named(m->s, event);
	char text[256];
	struct role *r;

	if (!k) {
		diag_error("--pair: the trace has no event '%s'; `fathom stat` lists them", event);
		return false;
	}
	r = add(m, k, begin ? pair_begin : pair_end, SPAN_PAIR, p->key ? p->key : "");
	if (!r)
		return false;
	if (p->key && !r->a.size) {
		diag_error("--pair: %s has no field '%s' that is a number", event, p->key);
		return false;
	}
	r->pair = i;
	r->is_mark = true;
	r->name = model_word(m, text,
			     (size_t)snprintf(text, sizeof(text), "%s=%s%s%s", p->begin, p->end,
					      p->key ? ":" : "", p->key ? p->key : ""));
	return true;
}

/* "a:b" is event b of system a if the trace has that, else event a and key b. */
static struct model_pair take_apart(struct model *m, const struct model_pair *p)
{
	const char *colon = p->key ? NULL : strrchr(p->end, ':');
	struct model_pair out = *p;

	if (!colon || source_schema_named(m->s, p->end))
		return out;
	out.end = model_name(m, model_word(m, p->end, (size_t)(colon - p->end)));
	out.key = colon + 1;
	return out;
}

/* The end comes first where one event ends a span and begins the next. */
bool pairs_named(struct model *m)
{
	for (size_t i = 0; i < m->o.nr_pairs; i++) {
		struct model_pair p = take_apart(m, &m->o.pairs[i]);

		if (!pair_role(m, i, &p, false) || !pair_role(m, i, &p, true))
			return false;
	}
	return true;
}

/* ---- loss, and the end ---- */

void pairs_gap(struct model *m, struct cpu *c, uint64_t from)
{
	while (c->irqs.nr)
		pop(m, &c->irqs, -1, c->id, from, SPAN_CUT);
	give_off(m, c, from, SPAN_CUT);
}

/* Report what is open as if it ended now; it stays open. */
static void peek(struct model *m, struct nest *n, int32_t pid, uint32_t cpu, uint64_t now)
{
	uint32_t nr = n->nr;

	while (n->nr)
		pop(m, n, pid, cpu, now, SPAN_NO_END);
	n->nr = nr;
}

void pairs_peek(struct model *m)
{
	for (uint32_t i = 0; i < m->nr_cpus; i++) {
		struct cpu *c = &m->cpus[i];

		peek(m, &c->irqs, -1, c->id, c->to < m->finish ? c->to : m->finish);
	}
	for (size_t i = 0; i < m->tasks.cap; i++) {
		struct task *t = m->tasks.slots[i].value;

		if (t)
			peek(m, &t->syscalls, t->pid, t->home->id, task_end(m, t));
	}
}

void pairs_end(struct model *m)
{
	for (uint32_t i = 0; i < m->nr_cpus; i++) {
		struct cpu *c = &m->cpus[i];

		uint64_t end = c->to < m->finish ? c->to : m->finish;

		while (c->irqs.nr)
			pop(m, &c->irqs, -1, c->id, end, SPAN_NO_END);
		give_off(m, c, end, SPAN_NO_END);
	}
	for (size_t i = 0; i < m->tasks.cap; i++) {
		struct task *t = m->tasks.slots[i].value;

		while (t && t->syscalls.nr)
			pop(m, &t->syscalls, t->pid, t->home->id, task_end(m, t), SPAN_NO_END);
	}
}
