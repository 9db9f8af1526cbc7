/* SPDX-License-Identifier: MIT */
/* kernel_options.c -- which tracer, options and clock a kernel text has; its head. */
#include "view/kernel.h"
#include "wire/blk.h"
#include "wire/noise.h"
#include "base/diag.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	uint32_t bit;
} names[] = {
	{"print-parent", FATHOM_TEXT_PRINT_PARENT},
	{"sym-offset", FATHOM_TEXT_SYM_OFFSET},
	{"sym-addr", FATHOM_TEXT_SYM_ADDR},
	{"verbose", FATHOM_TEXT_VERBOSE},
	{"raw", FATHOM_TEXT_RAW},
	{"hex", FATHOM_TEXT_HEX},
	{"bin", FATHOM_TEXT_BIN},
	{"annotate", FATHOM_TEXT_ANNOTATE},
	{"sym-userobj", FATHOM_TEXT_SYM_USEROBJ},
	{"printk-msg-only", FATHOM_TEXT_PRINTK_MSG_ONLY},
	{"context-info", FATHOM_TEXT_CONTEXT_INFO},
	{"latency-format", FATHOM_TEXT_LATENCY},
	{"record-tgid", FATHOM_TEXT_RECORD_TGID},
	{"irq-info", FATHOM_TEXT_IRQ_INFO},
	{"funcgraph-overrun", FATHOM_TEXT_GRAPH_OVERRUN},
	{"funcgraph-cpu", FATHOM_TEXT_GRAPH_CPU},
	{"funcgraph-overhead", FATHOM_TEXT_GRAPH_OVERHEAD},
	{"funcgraph-proc", FATHOM_TEXT_GRAPH_PROC},
	{"funcgraph-duration", FATHOM_TEXT_GRAPH_DURATION},
	{"funcgraph-abstime", FATHOM_TEXT_GRAPH_ABSTIME},
	{"funcgraph-irqs", FATHOM_TEXT_GRAPH_IRQS},
	{"funcgraph-tail", FATHOM_TEXT_GRAPH_TAIL},
	{"funcgraph-retval", FATHOM_TEXT_GRAPH_RETVAL},
	{"funcgraph-retval-hex", FATHOM_TEXT_GRAPH_RETVAL_HEX},
	{"funcgraph-retaddr", FATHOM_TEXT_GRAPH_RETADDR},
};

/* Options that change what is recorded, not how it is printed: known, and without effect here. */
static const char *const recording[] = {
	"block",	   "trace_printk",     "userstacktrace",  "stacktrace",
	"record-cmd",	   "overwrite",	       "disable_on_free", "markers",
	"event-fork",	   "pause-on-trace",   "hash-ptr",	  "function-trace",
	"function-fork",   "graph-time",       "sleep-time",	  "test_nop_accept",
	"test_nop_refuse", "func_stack_trace", "func-no-repeats", "blk_classic",
	"blk_cgroup",	   "blk_cgname",       "display-graph",	  "stacktrace_count",
	"func-args",	   "funcgraph-args",
};

static bool is_word(const char *s, size_t n, const char *name)
{
	return strlen(name) == n && !memcmp(s, name, n);
}

static bool set_option(struct kernel_view *k, const char *s, size_t n)
{
	bool off = n > 2 && !memcmp(s, "no", 2);
	const char *name = off ? s + 2 : s;
	size_t len = off ? n - 2 : n;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (is_word(name, len, names[i].name)) {
			if (off)
				k->view.options &= ~names[i].bit;
			else
				k->view.options |= names[i].bit;
			return true;
		}
	if (is_word(name, len, "display-graph"))
		k->draws_graph = !off;
	if (is_word(name, len, "blk_classic"))
		k->blk_classic = !off;
	if (is_word(name, len, "fields"))
		return k->fields = !off, true;
	for (size_t i = 0; i < sizeof(recording) / sizeof(recording[0]); i++)
		if (is_word(name, len, recording[i]))
			return true;
	return false;
}

static void set_options(struct kernel_view *k, const char *text, bool strict)
{
	while (*text) {
		size_t n = strcspn(text, ", +\n\t");

		/* Newer kernels have more of them; what this one does not know changes nothing here. */
		if (n && !set_option(k, text, n) && strict)
			diag_warn("'%.*s' is not a trace option that is known here, and is ignored",
				  (int)n, text);
		text += n + (text[n] != 0);
	}
}

static bool is_latency(const char *tracer)
{
	static const char *const tracers[] = {"wakeup",	 "wakeup_rt",  "wakeup_dl",
					      "irqsoff", "preemptoff", "preemptirqsoff"};

	for (size_t i = 0; i < sizeof(tracers) / sizeof(tracers[0]); i++)
		if (!strcmp(tracer, tracers[i]))
			return true;
	return false;
}

