/* SPDX-License-Identifier: MIT */
/* writer.c -- make the text of a batch: the columns of trace-cmd's lines, then each event's own text. */
#include "view/lines.h"
#include "base/colour.h"
#include "wire/record.h"

#include <stdio.h>
#include <string.h>

bool writer_init(struct writer *w, struct source *s, const struct report_options *o)
{
	w->o = o;
	w->source = s;
	w->seconds = UINT64_MAX;
	w->cpu = UINT32_MAX;
	w->buffer_width = 0;
	if (s->nr_buffers > 1)
		for (size_t i = 0; i < s->nr_buffers; i++)
			if (strlen(s->buffers[i].name) > w->buffer_width)
				w->buffer_width = (uint32_t)strlen(s->buffers[i].name);
	return lookup_init(&w->lookup, s, true);
}

void writer_free(struct writer *w)
{
	lookup_free(&w->lookup);
}

struct expr_record writer_record(struct writer *w, const struct item *i)
{
	return (struct expr_record){
		.data = w->data,
		.size = i->size,
		.cpu = i->cpu,
		.pid = i->pid,
		.time = i->time,
		.name = i->printer->schema ? i->printer->schema->name : "",
		.env = &w->lookup.env,
		.scratch = w->scratch,
	};
}

static void put_lost(struct writer *w, const struct item *i)
{
	if (w->o->colour)
		out_str(w->out, COLOUR_RED);
	if (i->lost == LOST_UNKNOWN)
		out_printf(w->out, "CPU:%u [EVENTS DROPPED]", i->cpu);
	else
		out_printf(w->out, "CPU:%u [%llu EVENTS DROPPED]", i->cpu,
			   (unsigned long long)i->lost);
	out_str(w->out, w->o->colour ? COLOUR_OFF "\n" : "\n");
}

static void put_buffer(struct writer *w, const struct item *i)
{
	const char *name = w->source->buffers[i->buffer].name;

	out_printf(w->out, "%*s%s", (int)w->buffer_width, name, *name ? ": " : "  ");
}

/* `%6lu.%06lu`; a trace's times share their seconds, so those are made once. */
static void put_time(struct writer *w, uint64_t t)
{
	struct out *o = w->out;
	uint64_t us, s;
	unsigned rest;

	if (w->source->unit != CLOCK_NS) {
		out_printf(o, "%12llu", (unsigned long long)t);
		return;
	}
	if (w->o->nanoseconds) {
		out_printf(o, "%6llu.%09llu", (unsigned long long)(t / 1000000000),
			   (unsigned long long)(t % 1000000000));
		return;
	}
	us = (t + 500) / 1000;
	s = us / 1000000;
	rest = (unsigned)(us - s * 1000000);
	if (s != w->seconds) {
		w->seconds_len = (uint32_t)snprintf(w->seconds_text, sizeof(w->seconds_text),
						    "%6llu.", (unsigned long long)s);
		w->seconds = s;
	}
	if (!out_room(o, 32))
		return;
	memcpy(o->at, w->seconds_text, sizeof(w->seconds_text));
	o->at += w->seconds_len;
	memcpy(o->at, out_pairs + 2 * (rest / 10000), 2);
	memcpy(o->at + 2, out_pairs + 2 * (rest / 100 % 100), 2);
	memcpy(o->at + 4, out_pairs + 2 * (rest % 100), 2);
	o->at += 6;
}

static inline void put_task(struct writer *w, const struct item *i)
{
	struct out *o = w->out;

	memcpy(o->at, i->task->text, sizeof(i->task->text));
	o->at += i->task->len;
	if (i->cpu != w->cpu) {
		w->cpu_len = (uint32_t)snprintf(w->cpu_text, sizeof(w->cpu_text), "%03u]", i->cpu);
		w->cpu = i->cpu;
	}
	memcpy(o->at, w->cpu_text, sizeof(w->cpu_text));
	o->at += w->cpu_len;
}

/* libtraceevent knows fewer flags than the kernel has: nothing of bottom halves, one letter for any resched. */
static void put_flags(struct out *o, uint8_t flags, uint8_t preempt)
{
	static const char depth[] = ".123456789abcdef";
	bool hard = flags & WIRE_FLAG_HARDIRQ, soft = flags & WIRE_FLAG_SOFTIRQ;

	out_char(o, flags & WIRE_FLAG_IRQS_OFF ? 'd' : flags & WIRE_FLAG_NOSUPPORT ? 'X' : '.');
	out_char(o, flags & WIRE_FLAG_NEED_RESCHED ? 'N' : '.');
	out_char(o, hard && soft ? 'H' : hard ? 'h' : soft ? 's' : '.');
	out_char(o, depth[preempt & 15]);
	out_char(o, depth[preempt >> 4]);
}

/* -l: `%8.8s-%-5d %3d` and the flags. The task's name is the prefix up to its last dash, blanks in front. */
static void put_task_short(struct writer *w, const struct item *i)
{
	const char *name = i->task->text + strspn(i->task->text, " ");
	const char *dash = memrchr(name, '-', (size_t)(i->task->text + i->task->len - name));

	if (i->pid < 0 && dash > name)
		dash--; /* the dash of a negative pid */
	out_printf(w->out, "%8.*s-%-5d %3u", dash - name > 8 ? 8 : (int)(dash - name), name, i->pid,
		   i->cpu);
	put_flags(w->out, i->size >= 4 ? w->data[2] : 0, i->size >= 4 ? w->data[3] : 0);
}

static void put_line(struct writer *w, const struct item *i)
{
	struct out *o = w->out;
	const struct printer *p = i->printer;

	if (i->lost)
		put_lost(w, i);
	if (w->buffer_width)
		put_buffer(w, i);
	if (!out_room(o, 256))
		return;
	if (w->o->latency)
		put_task_short(w, i);
	else
		put_task(w, i);
	put_time(w, i->time);
	out_padded(o, p->head, p->head_len);
	if (p->print) {
		size_t len = out_len(o);

		p->print(w, p, i);
		if (out_len(o) > len && o->at[-1] == '\n')
			o->at--;
	}
	out_char(o, '\n');
}

void writer_run(struct writer *w, struct batch *b)
{
	b->text.at = b->text.base;
	w->out = &b->text;
	for (uint32_t k = 0; k < b->nr; k++) {
		const struct item *i = &b->items[k];

		w->data = b->data + i->data;
		put_line(w, i);
	}
}
