/* SPDX-License-Identifier: MIT */
/* text_head.c -- the header of Linux's `trace`: tracer, entry counts, latency banner, the art above the columns. */
#include "wire/cold.h"
#include "wire/text_line.h"

static void text_line(struct fathom_text *t, const char *s)
{
	fathom_text_str(t, s);
	fathom_text_char(t, '\n');
}

void fathom_text_header_tracer(struct fathom_text *t, const char *tracer)
{
	fathom_text_str(t, "# tracer: ");
	fathom_text_str(t, tracer);
	fathom_text_str(t, "\n#\n");
}

static void text_entries(struct fathom_text *t, const struct fathom_text_view *view,
			 const struct fathom_text_head *head)
{
	fathom_text_str(t, "# entries-in-buffer/entries-written: ");
	fathom_text_u64(t, head->entries, 0, ' ');
	fathom_text_char(t, '/');
	fathom_text_u64(t, head->written, 0, ' ');
	fathom_text_str(t, "   #P:");
	fathom_text_u64(t, view->nr_cpus, 0, ' ');
	fathom_text_str(t, "\n#\n");
}

/* The art of the flags column; with tgid it stands ten further to the right. */
static void text_art(struct fathom_text *t, int tgid)
{
	static const char *const art[] = {
		"  _-----=> irqs-off/BH-disabled", " / _----=> need-resched",
		"| / _---=> hardirq/softirq",	   "|| / _--=> preempt-depth",
		"||| / _-=> migrate-disable",	   "|||| /     delay",
	};

	for (uint32_t i = 0; i < sizeof(art) / sizeof(art[0]); i++) {
		fathom_text_char(t, '#');
		fathom_text_fill(t, ' ', tgid ? 40 : 30);
		text_line(t, art[i]);
	}
}

static void text_columns(struct fathom_text *t, int tgid, int irqs)
{
	fathom_text_str(t, "#           TASK-PID  ");
	fathom_text_str(t, tgid ? "     TGID    CPU#  " : "   CPU#  ");
	fathom_text_str(t, irqs ? "|||||" : "");
	text_line(t, irqs ? "  TIMESTAMP  FUNCTION" : "   TIMESTAMP  FUNCTION");
	fathom_text_str(t, "#              | |    ");
	fathom_text_str(t, tgid ? "       |       |   " : "     |   ");
	fathom_text_str(t, irqs ? "|||||" : "");
	text_line(t, irqs ? "     |         |" : "      |         |");
}

static void text_latency_columns(struct fathom_text *t)
{
	static const char *const art[] = {
		"#                    _------=> CPU#            ",
		"#                   / _-----=> irqs-off/BH-disabled",
		"#                  | / _----=> need-resched    ",
		"#                  || / _---=> hardirq/softirq ",
		"#                  ||| / _--=> preempt-depth   ",
		"#                  |||| / _-=> migrate-disable ",
		"#                  ||||| /     delay           ",
		"#  cmd     pid     |||||| time  |   caller     ",
		"#     \\   /        ||||||  \\    |    /       ",
	};

	for (uint32_t i = 0; i < sizeof(art) / sizeof(art[0]); i++)
		text_line(t, art[i]);
}

static void text_number(struct fathom_text *t, const char *label, int64_t v)
{
	fathom_text_str(t, label);
	fathom_text_s64(t, v, 0, ' ');
}

static void text_banner_task(struct fathom_text *t, const struct fathom_text_banner *b)
{
	static const char rule[] = "#    -----------------";

	text_line(t, rule);
	fathom_text_str(t, "#    | task: ");
	fathom_text_str(t, b->comm ? b->comm : "");
	text_number(t, "-", b->pid);
	text_number(t, " (uid:", b->uid);
	text_number(t, " nice:", b->nice);
	text_number(t, " policy:", b->policy);
	text_number(t, " rt_prio:", b->rt_prio);
	text_line(t, ")");
	text_line(t, rule);
}

void fathom_text_header_banner(struct fathom_text *t, const struct fathom_text_view *view,
			       const struct fathom_text_head *head)
{
	const struct fathom_text_banner *b = head->banner;

	fathom_text_str(t, "# ");
	fathom_text_str(t, head->tracer);
	fathom_text_str(t, " latency trace v1.1.5 on ");
	text_line(t, b->release);
	text_line(t, "# --------------------------------------------------------------------");
	text_number(t, "# latency: ", (int64_t)b->latency_us);
	text_number(t, " us, #", (int64_t)head->entries);
	text_number(t, "/", (int64_t)head->written);
	text_number(t, ", CPU#", b->cpu);
	fathom_text_str(t, " | (M:");
	fathom_text_str(t, b->model ? b->model : "server");
	fathom_text_str(t, " VP:0, KP:0, SP:0 HP:0 #P:");
	fathom_text_u64(t, view->nr_cpus, 0, ' ');
	text_line(t, ")");
	text_banner_task(t, b);
	if (b->start_at) {
		fathom_text_str(t, "#  => started at: ");
		text_line(t, b->start_at);
		fathom_text_str(t, "#  => ended at:   ");
		text_line(t, b->end_at ? b->end_at : "");
		text_line(t, "#");
	}
	text_line(t, "#");
}

void fathom_text_header(struct fathom_text *t, const struct fathom_text_view *view,
			const struct fathom_text_head *head)
{
	int tgid = (view->options & FATHOM_TEXT_RECORD_TGID) != 0;
	int irqs = (view->options & FATHOM_TEXT_IRQ_INFO) != 0;

	fathom_text_header_tracer(t, head->tracer);
	if (!(view->options & FATHOM_TEXT_CONTEXT_INFO))
		return;
	if (view->options & FATHOM_TEXT_LATENCY) {
		if (!head->entries)
			return;
		fathom_text_header_banner(t, view, head);
		if (!(view->options & FATHOM_TEXT_VERBOSE))
			text_latency_columns(t);
		return;
	}
	if (view->options & FATHOM_TEXT_VERBOSE)
		return;
	text_entries(t, view, head);
	if (irqs)
		text_art(t, tgid);
	text_columns(t, tgid, irqs);
}
