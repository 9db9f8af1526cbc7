/* SPDX-License-Identifier: MIT */
/* text_line.c -- the columns of a line of Linux's `trace`: task, CPU, flags, time; symbols and switches. */
#include "wire/cold.h"
#include "wire/text_line.h"
#include "wire/div.h"
#include "wire/format.h"
#include "wire/record.h"

const char *fathom_text_comm(int32_t pid, const char *comm)
{
	if (!pid)
		return "<idle>";
	if (pid < 0)
		return "<XXX>";
	return comm ? comm : "<...>";
}

static char text_flag_irqs(uint8_t columns, uint8_t flags)
{
	if (flags & WIRE_FLAG_IRQS_OFF)
		return flags & WIRE_FLAG_BH_OFF ? 'D' : 'd';
	if (flags & WIRE_FLAG_BH_OFF)
		return 'b';
	return columns == FATHOM_TEXT_FLAGS && flags & WIRE_FLAG_NOSUPPORT ? 'X' : '.';
}

static char text_flag_resched(uint8_t columns, uint8_t flags)
{
	if (columns == FATHOM_TEXT_FLAGS_LAZY && flags & WIRE_FLAG_RESCHED_LAZY) {
		if (flags & WIRE_FLAG_NEED_RESCHED)
			return flags & WIRE_FLAG_PREEMPT_RESCHED ? 'B' : 'b';
		return flags & WIRE_FLAG_PREEMPT_RESCHED ? 'L' : 'l';
	}
	if (flags & WIRE_FLAG_NEED_RESCHED)
		return flags & WIRE_FLAG_PREEMPT_RESCHED ? 'N' : 'n';
	return flags & WIRE_FLAG_PREEMPT_RESCHED ? 'p' : '.';
}

static char text_flag_context(uint8_t flags)
{
	if (flags & WIRE_FLAG_NMI)
		return flags & WIRE_FLAG_HARDIRQ ? 'Z' : 'z';
	if (flags & WIRE_FLAG_HARDIRQ)
		return flags & WIRE_FLAG_SOFTIRQ ? 'H' : 'h';
	return flags & WIRE_FLAG_SOFTIRQ ? 's' : '.';
}

static char text_depth(uint8_t depth)
{
	return depth ? "0123456789abcdef"[depth & 15] : '.';
}

void fathom_text_flags(struct fathom_text *t, const struct fathom_text_view *view,
		       const struct fathom_text_entry *e)
{
	int rt = view->columns == FATHOM_TEXT_FLAGS_RT;

	fathom_text_char(t, text_flag_irqs(view->columns, e->flags));
	fathom_text_char(t, text_flag_resched(view->columns, e->flags));
	if (rt)
		fathom_text_char(t, e->flags & WIRE_FLAG_RESCHED_LAZY ? 'L' : '.');
	fathom_text_char(t, text_flag_context(e->flags));
	fathom_text_char(t, text_depth(e->preempt_count & 15));
	if (rt)
		fathom_text_char(t, text_depth(e->lazy_count));
	fathom_text_char(t, text_depth(e->preempt_count >> 4));
}

static uint64_t text_usecs(uint64_t ns)
{
	ns += 500;
	wire_div(&ns, 1000);
	return ns;
}

void fathom_text_time(struct fathom_text *t, uint64_t ns)
{
	uint64_t secs = text_usecs(ns);
	uint32_t micros = wire_div(&secs, 1000);

	micros += wire_div(&secs, 1000) * 1000;
	fathom_text_u64(t, secs, 5, ' ');
	fathom_text_char(t, '.');
	fathom_text_u64(t, micros, 6, '0');
}

