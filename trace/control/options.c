/* SPDX-License-Identifier: MIT */
/* options.c -- trace_options and options/: Linux's names; what changes the text, and what the tracers own. */
#include "control/control.h"
#include "control/files.h"
#include "control/str.h"
#include "functions/tracer.h"
#include "wire/text_line.h"

#define OPTION_TRACER ((uint32_t)CTL_OPT_NR) /* options of tracers follow: `at` of the node */
#define OPTION_MAX    (OPTION_TRACER + 64)

static const struct {
	const char *name;
	uint8_t on;
	uint8_t not_in_instance;
	uint32_t text;	 /* enum fathom_text_option */
	uint32_t tracer; /* enum fathom_tracer_option_bit: kept by the tracers */
} option_table[CTL_OPT_NR] = {
	[CTL_OPT_PRINT_PARENT] = {"print-parent", 1, 0, FATHOM_TEXT_PRINT_PARENT, 0},
	[CTL_OPT_SYM_OFFSET] = {"sym-offset", 0, 0, FATHOM_TEXT_SYM_OFFSET, 0},
	[CTL_OPT_SYM_ADDR] = {"sym-addr", 0, 0, FATHOM_TEXT_SYM_ADDR, 0},
	[CTL_OPT_VERBOSE] = {"verbose", 0, 0, FATHOM_TEXT_VERBOSE, 0},
	[CTL_OPT_RAW] = {"raw", 0, 0, FATHOM_TEXT_RAW, 0},
	[CTL_OPT_HEX] = {"hex", 0, 0, FATHOM_TEXT_HEX, 0},
	[CTL_OPT_BIN] = {"bin", 0, 0, FATHOM_TEXT_BIN, 0},
	[CTL_OPT_BLOCK] = {"block", 0, 0, 0, 0},
	[CTL_OPT_TRACE_PRINTK] = {"trace_printk", 1, 1, 0, 0},
	[CTL_OPT_ANNOTATE] = {"annotate", 1, 0, FATHOM_TEXT_ANNOTATE, 0},
	[CTL_OPT_USERSTACKTRACE] = {"userstacktrace", 0, 0, 0, 0},
	[CTL_OPT_SYM_USEROBJ] = {"sym-userobj", 0, 0, FATHOM_TEXT_SYM_USEROBJ, 0},
	[CTL_OPT_PRINTK_MSG_ONLY] = {"printk-msg-only", 0, 1, FATHOM_TEXT_PRINTK_MSG_ONLY, 0},
	[CTL_OPT_CONTEXT_INFO] = {"context-info", 1, 0, FATHOM_TEXT_CONTEXT_INFO, 0},
	[CTL_OPT_LATENCY_FORMAT] = {"latency-format", 0, 0, FATHOM_TEXT_LATENCY, 0},
	[CTL_OPT_RECORD_CMD] = {"record-cmd", 1, 1, 0, 0},
	[CTL_OPT_RECORD_TGID] = {"record-tgid", 0, 0, FATHOM_TEXT_RECORD_TGID, 0},
	[CTL_OPT_OVERWRITE] = {"overwrite", 1, 0, 0, 0},
	[CTL_OPT_DISABLE_ON_FREE] = {"disable_on_free", 0, 0, 0, 0},
	[CTL_OPT_IRQ_INFO] = {"irq-info", 1, 0, FATHOM_TEXT_IRQ_INFO, 0},
	[CTL_OPT_MARKERS] = {"markers", 1, 0, 0, 0},
	[CTL_OPT_EVENT_FORK] = {"event-fork", 0, 0, 0, 0},
	[CTL_OPT_PAUSE_ON_TRACE] = {"pause-on-trace", 0, 0, 0, 0},
	[CTL_OPT_HASH_PTR] = {"hash-ptr", 1, 0, 0, 0},
	[CTL_OPT_FUNCTION_TRACE] = {"function-trace", 1, 0, 0, FATHOM_OPT_FUNCTION_TRACE},
	[CTL_OPT_FUNCTION_FORK] = {"function-fork", 0, 0, 0, FATHOM_OPT_FUNCTION_FORK},
	[CTL_OPT_DISPLAY_GRAPH] = {"display-graph", 0, 0, 0, FATHOM_OPT_DISPLAY_GRAPH},
	[CTL_OPT_STACKTRACE] = {"stacktrace", 0, 0, 0, 0},
	[CTL_OPT_TEST_ACCEPT] = {"test_nop_accept", 0, 0, 0, 0},
	[CTL_OPT_TEST_REFUSE] = {"test_nop_refuse", 0, 0, 0, 0},
};

