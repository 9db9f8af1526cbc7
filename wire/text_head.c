/* SPDX-License-Identifier: MIT */
/* text_head.c -- the header of Linux's `trace`: tracer, entry counts, latency banner, the art above the columns. */
#include "wire/cold.h"
#include "wire/format.h"
#include "wire/text_line.h"

static void text_line(struct fathom_text *t, const char *s)
{
	fathom_text_str(t, s);
	fathom_text_char(t, '\n');
}

void fathom_text_header_tracer(struct fathom_text *t, const char *tracer)
{
	fathom_text_printf(t, "# tracer: %s\n#\n", tracer);
}

/* The art of the flags column; with tgid it stands ten further to the right. */
static void text_art(struct fathom_text *t, int tgid, int rt)
{
	static const char *const art[] = {
		"  _-----=> irqs-off/BH-disabled", " / _----=> need-resched",
		"| / _---=> hardirq/softirq",	   "|| / _--=> preempt-depth",
		"||| / _-=> migrate-disable",	   "|||| /     delay",
	};
	static const char *const rt_art[] = {
		"  _-------=> irqs-off/BH-disabled", " / _------=> need-resched",
		"| / _-----=> need-resched-lazy",    "|| / _----=> hardirq/softirq",
		"||| / _---=> preempt-depth",	     "|||| / _--=> preempt-lazy-depth",
		"||||| / _-=> migrate-disable",	     "|||||| /     delay",
	};
	uint32_t nr = rt ? sizeof(rt_art) / sizeof(rt_art[0]) : sizeof(art) / sizeof(art[0]);

	for (uint32_t i = 0; i < nr; i++)
		fathom_text_printf(t, "#%*s%s\n", tgid ? 40 : 30, "", rt ? rt_art[i] : art[i]);
}

static void text_columns(struct fathom_text *t, int tgid, int irqs, int rt)
{
	const char *flags = irqs ? rt ? "|||||||" : "|||||" : " ";

	fathom_text_printf(t, "#           TASK-PID  %s%s  TIMESTAMP  FUNCTION\n",
			   tgid ? "     TGID    CPU#  " : "   CPU#  ", flags);
	fathom_text_printf(t, "#              | |    %s%s%s     |         |\n",
			   tgid ? "       |       |   " : "     |   ", flags,
			   irqs && rt ? " " : "");
}

static void text_latency_columns_rt(struct fathom_text *t)
{
	static const char *const art[] = {
		"#                    _--------=> CPU#            ",
		"#                   / _-------=> irqs-off/BH-disabled",
		"#                  | / _------=> need-resched    ",
		"#                  || / _-----=> need-resched-lazy",
		"#                  ||| / _----=> hardirq/softirq ",
		"#                  |||| / _---=> preempt-depth   ",
		"#                  ||||| / _--=> preempt-lazy-depth",
		"#                  |||||| / _-=> migrate-disable ",
		"#                  ||||||| /     delay           ",
		"#  cmd     pid     |||||||| time  |   caller     ",
		"#     \\   /        ||||||||  \\    |    /       ",
	};

	for (uint32_t i = 0; i < sizeof(art) / sizeof(art[0]); i++)
		text_line(t, art[i]);
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

void fathom_text_header_banner(struct fathom_text *t, const struct fathom_text_view *view,
			       const struct fathom_text_head *head)
{
	static const char rule[] = "#    -----------------\n";
	const struct fathom_text_banner *b = head->banner;

	fathom_text_printf(t, "# %s latency trace v1.1.5 on %s\n", head->tracer, b->release);
	text_line(t, "# --------------------------------------------------------------------");
	fathom_text_printf(
		t, "# latency: %llu us, #%llu/%llu, CPU#%u | (M:%s VP:0, KP:0, SP:0 HP:0 #P:%u)\n",
		b->latency_us, head->entries, head->written, b->cpu, b->model ? b->model : "server",
		view->nr_cpus);
	fathom_text_printf(t, "%s#    | task: %s-%d (uid:%u nice:%d policy:%d rt_prio:%d)\n%s",
			   rule, b->comm ? b->comm : "", b->pid, b->uid, b->nice, b->policy,
			   b->rt_prio, rule);
	if (b->start_at)
		fathom_text_printf(t, "#  => started at: %s\n#  => ended at:   %s\n#\n",
				   b->start_at, b->end_at ? b->end_at : "");
	text_line(t, "#");
}

void fathom_text_header(struct fathom_text *t, const struct fathom_text_view *view,
			const struct fathom_text_head *head)
{
	int tgid = (view->options & FATHOM_TEXT_RECORD_TGID) != 0;
	int irqs = (view->options & FATHOM_TEXT_IRQ_INFO) != 0;
	int rt = view->columns == FATHOM_TEXT_FLAGS_RT;

	fathom_text_header_tracer(t, head->tracer);
	if (!(view->options & FATHOM_TEXT_CONTEXT_INFO))
		return;
	if (view->options & FATHOM_TEXT_LATENCY) {
		if (!head->entries)
			return;
		fathom_text_header_banner(t, view, head);
		if (!(view->options & FATHOM_TEXT_VERBOSE) && rt)
			text_latency_columns_rt(t);
		else if (!(view->options & FATHOM_TEXT_VERBOSE))
			text_latency_columns(t);
		return;
	}
	if (view->options & FATHOM_TEXT_VERBOSE)
		return;
	fathom_text_printf(t, "# entries-in-buffer/entries-written: %llu/%llu   #P:%u\n#\n",
			   head->entries, head->written, view->nr_cpus);
	if (irqs)
		text_art(t, tgid, rt);
	text_columns(t, tgid, irqs, rt);
}
