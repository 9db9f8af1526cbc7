/* SPDX-License-Identifier: MIT */
/* top.c -- what a live target is doing, in a terminal, until it is enough. */
#include "base/diag.h"
#include "capture/stop.h"
#include "live/sessions.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define STEP_MS 100

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

static int watch(struct top_screen *s, struct live *l, struct follow *f,
		 const struct live_top_options *o)
{
	struct top *t = top_new(f);
	int64_t next = now_ms() + (int64_t)o->interval * 1000;
	uint64_t shown = 0;
	int got = t ? 0 : -ENOMEM; /* as top_step() says */

	while (got >= 0 && !(o->times && shown >= o->times) && wait_for(s, got ? 0 : STEP_MS)) {
		bool over = follow_ended(f) && !got;

		if (!over)
			got = top_step(t);
		if (now_ms() >= next && !over && !s->paused) {
			top_turn(t);
			next = now_ms() + (int64_t)o->interval * 1000;
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
	return got < 0 ? -1 : 0;
}

int live_top(const char *target, const struct record_options *asked,
	     const struct live_top_options *o)
{
	struct top_screen s = {.order = o->order};
	struct live l = {0};
	struct follow *f;
	int err = -1;

	if (live_start(&l, asked, target))
		return -1;
	f = live_follow(&l);
	if (f && top_screen_open(&s)) {
		err = watch(&s, &l, f, o);
		top_screen_close(&s);
	}
	follow_close(f);
	return live_stop(&l) ? -1 : err;
}
