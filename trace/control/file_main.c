/* SPDX-License-Identifier: MIT */
/* file_main.c -- tracing_on, current_tracer, trace_clock and the files that hold one number; how writes are read. */
#include "control/control.h"
#include "control/files.h"
#include "control/str.h"
#include "functions/tracer.h"
#include "functions/tracers.h"
#include "wire/div.h"

#define FILE_NUMBER_MAX 63

int fathom_ctl_write_number(const char *buf, size_t bytes, uint64_t *value)
{
	if (bytes > FILE_NUMBER_MAX)
		return -FATHOM_EINVAL;
	return fathom_ctl_number(buf, bytes, 10, value);
}

int fathom_ctl_truncates(const struct fathom_file *f)
{
	return f->flags & FATHOM_O_TRUNC && (f->flags & FATHOM_O_ACCMODE) != FATHOM_O_RDONLY;
}

static int word_ends(char c)
{
	return ctl_space(c) || !c;
}

int fathom_ctl_write_word(struct fathom_file *f, char *word, size_t room, const char *buf,
			  size_t bytes, size_t *used)
{
	size_t i = 0;

	if (!f->used)
		while (i < bytes && word_ends(buf[i]))
			i++;
	while (i < bytes && !word_ends(buf[i])) {
		if (f->used + 1u >= room) {
			f->used = 0;
			return -FATHOM_EINVAL;
		}
		word[f->used++] = buf[i++];
	}
	word[f->used] = '\0';
	*used = i;
	if (i == bytes)
		return 0;
	*used = i + 1; /* the blank that ends it is taken with it */
	return f->used != 0;
}

static int tracing_on_show(struct fathom_file *f, struct fathom_text *t)
{
	fathom_text_u64(t, (uint32_t)fathom_ctl_is_recording(fathom_ctl_instance(&f->node)), 0,
			' ');
	fathom_text_char(t, '\n');
	return 0;
}

static int tracing_on_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	uint64_t v;
	int err = fathom_ctl_write_number(buf, bytes, &v);

	if (err)
		return err;
	if (v)
		fathom_ctl_last_boot_end(fathom_ctl_instance(&f->node));
	fathom_ctl_recording(fathom_ctl_instance(&f->node), v != 0);
	return (int)bytes;
}

const struct ctl_file_ops fathom_ctl_tracing_on = {.show = tracing_on_show,
						   .write = tracing_on_write};

static int last_boot_info_show(struct fathom_file *f, struct fathom_text *t)
{
	fathom_core.config.last_boot->info(fathom_ctl_instance(&f->node), t);
	return 0;
}

const struct ctl_file_ops fathom_ctl_last_boot_info = {.show = last_boot_info_show};

static const struct fathom_tracer *tracer_named(const char *name)
{
	uint32_t i = 0;

	while (fathom_tracer_at(i) && !ctl_same(fathom_tracer_at(i)->name, name))
		i++;
	return fathom_tracer_at(i);
}

const struct fathom_tracer *fathom_ctl_tracer(const struct ctl_instance *tr)
{
	const struct fathom_listener *l = tr->functions;

	if (!tr->index)
		return fathom_tracer_current();
	if (l && l->latency)
		return l->latency;
	return tracer_named(l && l->on ? "function" : "nop");
}

int fathom_ctl_is_latency(const struct ctl_instance *tr)
{
	return (fathom_ctl_tracer(tr)->flags & FATHOM_TRACER_LATENCY) != 0;
}

/* An instance has those that keep nothing outside its rings and their spares. */
int fathom_ctl_tracer_is_here(const struct ctl_instance *tr, const struct fathom_tracer *t)
{
	if (t->flags & FATHOM_TRACER_FUNCTION && !fathom_function_count() &&
	    !fathom_instrument_is_ready())
		return 0;
	return !tr->index || ctl_same(t->name, "nop") ||
	       (tr->functions &&
		(t->flags & FATHOM_TRACER_LATENCY || ctl_same(t->name, "function")));
}

static int available_tracers_show(struct fathom_file *f, struct fathom_text *t)
{
	const struct fathom_tracer *tracer;

	for (uint32_t i = 0; (tracer = fathom_tracer_at(i)); i++) {
		if (!fathom_ctl_tracer_is_here(fathom_ctl_instance(&f->node), tracer))
			continue;
		fathom_text_str(t, tracer->name);
		fathom_text_char(t, fathom_tracer_at(i + 1) ? ' ' : '\n');
	}
	return 0;
}

const struct ctl_file_ops fathom_ctl_available_tracers = {.show = available_tracers_show};

static int current_tracer_show(struct fathom_file *f, struct fathom_text *t)
{
	fathom_text_str(t, fathom_ctl_tracer(fathom_ctl_instance(&f->node))->name);
	fathom_text_char(t, '\n');
	return 0;
}

/* Of an instance that cannot have such a tracer the file is only a number. */
static uint64_t *max_latency(struct ctl_instance *tr)
{
	return tr->index && !tr->functions ? &tr->max_latency
					   : &fathom_latency_worst(tr->functions)->max_ns;
}