char fathom_text_mark(uint64_t ns)
{
	static const struct {
		char mark;
		uint32_t above;
	} marks[] = {
		{'$', 1000000000}, {'@', 100000000}, {'*', 10000000},
		{'#', 1000000},	   {'!', 100000},    {'+', 10000},
	};

	for (uint32_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (ns > marks[i].above)
			return marks[i].mark;
	return ' ';
}

/* At most `max` characters of s, right-aligned in `width`. */
static void text_right(struct fathom_text *t, const char *s, uint32_t width, uint32_t max)
{
	uint32_t n = 0;

	while (n < max && s[n])
		n++;
	if (n < width)
		fathom_text_fill(t, ' ', width - n);
	fathom_text_bytes(t, s, n);
}

static void text_prefix_normal(struct fathom_text *t, const struct fathom_text_view *view,
			       const struct fathom_text_entry *e)
{
	text_right(t, fathom_text_comm(e->pid, e->comm), 16, 16);
	fathom_text_char(t, '-');
	fathom_text_s64(t, e->pid, -7, ' ');
	if (view->options & FATHOM_TEXT_RECORD_TGID) {
		fathom_text_str(t, " (");
		if (e->tgid)
			fathom_text_s64(t, e->tgid, 7, ' ');
		else
			fathom_text_str(t, "-------");
		fathom_text_char(t, ')');
	}
	fathom_text_str(t, " [");
	fathom_text_u64(t, e->cpu, 3, '0');
	fathom_text_str(t, "] ");
	if (view->options & FATHOM_TEXT_IRQ_INFO)
		fathom_text_flags(t, view, e);
	fathom_text_char(t, ' ');
	if (view->plain_clock)
		fathom_text_u64(t, e->time, 12, ' ');
	else
		fathom_text_time(t, e->time);
	fathom_text_str(t, ": ");
}

static void text_millis(struct fathom_text *t, uint64_t ns)
{
	uint64_t us = text_usecs(ns);
	uint32_t micros = wire_div(&us, 1000);

	fathom_text_printf(t, "%llu.%03ums", us, micros);
}

static void text_verbose(struct fathom_text *t, const struct fathom_text_view *view,
			 const struct fathom_text_entry *e)
{
	uint64_t since = e->time - view->start, delta = e->next_time - e->time;

	fathom_text_printf(t, "%16.16s %7d %3u %u %08x %08llx [", fathom_text_comm(e->pid, e->comm),
			   e->pid, e->cpu, e->flags, e->preempt_count & 15, e->index);
	if (view->plain_clock) {
		fathom_text_printf(t, "%016llx] %lld (+%lld", e->time, since, delta);
	} else {
		fathom_text_printf(t, "%08llx] ", text_usecs(e->time));
		text_millis(t, since);
		fathom_text_str(t, " (+");
		text_millis(t, delta);
	}
	fathom_text_str(t, "): ");
}

static void text_prefix_latency(struct fathom_text *t, const struct fathom_text_view *view,
				const struct fathom_text_entry *e)
{
	uint64_t since = e->time - view->start, delta = e->next_time - e->time;

	if (view->options & FATHOM_TEXT_VERBOSE) {
		text_verbose(t, view, e);
		return;
	}
	fathom_text_printf(t, "%8.8s-%-7d %3u", fathom_text_comm(e->pid, e->comm), e->pid, e->cpu);
	fathom_text_flags(t, view, e);
	if (view->plain_clock)
		fathom_text_printf(t, " %4lld: ", since);
	else
		fathom_text_printf(t, " %4lluus%c: ", text_usecs(since),
				   fathom_text_mark(text_usecs(delta) * 1000));
}

static void text_prefix_bin(struct fathom_text *t, const struct fathom_text_entry *e)
{
	fathom_text_bytes(t, (const char *)&e->pid, sizeof(e->pid));
	fathom_text_bytes(t, (const char *)&e->cpu, sizeof(e->cpu));
	fathom_text_bytes(t, (const char *)&e->time, sizeof(e->time));
}

void fathom_text_prefix(struct fathom_text *t, const struct fathom_text_view *view,
			const struct fathom_text_entry *e)
{
	if (!(view->options & FATHOM_TEXT_CONTEXT_INFO))
		return;
	/* Linux asks in this order. */
	if (view->options & FATHOM_TEXT_BIN)
		text_prefix_bin(t, e);
	else if (view->options & FATHOM_TEXT_HEX)
		fathom_text_printf(t, "%08x %08x %016llx ", e->pid, e->cpu, e->time);
	else if (view->options & FATHOM_TEXT_RAW)
		fathom_text_printf(t, "%d %u %llu ", e->pid, e->cpu, e->time);
	else if (view->options & FATHOM_TEXT_LATENCY)
		text_prefix_latency(t, view, e);
	else
		text_prefix_normal(t, view, e);
}

void fathom_text_symbol_at(struct fathom_text_symbol *sym, uintptr_t at)
{
	uintptr_t offset = 0, size = 0;

	sym->address = at;
	sym->module = NULL; /* the lookup does not say */
	sym->name = fathom_text_lookup ? fathom_text_lookup(at, &offset, &size) : NULL;
	sym->offset = offset;
	sym->size = size;
}

void fathom_text_symbol(struct fathom_text *t, uint32_t options,
			const struct fathom_text_symbol *sym)
{
	if (!sym->address) {
		fathom_text_char(t, '0');
		return;
	}
	if (!sym->name)
		fathom_text_printf(t, "0x%08llx", sym->address);
	else
		fathom_text_str(t, sym->name);
	if (sym->name && options & FATHOM_TEXT_SYM_OFFSET)
		fathom_text_printf(t, "+0x%llx/0x%llx", sym->offset, sym->size);
	if (sym->name && options & FATHOM_TEXT_SYM_OFFSET && sym->module && *sym->module)
		fathom_text_printf(t, " [%s]", sym->module);
	if (options & FATHOM_TEXT_SYM_ADDR)
		fathom_text_printf(t, " <%0*llx>", 2 * (int)sizeof(uintptr_t), sym->address);
}

void fathom_text_frame(struct fathom_text *t, uint32_t options,
		       const struct fathom_text_symbol *sym)
{
	fathom_text_str(t, " => ");
	fathom_text_symbol(t, options, sym);
	fathom_text_char(t, '\n');
}

void fathom_text_args(struct fathom_text *t, const struct fathom_text_args *args)
{
	fathom_text_char(t, '(');
	if (args->put)
		args->put(t, args);
	fathom_text_char(t, ')');
}

void fathom_text_function(struct fathom_text *t, uint32_t options,
			  const struct fathom_text_symbol *func,
			  const struct fathom_text_args *args,
			  const struct fathom_text_symbol *parent)
{
	fathom_text_symbol(t, options, func);
	if (args && args->put)
		fathom_text_args(t, args);
	if (options & FATHOM_TEXT_PRINT_PARENT && parent->address) {
		fathom_text_str(t, " <-");
		fathom_text_symbol(t, options, parent);
	}
}

/* Linux's states in the order of their index. */
static char text_state(uint8_t state)
{
	static const char states[] = "RSDTtXZPI";

	return state < sizeof(states) - 1 ? states[state] : '?';
}

void fathom_text_switch(struct fathom_text *t, const char *arrow,
			const struct fathom_text_switch *s)
{
	fathom_text_printf(t, " %7d:%3u:%c %s [%03u] %7d:%3u:%c %s", s->prev_pid, s->prev_prio,
			   text_state(s->prev_state), arrow, s->next_cpu, s->next_pid, s->next_prio,
			   text_state(s->next_state), fathom_text_comm(s->next_pid, s->next_comm));
}
