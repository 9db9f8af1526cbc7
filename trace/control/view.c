/* SPDX-License-Identifier: MIT */
/* view.c -- merges the CPUs' records by time and lays each out as a line of Linux's `trace`. */
#include "wire/cold.h"
#include "fathom/inside/view.h"
#include "fathom/inside/event.h"
#include "wire/div.h"
#if FATHOM_FUNCTIONS
#include "functions/extra.h"
#endif

static size_t view_round(size_t bytes)
{
	return (bytes + 15) & ~(size_t)15;
}

/* The view, the per-CPU state, the drawing's memory, then a page per CPU for the walk. */
static size_t view_head_bytes(uint32_t nr_cpus, const struct fathom_view_graph *graph)
{
	size_t bytes = sizeof(struct fathom_view) + nr_cpus * sizeof(struct fathom_view_cpu);

	return view_round(bytes + (graph ? nr_cpus * graph->bytes_per_cpu : 0));
}

size_t fathom_view_bytes(const struct fathom_view_config *c)
{
	size_t pages = c->flags & FATHOM_VIEW_CONSUME ? 0 : (size_t)c->nr_cpus * WIRE_PAGE_BYTES;

	return view_head_bytes(c->nr_cpus, c->graph) + pages;
}

const char *fathom_view_comm(const struct fathom_view *v, int32_t pid, char buf[16])
{
	if (v->config.comm)
		return v->config.comm(pid, buf);
	if (!fathom_core.config.task_name || fathom_core.config.task_name(pid, buf) < 0)
		return NULL;
	buf[15] = 0;
	return buf;
}

static int view_wants(const struct fathom_view *v, uint32_t cpu)
{
	return v->config.rings[cpu] && (v->config.cpu < 0 || (uint32_t)v->config.cpu == cpu);
}

uint64_t fathom_clock_time(const struct fathom_clock *c, uint64_t ticks)
{
	uint64_t ns;

	if (c->unit == FATHOM_CLOCK_TICKS)
		return ticks;
	ns = fathom_ticks_to_ns(ticks) + c->offset;
	if (c->unit == FATHOM_CLOCK_CENTS)
		wire_div(&ns, 10000000);
	return ns;
}

static uint64_t view_time(const struct fathom_view *v, uint64_t ticks)
{
	return fathom_clock_time(&v->config.clock, ticks);
}

/* Look at the next record of a CPU; of a live ring again each time, since it may have come in meanwhile. */
void fathom_view_advance(struct fathom_view *v, uint32_t cpu)
{
	struct fathom_view_cpu *c = &v->cpus[cpu];

	if (v->config.flags & FATHOM_VIEW_CONSUME)
		c->has = fathom_ring_peek(v->config.rings[cpu], &c->rec) > 0;
	else
		c->has = fathom_ring_iter_next(&c->it, &c->rec) > 0;
	if (c->has)
		c->time = view_time(v, c->rec.time);
}

struct fathom_view *fathom_view_init(void *mem, size_t bytes,
				     const struct fathom_view_config *config)
{
	struct fathom_view *v = mem;
	uint32_t n = config->nr_cpus;
	struct wire_page *page;

	if (bytes < fathom_view_bytes(config))
		return NULL;
	__builtin_memset(v, 0, view_head_bytes(n, config->graph));
	v->config = *config;
	if (!v->config.tracer)
		v->config.tracer = "nop";
	v->text.options = config->options;
	v->text.nr_cpus = n;
	v->text.plain_clock = config->clock.unit != FATHOM_CLOCK_NS;
	v->text.start = view_time(v, config->start);
	v->cpus = (struct fathom_view_cpu *)(v + 1);
	if (config->graph)
		config->graph->start(v, v->cpus + n);
	page = (struct wire_page *)((uint8_t *)mem + view_head_bytes(n, config->graph));
	for (uint32_t i = 0; i < n; i++) {
		struct fathom_ring_stats st;

		if (!view_wants(v, i))
			continue;
		fathom_ring_stats(v->config.rings[i], &st);
		v->overrun |= st.overwritten != 0;
		if (config->flags & FATHOM_VIEW_CONSUME)
			continue;
		fathom_ring_iter_init(&v->cpus[i].it, v->config.rings[i], page + i);
		fathom_view_advance(v, i);
		for (; v->cpus[i].has && v->cpus[i].rec.time < config->from; v->cpus[i].skipped++)
			fathom_view_advance(v, i);
	}
	return v;
}

#if FATHOM_FUNCTIONS
/* Tracers that the port asked for may have a head, and lines, of their own. */
static int view_extra_header(const struct fathom_view *v, struct fathom_text *out)
{
	for (uint32_t i = 0; i < FATHOM_EXTRAS; i++) {
		const struct fathom_extra *x = fathom_extra_at(i);

		if (x && x->header && x->header(v, out))
			return 1;
	}
	return 0;
}

