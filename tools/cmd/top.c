/* SPDX-License-Identifier: MIT */
/* top.c -- fathom top: what a target is doing, in a terminal. */
#include "capture/target.h"
#include "cmd/cmd.h"
#include "cmd/live_options.h"

static uint64_t interval = 1, times;
static struct option_choice sort = {
	.names = "cpu, ready, blocked, switches or pid"}; /* enum top_order */

static const struct option_spec own[] = {
	{"interval", 'i', "SECONDS", "between two pictures (1)", OPTION_NUMBER, &interval, NULL},
	{"times", 'n', "N",
	 "end after N updates; without a terminal they are printed one after another",
	 OPTION_NUMBER, &times, NULL},
	{"sort", 's', "KEY", "cpu, ready, blocked, switches or pid (cpu)", OPTION_CHOICE, &sort,
	 NULL},
	LIVE_OPTIONS,
	{0},
};

static const struct command_spec spec = {
	.name = "top",
	.args = "[TARGET]",
	.about = "Show what a live target does at the moment: tasks by CPU and wait, switches, "
		 "interrupts, events a\nsecond, loss. TARGET is what `fathom record --target` "
		 "takes; without it, this Linux, of\nwhich the events of sched and irq are "
		 "recorded.",
	.more = "keys: c CPU, r ready, b blocked, s switches, p pid: what is on top; space pauses; "
		"q "
		"ends\n\n"
		"examples:\n"
		"  fathom top\n"
		"  fathom top 4711\n"
		"  fathom top tcp:board:4711 -i 5",
	.own = own,
	.shared = OPTIONS_NONE,
	.min_args = 0,
	.max_args = 1,
};

int cmd_top(int argc, char **argv)
{
	struct live_top_options top = {0};
	struct options o;
	int rc = options_parse(&spec, argc, argv, &o);

	if (rc != OPTIONS_GO)
		return rc;
	top = (struct live_top_options){(enum top_order)sort.at, interval, times};
	if (!interval || interval > 86400) {
		diag_error("top: --interval takes 1 to 86400 seconds");
		return EXIT_USAGE;
	}
	if (o.nr_args && !target_is_live(o.args[0])) {
		diag_error(
			"top: %s is not a live target (a pid, unix:PATH, tcp:HOST:PORT, a serial "
			"device, a tracefs); `fathom profile` sums up a trace",
			o.args[0]);
		return EXIT_USAGE;
	}
	/* Recording every event of this Linux would be expensive, and the figures need only these. */
	if (!o.nr_args && !live_asked.nr_events && !live_asked.tracer) {
		live_add_event.fn("sched");
		live_add_event.fn("irq");
	}
	rc = live_top(o.nr_args ? o.args[0] : target_this_linux(), &live_asked, &top);
	return rc ? EXIT_FAIL : EXIT_OK;
}