uint32_t fathom_ctl_option_defaults(void)
{
	uint32_t bits = 0;

	for (uint32_t i = 0; i < CTL_OPT_NR; i++)
		bits |= (uint32_t)option_table[i].on << i;
	return bits;
}

/* Option number n of all tracers' tables together, each name once; its owner in *of. NULL behind the last. */
static const struct fathom_tracer_option *option_of_tracer(uint32_t n,
							   const struct fathom_tracer **of)
{
	const struct fathom_tracer *t;

	for (uint32_t k = 0; (t = fathom_tracer_at(k)); k++) {
		const struct fathom_tracer_option *o = t->options;

		for (; o && o->name; o++) {
			if (n--)
				continue;
			if (of)
				*of = t;
			return o;
		}
	}
	return 0;
}

static int option_shown(uint32_t instance, uint32_t option)
{
	const struct fathom_tracer *of = 0;

	if (option < OPTION_TRACER)
		return !instance || !option_table[option].not_in_instance;
	/* A name that two tracers share is one file. */
	for (uint32_t k = OPTION_TRACER; k < option; k++)
		if (ctl_same(fathom_ctl_option_name(k), fathom_ctl_option_name(option)))
			return 0;
	for (uint32_t k = 0; k < CTL_OPT_NR; k++)
		if (ctl_same(option_table[k].name, fathom_ctl_option_name(option)))
			return 0;
	option_of_tracer(option - OPTION_TRACER, &of);
	return fathom_ctl_tracer_is_here(fathom_ctl_instance_at(instance), of);
}

uint32_t fathom_ctl_option_nth(uint32_t instance, uint32_t index)
{
	for (uint32_t k = 0; k < CTL_OPT_NR; k++)
		if (option_shown(instance, k) && !index--)
			return k;
	for (uint32_t k = 0; option_of_tracer(k, 0); k++)
		if (option_shown(instance, OPTION_TRACER + k) && !index--)
			return OPTION_TRACER + k;
	return ~0u;
}

const char *fathom_ctl_option_name(uint32_t option)
{
	return option < OPTION_TRACER ? option_table[option].name
				      : option_of_tracer(option - OPTION_TRACER, 0)->name;
}

static void option_apply(struct ctl_instance *tr, uint32_t option, int on);

static void option_put(struct ctl_instance *tr, uint32_t option, int on)
{
	tr->options = on ? tr->options | 1u << option : tr->options & ~(1u << option);
	option_apply(tr, option, on);
}

/*
 * A latency tracer turns latency-format and overwrite on when it starts, and puts them back when it ends. Tracers are
 * set in more than one place, so this looks whether the one of last time still runs.
 */
void fathom_ctl_options_follow(struct ctl_instance *tr)
{
	static const enum ctl_option forced[] = {CTL_OPT_LATENCY_FORMAT, CTL_OPT_OVERWRITE};
	uint32_t is_latency = (uint32_t)fathom_ctl_is_latency(tr);

	if (is_latency == tr->was_latency)
		return;
	tr->was_latency = is_latency;
	if (is_latency)
		tr->options_before = tr->options;
	for (uint32_t i = 0; i < sizeof(forced) / sizeof(forced[0]); i++)
		option_put(tr, forced[i],
			   is_latency ? 1 : (int)(tr->options_before >> forced[i] & 1));
}

/* The tracers' bit of an option; 0 if it is none of theirs. */
static uint32_t option_tracer_bit(uint32_t option)
{
	return option >= OPTION_TRACER ? option_of_tracer(option - OPTION_TRACER, 0)->bit
				       : option_table[option].tracer;
}

static int option_is_of_functions(const struct ctl_instance *tr, uint32_t option, uint32_t bit)
{
	return option >= OPTION_TRACER ||
	       (bit & (FATHOM_OPT_FUNCTION_FORK | FATHOM_OPT_FUNCTION_TRACE) && tr->functions);
}