static int instance_latency_begin(struct ctl_instance *tr, const struct fathom_tracer *t)
{
	int err = fathom_ctl_snapshot_alloc(tr);

	if (err)
		return err;
	fathom_ctl_clear(tr, tr->spare, ~0u);
	return fathom_listener_latency(tr->functions, t);
}

static int instance_tracer_set(struct ctl_instance *tr, const struct fathom_tracer *t)
{
	int err = fathom_functions_check();

	if (err)
		return err;
	fathom_listener_latency(tr->functions, 0);
	__atomic_store_n(&tr->functions->on, (uint32_t)ctl_same(t->name, "function"),
			 __ATOMIC_SEQ_CST);
	err = fathom_tracer_refresh();
	if (!err && t->flags & FATHOM_TRACER_LATENCY)
		err = instance_latency_begin(tr, t);
	return err;
}

/* The trace is the old tracer's, so it is cleared; not if nothing changes. */
static int current_tracer_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	struct ctl_instance *tr = fathom_ctl_instance(&f->node);
	const struct fathom_tracer *t;
	size_t n = bytes;
	int err;

	if (n > sizeof(f->token) - 1)
		return -FATHOM_EINVAL;
	while (n && ctl_space(buf[n - 1]))
		n--;
	__builtin_memcpy(f->token, buf, n);
	f->token[n] = '\0';
	t = tracer_named(f->token);
	if (!t || !fathom_ctl_tracer_is_here(tr, t))
		return -FATHOM_EINVAL;
	if (t == fathom_ctl_tracer(tr))
		return (int)bytes;
	if (tr->raw_open || tr->pipe_open)
		return -FATHOM_EBUSY;
	err = tr->index ? instance_tracer_set(tr, t) : fathom_tracer_set(t->name);
	fathom_ctl_options_follow(tr);
	fathom_ctl_clear(tr, tr->ring, ~0u);
	return err ? err : (int)bytes;
}

const struct ctl_file_ops fathom_ctl_current_tracer = {.show = current_tracer_show,
						       .write = current_tracer_write};

static int timestamp_mode_show(struct fathom_file *f, struct fathom_text *t)
{
	(void)f;
	fathom_text_str(t, "[delta] absolute\n");
	return 0;
}

const struct ctl_file_ops fathom_ctl_timestamp_mode = {.show = timestamp_mode_show};

/* Latencies are kept in ns and shown in us. */
static uint64_t number_us(uint64_t ns)
{
	wire_div(&ns, 1000);
	return ns;
}

static uint64_t number_get(struct ctl_instance *tr, uint32_t which)
{
	switch (which) {
	case CTL_NUMBER_THRESH: return number_us(fathom_thresh());
	case CTL_NUMBER_MAX_LATENCY: return number_us(fathom_load(max_latency(tr)));
	case CTL_NUMBER_GRAPH_DEPTH: return fathom_graph_depth();
	case CTL_NUMBER_PERCENT: return tr->buffer_percent;
	case CTL_NUMBER_STACK_MAX: return fathom_stack_max();
	case CTL_NUMBER_STACK_ON: return (uint64_t)fathom_stack_tracer_is_on();
	case CTL_NUMBER_PROFILE: return (uint64_t)fathom_profile_is_on();
	case CTL_NUMBER_PRINTK: return fathom_ctl.printk;
	default: return fathom_ctl.saved_cmdlines_size;
	}
}

#define NUMBER_PIDS_MAX 32768 /* Linux's PID_MAX_DEFAULT: the bound of saved_cmdlines_size */

static int number_set(struct ctl_instance *tr, uint32_t which, uint64_t v)
{
	switch (which) {
	case CTL_NUMBER_THRESH: fathom_thresh_set(v * 1000); return 0;
	case CTL_NUMBER_MAX_LATENCY: fathom_store(max_latency(tr), v * 1000); return 0;
	case CTL_NUMBER_GRAPH_DEPTH: fathom_graph_depth_set((uint32_t)v); return 0;
	case CTL_NUMBER_PERCENT:
		if (v > 100)
			return -FATHOM_EINVAL;
		tr->buffer_percent = (uint32_t)v;
		return 0;
	case CTL_NUMBER_STACK_MAX: fathom_stack_max_set(v); return 0;
	case CTL_NUMBER_STACK_ON: return fathom_stack_tracer_set(v != 0);
	case CTL_NUMBER_PROFILE: return fathom_profile_set(v != 0);
	case CTL_NUMBER_PRINTK: return fathom_ctl_printk(v != 0);
	default:
		/* The table's size is fixed at init: a valid number is taken and changes nothing. */
		return !v || v > NUMBER_PIDS_MAX ? -FATHOM_EINVAL : 0;
	}
}

static int number_show(struct fathom_file *f, struct fathom_text *t)
{
	fathom_text_u64(t, number_get(fathom_ctl_instance(&f->node), f->node.entry->arg), 0, ' ');
	fathom_text_char(t, '\n');
	return 0;
}

static int number_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	uint64_t v;
	int err = fathom_ctl_write_number(buf, bytes, &v);

	if (!err)
		err = number_set(fathom_ctl_instance(&f->node), f->node.entry->arg, v);
	return err ? err : (int)bytes;
}

const struct ctl_file_ops fathom_ctl_number_file = {.show = number_show, .write = number_write};
