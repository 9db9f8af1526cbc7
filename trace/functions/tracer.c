/* SPDX-License-Identifier: MIT */
/* tracer.c -- the tracers by name, their options and limits, and which function sites they want. */
#include "fathom/inside/errno.h"
#include "fathom/stream.h"
#include "fathom/inside/snapshot.h"
#include "arch/regs.h"
#include "events/modules.h"
#include "functions/extra.h"
#include "functions/probes.h"
#include "functions/sites.h"
#include "functions/pids.h"
#include "functions/tracers.h"
#include "ring/stream.h"

struct tracer_counts fathom_tracer_counts[FATHOM_CPUS_MAX + 1];
struct tracer_wants fathom_tracer_wants;
struct fathom_watch *fathom_watch[FATHOM_WATCHERS];

int fathom_watch_returns(void)
{
	int returns = 0;

	for (uint32_t i = 0; i < FATHOM_WATCHERS; i++)
		returns |= fathom_watch[i] && fathom_watch[i]->returns;
	return returns;
}
uint32_t fathom_want;
uint32_t fathom_tracer_option_bits = FATHOM_OPT_GRAPH_CPU | FATHOM_OPT_GRAPH_OVERHEAD |
				     FATHOM_OPT_GRAPH_DURATION | FATHOM_OPT_GRAPH_IRQS |
				     FATHOM_OPT_GRAPH_SLEEP_TIME | FATHOM_OPT_GRAPH_GRAPH_TIME |
				     FATHOM_OPT_FUNCTION_TRACE;

#ifdef FATHOM_TASK_PER_CPU
struct fathom_task *fathom_cpu_task;
#endif

void fathom_want_change(uint32_t set, uint32_t clear)
{
	fathom_store(&fathom_want, (fathom_want & ~clear) | set);
}

/* Task switches are told while calls are followed (sleep-time) or a wakeup tracer runs. */
void fathom_want_switches(void)
{
	int calls = fathom_tracer_wants.graph || fathom_profile_is_on() || fathom_watch_returns();
	int wanted = calls || fathom_wanted(FATHOM_WANT_WAKEUP);

	fathom_want_change(wanted ? FATHOM_WANT_SWITCH : 0, wanted ? 0 : FATHOM_WANT_SWITCH);
	fathom_want_change(calls ? FATHOM_WANT_LEFT : 0, calls ? 0 : FATHOM_WANT_LEFT);
}

/* ---- sites ---- */

static uint8_t wanted_users(uint32_t index)
{
	uint8_t users = 0;
	int filtered = fathom_set_has(FATHOM_SET_FILTER, index) &&
		       !fathom_set_has(FATHOM_SET_NOTRACE, index);

	if (fathom_tracer_wants.function && filtered)
		users |= SITE_FUNCTION;
	if (fathom_tracer_wants.graph && filtered)
		users |= SITE_GRAPH;
	if (fathom_profile_is_on() && filtered)
		users |= SITE_PROFILE;
	if (fathom_stack_tracer_is_on() && fathom_set_has(FATHOM_SET_STACK, index))
		users |= SITE_STACK;
	if (fathom_probe_on(index))
		users |= SITE_PROBE;
	if (fathom_listeners_want(index))
		users |= SITE_LISTENER;
	for (uint32_t i = 0; i < FATHOM_WATCHERS; i++)
		if (fathom_watch[i] && fathom_watch[i]->wants)
			users |= (uint8_t)fathom_watch[i]->wants(index);
	return users;
}

int fathom_tracer_refresh(void)
{
	int gated = fathom_pids_any() || fathom_tracer_wants.gate;

	if (!fathom_functions.nr_sites)
		return 0;
	fathom_functions.function_slow =
		gated ||
		fathom_tracer_option_bits &
			(FATHOM_OPT_FUNC_STACK | FATHOM_OPT_FUNC_NO_REPEATS | FATHOM_OPT_FUNC_ARGS);
	fathom_functions.graph_slow = gated || fathom_thresh_ns || fathom_graph_depth_max ||
				      !(fathom_tracer_option_bits & FATHOM_OPT_GRAPH_IRQS) ||
				      fathom_tracer_option_bits & FATHOM_OPT_GRAPH_MORE ||
				      fathom_functions.set[FATHOM_SET_GRAPH].count ||
				      fathom_functions.set[FATHOM_SET_GRAPH_NOTRACE].count;
	return fathom_sites_update(0xff, wanted_users);
}

static int task_states_init(void)
{
#ifdef FATHOM_TASK_PER_CPU
	if (!fathom_cpu_task)
		fathom_cpu_task =
			fathom_memory_take(fathom_core.nr_cpus * sizeof(struct fathom_task));
	return fathom_cpu_task ? 0 : -FATHOM_ENOMEM;
#else
	return 0;
#endif
}

