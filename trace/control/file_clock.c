/* SPDX-License-Identifier: MIT */
/* file_clock.c -- trace_clock: names for what can be made of the one clock the port has. */
#include "control/control.h"
#include "control/files.h"
#include "control/str.h"

/*
 * Rings keep the port's ticks, whatever the name: a clock is a way to show them. `local`, `global` and `perf` are the ticks
 * as nanoseconds; whether they are the same on all CPUs is the port's affair. Nobody sets the ticks, so `mono_raw` and
 * `boot` are `mono`. `counter`, a number for each event, would cost every event a shared word and is not offered.
 */
enum clock_kind {
	CLOCK_LOCAL,
	CLOCK_GLOBAL,
	CLOCK_UPTIME,
	CLOCK_PERF,
	CLOCK_MONO,
	CLOCK_MONO_RAW,
	CLOCK_BOOT,
	CLOCK_ATOMIC, /* `tai`; CLOCK_TAI is a macro of time.h */
	CLOCK_TICKS,
	CLOCK_KINDS,
};

/* NULL: the port does not have it. */
static const char *clock_name(uint32_t kind)
{
	static const char *const names[CLOCK_TICKS] = {"local", "global",   "uptime", "perf",
						       "mono",	"mono_raw", "boot",   "tai"};
	const struct fathom_config *c = &fathom_core.config;

	if (kind == CLOCK_TICKS)
		return c->clock_hz ? c->clock_name : 0;
	if (kind == CLOCK_ATOMIC)
		return c->tai_ns ? names[kind] : 0;
	return kind < CLOCK_MONO || c->mono_ns ? names[kind] : 0;
}

static int trace_clock_show(struct fathom_file *f, struct fathom_text *t)
{
	uint32_t now = fathom_ctl_instance(&f->node)->clock_at;

	for (uint32_t i = 0; i < CLOCK_KINDS; i++) {
		if (!clock_name(i))
			continue;
		if (i)
			fathom_text_char(t, ' ');
		if (i == now)
			fathom_text_char(t, '[');
		fathom_text_str(t, clock_name(i));
		if (i == now)
			fathom_text_char(t, ']');
	}
	fathom_text_char(t, '\n');
	return 0;
}

/* `mono` and `tai` keep the distance they had when they were chosen, so that the order of records never depends on when one looks. */
static struct fathom_clock clock_make(uint32_t kind)
{
	struct fathom_clock c = {FATHOM_CLOCK_NS, 0};

	if (kind == CLOCK_TICKS)
		c.unit = FATHOM_CLOCK_TICKS;
	else if (kind == CLOCK_UPTIME)
		c.unit = FATHOM_CLOCK_CENTS;
	else if (kind == CLOCK_ATOMIC)
		c.offset = fathom_core.config.tai_ns() - fathom_ticks_to_ns(fathom_now());
	else if (kind >= CLOCK_MONO)
		c.offset = fathom_core.config.mono_ns() - fathom_ticks_to_ns(fathom_now());
	return c;
}

/* Any accepted name clears the buffer and the snapshot, the current one too. */
static int trace_clock_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	struct ctl_instance *tr = fathom_ctl_instance(&f->node);
	const char *s = buf;
	size_t n = bytes;

	ctl_trim(&s, &n);
	for (uint32_t i = 0; i < CLOCK_KINDS; i++) {
		if (!clock_name(i) || !ctl_is(s, n, clock_name(i)))
			continue;
		tr->clock_at = i;
		tr->clock = clock_make(i);
		fathom_ctl_clear(tr, tr->ring, ~0u);
		if (fathom_ctl_has_snapshot(tr))
			fathom_ctl_clear(tr, fathom_ctl_spares(tr), ~0u);
		return (int)bytes;
	}
	return -FATHOM_EINVAL;
}

const struct ctl_file_ops fathom_ctl_trace_clock = {.show = trace_clock_show,
						    .write = trace_clock_write};