/* An instance's function tracer has some of its own; of what only other tracers look at, an instance keeps what it is told. */
static int option_is_on(const struct ctl_instance *tr, uint32_t option)
{
	uint32_t bit = option_tracer_bit(option);

	fathom_ctl_options_follow(&fathom_ctl.top);
	if (bit && !tr->index)
		return !!(fathom_tracer_options() & bit);
	if (option_is_of_functions(tr, option, bit))
		return !!(tr->functions->options & bit);
	return tr->options >> option & 1;
}

int fathom_ctl_option(const struct ctl_instance *tr, enum ctl_option option)
{
	return option_is_on(tr, option);
}

/* function_graph, and a latency tracer with display-graph. */
int fathom_ctl_draws_graph(const struct fathom_tracer *t)
{
	return t->flags & FATHOM_TRACER_GRAPH ||
	       (t->flags & FATHOM_TRACER_LATENCY &&
		fathom_tracer_options() & FATHOM_OPT_DISPLAY_GRAPH);
}

uint32_t fathom_ctl_text_options(const struct ctl_instance *tr)
{
	static const struct {
		uint32_t tracer, text;
	} graph[] = {
		{FATHOM_OPT_GRAPH_OVERRUN, FATHOM_TEXT_GRAPH_OVERRUN},
		{FATHOM_OPT_GRAPH_CPU, FATHOM_TEXT_GRAPH_CPU},
		{FATHOM_OPT_GRAPH_OVERHEAD, FATHOM_TEXT_GRAPH_OVERHEAD},
		{FATHOM_OPT_GRAPH_PROC, FATHOM_TEXT_GRAPH_PROC},
		{FATHOM_OPT_GRAPH_DURATION, FATHOM_TEXT_GRAPH_DURATION},
		{FATHOM_OPT_GRAPH_ABSTIME, FATHOM_TEXT_GRAPH_ABSTIME},
		{FATHOM_OPT_GRAPH_IRQS, FATHOM_TEXT_GRAPH_IRQS},
		{FATHOM_OPT_GRAPH_TAIL, FATHOM_TEXT_GRAPH_TAIL},
		{FATHOM_OPT_GRAPH_RETVAL, FATHOM_TEXT_GRAPH_RETVAL},
		{FATHOM_OPT_GRAPH_RETVAL_HEX, FATHOM_TEXT_GRAPH_RETVAL_HEX},
		{FATHOM_OPT_GRAPH_RETADDR, FATHOM_TEXT_GRAPH_RETADDR},
	};
	uint32_t bits = 0, of_tracers = fathom_tracer_options();

	fathom_ctl_options_follow(&fathom_ctl.top);
	for (uint32_t i = 0; i < CTL_OPT_NR; i++)
		if (tr->options >> i & 1)
			bits |= option_table[i].text;
	if (tr->index)
		return bits;
	if (fathom_tracer_current()->flags & FATHOM_TRACER_LATENCY)
		return bits | FATHOM_TEXT_GRAPH_CPU | FATHOM_TEXT_GRAPH_PROC |
		       FATHOM_TEXT_GRAPH_RELTIME | FATHOM_TEXT_GRAPH_DURATION;
	for (uint32_t i = 0; i < sizeof(graph) / sizeof(graph[0]); i++)
		if (of_tracers & graph[i].tracer)
			bits |= graph[i].text;
	return bits;
}

/* What changing some of them sets off. */
static void option_apply(struct ctl_instance *tr, uint32_t option, int on)
{
	if (option == CTL_OPT_OVERWRITE) {
		for (uint32_t cpu = 0; cpu < fathom_core.nr_cpus; cpu++) {
			fathom_ring_overwrite(fathom_ctl_ring(tr, cpu), on);
			if (tr->spares)
				fathom_ring_overwrite(tr->spare[cpu], on);
		}
	} else if (option == CTL_OPT_EVENT_FORK) {
		fathom_ctl_event_fork_changed();
	} else if (option == CTL_OPT_STACKTRACE && !tr->index) {
		for (uint32_t i = 0; i < fathom_ctl.nr_events; i++)
			fathom_ctl_event_update(i);
	}
}