int fathom_functions_check(void)
{
	return fathom_functions.nr_sites ? task_states_init() : fathom_functions.why_none;
}

int fathom_tracer_want_sites(uint8_t function, uint8_t graph, int (*gate)(void))
{
	int err = function || graph ? fathom_functions_check() : 0;
	int told = fathom_instrument_set(function, graph);

	if (err == -FATHOM_ENOSYS && !told)
		err = task_states_init(); /* no sites, but the functions tell us */
	if (err)
		return err;
	fathom_tracer_wants.function = function;
	fathom_tracer_wants.graph = graph;
	fathom_tracer_wants.gate = gate;
	fathom_want_switches();
	return fathom_tracer_refresh();
}

/* ---- function, function_graph, nop ---- */

static int function_start(void)
{
	return fathom_tracer_want_sites(1, 0, 0);
}

static int graph_start(void)
{
	fathom_graph_reset();
	return fathom_tracer_want_sites(0, 1, 0);
}

static void sites_stop(void)
{
	fathom_tracer_want_sites(0, 0, 0);
	fathom_graph_reset();
}

/* Calls and returns as words of the 16-bit stream. The gate sends every call through the general entry. */
static int sel4_start(void)
{
	int err;

	if (!fathom_stream_cpus())
		return -FATHOM_ENODEV;
	fathom_graph_reset();
	fathom_stream_reset();
	fathom_stream_start();
	err = fathom_tracer_want_sites(0, 1, fathom_stream_is_on);
	if (err)
		fathom_stream_stop();
	return err;
}

static void sel4_stop(void)
{
	fathom_stream_stop();
	sites_stop();
}

static int nop_start(void)
{
	return 0;
}

static void nop_stop(void)
{
}

static const struct fathom_tracer_option function_options[] = {
	{"func_stack_trace", FATHOM_OPT_FUNC_STACK},
	{"func-no-repeats", FATHOM_OPT_FUNC_NO_REPEATS},
#ifndef FATHOM_ARCH_NO_REGS
	{"func-args", FATHOM_OPT_FUNC_ARGS},
#endif
	{0, 0},
};
static const struct fathom_tracer_option graph_options[] = {
	{"funcgraph-overrun", FATHOM_OPT_GRAPH_OVERRUN},
	{"funcgraph-cpu", FATHOM_OPT_GRAPH_CPU},
	{"funcgraph-overhead", FATHOM_OPT_GRAPH_OVERHEAD},
	{"funcgraph-proc", FATHOM_OPT_GRAPH_PROC},
	{"funcgraph-duration", FATHOM_OPT_GRAPH_DURATION},
	{"funcgraph-abstime", FATHOM_OPT_GRAPH_ABSTIME},
	{"funcgraph-irqs", FATHOM_OPT_GRAPH_IRQS},
	{"funcgraph-tail", FATHOM_OPT_GRAPH_TAIL},
	{"sleep-time", FATHOM_OPT_GRAPH_SLEEP_TIME},
	{"graph-time", FATHOM_OPT_GRAPH_GRAPH_TIME},
#ifndef FATHOM_ARCH_NO_REGS
	{"funcgraph-args", FATHOM_OPT_GRAPH_ARGS},
	{"funcgraph-retval", FATHOM_OPT_GRAPH_RETVAL},
	{"funcgraph-retval-hex", FATHOM_OPT_GRAPH_RETVAL_HEX},
	{"funcgraph-retaddr", FATHOM_OPT_GRAPH_RETADDR},
#endif
	{0, 0},
};
static const struct fathom_tracer_option no_options[] = {{0, 0}};

#define LATENCY FATHOM_TRACER_LATENCY, no_options
static const struct fathom_tracer tracers[] = {
	{"function_graph", FATHOM_TRACER_FUNCTION | FATHOM_TRACER_GRAPH, graph_options, graph_start,
	 sites_stop, 0},
	{"wakeup_dl", LATENCY, fathom_wakeup_dl_start, fathom_wakeup_stop, fathom_latency_changed},
	{"wakeup_rt", LATENCY, fathom_wakeup_rt_start, fathom_wakeup_stop, fathom_latency_changed},
	{"wakeup", LATENCY, fathom_wakeup_start, fathom_wakeup_stop, fathom_latency_changed},
	{"preemptirqsoff", LATENCY, fathom_preemptirqsoff_start, fathom_critical_stop,
	 fathom_latency_changed},
	{"preemptoff", LATENCY, fathom_preemptoff_start, fathom_critical_stop,
	 fathom_latency_changed},
	{"irqsoff", LATENCY, fathom_irqsoff_start, fathom_critical_stop, fathom_latency_changed},
	{"function", FATHOM_TRACER_FUNCTION, function_options, function_start, sites_stop, 0},
	{"sel4", FATHOM_TRACER_FUNCTION, no_options, sel4_start, sel4_stop, 0},
	{"nop", 0, no_options, nop_start, nop_stop, 0},
};
#define NR_TRACERS (sizeof(tracers) / sizeof(tracers[0]))
#define NOP	   (&tracers[NR_TRACERS - 1])
static const struct fathom_tracer *tracer_now = NOP;

