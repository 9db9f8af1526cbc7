/* SPDX-License-Identifier: MIT */
/* lanes_build.c -- what the model says of a trace, into lanes; their names. */
#include "view/page/lanes_build.h"
#include "base/json.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 512u /* a name of the trace may have any length; more is not shown */
#define LOST_MAX       (1u << 20)

/* Marks: where a type of event is shown. */
enum place {
	PLACE_MARKS,
	PLACE_MARKER,
	PLACE_SAMPLE,
	PLACE_COUNTER,
};

struct counter {
	struct lane_fill *lane;
	uint64_t since;
	float value;
	bool any;
};

struct lost {
	uint32_t cpu, what;
	uint64_t from, to;
};

/* ---- names ---- */

static uint32_t name_number(struct lanes_build *b, const char *text)
{
	size_t n = strlen(text);
	uint32_t i =
		strmap_add(&b->names, text, (uint32_t)(n < NAME_MAX_BYTES ? n : NAME_MAX_BYTES));

	if (i == STRMAP_NONE)
		b->fill.err = -ENOMEM;
	return i < LANE_WHAT ? i : LANE_WHAT;
}

static uint32_t span_name(struct lanes_build *b, const struct span *s)
{
	bool call = s->kind == SPAN_CALL;
	void **at = idmap_at(call ? &b->of_function : &b->of_word, call ? s->key : s->name);

	if (!at)
		b->fill.err = -ENOMEM;
	else if (!*at)
		*at = (void *)(uintptr_t)(1 + name_number(b, model_span_name(b->model, s)));
	return at ? (uint32_t)(uintptr_t)*at - 1 : 0;
}

static uint32_t task_number(struct lanes_build *b, int32_t pid)
{
	void **at = idmap_at(&b->tasks, (uint32_t)pid);

	if (at && *at)
		return (uint32_t)(uintptr_t)*at - 1;
	if (!at || !VEC_MORE(b->task, b->nr_tasks)) {
		b->fill.err = -ENOMEM;
		return 0;
	}
	*at = (void *)(uintptr_t)(1 + b->nr_tasks);
	b->task[b->nr_tasks] = (struct build_task){.pid = pid, .changed = b->fill.turn};
	return (uint32_t)b->nr_tasks++;
}

/* ---- spans ---- */

static uint64_t since_start(const struct lanes_build *b, uint64_t t)
{
	return t > b->start ? t - b->start : 0;
}

static void put(struct lanes_build *b, enum lane_kind kind, uint32_t id, const struct span *s,
		uint32_t what, uint32_t class)
{
	struct lane_fill *k = lanes_fill_lane(&b->fill, kind, id, 0, 0);

	if (k && b->peeks)
		lanes_fill_now(k, since_start(b, s->from), since_start(b, s->to), what, class,
			       s->flags);
	else if (k)
		lanes_fill_put(&b->fill, k, since_start(b, s->from), since_start(b, s->to), what,
			       class, s->flags);
}

static void put_state(struct lanes_build *b, const struct span *s)
{
	static const uint8_t classes[] = {
		[SPAN_RUNNING] = 0, [SPAN_READY] = 1, [SPAN_BLOCKED] = 2, [SPAN_LOST] = 3};

	if (s->kind == SPAN_RUNNING)
		put(b, LANE_CPU, s->cpu, s, task_number(b, s->pid), !s->pid);
	if (s->pid > 0)
		put(b, LANE_TASK, task_number(b, s->pid), s,
		    s->kind == SPAN_BLOCKED ? (uint32_t)(s->key & 0xff) : s->cpu, classes[s->kind]);
}

