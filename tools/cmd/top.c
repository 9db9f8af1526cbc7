/* SPDX-License-Identifier: MIT */
/* top.c -- fathom top: what a target is doing, in a terminal. */
#include "base/diag.h"
#include "capture/stop.h"
#include "cmd/cmd.h"
#include "cmd/live.h"
#include "view/top_screen.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define STEP_MS 100

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

static const char *state_of(const struct top_screen *s, const struct live *l)
{
	static char text[400];
	const struct record_live *r = &l->state;
	uint32_t cuts = __atomic_load_n(&r->cuts, __ATOMIC_RELAXED);
	const char *is = __atomic_load_n(&r->over, __ATOMIC_ACQUIRE) ? "the recording is over"
			 : __atomic_load_n(&r->away, __ATOMIC_RELAXED)
				 ? "the target is away: waiting for it"
			 : s->paused ? "paused"
				     : "live";

	snprintf(text, sizeof(text), "%s: %s", l->record.target, is);
	if (cuts)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 ", the line was cut %u time%s", cuts, cuts == 1 ? "" : "s");
	return text;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* False: end. */
static bool wait_for(struct top_screen *s, int ms)
{
	return s->window ? top_screen_keys(s, ms) && !stop_signal() : live_wait(ms);
}

static int watch(struct top_screen *s, struct live *l, struct follow *f)
{
	struct top *t = top_new(f);
	int64_t next = now_ms() + (int64_t)interval * 1000;
	uint64_t shown = 0;
	int got = t ? 0 : -ENOMEM; /* as top_step() says */

	while (got >= 0 && !(times && shown >= times) && wait_for(s, got ? 0 : STEP_MS)) {
		bool over = follow_ended(f) && !got;

		if (!over)
			got = top_step(t);
		if (now_ms() >= next && !over && !s->paused) {
			top_turn(t);
			next = now_ms() + (int64_t)interval * 1000;
			shown++;
			if (!s->window)
				top_screen_show(s, t, state_of(s, l));
		}
		if (s->window)
			top_screen_show(s, t, state_of(s, l));
		else if (over)
			break;
	}
	if (got < 0)
		diag_error("top: %s", strerror(-got));
	top_free(t);
	return got < 0 ? EXIT_FAIL : EXIT_OK;
}

static int top_target(const char *target, enum top_order order)
{
	struct top_screen s = {.order = order};
	struct live l = {0};
	struct follow *f;
	int rc = EXIT_FAIL;

	if (live_start(&l, target))
		return EXIT_FAIL;
	f = live_follow(&l);
	if (f && top_screen_open(&s)) {
		rc = watch(&s, &l, f);
		top_screen_close(&s);
	}
	follow_close(f);
	return live_stop(&l) ? EXIT_FAIL : rc;
}

/* Recording every event would be expensive, and the figures need only these. */
static int top_this_linux(enum top_order order)
{
	if (!live_asked.nr_events && !live_asked.tracer) {
		live_add_event.fn("sched");
		live_add_event.fn("irq");
	}
	return top_target(live_this_linux(), order);
}

int cmd_top(int argc, char **argv)
{
	struct options o;
	int rc = options_parse(&spec, argc, argv, &o);

	if (rc != OPTIONS_GO)
		return rc;
	if (!interval || interval > 86400) {
		diag_error("top: --interval takes 1 to 86400 seconds");
		rc = EXIT_USAGE;
	} else if (!o.nr_args) {
		rc = top_this_linux((enum top_order)sort.at);
	} else if (!live_is_target(o.args[0])) {
		diag_error(
			"top: %s is not a live target (a pid, unix:PATH, tcp:HOST:PORT, a serial "
			"device, a tracefs); `fathom profile` sums up a trace",
			o.args[0]);
		rc = EXIT_USAGE;
	} else {
		rc = top_target(o.args[0], (enum top_order)sort.at);
	}
	options_close(&o);
	return rc;
}