/* Those that the port asked for come first. The stream's is one of them only where the stream was given memory. */
const struct fathom_tracer *fathom_tracer_at(uint32_t index)
{
	for (uint32_t i = 0; i < FATHOM_EXTRAS; i++) {
		const struct fathom_extra *x = fathom_extra_at(i);

		for (const struct fathom_tracer *t = x ? x->tracers : 0; t && t->name; t++)
			if (!index--)
				return t;
	}
	for (uint32_t i = 0; i < NR_TRACERS; i++)
		if ((tracers[i].start != sel4_start || fathom_stream_cpus()) && !index--)
			return &tracers[i];
	return 0;
}

const struct fathom_tracer *fathom_tracer_current(void)
{
	return tracer_now;
}

static int same_text(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

int fathom_tracer_set(const char *name)
{
	const struct fathom_tracer *t = 0;
	int err;

	for (uint32_t i = 0; (t = fathom_tracer_at(i)) && !same_text(t->name, name); i++)
		;
	if (!t)
		return same_text(name, "sel4") ? -FATHOM_ENODEV : -FATHOM_EINVAL;
	if (t == tracer_now)
		return 0;
	tracer_now->stop();
	tracer_now = NOP;
	if (fathom_latency_is_busy(t))
		return -FATHOM_EBUSY;
	err = t->start();
	if (err)
		t->stop();
	else
		tracer_now = t;
	return err;
}

/* ---- options and limits ---- */

uint32_t fathom_tracer_options(void)
{
	return fathom_tracer_option_bits;
}

int fathom_tracer_option_set(uint32_t bit, int on)
{
	uint32_t bits = on ? fathom_tracer_option_bits | bit : fathom_tracer_option_bits & ~bit;
	int err = 0;

	if (bits == fathom_tracer_option_bits)
		return 0;
	fathom_store(&fathom_tracer_option_bits, bits);
	if (bit == FATHOM_OPT_FUNCTION_FORK)
		fathom_function_forks_changed();
	if (bit == FATHOM_OPT_GRAPH_RETVAL)
		fathom_ev_funcgraph_exit.nr_fields = (uint16_t)(FATHOM_EXIT_FIELDS + !!on);
	if (tracer_now->changed)
		err = tracer_now->changed(bit);
	if (err) {
		tracer_now->stop();
		tracer_now = NOP;
	}
	return err ? err : fathom_tracer_refresh();
}

void fathom_graph_depth_set(uint32_t depth)
{
	fathom_store(&fathom_graph_depth_max, depth);
	fathom_tracer_refresh();
}

uint32_t fathom_graph_depth(void)
{
	return fathom_graph_depth_max;
}

void fathom_thresh_set(uint64_t ns)
{
	fathom_store(&fathom_thresh_ns, ns);
	fathom_tracer_refresh();
}

uint64_t fathom_thresh(void)
{
	return fathom_thresh_ns;
}

void fathom_tracer_stats(struct fathom_tracer_stats *out)
{
	*out = (struct fathom_tracer_stats){.sites_dropped = fathom_functions.dropped,
					    .sites_refused = fathom_functions.refused};
	for (uint32_t i = 0; i <= FATHOM_CPUS_MAX; i++) {
		out->shadow_full += fathom_tracer_counts[i].shadow_full;
		out->earlier += fathom_tracer_counts[i].earlier;
		out->unmatched += fathom_tracer_counts[i].unmatched;
		out->unwound += fathom_tracer_counts[i].unwound;
		out->recursion += fathom_tracer_counts[i].recursion;
		out->refused += fathom_tracer_counts[i].refused;
		out->cut += fathom_tracer_counts[i].cut;
		out->forks_lost += fathom_tracer_counts[i].forks_lost;
	}
}

void fathom_tracer_exit(void)
{
	tracer_now->stop();
	tracer_now = NOP;
	fathom_latency_exit();
	__builtin_memset(fathom_listeners, 0, sizeof(fathom_listeners));
	fathom_probe_clear();
	fathom_waiting_exit();
	fathom_stack_tracer_set(0);
	fathom_profile_exit();
	fathom_sites_exit();
	fathom_snapshot_exit();
#ifdef FATHOM_TASK_PER_CPU
	fathom_cpu_task = 0;
#endif
}
