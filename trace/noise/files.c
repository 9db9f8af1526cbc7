/* SPDX-License-Identifier: MIT */
/* files.c -- osnoise/ and hwlat_detector/ of the tree: the settings, with Linux's limits. */
#include "wire/cold.h"
#include "noise/noise.h"
#include "fathom/inside/errno.h"
#include "control/control.h"
#include "control/files.h"
#include "control/str.h"

enum {
	PERIOD,
	RUNTIME,
	STOP,
	STOP_TOTAL,
	STACK,
	TIMERLAT_PERIOD,
	WIDTH,
	WINDOW,
};

static uint64_t *setting(uint32_t which)
{
	struct noise_settings *s = &fathom_noise_set;
	uint64_t *const all[] = {
		[PERIOD] = &s->period_us, [RUNTIME] = &s->runtime_us,
		[STOP] = &s->stop_us,	  [STOP_TOTAL] = &s->stop_total_us,
		[STACK] = &s->stack_us,	  [TIMERLAT_PERIOD] = &s->timerlat_period_us,
		[WIDTH] = &s->width_us,	  [WINDOW] = &s->window_us,
	};

	return all[which];
}

static int noise_number_show(struct fathom_file *f, struct fathom_text *t)
{
	fathom_text_u64(t, *setting(f->node.entry->arg), 0, ' ');
	fathom_text_char(t, '\n');
	return 0;
}

/* Runtime fits into its period, width into its window. */
static int is_possible(uint32_t which, uint64_t v)
{
	const struct noise_settings *s = &fathom_noise_set;

	switch (which) {
	case PERIOD: return v >= s->runtime_us && v <= UINT32_MAX;
	case RUNTIME: return v >= 1 && v <= s->period_us;
	case TIMERLAT_PERIOD: return v >= 100 && v <= 1000000;
	case WIDTH: return v >= 1 && v <= s->window_us;
	case WINDOW: return v >= s->width_us && v <= UINT32_MAX;
	default: return v <= UINT32_MAX;
	}
}

static int noise_number_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	uint64_t v;
	int err = fathom_ctl_write_number(buf, bytes, &v);

	if (!err && !is_possible(f->node.entry->arg, v))
		err = -FATHOM_EINVAL;
	if (!err)
		*setting(f->node.entry->arg) = v;
	return err ? err : (int)bytes;
}

static const struct ctl_file_ops noise_number_ops = {.show = noise_number_show,
						     .write = noise_number_write};

/* ---- cpus: "0-1,4" ---- */

static int has_cpu(uint32_t cpu)
{
	return cpu < fathom_core.nr_cpus &&
	       (cpu >= 64 || (fathom_noise_set.cpus & noise_cpu_bit(cpu)) != 0);
}

static int cpus_show(struct fathom_file *f, struct fathom_text *t)
{
	const char *comma = "";

	(void)f;
	for (uint32_t from = 0; from < fathom_core.nr_cpus; from++) {
		uint32_t to = from;

		if (!has_cpu(from))
			continue;
		while (has_cpu(to + 1))
			to++;
		fathom_text_str(t, comma);
		fathom_text_u64(t, from, 0, ' ');
		if (to > from) {
			fathom_text_char(t, '-');
			fathom_text_u64(t, to, 0, ' ');
		}
		comma = ",";
		from = to;
	}
	fathom_text_char(t, '\n');
	return 0;
}

/* A number at s[*at]: -1 if there is none. */
static int take_cpu(const char *s, size_t n, size_t *at)
{
	int v = -1;

	while (*at < n && ctl_digit(s[*at]) && v < 10000)
		v = (v < 0 ? 0 : v) * 10 + (s[(*at)++] - '0');
	return v;
}

static int cpus_parse(const char *s, size_t n, uint64_t *out)
{
	size_t at = 0;

	for (*out = 0; at < n; at++) {
		int from = take_cpu(s, n, &at), to = from;

		if (at < n && s[at] == '-') {
			at++;
			to = take_cpu(s, n, &at);
		}
		if (from < 0 || to < from || to >= (int)fathom_core.nr_cpus || to >= 64 ||
		    (at < n && s[at] != ','))
			return -FATHOM_EINVAL;
		for (int i = from; i <= to; i++)
			*out |= noise_cpu_bit((uint32_t)i);
	}
	return *out ? 0 : -FATHOM_EINVAL;
}

/* A tracer that runs goes on with the threads it has: the next one has others. */
static int cpus_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	const char *s = buf;
	size_t n = bytes;
	uint64_t cpus;
	int err;

	(void)f;
	ctl_trim(&s, &n);
	err = cpus_parse(s, n, &cpus);
	if (!err)
		fathom_noise_set.cpus = cpus;
	return err ? err : (int)bytes;
}

static const struct ctl_file_ops cpus_ops = {.show = cpus_show, .write = cpus_write};

/* ---- mode of hwlat ---- */

static const char *const modes[] = {
	[NOISE_MODE_NONE] = "none",
	[NOISE_MODE_ROUND_ROBIN] = "round-robin",
	[NOISE_MODE_PER_CPU] = "per-cpu",
};
#define MODES (sizeof(modes) / sizeof(modes[0]))

static int mode_show(struct fathom_file *f, struct fathom_text *t)
{
	(void)f;
	for (uint32_t i = 0; i < MODES; i++)
		fathom_text_printf(t, i == fathom_noise_set.mode ? "%s[%s]" : "%s%s", i ? " " : "",
				   modes[i]);
	fathom_text_char(t, '\n');
	return 0;
}

static int mode_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	const char *s = buf;
	size_t n = bytes;

	(void)f;
	ctl_trim(&s, &n);
	for (uint32_t i = 0; i < MODES; i++)
		if (ctl_is(s, n, modes[i])) {
			fathom_noise_set.mode = i;
			return (int)bytes;
		}
	return -FATHOM_EINVAL;
}

static const struct ctl_file_ops mode_ops = {.show = mode_show, .write = mode_write};

static const struct fathom_fs_entry osnoise_files[] = {
	{"cpus", 0640, 0, &cpus_ops, 0},
	{"period_us", 0640, 0, &noise_number_ops, PERIOD},
	{"print_stack", 0640, 0, &noise_number_ops, STACK},
	{"runtime_us", 0640, 0, &noise_number_ops, RUNTIME},
	{"stop_tracing_total_us", 0640, 0, &noise_number_ops, STOP_TOTAL},
	{"stop_tracing_us", 0640, 0, &noise_number_ops, STOP},
	{"timerlat_period_us", 0640, 0, &noise_number_ops, TIMERLAT_PERIOD},
	{0, 0, 0, 0, 0},
};
static const struct fathom_fs_entry hwlat_files[] = {
	{"mode", 0640, 0, &mode_ops, 0},
	{"width", 0640, 0, &noise_number_ops, WIDTH},
	{"window", 0640, 0, &noise_number_ops, WINDOW},
	{0, 0, 0, 0, 0},
};

const struct fathom_extra_folder fathom_noise_folders[] = {
	{"hwlat_detector", hwlat_files},
	{"osnoise", osnoise_files},
	{0, 0},
};
