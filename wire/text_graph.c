/* SPDX-License-Identifier: MIT */
/* text_graph.c -- draw function_graph records as Linux does: columns, indentation, task changes, arrows. */
#include "wire/cold.h"
#include "wire/text_graph.h"
#include "wire/div.h"

/* A record may claim any depth; deeper than this is drawn at this depth, so that a line is bounded. */
#define GRAPH_INDENT_MAX 512

enum graph_fill {
	GRAPH_FILL_ALL,	  /* no duration: the whole column blank */
	GRAPH_FILL_LEFT,  /* before an arrow */
	GRAPH_FILL_RIGHT, /* after an arrow */
};

void fathom_graph_init(struct fathom_graph *g)
{
	for (uint32_t i = 0; i < g->nr_cpus; i++) {
		struct fathom_graph_cpu *c = &g->cpus[i];

		for (uint32_t d = 0; d < FATHOM_GRAPH_DEPTH; d++)
			c->open[d] = 0;
		c->last_pid = -1;
		c->depth = 0;
		c->irq_depth = -1;
	}
}

static void graph_art(struct fathom_text *t, uint32_t options)
{
	static const char *const art[] = {
		"  _-----=> irqs-off        \n", " / _----=> need-resched    \n",
		"| / _---=> hardirq/softirq \n", "|| / _--=> preempt-depth   \n",
		"||| /                      \n",
	};
	uint32_t left = 0;

	left += options & FATHOM_TEXT_GRAPH_ABSTIME ? 16 : 0;
	left += options & FATHOM_TEXT_GRAPH_RELTIME ? 16 : 0;
	left += options & FATHOM_TEXT_GRAPH_CPU ? 4 : 0;
	left += options & FATHOM_TEXT_GRAPH_PROC ? 17 : 0;
	for (uint32_t i = 0; i < sizeof(art) / sizeof(art[0]); i++) {
		fathom_text_char(t, '#');
		fathom_text_fill(t, ' ', left);
		fathom_text_str(t, art[i]);
	}
}