/* They are put in at the end: those of before a CPU was recorded come last. While lanes are shown there are none of these. */
static void keep_lost(struct lanes_build *b, const struct span *s)
{
	uint32_t what = s->flags & (SPAN_NO_BEGIN | SPAN_NO_END) ? LANE_LOST_NOT
			: s->key == LOST_UNKNOWN || !s->key	 ? LANE_LOST_UNKNOWN
			: s->key >= LANE_LOST_MANY		 ? LANE_LOST_MANY
								 : (uint32_t)s->key;

	if (b->fill.shown) {
		put(b, LANE_LOST, s->cpu, s, what, 3);
		return;
	}
	for (size_t i = b->nr_lost; b->nr_lost >= LOST_MAX && i--;)
		if (b->lost[i].cpu == s->cpu) { /* one long gap says less, but nothing wrong */
			b->lost[i].to = since_start(b, s->to);
			b->lost[i].what = LANE_LOST_UNKNOWN;
			return;
		}
	if (!VEC_MORE(b->lost, b->nr_lost)) {
		b->fill.err = -ENOMEM;
		return;
	}
	b->lost[b->nr_lost++] =
		(struct lost){s->cpu, what, since_start(b, s->from), since_start(b, s->to)};
}

static void put_nested(struct lanes_build *b, enum lane_kind kind, const struct span *s)
{
	bool irq = kind == LANE_IRQ, idle = !irq && s->pid <= 0;
	uint32_t id = irq ? s->cpu : task_number(b, s->pid > 0 ? s->pid : 0);
	uint32_t cpu = idle ? 1 + s->cpu : 0, depth = s->kind == SPAN_CALL ? s->depth : 0;
	struct lane_span at = {since_start(b, s->from), since_start(b, s->to), span_name(b, s)};

	if (b->peeks)
		lanes_fill_now_depth(&b->fill, kind, id, cpu, depth, at, s->flags);
	else
		lanes_fill_free_depth(&b->fill, kind, id, cpu, depth, at.from, at.to, at.what,
				      s->flags);
}

static void span(void *arg, const struct span *s)
{
	struct lanes_build *b = arg;

	if (!scan_cpu(b->choice, s->cpu))
		return;
	switch (s->kind) {
	case SPAN_RUNNING:
	case SPAN_READY:
	case SPAN_BLOCKED: put_state(b, s); break;
	case SPAN_LOST:
		if (s->pid < 0)
			keep_lost(b, s);
		else
			put_state(b, s);
		break;
	case SPAN_IRQ:
	case SPAN_SOFTIRQ: put_nested(b, LANE_IRQ, s); break;
	case SPAN_SYSCALL:
	case SPAN_FAULT:
	case SPAN_PAIR: put_nested(b, LANE_SPANS, s); break;
	case SPAN_CALL:
		if (s->key && !(s->flags & SPAN_NO_TIME) && s->to >= b->start)
			put_nested(b, LANE_CALLS, s);
		break;
	default: break; /* wakeups and IPC: edges */
	}
}

static void edge(void *arg, const struct edge *e)
{
	struct lanes_build *b = arg;

	if (e->to_pid > 0)
		lanes_fill_free_depth(&b->fill, e->kind == EDGE_WAKEUP ? LANE_WAKES : LANE_IPC,
				      task_number(b, e->to_pid), 0, 0, since_start(b, e->from_time),
				      since_start(b, e->to_time),
				      task_number(b, e->from_pid > 0 ? e->from_pid : 0), 0);
}

/* ---- marks and counters ---- */

/* Events that say what a value is from now on: the value, what it is of. */
static const struct {
	const char *event, *value, *of, *label;
} counters[] = {
	{"cpu_frequency", "state", "cpu_id", "CPU %u, kHz"},
	{"cpu_idle", "state", "cpu_id", "CPU %u idle state"},
};
#define COUNTERS (sizeof(counters) / sizeof(counters[0]))

