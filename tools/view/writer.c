/* SPDX-License-Identifier: MIT */
/* writer.c -- make the text of a batch: the columns of trace-cmd's lines, then each event's own text. */
#include "view/lines.h"
#include "decode/blk.h"
#include "base/colour.h"
#include "wire/record.h"

#include <stdio.h>
#include <string.h>

static void make_letters(struct line_writer *w);

/* PREEMPT_RT has one more number after the flags. */
static bool has_lazy(struct source *s)
{
	const struct format *f = s->nr_schemas ? source_format(s, s->schemas[0].id) : NULL;

	return f && format_field(f, "common_migrate_disable");
}

bool writer_init(struct line_writer *w, struct source *s, const struct report_options *o)
{
	w->o = o;
	w->source = s;
	w->blk = blk_type(s);
	w->head.task = NULL;
	w->head.second_len = 0;
	w->buffer_width = 0;
	for (unsigned i = 0; i < 1000; i++)
		snprintf(w->thousand[i], sizeof(w->thousand[i]), "%03u", i);
	if (s->nr_buffers > 1)
		for (size_t i = 0; i < s->nr_buffers; i++)
			if (strlen(s->buffers[i].name) > w->buffer_width)
				w->buffer_width = (uint32_t)strlen(s->buffers[i].name);
	w->usual = s->unit == CLOCK_NS && !o->nanoseconds && !o->latency && !w->buffer_width &&
		   (o->like_31 || (!o->raw && !has_lazy(s)));
	w->flags = !o->like_31;
	if (!lookup_init(&w->lookup, s, !o->first_alias))
		return false;
	make_letters(w);
	return true;
}

void writer_free(struct line_writer *w)
{
	lookup_free(&w->lookup);
}

struct expr_record writer_record(struct line_writer *w, const struct item *i)
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

static void put_lost(struct line_writer *w, const struct item *i)
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

static void put_buffer(struct line_writer *w, const struct item *i)
{
	const char *name = w->source->buffers[w->source->streams[i->stream].buffer].name;

	out_printf(w->out, "%*s%s", (int)w->buffer_width, name, *name ? ": " : "  ");
}

/* Other than the usual columns: times that are no nanoseconds, or are shown with all nine digits. */
static void put_time(struct line_writer *w, uint64_t t)
{
	if (w->source->unit != CLOCK_NS)
		out_printf(w->out, "%12llu", (unsigned long long)t);
	else if (w->o->nanoseconds)
		out_printf(w->out, " %5llu.%09llu", (unsigned long long)(t / 1000000000),
			   (unsigned long long)(t % 1000000000));
	else
		out_printf(w->out, " %5llu.%06llu", (unsigned long long)((t + 500) / 1000000000),
			   (unsigned long long)((t + 500) / 1000 % 1000000));
}

/* libtraceevent knows fewer flags than the kernel has: nothing of bottom halves, one letter for any resched. */
static void make_letters(struct line_writer *w)
{
	bool lazy = w->lookup.env.kernel >= 6013;

	for (unsigned flags = 0; flags < 256; flags++) {
		bool hard = flags & WIRE_FLAG_HARDIRQ, soft = flags & WIRE_FLAG_SOFTIRQ;
		bool need = flags & WIRE_FLAG_NEED_RESCHED, bit = flags & WIRE_FLAG_NOSUPPORT;
		char *to = w->letters[flags];

		to[0] = flags & WIRE_FLAG_IRQS_OFF ? 'd' : bit && !lazy ? 'X' : '.';
		to[1] = need ? bit && lazy ? 'B' : 'N' : bit && lazy ? 'L' : '.';
		to[2] = hard && soft ? 'H' : hard ? 'h' : soft ? 's' : '.';
	}
}

/* Five characters; there is room for eight. */
static inline void put_flags(const struct line_writer *w, char *to, const struct item *i)
{
	static const char depth[] = ".123456789abcdef";

	memcpy(to, w->letters[i->flags], 4);
	to[3] = depth[i->preempt & 15];
	to[4] = depth[i->preempt >> 4];
}

static void put_flags_out(struct line_writer *w, const struct item *i)
{
	char flags[8];

	put_flags(w, flags, i);
	out_bytes(w->out, flags, 5);
	if (i->printer->migrate && i->size)
		out_u64(w->out, item_number(w, i, i->printer->migrate));
}

/* -l: `%8.8s-%-5d %3d` and the flags. The task's name is the prefix up to its last dash, blanks in front. */
static void put_task_short(struct line_writer *w, const struct item *i)
{
	const char *name = i->task->text + strspn(i->task->text, " ");
	const char *dash = memrchr(name, '-', (size_t)(i->task->text + i->task->len - name));

	if (i->pid < 0 && dash > name)
		dash--; /* the dash of a negative pid */
	out_printf(w->out, "%8.*s-%-5d %3u", dash - name > 8 ? 8 : (int)(dash - name), name, i->pid,
		   i->cpu);
	put_flags_out(w, i);
}

static void put_task(struct line_writer *w, const struct item *i)
{
	out_bytes(w->out, i->task->text, i->task->len);
	out_printf(w->out, "%03u]", i->cpu);
	if (w->o->like_31)
		return;
	if (w->o->raw) {
		out_printf(w->out, "-0x%x", i->flags);
	} else {
		out_char(w->out, ' ');
		put_flags_out(w, i);
	}
}

