/* SPDX-License-Identifier: MIT */
/* page.c -- what a live target is doing, in a browser. */
#include "base/diag.h"
#include "capture/stop.h"
#include "live/sessions.h"

#include <string.h>

#define STEP_MS 100

static void tell_state(void *arg, struct ask_state *out)
{
	const struct record_live *s = arg;

	out->cuts = __atomic_load_n(&s->cuts, __ATOMIC_RELAXED);
	out->away = __atomic_load_n(&s->away, __ATOMIC_RELAXED);
	out->over = __atomic_load_n(&s->over, __ATOMIC_RELAXED);
}

/* Until a signal comes; a recording that is over can still be looked at. */
static int watch(struct asks *a, struct follow *f, const struct show_options *o)
{
	struct server *s = NULL;
	int got = 0; /* as lanes_live_step() says */

	while (got >= 0 && live_wait(got ? 0 : STEP_MS)) {
		if (got || !follow_ended(f))
			got = lanes_live_step(a->live);
		if (got >= 0 && !s && a->lanes->nr_events && !(s = show_start(a, o)))
			return -1;
	}
	if (got < 0)
		diag_error("view: %s", strerror(-got));
	if (s)
		server_stop(s);
	return got < 0 ? -1 : 0;
}

int live_view(const char *target, const struct record_options *asked, const struct show_options *o)
{
	const struct scan_choice choice = {.to = UINT64_MAX, .stop = stop_came};
	struct live l = {0};
	struct asks a = {
		.choice = &choice, .no_index = true, .state = tell_state, .state_arg = &l.state};
	struct follow *f;
	int err, rc = -1;

	if (live_start(&l, asked, target))
		return -1;
	f = live_follow(&l);
	if (f) {
		a.s = follow_source(f);
		a.title = o->title;
		pthread_mutex_init(&a.walking, NULL);
		err = lanes_live_open(f, &choice, &a.live);
		a.lanes = err ? NULL : lanes_live_lanes(a.live);
		if (err)
			diag_error("%s: %s", target, strerror(-err));
		else
			rc = watch(&a, f, o);
		lanes_live_close(a.live);
		pthread_mutex_destroy(&a.walking);
		follow_close(f);
	}
	return live_stop(&l) ? -1 : rc;
}