static int view_extra_line(struct fathom_view *v, struct fathom_text *out,
			   const struct fathom_text_entry *e)
{
	for (uint32_t i = 0; i < FATHOM_EXTRAS; i++) {
		const struct fathom_extra *x = fathom_extra_at(i);

		if (x && x->line && x->line(v, out, e))
			return 1;
	}
	return 0;
}
#else
#define view_extra_header(v, out)  0
#define view_extra_line(v, out, e) 0
#endif

void fathom_view_header(struct fathom_view *v, struct fathom_text *out)
{
	struct fathom_text_head head = {.tracer = v->config.tracer, .banner = v->config.banner};
	uint64_t skipped;

	for (uint32_t i = 0; i < v->config.nr_cpus; i++) {
		struct fathom_ring_stats st;

		if (!view_wants(v, i))
			continue;
		fathom_ring_stats(v->config.rings[i], &st);
		/* If there is a record from before config.from, none that came after it is missing. */
		skipped = v->cpus[i].skipped;
		st.entries -= skipped < st.entries ? skipped : st.entries;
		head.entries += st.entries;
		head.written += st.entries + (skipped ? 0 : st.overwritten);
	}
	if (v->config.graph)
		v->config.graph->header(out, &v->text, &head);
	else if (!view_extra_header(v, out))
		fathom_text_header(out, &v->text, &head);
}

/* The CPU whose next record is the oldest; ties go to the lowest number. -1: no record is left. */
static int view_oldest(struct fathom_view *v)
{
	int best = -1;

	for (uint32_t i = 0; i < v->config.nr_cpus; i++) {
		if (!view_wants(v, i))
			continue;
		if (v->config.flags & FATHOM_VIEW_CONSUME)
			fathom_view_advance(v, i);
		if (v->cpus[i].has && (best < 0 || v->cpus[i].time < v->cpus[best].time))
			best = (int)i;
	}
	return best;
}

/* Take the oldest record: a copy, so that its CPU's walk can go on. A record too short to be one is passed over. */
static int view_take(struct fathom_view *v)
{
	do {
		int cpu = view_oldest(v);
		struct fathom_view_cpu *c;

		if (cpu < 0)
			return 0;
		c = &v->cpus[cpu];
		v->cpu = (uint32_t)cpu;
		v->bytes = c->rec.bytes < sizeof(v->record) ? c->rec.bytes : sizeof(v->record);
		v->time = c->rec.time;
		v->lost = c->rec.lost;
		__builtin_memcpy(v->record, c->rec.data, v->bytes);
		if (v->config.flags & FATHOM_VIEW_CONSUME)
			fathom_ring_consume(v->config.rings[cpu], &c->rec);
		fathom_view_advance(v, (uint32_t)cpu);
	} while (v->bytes < sizeof(struct wire_common));
	return 1;
}

static void view_entry(struct fathom_view *v, struct fathom_text_entry *e, char buf[16])
{
	const struct wire_common *c = (const struct wire_common *)v->record;
	int next = view_oldest(v);

	e->pid = c->pid;
	e->comm = fathom_view_comm(v, c->pid, buf);
	e->tgid = 0;
	if (v->config.tgid)
		e->tgid = v->config.tgid(c->pid);
	else if (fathom_core.config.task_group)
		e->tgid = fathom_core.config.task_group(c->pid);
	e->cpu = v->cpu;
	e->flags = c->flags;
	e->preempt_count = c->preempt_count;
	e->time = view_time(v, v->time);
	e->next_time = next < 0 ? e->time : v->cpus[next].time;
	e->index = v->shown;
}

/* What Linux says between the lines: records lost ... */
static void view_say_lost(const struct fathom_view *v, struct fathom_text *out)
{
	if (v->lost) {
		fathom_text_str(out, "CPU:");
		fathom_text_u64(out, v->cpu, 0, ' ');
		fathom_text_str(out, " [LOST ");
		fathom_text_u64(out, v->lost, 0, ' ');
		fathom_text_str(out, " EVENTS]\n");
	}
}

/* ... and where a CPU's part begins, but for lines without the ordinary columns. */
static void view_say_start(struct fathom_view *v, struct fathom_text *out)
{
	struct fathom_view_cpu *c = &v->cpus[v->cpu];

	if (!c->started && v->overrun && v->shown && v->config.options & FATHOM_TEXT_ANNOTATE &&
	    !(v->config.flags & FATHOM_VIEW_CONSUME)) {
		fathom_text_str(out, "##### CPU ");
		fathom_text_u64(out, v->cpu, 0, ' ');
		fathom_text_str(out, " buffer started ####\n");
	}
	c->started = 1;
}

int fathom_view_next(struct fathom_view *v, struct fathom_text *out)
{
	struct fathom_text_entry e;
	char comm[16];

	if (!view_take(v))
		return 0;
	view_say_lost(v, out);
	view_entry(v, &e, comm);
	if (v->config.graph) {
		view_say_start(v, out);
		v->config.graph->entry(v, out, &e);
	} else if (!view_extra_line(v, out, &e)) {
		view_say_start(v, out);
		fathom_text_prefix(out, &v->text, &e);
		fathom_view_body(v, out);
	}
	v->shown++;
	return 1;
}