/* "Linux host 6.1.0-54-amd64 #1 SMP PREEMPT ..." or "6.1.0-54-amd64": the release. */
static char *release_of(const char *uname)
{
	const char *p =
		strncmp(uname, "Linux ", 6) ? uname : uname + 6 + strcspn(uname + 6, " ") + 1;

	if (p > uname + strlen(uname))
		p = "";
	return strndup(p, strcspn(p, " \n"));
}

static const char *model_of(const char *uname)
{
	if (strstr(uname, "PREEMPT_RT"))
		return "preempt_rt";
	if (strstr(uname, "PREEMPT_DYNAMIC"))
		return "desktop";
	return strstr(uname, "PREEMPT") ? "preempt" : "server";
}

/* Where entries from interrupts and the kernel's text lie. */
static void set_text(struct kernel_view *k)
{
	struct symbol s;

	k->irq_start = 1;
	k->irq_end = 0;
	for (size_t i = 0; symbols_at(k->source->symbols, i, &s); i++) {
		if (!strcmp(s.name, "_stext"))
			k->text = s.start;
		else if (!strcmp(s.name, "_etext"))
			k->text_end = s.start;
		else if (!strcmp(s.name, "__irqentry_text_start"))
			k->irq_start = s.start;
		else if (!strcmp(s.name, "__irqentry_text_end"))
			k->irq_end = s.start;
	}
}

/* Events overwritten, summed over "overrun: N" of the CPUs' stats. */
static uint64_t overruns(const char *stats)
{
	uint64_t n = 0;

	for (const char *p = stats; (p = strstr(p, "overrun: ")); p++)
		if (p == stats || p[-1] == '\n')
			n += strtoull(p + 9, NULL, 10);
	return n;
}

static uint32_t id_of(const struct source *s, const char *name)
{
	const struct schema *schema = source_schema_named(s, name);

	return schema && !strcmp(schema->system, "ftrace") ? schema->id : UINT32_MAX;
}

/* How many events there are, and the tracer that leaves such ones: for a trace that does not name it. */
static const char *count_events(struct kernel_view *k)
{
	uint32_t function = id_of(k->source, "function");
	uint32_t entry = id_of(k->source, "funcgraph_entry");
	uint32_t with = id_of(k->source, "fgraph_retaddr_entry");
	uint32_t ret = id_of(k->source, "funcgraph_exit");
	bool functions = false, calls = false;
	struct event e;
	uint64_t n = 0;

	for (uint32_t i = 0; i < k->source->nr_streams; i++) {
		struct cursor *c;

		if (!scan_stream(k->o->choice, k->source, i))
			continue;
		c = cursor_open(k->source, i);
		for (; c && cursor_next(c, &e); n++) {
			functions |= e.type == function;
			calls |= e.type == entry || e.type == with || e.type == ret;
		}
		cursor_close(c);
	}
	k->head.entries = n;
	return calls ? "function_graph" : functions ? "function" : "nop";
}

/* One "key=value" of --banner; false if the key is not known. */
static bool set_banner(struct kernel_view *k, const char *key, const char *value)
{
	struct fathom_text_banner *b = &k->banner;
	const struct {
		const char *key;
		const char **to;
	} texts[] = {
		{"release", &b->release},  {"model", &b->model},  {"comm", &b->comm},
		{"started", &b->start_at}, {"ended", &b->end_at},
	};
	const struct {
		const char *key;
		int32_t *to;
	} numbers[] = {
		{"cpu", (int32_t *)&b->cpu}, {"pid", &b->pid},	     {"uid", (int32_t *)&b->uid},
		{"nice", &b->nice},	     {"policy", &b->policy}, {"rt_prio", &b->rt_prio},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!strcmp(key, texts[i].key)) {
			*texts[i].to = value;
			return true;
		}
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!strcmp(key, numbers[i].key)) {
			*numbers[i].to = (int32_t)strtol(value, NULL, 0);
			return true;
		}
	if (strcmp(key, "latency") != 0)
		return false;
	b->latency_us = strtoull(value, NULL, 0);
	return true;
}

/* "cpu=1,latency=120,comm=bash": cut in place. */
static bool settle_banner(struct kernel_view *k)
{
	char *save = NULL;

	k->banner_text = k->o->banner ? strdup(k->o->banner) : NULL;
	for (char *p = k->banner_text ? strtok_r(k->banner_text, ",", &save) : NULL; p;
	     p = strtok_r(NULL, ",", &save)) {
		char *value = strchr(p, '=');

		if (value)
			*value++ = 0;
		if (!value || !set_banner(k, p, value)) {
			diag_error("--banner does not know '%s'; it takes release, model, latency, "
				   "cpu, comm, "
				   "pid, uid, nice, policy, rt_prio, started, ended",
				   p);
			return false;
		}
	}
	return true;
}