static void count(struct lanes_build *b, const struct event *e, uint64_t t)
{
	const char *name = source_event_name(b->s, e->type);
	uint64_t value, of;
	struct counter *c;
	char label[64];
	size_t i = 0;
	void **at;

	while (i < COUNTERS && strcmp(name, counters[i].event))
		i++;
	if (i == COUNTERS || !source_field(b->s, e, counters[i].value, &value) ||
	    !source_field(b->s, e, counters[i].of, &of) || of > 0xffff)
		return;
	at = idmap_at(&b->counters, i << 16 | of);
	if (at && !*at && (*at = calloc(1, sizeof(*c)))) {
		snprintf(label, sizeof(label), counters[i].label, (unsigned)of);
		((struct counter *)*at)->lane =
			lanes_fill_lane(&b->fill, LANE_COUNTER, name_number(b, label), 0, 0);
	}
	c = at ? *at : NULL;
	if (!c || !c->lane) {
		b->fill.err = c ? b->fill.err : -ENOMEM;
		return;
	}
	if (c->any) {
		uint32_t bits;

		memcpy(&bits, &c->value, 4);
		lanes_fill_put(&b->fill, c->lane, c->since, t, bits, 0, 0);
	}
	c->any = true;
	c->since = t;
	c->value = value == UINT32_MAX ? 0 : (float)value; /* cpu_idle: left it */
}

static enum place place_of(const struct lanes_build *b, uint32_t type)
{
	static const struct {
		const char *name;
		enum place place;
	} known[] = {{"print", PLACE_MARKER},	       {"bprint", PLACE_MARKER},
		     {"bputs", PLACE_MARKER},	       {"raw_data", PLACE_MARKER},
		     {"kernel_stack", PLACE_SAMPLE},   {"user_stack", PLACE_SAMPLE},
		     {"cpu_frequency", PLACE_COUNTER}, {"cpu_idle", PLACE_COUNTER}};
	const char *name = source_event_name(b->s, type);

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(name, known[i].name))
			return known[i].place;
	return PLACE_MARKS;
}

static void mark(void *arg, const struct event *e, uint64_t number)
{
	struct lanes_build *b = arg;
	uint32_t type = e->type < SOURCE_ID_FAST ? e->type : 0;
	uint64_t t = since_start(b, e->time);
	struct lane_fill *k;

	(void)number;
	if (!b->place[type])
		b->place[type] = (uint8_t)(1 + place_of(b, type));
	if (b->place[type] == 1 + PLACE_MARKS && e->cpu < b->nr_marks && b->marks[e->cpu]) {
		lanes_fill_put(&b->fill, b->marks[e->cpu], t, t, type, 0, 0);
		return;
	}
	if (b->place[type] == 1 + PLACE_COUNTER)
		count(b, e, t);
	k = lanes_fill_lane(&b->fill,
			    b->place[type] == 1 + PLACE_MARKER	 ? LANE_MARKERS
			    : b->place[type] == 1 + PLACE_SAMPLE ? LANE_SAMPLES
								 : LANE_MARKS,
			    b->place[type] == 1 + PLACE_MARKER ? 0 : e->cpu, 0, 0);
	if (k)
		lanes_fill_put(&b->fill, k, t, t, type, 0, 0);
	if (k && k->k.kind == LANE_MARKS && e->cpu < b->nr_marks)
		b->marks[e->cpu] = k;
}

/* ---- the end ---- */

static int by_cpu(const void *a, const void *b)
{
	const struct lost *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return (x->from > y->from) - (x->from < y->from);
}

static void put_lost(struct lanes_build *b)
{
	if (b->nr_lost)
		qsort(b->lost, b->nr_lost, sizeof(*b->lost), by_cpu);
	for (size_t i = 0; i < b->nr_lost; i++) {
		const struct lost *o = &b->lost[i];
		struct lane_fill *k = lanes_fill_lane(&b->fill, LANE_LOST, o->cpu, 0, 0);

		if (k)
			lanes_fill_put(&b->fill, k, o->from, o->to, o->what, 3, 0);
	}
}

/* Up to now they have the value they had last. */
static void go_on_counters(struct lanes_build *b, bool ends)
{
	uint64_t now = since_start(b, model_finish(b->model));

	for (size_t i = 0; i < b->counters.cap; i++) {
		struct counter *c = b->counters.slots[i].value;
		uint32_t bits;

		if (!c || !c->any || !c->lane)
			continue;
		memcpy(&bits, &c->value, 4);
		if (ends)
			lanes_fill_put(&b->fill, c->lane, c->since, now, bits, 0, 0);
		else
			lanes_fill_now(c->lane, c->since, now, bits, 0, 0);
	}
}