static void graph_columns(struct fathom_text *t, uint32_t options, int second)
{
	static const struct {
		uint32_t option;
		const char *head[2];
	} columns[] = {
		{FATHOM_TEXT_GRAPH_ABSTIME, {"     TIME       ", "      |         "}},
		{FATHOM_TEXT_GRAPH_RELTIME, {"   REL TIME     ", "      |         "}},
		{FATHOM_TEXT_GRAPH_CPU, {" CPU", " |  "}},
		{FATHOM_TEXT_GRAPH_PROC, {"  TASK/PID       ", "   |    |        "}},
		{FATHOM_TEXT_LATENCY, {"||||   ", "||||   "}},
		{FATHOM_TEXT_GRAPH_DURATION, {"  DURATION   ", "   |   |      "}},
	};

	fathom_text_char(t, '#');
	for (uint32_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		if (options & columns[i].option)
			fathom_text_str(t, columns[i].head[second]);
	fathom_text_str(t, second ? "               |   |   |   |\n"
				  : "               FUNCTION CALLS\n");
}

void fathom_graph_header(struct fathom_text *t, const struct fathom_text_view *view,
			 const struct fathom_text_head *head)
{
	fathom_text_header_tracer(t, head->tracer);
	if (!(view->options & FATHOM_TEXT_CONTEXT_INFO))
		return;
	if (view->options & FATHOM_TEXT_LATENCY) {
		if (!head->entries)
			return;
		fathom_text_header_banner(t, view, head);
		graph_art(t, view->options);
	}
	graph_columns(t, view->options, 0);
	graph_columns(t, view->options, 1);
}

static uint32_t graph_digits(uint64_t v)
{
	uint32_t n = 1;

	while (wire_div(&v, 10), v)
		n++;
	return n;
}

static void graph_cpu_column(struct fathom_text *t, const struct fathom_graph *g, uint32_t cpu)
{
	uint32_t last = g->view->nr_cpus ? g->view->nr_cpus - 1 : 0;

	fathom_text_char(t, ' ');
	fathom_text_u64(t, cpu, (int)graph_digits(last), ' ');
	fathom_text_str(t, ") ");
}

/* The first 7 characters of the name, `-`, the pid: centred in 14, the odd blank to the right. */
static void graph_proc(struct fathom_text *t, const struct fathom_graph *g, int32_t pid)
{
	const char *comm = fathom_text_comm(pid, g->comm ? g->comm(g->arg, pid) : NULL);
	uint32_t n = 0, len, blanks;

	while (n < 7 && comm[n])
		n++;
	len = n + 1 + (pid < 0) + graph_digits(pid < 0 ? 0 - (uint64_t)pid : (uint64_t)pid);
	blanks = len < 14 ? 14 - len : 0;
	fathom_text_fill(t, ' ', blanks / 2);
	fathom_text_bytes(t, comm, n);
	fathom_text_char(t, '-');
	fathom_text_s64(t, pid, 0, ' ');
	fathom_text_fill(t, ' ', blanks - blanks / 2);
}

/* The CPU changed to another task: a line of its own, but not for the first task seen. */
static void graph_task_change(struct fathom_text *t, struct fathom_graph *g, uint32_t cpu,
			      int32_t pid)
{
	static const char rule[] = " ------------------------------------------\n";
	int32_t before = g->cpus[cpu].last_pid;

	if (before == pid)
		return;
	g->cpus[cpu].last_pid = pid;
	if (before == -1)
		return;
	fathom_text_str(t, rule);
	graph_cpu_column(t, g, cpu);
	graph_proc(t, g, before);
	fathom_text_str(t, " => ");
	graph_proc(t, g, pid);
	fathom_text_char(t, '\n');
	fathom_text_str(t, rule);
	fathom_text_char(t, '\n');
}

/* Cut to microseconds, not rounded. */
static void graph_abstime(struct fathom_text *t, uint64_t ns)
{
	uint32_t micros;

	wire_div(&ns, 1000);
	micros = wire_div(&ns, 1000);
	micros += wire_div(&ns, 1000) * 1000;
	fathom_text_u64(t, ns, 5, ' ');
	fathom_text_char(t, '.');
	fathom_text_u64(t, micros, 6, '0');
	fathom_text_str(t, " |  ");
}

static void graph_context(struct fathom_text *t, const struct fathom_graph *g,
			  const struct fathom_text_entry *e)
{
	uint32_t options = g->view->options;
	uint64_t since = e->time - g->view->start;

	if (!(options & FATHOM_TEXT_CONTEXT_INFO))
		return;
	if (options & FATHOM_TEXT_GRAPH_ABSTIME)
		graph_abstime(t, e->time);
	if (options & FATHOM_TEXT_GRAPH_RELTIME) {
		wire_div(&since, 1000);
		fathom_text_u64(t, since, 9, ' ');
		fathom_text_str(t, " us |  ");
	}
	if (options & FATHOM_TEXT_GRAPH_CPU)
		graph_cpu_column(t, g, e->cpu);
	if (options & FATHOM_TEXT_GRAPH_PROC) {
		graph_proc(t, g, e->pid);
		fathom_text_str(t, " | ");
	}
	if (options & FATHOM_TEXT_LATENCY) {
		fathom_text_char(t, ' ');
		fathom_text_flags(t, g->view, e);
		fathom_text_str(t, " | ");
	}
}

void fathom_graph_duration(struct fathom_text *t, uint64_t ns)
{
	uint32_t rest = wire_div(&ns, 1000);
	uint32_t len = graph_digits(ns), places = len < 7 ? 7 - len : 0;
	char digits[3];

	fathom_text_u64(t, ns, 0, ' ');
	if (places) {
		places = places > 3 ? 3 : places;
		digits[0] = (char)('0' + rest / 100);
		digits[1] = (char)('0' + rest / 10 % 10);
		digits[2] = (char)('0' + rest % 10);
		fathom_text_char(t, '.');
		fathom_text_bytes(t, digits, places);
		len += places + 1;
	}
	fathom_text_str(t, " us ");
	if (len < 8)
		fathom_text_fill(t, ' ', 8 - len);
}

static int graph_has_duration(const struct fathom_graph *g)
{
	uint32_t both = FATHOM_TEXT_GRAPH_DURATION | FATHOM_TEXT_CONTEXT_INFO;

	return (g->view->options & both) == both;
}

static void graph_fill(struct fathom_text *t, const struct fathom_graph *g, enum graph_fill fill)
{
	static const char *const text[] = {"              |  ", "  ", " |"};

	if (graph_has_duration(g))
		fathom_text_str(t, text[fill]);
}

static void graph_duration(struct fathom_text *t, const struct fathom_graph *g, uint64_t ns)
{
	if (!graph_has_duration(g))
		return;
	if (ns == UINT64_MAX) {
		fathom_text_fill(t, ' ', 14); /* as wide as a duration with its mark */
		fathom_text_str(t, "|  ");
		return;
	}
	fathom_text_char(t, g->view->options & FATHOM_TEXT_GRAPH_OVERHEAD ? fathom_text_mark(ns)
									  : ' ');
	fathom_text_char(t, ' ');
	fathom_graph_duration(t, ns);
	fathom_text_str(t, "|  ");
}

static void graph_indent(struct fathom_text *t, int32_t depth)
{
	if (depth > 0)
		fathom_text_fill(t, ' ',
				 2 * (size_t)(depth < GRAPH_INDENT_MAX ? depth : GRAPH_INDENT_MAX));
}

static void graph_name(struct fathom_text *t, const struct fathom_graph_call *c)
{
	if (c->name) {
		fathom_text_str(t, c->name);
	} else {
		fathom_text_str(t, "0x");
		fathom_text_hex(t, c->func, 0, '0');
	}
}

static int graph_has_from(const struct fathom_graph *g, const struct fathom_graph_call *c)
{
	return g->view->options & FATHOM_TEXT_GRAPH_RETADDR && c->from.address;
}

static int graph_has_retval(const struct fathom_graph *g, const struct fathom_graph_call *c)
{
	return g->view->options & FATHOM_TEXT_GRAPH_RETVAL && c->has_retval;
}

static void graph_from(struct fathom_text *t, const struct fathom_graph *g,
		       const struct fathom_graph_call *c)
{
	if (!graph_has_from(g, c))
		return;
	fathom_text_str(t, " <-");
	fathom_text_symbol(t, g->view->options | FATHOM_TEXT_SYM_OFFSET, &c->from);
}

/* What an int or a pointer that is an error has: up to -4095, of 32 bits even where a word has more. */
#define GRAPH_ERRNO_MAX 4095

static int64_t graph_error(const struct fathom_graph_call *c)
{
	uint64_t v = c->retval;

	if ((c->word_bytes == 4 || !(v >> 32)) && v >> 31 & 1)
		v |= ~(uint64_t)0xffffffffu;
	return v >= (uint64_t)-GRAPH_ERRNO_MAX ? (int64_t)v : 0;
}

static void graph_retval(struct fathom_text *t, const struct fathom_graph *g,
			 const struct fathom_graph_call *c)
{
	if (!graph_has_retval(g, c))
		return;
	fathom_text_str(t, " ret=");
	if (g->view->options & FATHOM_TEXT_GRAPH_RETVAL_HEX || (!c->value && !graph_error(c))) {
		fathom_text_str(t, "0x");
		fathom_text_hex(t, c->retval, 0, '0');
	} else if (c->value) {
		fathom_text_str(t, c->value);
	} else {
		fathom_text_s64(t, graph_error(c), 0, ' ');
	}
}

static void graph_arrow(struct fathom_text *t, const struct fathom_graph *g,
			const struct fathom_text_entry *e, const struct fathom_graph_call *c,
			const char *arrow)
{
	if (!c->is_irq)
		return;
	graph_context(t, g, e);
	graph_fill(t, g, GRAPH_FILL_LEFT);
	fathom_text_str(t, arrow);
	graph_fill(t, g, GRAPH_FILL_RIGHT);
	fathom_text_char(t, '\n');
}

static void graph_prologue(struct fathom_text *t, struct fathom_graph *g,
			   const struct fathom_text_entry *e, const struct fathom_graph_call *entry)
{
	graph_task_change(t, g, e->cpu, e->pid);
	if (entry)
		graph_arrow(t, g, e, entry, "==========>");
	graph_context(t, g, e);
}

/* With funcgraph-irqs off, what an interrupt does is not shown. */
static int graph_hidden_entry(const struct fathom_graph *g, struct fathom_graph_cpu *cpu,
			      const struct fathom_graph_call *c)
{
	if (g->view->options & FATHOM_TEXT_GRAPH_IRQS)
		return 0;
	if (cpu->irq_depth >= 0)
		return 1;
	if (!c->is_irq)
		return 0;
	cpu->irq_depth = c->depth;
	return 1;
}

/* An exit at the entry's depth or above it ends the hiding, even if the interrupt's own exit was lost. */
static int graph_hidden_exit(const struct fathom_graph *g, struct fathom_graph_cpu *cpu,
			     const struct fathom_graph_call *c)
{
	if (g->view->options & FATHOM_TEXT_GRAPH_IRQS || cpu->irq_depth < 0)
		return 0;
	if (cpu->irq_depth >= c->depth)
		cpu->irq_depth = -1;
	return 1;
}

static uint64_t *graph_open_at(struct fathom_graph_cpu *cpu, int32_t depth)
{
	return depth >= 0 && depth < FATHOM_GRAPH_DEPTH ? &cpu->open[depth] : NULL;
}

void fathom_graph_entry(struct fathom_text *t, struct fathom_graph *g,
			const struct fathom_text_entry *e, const struct fathom_graph_call *c)
{
	struct fathom_graph_cpu *cpu;
	uint64_t *open;

	if (e->cpu >= g->nr_cpus)
		return;
	cpu = &g->cpus[e->cpu];
	if (graph_hidden_entry(g, cpu, c))
		return;
	graph_prologue(t, g, e, c);
	cpu->depth = c->depth;
	open = graph_open_at(cpu, c->depth);
	if (open)
		*open = c->func;
	graph_fill(t, g, GRAPH_FILL_ALL);
	graph_indent(t, c->depth);
	graph_name(t, c);
	fathom_text_args(t, &c->args);
	fathom_text_str(t, " {");
	if (graph_has_from(g, c)) {
		fathom_text_str(t, " /*");
		graph_from(t, g, c);
		fathom_text_str(t, " */");
	}
	fathom_text_char(t, '\n');
}

void fathom_graph_leaf(struct fathom_text *t, struct fathom_graph *g,
		       const struct fathom_text_entry *e, const struct fathom_graph_call *c)
{
	struct fathom_graph_cpu *cpu;
	uint64_t *open;

	if (e->cpu >= g->nr_cpus)
		return;
	cpu = &g->cpus[e->cpu];
	if (graph_hidden_entry(g, cpu, c)) {
		graph_hidden_exit(g, cpu, c);
		return;
	}
	graph_prologue(t, g, e, c);
	/* Comments stand one deeper than `depth`; after a leaf they stand at its own depth. */
	cpu->depth = c->depth > 0 ? c->depth - 1 : -1;
	open = graph_open_at(cpu, c->depth);
	if (open)
		*open = 0;
	graph_duration(t, g, c->duration_ns);
	graph_indent(t, c->depth);
	graph_name(t, c);
	fathom_text_args(t, &c->args);
	fathom_text_char(t, ';');
	if (graph_has_from(g, c) || graph_has_retval(g, c)) {
		fathom_text_str(t, " /*");
		graph_from(t, g, c);
		graph_retval(t, g, c);
		fathom_text_str(t, " */");
	}
	fathom_text_char(t, '\n');
	graph_arrow(t, g, e, c, "<==========");
}

void fathom_graph_exit(struct fathom_text *t, struct fathom_graph *g,
		       const struct fathom_text_entry *e, const struct fathom_graph_call *c)
{
	struct fathom_graph_cpu *cpu;
	uint64_t *open;
	int match = 1;

	if (e->cpu >= g->nr_cpus)
		return;
	cpu = &g->cpus[e->cpu];
	if (graph_hidden_exit(g, cpu, c))
		return;
	cpu->depth = c->depth > 0 ? c->depth - 1 : -1;
	open = graph_open_at(cpu, c->depth);
	if (open) {
		match = *open == c->func;
		*open = 0;
	}
	graph_prologue(t, g, e, NULL);
	graph_duration(t, g, c->duration_ns);
	graph_indent(t, c->depth);
	fathom_text_char(t, '}');
	if (!match || g->view->options & FATHOM_TEXT_GRAPH_TAIL || graph_has_retval(g, c)) {
		fathom_text_str(t, " /* ");
		graph_name(t, c);
		graph_retval(t, g, c);
		fathom_text_str(t, " */");
	}
	fathom_text_char(t, '\n');
	if (g->view->options & FATHOM_TEXT_GRAPH_OVERRUN) {
		fathom_text_str(t, " (Overruns: ");
		fathom_text_u64(t, c->overrun, 0, ' ');
		fathom_text_str(t, ")\n");
	}
	graph_arrow(t, g, e, c, "<==========");
}

void fathom_graph_comment(struct fathom_text *t, struct fathom_graph *g,
			  const struct fathom_text_entry *e)
{
	int32_t depth;

	if (e->cpu >= g->nr_cpus)
		return;
	depth = g->cpus[e->cpu].depth;
	graph_prologue(t, g, e, NULL);
	graph_fill(t, g, GRAPH_FILL_ALL);
	if (depth > 0)
		graph_indent(t, depth < GRAPH_INDENT_MAX ? depth + 1 : depth);
	fathom_text_str(t, "/* ");
}

void fathom_graph_comment_end(struct fathom_text *t)
{
	if (t->len && t->buf[t->len - 1] == '\n')
		t->len--;
	fathom_text_str(t, " */\n");
}