static int option_set_instance(struct fathom_listener *l, uint32_t bit, int on)
{
	uint32_t bits = on ? l->options | bit : l->options & ~bit;

	__atomic_store_n(&l->options, bits, __ATOMIC_RELAXED);
	fathom_function_forks_changed();
	return l->latency && bit == FATHOM_OPT_FUNCTION_TRACE ? fathom_listener_latency_changed(l)
							      : 0;
}

static int option_set(struct ctl_instance *tr, uint32_t option, int on)
{
	uint32_t bit = option_tracer_bit(option);

	if (bit && !tr->index)
		return fathom_tracer_option_set(bit, on);
	if (option_is_of_functions(tr, option, bit))
		return option_set_instance(tr->functions, bit, on);
	fathom_ctl_options_follow(&fathom_ctl.top);
	if (option == CTL_OPT_TEST_REFUSE ||
	    (option == CTL_OPT_OVERWRITE && !on && fathom_ctl_is_latency(tr)))
		return -FATHOM_EINVAL;
	option_put(tr, option, on);
	return 0;
}

static int option_show(struct fathom_file *f, struct fathom_text *t)
{
	fathom_text_str(t, option_is_on(fathom_ctl_instance(&f->node), f->node.at) ? "1\n" : "0\n");
	return 0;
}

static int option_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	uint64_t v;
	int err = fathom_ctl_write_number(buf, bytes, &v);

	if (!err && v > 1)
		err = -FATHOM_EINVAL;
	if (!err)
		err = option_set(fathom_ctl_instance(&f->node), f->node.at, (int)v);
	return err ? err : (int)bytes;
}

const struct ctl_file_ops fathom_ctl_option_ops = {.show = option_show, .write = option_write};
const struct fathom_fs_entry fathom_ctl_option_file = {"option", 0640, 0, &fathom_ctl_option_ops,
						       0};

/* The test options are nop's own; the tracers' are listed while they run. */
static int trace_options_has(const struct ctl_instance *tr, uint32_t option)
{
	const struct fathom_tracer *now = fathom_ctl_tracer(tr), *of = 0;

	if (option == CTL_OPT_TEST_ACCEPT || option == CTL_OPT_TEST_REFUSE)
		return ctl_same(now->name, "nop");
	if (option < OPTION_TRACER)
		return option_shown(tr->index, option);
	option_of_tracer(option - OPTION_TRACER, &of);
	return of == now;
}

static int trace_options_show(struct fathom_file *f, struct fathom_text *t)
{
	const struct ctl_instance *tr = fathom_ctl_instance(&f->node);

	for (uint32_t k = 0; k < OPTION_MAX; k++) {
		if (k >= OPTION_TRACER && !option_of_tracer(k - OPTION_TRACER, 0))
			continue;
		if (!trace_options_has(tr, k))
			continue;
		if (!option_is_on(tr, k))
			fathom_text_str(t, "no");
		fathom_text_str(t, fathom_ctl_option_name(k));
		fathom_text_char(t, '\n');
	}
	return 0;
}

/* `name` or `noname`: core options, and those of the running tracer. */
static int trace_options_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	struct ctl_instance *tr = fathom_ctl_instance(&f->node);
	const char *s = buf;
	size_t n = bytes;
	int err = -FATHOM_EINVAL;

	if (bytes >= 64)
		return -FATHOM_EINVAL;
	ctl_trim(&s, &n);
	for (uint32_t k = 0; k < OPTION_MAX; k++) {
		const char *name;
		int off;

		if (k >= OPTION_TRACER && !option_of_tracer(k - OPTION_TRACER, 0))
			continue;
		if (!trace_options_has(tr, k))
			continue;
		name = fathom_ctl_option_name(k);
		off = n > 2 && s[0] == 'n' && s[1] == 'o' && ctl_is(s + 2, n - 2, name);
		if (!off && !ctl_is(s, n, name))
			continue;
		err = option_set(tr, k, !off);
		break;
	}
	return err ? err : (int)bytes;
}

const struct ctl_file_ops fathom_ctl_trace_options = {.show = trace_options_show,
						      .write = trace_options_write};