static void settle_head(struct kernel_view *k)
{
	const char *uname = k->source->info.uname ? k->source->info.uname : "";
	uint64_t lost = overruns(k->source->info.cpustat ? k->source->info.cpustat : "");

	k->head.tracer = k->tracer;
	k->head.written = k->o->written == UINT64_MAX ? k->head.entries + lost : k->o->written;
	k->overrun = lost > 0;
	k->head.banner = &k->banner;
	k->release = release_of(uname);
	k->banner.release = k->release ? k->release : "";
	k->banner.model = model_of(uname);
}

static void settle_clock(struct kernel_view *k)
{
	const struct merge *m = k->merge;

	static const char *const plain[] = {"counter", "uptime", "x86-tsc"};
	const char *clock = k->source->nr_buffers ? k->source->buffers[0].clock : "";

	k->view.plain_clock = k->source->unit != CLOCK_NS;
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (!strcmp(clock, plain[i]))
			k->view.plain_clock = 1;
	k->view.start = k->o->start;
	if (k->view.start == UINT64_MAX)
		k->view.start = m->nr_heap ? m->keys[m->heap[0]] : 0;
}

/* What bit 0x02 of the flags means, and whether there are lazy columns. */
static void settle_columns(struct kernel_view *k)
{
	const struct source *s = k->source;
	const struct format *f = s->nr_schemas ? source_format(k->source, s->schemas[0].id) : NULL;

	k->lazy_count = f ? format_field(f, "common_preempt_lazy_count") : NULL;
	if (k->lazy_count)
		k->view.columns = FATHOM_TEXT_FLAGS_RT;
	else if (k->lookup.env.kernel >= 6013)
		k->view.columns = FATHOM_TEXT_FLAGS_LAZY;
	k->fields = k->fields && k->lookup.env.kernel >= 6004; /* there is no such option before */
	if (!strcmp(k->tracer, "blk") && k->blk_classic)
		k->view.options &= ~FATHOM_TEXT_CONTEXT_INFO;
	else
		k->blk_classic = false;
}

bool kernel_settle(struct kernel_view *k)
{
	const struct source_info *info = &k->source->info;
	const char *seen = count_events(k), *tracer = k->o->tracer ? k->o->tracer : info->tracer;

	k->tracer = strdup(tracer && *tracer ? tracer : seen);
	if (!k->tracer)
		return false;
	k->view.options = FATHOM_TEXT_DEFAULT;
	k->view.nr_cpus = info->nr_cpus;
	if (is_latency(k->tracer))
		k->view.options |= FATHOM_TEXT_LATENCY;
	if (info->options)
		set_options(k, info->options, false);
	if (k->o->trace_options)
		set_options(k, k->o->trace_options, true);
	settle_columns(k);
	if (!strcmp(k->tracer, "function_graph")) {
		k->draws_graph = true;
	} else if (k->draws_graph && is_latency(k->tracer)) {
		k->view.options &= ~FATHOM_TEXT_GRAPH_ALL;
		k->view.options |= strncmp(k->tracer, "wakeup", 6) ? FATHOM_TEXT_GRAPH_CRITICAL
								   : FATHOM_TEXT_GRAPH_WAKEUP;
	} else {
		k->draws_graph = false;
	}
	set_text(k);
	settle_clock(k);
	settle_head(k);
	return settle_banner(k);
}

/* Of tracers with columns of their own. */
static const char *tracer_head(const struct kernel_view *k)
{
	if (*k->tracer == 'b')
		return k->blk_classic ? fathom_blk_head : "";
	if (*k->tracer == 't')
		return fathom_timerlat_head;
	return k->view.columns == FATHOM_TEXT_FLAGS_RT ? fathom_osnoise_head_rt
						       : fathom_osnoise_head;
}

void kernel_header(struct kernel_view *k)
{
	struct fathom_text t = kernel_text(k, 8192);

	if (k->draws_graph) {
		fathom_graph_header(&t, &k->view, &k->head);
	} else if (!strcmp(k->tracer, "osnoise") || !strcmp(k->tracer, "timerlat") ||
		   !strcmp(k->tracer, "blk")) {
		fathom_text_header_tracer(&t, k->tracer);
		fathom_text_str(&t, tracer_head(k));
	} else {
		fathom_text_header(&t, &k->view, &k->head);
	}
	kernel_text_end(k, &t);
}