void lanes_build_now(struct lanes_build *b)
{
	b->peeks = true;
	model_peek(b->model);
	b->peeks = false;
	go_on_counters(b, false);
}

static void json_name(struct json *j, const char *key, const char *s)
{
	json_bytes(j, key, s, strnlen(s, NAME_MAX_BYTES));
}

/* Members of the page's first answer; the lanes are added by who sends it. */
static const char *task_name(struct lanes_build *b, const struct build_task *t)
{
	return t->pid <= 0 ? "idle"
	       : t->name   ? b->names.word[t->name - 1].p
			   : model_comm(b->model, t->pid);
}

static void gone(void *arg, int32_t pid)
{
	struct lanes_build *b = arg;
	uintptr_t number = (uintptr_t)idmap_remove(&b->tasks, (uint32_t)pid);

	if (!number)
		return;
	b->over[number - 1] = true;
	b->forgotten++;
}

void lanes_build_tasks(struct lanes_build *b, size_t keep)
{
	size_t before = b->forgotten;

	for (size_t i = 0; i < b->tasks.cap; i++) {
		uintptr_t number = (uintptr_t)b->tasks.slots[i].value;
		struct build_task *t = number ? &b->task[number - 1] : NULL;
		uint32_t name;

		if (!t || t->pid <= 0)
			continue;
		name = 1 + name_number(b, model_comm(b->model, t->pid));
		if (name != t->name)
			t->changed = b->fill.turn;
		t->name = name;
	}
	b->over = calloc(b->nr_tasks + 1, sizeof(bool));
	if (!b->over) {
		b->fill.err = -ENOMEM;
		return;
	}
	model_forget(b->model, keep, gone, b);
	if (b->forgotten > before)
		lanes_fill_forget(&b->fill, b->over);
	free(b->over);
	b->over = NULL;
}

void lanes_build_meta(struct lanes_build *b, const char *lost, uint32_t first_name, uint32_t turn,
		      FILE *out)
{
	struct json j;

	json_init(&j, out, false);
	json_str(&j, "lost", lost);
	json_u64(&j, "refused", b->fill.refused);
	json_u64(&j, "forgotten", b->forgotten);
	json_u64(&j, "turn", b->fill.turn);
	json_open(&j, "tasks", '[');
	for (size_t i = 0; i < b->nr_tasks; i++) {
		if (b->task[i].changed <= turn && turn)
			continue;
		json_open(&j, NULL, '[');
		json_s64(&j, NULL, b->task[i].pid);
		json_name(&j, NULL, task_name(b, &b->task[i]));
		if (turn)
			json_u64(&j, NULL, i);
		json_close(&j, ']');
	}
	json_close(&j, ']');
	json_open(&j, "names", '[');
	for (uint32_t i = first_name; i < b->names.nr; i++)
		json_name(&j, NULL, b->names.word[i].p);
	json_close(&j, ']');
	json_open(&j, "types", '{');
	for (uint32_t i = 0; i < SOURCE_ID_FAST; i++) {
		char id[16];

		if (!b->counts[i])
			continue;
		snprintf(id, sizeof(id), "%u", i);
		json_open(&j, id, '[');
		json_name(&j, NULL, i ? source_event_name(b->s, i) : "unknown");
		json_u64(&j, NULL, b->counts[i]);
		json_close(&j, ']');
	}
	json_close(&j, '}');
}

int lanes_build_lost(struct lanes_build *b, char lost[512])
{
	uint64_t calls;
	const struct losses *l = model_losses(b->model, &calls);
	struct account a;
	int err = account_make(&a, b->s, losses_at(l, 0), losses_nr(l), scan_is_whole(b->choice),
			       scan_keep, (void *)b->choice);

	*lost = 0;
	if (err)
		return err;
	account_calls(&a, calls);
	if (account_lost(&a))
		account_text(&a, lost, 512);
	account_free(&a);
	return 0;
}

