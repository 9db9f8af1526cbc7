/* SPDX-License-Identifier: MIT */
/* timerlat.c -- a thread that asks to be woken at a time: how late the timer's interrupt was, and how late the thread. */
#include "wire/cold.h"
#include "noise/noise.h"
#include "wire/noise.h"

static void timerlat_record(struct noise_cpu *c, int context, uint64_t latency)
{
	struct noise_record slot;
	struct fathom_rec_timerlat *r = fathom_noise_reserve(&slot, WIRE_ID_TIMERLAT, sizeof(*r));

	if (!r)
		return;
	r->seqnum = c->seq;
	r->context = context;
	r->timer_latency = latency;
	fathom_noise_commit(&slot);
}

/* What the timer's interrupt gets: it may come when the run is over. */
struct timerlat_tick {
	struct noise_cpu *cpu;
	uint32_t run;
};

/* In the timer's interrupt. Linux shows the stack that it came upon with the thread's line; here it follows the interrupt's. */
static void tick(void *arg)
{
	const struct timerlat_tick *for_whom = arg;
	struct noise_cpu *c = for_whom->cpu;
	uint64_t stop = fathom_noise_set.stop_us * 1000, stack = fathom_noise_set.stack_us * 1000;
	uint64_t latency;

	if (!fathom_noise_is_on(for_whom->run))
		return;
	latency = fathom_noise_now() - c->deadline;
	c->seq++;
	c->ticked = 1;
	timerlat_record(c, FATHOM_TIMERLAT_IRQ, latency);
	if (stack && latency >= stack) {
		uintptr_t pin = fathom_port_pin();

		fathom_stack_event(fathom_port_context(pin));
		fathom_port_unpin(pin);
	}
	fathom_noise_sampling(c, for_whom->run, 1);
	if (stop && latency > stop)
		fathom_noise_stop_tracing(c, "stop tracing hit on the timer's interrupt");
}

static void woken(struct noise_cpu *c, uint32_t run)
{
	uint64_t stop = fathom_noise_set.stop_total_us * 1000;
	uint64_t latency = fathom_noise_now() - c->deadline;

	fathom_noise_sampling(c, run, 0);
	if (!fathom_noise_is_on(run))
		return;
	if (!c->ticked) /* the time had passed before the thread slept: there was no interrupt */
		c->seq++;
	c->ticked = 0;
	timerlat_record(c, FATHOM_TIMERLAT_THREAD, latency);
	if (stop && latency > stop)
		fathom_noise_stop_tracing(c, "stop tracing hit on the thread");
}

static void timerlat_loop(struct noise_cpu *c, uint32_t run)
{
	struct timerlat_tick on_tick = {c, run};

	c->deadline = fathom_noise_now();
	while (fathom_noise_is_on(run)) {
		uint64_t period = fathom_noise_set.timerlat_period_us * 1000, now;

		c->deadline += period;
		now = fathom_noise_now();
		if (c->deadline <=
		    now) /* it took longer than a period: those in between are left out, as in Linux */
			c->deadline = now + period;
		fathom_core.config.noise->wait(c->deadline - now, tick, &on_tick);
		woken(c, run);
	}
}

int fathom_timerlat_start(void)
{
	int err = fathom_noise_hooks(1);

	return err ? err : fathom_noise_begin("timerlat", 1, timerlat_loop);
}