#define SECOND 1000000000u
#define ROUND  500u /* trace-cmd rounds to microseconds */

/* Task, CPU and second are those of the line before most of the time. */
static __attribute__((noinline)) void make_head(struct line_writer *w, const struct item *i)
{
	struct line_head *h = &w->head;
	char *at = h->text;

	if (!h->second_len || i->time + ROUND - h->second >= SECOND) {
		uint64_t s = (i->time + ROUND) / SECOND;

		h->second = s * SECOND;
		h->second_len = (uint32_t)snprintf(h->second_text, sizeof(h->second_text),
						   " %5llu.", (unsigned long long)s);
	}
	h->task = i->task;
	h->cpu = i->cpu;
	memcpy(at, i->task->text, sizeof(i->task->text));
	at += i->task->len;
	at += writer_cpu(w, at, i->cpu);
	*at++ = ']';
	if (w->flags) {
		*at++ = ' ';
		h->len = (uint32_t)(at - h->text);
		return;
	}
	memcpy(at, h->second_text, sizeof(h->second_text));
	h->len = (uint32_t)(at - h->text) + h->second_len;
}

/* The usual columns: `%16s-%-5d [%03d] FLAGS %5lu.%06lu`. There is room for them. */
static inline void put_usual(struct line_writer *w, const struct item *i)
{
	struct line_head *h = &w->head;
	char *at = w->out->at;
	uint64_t ns = i->time + ROUND - h->second;
	uint32_t us;

	if (h->task != i->task || h->cpu != i->cpu || ns >= SECOND) {
		make_head(w, i);
		ns = i->time + ROUND - h->second;
	}
	memcpy(at, h->text, 64);
	if (h->len > 64)
		memcpy(at + 64, h->text + 64, LINE_HEAD_MAX - 64);
	at += h->len;
	if (w->flags) {
		put_flags(w, at, i);
		memcpy(at + 5, h->second_text, sizeof(h->second_text));
		at += 5 + h->second_len;
	}
	us = (uint32_t)ns / 1000;
	memcpy(at, w->thousand[us / 1000], 4);
	memcpy(at + 3, w->thousand[us % 1000], 4);
	w->out->at = at + 6;
}

static __attribute__((noinline)) void put_columns(struct line_writer *w, const struct item *i)
{
	if (i->lost)
		put_lost(w, i);
	if (w->buffer_width)
		put_buffer(w, i);
	if (w->o->latency)
		put_task_short(w, i);
	else
		put_task(w, i);
	put_time(w, i->time);
}

/* Room for the columns, the event's name and what its text begins with. */
#define LINE_ROOM (LINE_HEAD_MAX + sizeof(((struct printer *)NULL)->head) + 256u)

static inline void put_line(struct line_writer *w, const struct item *i)
{
	const struct printer *p = i->printer;
	struct out *o = w->out;
	size_t len;

	if (!out_room(o, LINE_ROOM))
		return;
	if (w->usual && !i->lost)
		put_usual(w, i);
	else
		put_columns(w, i);
	out_padded(o, p->head, p->head_len);
	len = out_len(o);
	p->print(w, p, i);
	if (out_len(o) > len && o->at[-1] == '\n')
		o->at--;
	out_char(o, '\n');
}

/* What put_line() would print of a function with a name, in the usual columns: millions of lines are just this. */
static inline void put_function(struct line_writer *w, const struct item *i)
{
	const struct printer *p = i->printer;
	uint32_t blanks = 3u * i->depth;
	char *at;

	if (!out_room(w->out, LINE_ROOM + blanks + i->name_len))
		return;
	put_usual(w, i);
	at = w->out->at;
	memcpy(at, p->head, OUT_PAD);
	if (p->head_len > OUT_PAD)
		memcpy(at, p->head, sizeof(p->head));
	at += p->head_len;
	for (uint32_t k = 0; k < blanks; k += OUT_PAD)
		memset(at + k, ' ', OUT_PAD);
	at += blanks;
	memcpy(at, i->name, OUT_PAD);
	if (i->name_len > OUT_PAD)
		memcpy(at, i->name, i->name_len);
	at += i->name_len;
	*at++ = '\n';
	w->out->at = at;
}

void writer_run(struct line_writer *w, struct batch *b)
{
	b->text.at = b->text.base;
	w->out = &b->text;
	for (const struct item *i = b->items, *end = i + b->nr; i < end; i++) {
		if (i->printer->kind == ITEM_FUNCTION && i->name && w->usual && !i->lost &&
		    !item_has_more(i->printer, i)) {
			put_function(w, i);
		} else {
			w->data = b->data + i->data;
			put_line(w, i);
		}
	}
}

void writer_text(struct line_writer *w, struct batch *b)
{
	const struct item *i = b->items;

	b->text.at = b->text.base;
	w->out = &b->text;
	w->data = b->data + i->data;
	i->printer->print(w, i->printer, i);
	while (out_len(w->out) && w->out->at[-1] == '\n')
		w->out->at--;
}