static int write_meta(struct lanes_build *b, struct lanes_header *h)
{
	char lost[512], *text = NULL;
	size_t n = 0;
	int err = lanes_build_lost(b, lost);
	FILE *f;

	if (err)
		return err;
	f = open_memstream(&text, &n);
	if (!f)
		return -ENOMEM;
	lanes_build_meta(b, lost, 0, 0, f);
	if (fclose(f))
		b->fill.err = -ENOMEM;
	h->meta_at = b->fill.at;
	h->meta_bytes = n;
	lanes_fill_write(&b->fill, text, n);
	free(text);
	return b->fill.err;
}

void lanes_build_free(struct lanes_build *b)
{
	for (size_t i = 0; i < b->counters.cap; i++)
		free(b->counters.slots[i].value);
	idmap_free(&b->counters);
	idmap_free(&b->of_word);
	idmap_free(&b->of_function);
	idmap_free(&b->tasks);
	strmap_free(&b->names);
	lanes_fill_free(&b->fill);
	model_free(b->model);
	free(b->task);
	free(b->lost);
	free(b->marks);
	free(b->place);
	free(b->counts);
}

int lanes_build_begin(struct lanes_build *b, const struct model_counts *n)
{
	struct model_sink sink = {.arg = b, .span = span, .edge = edge, .mark = mark};
	struct model_options o = {.counts = n, .from = b->choice->from, .to = b->choice->to};

	b->names.copies = true;
	for (size_t i = 0; i < b->s->nr_streams; i++)
		if (b->s->streams[i].cpu >= b->nr_marks && b->s->streams[i].cpu < SCAN_CPUS)
			b->nr_marks = b->s->streams[i].cpu + 1;
	b->marks = calloc(b->nr_marks + 1, sizeof(struct lane_fill *));
	b->place = calloc(SOURCE_ID_FAST, 1);
	b->counts = calloc(SOURCE_ID_FAST, sizeof(*b->counts));
	b->model = model_new(b->s, &o, &sink);
	return b->marks && b->place && b->counts && b->model ? 0 : -ENOMEM;
}

void lanes_build_event(struct lanes_build *b, const struct event *e, bool wanted)
{
	wanted = wanted && scan_cpu(b->choice, e->cpu);
	if (!b->started) {
		b->started = true;
		b->start = e->time;
	}
	b->events += wanted;
	b->counts[e->type < SOURCE_ID_FAST ? e->type : 0] += wanted;
	model_event(b->model, e, MODEL_NO_EVENT, wanted);
}

uint64_t lanes_build_span(const struct lanes_build *b)
{
	return since_start(b, model_finish(b->model));
}

static int walk(struct lanes_build *b, const struct lanes_options *o)
{
	struct model_counts *n = model_count(b->s);
	struct scan_options so = {.progress = o->progress, .arg = o->progress_arg};
	struct scan_choice all = *o->choice;
	const struct event *e;
	struct scan *sc;
	bool wanted;
	int err = n ? lanes_build_begin(b, n) : -ENOMEM;

	all.cpus = NULL; /* who wakes a task may be on any CPU */
	free(n);
	sc = err ? NULL : scan_open(b->s, &all, &so);
	while (sc && !b->fill.err && (e = scan_next_any(sc, &wanted)))
		lanes_build_event(b, e, wanted);
	if (sc)
		model_end(b->model);
	scan_close(sc);
	if (!sc || model_failed(b->model))
		return -ENOMEM;
	return b->fill.err ? b->fill.err : b->events ? 0 : -ENODATA;
}

int lanes_build(struct source *s, const struct lanes_options *o, FILE *out, struct lanes_header *h)
{
	struct lanes_build b = {
		.s = s, .choice = o->choice, .fill.out = out, .fill.at = sizeof(*h)};
	int err = walk(&b, o);

	if (!err) {
		task_number(&b, 0);
		put_lost(&b);
		go_on_counters(&b, true);
		err = lanes_fill_end(&b.fill, h);
	}
	if (!err) {
		h->start = b.start;
		h->span = lanes_build_span(&b);
		h->nr_events = b.events;
		err = write_meta(&b, h);
	}
	lanes_build_free(&b);
	return err;
}
